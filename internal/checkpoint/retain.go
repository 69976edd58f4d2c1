package checkpoint

import (
	"fmt"
	"slices"

	"github.com/cutwater-io/cutwater/internal/ident"
)

// store is what the coordinator knows of the completed checkpoints in the job log
// (specification 3.9). The log is the truth; this follows it.
//
// Invariants: list ascends by id and holds at most Config.MaxRetained entries,
// except that one restored with more keeps them until the next completion;
// cleaning is the number of deletions asked for and not answered.
type store struct {
	list         []Retained
	lastSubsumed ident.CheckpointID
	cleaning     int
}

// restore takes over what recovery found. It sorts by number, because object
// stores list by name, and by name 10 comes before 9 (S135).
func (s *store) restore(found []Retained) {
	s.list = append(s.list[:0], found...)
	slices.SortFunc(s.list, func(a, b Retained) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	for i := range s.list {
		if s.list[i].ID == 0 || (i > 0 && s.list[i].ID == s.list[i-1].ID) {
			panic(fmt.Sprintf("checkpoint: recovery found checkpoint %d twice or without an id", s.list[i].ID))
		}
	}
}

// latest is the newest completed checkpoint, whatever its kind; 0: none.
func (s *store) latest() ident.CheckpointID {
	if len(s.list) == 0 {
		return 0
	}
	return s.list[len(s.list)-1].ID
}

// lowest is the oldest one that is still retained; 0: none.
func (s *store) lowest() ident.CheckpointID {
	if len(s.list) == 0 {
		return 0
	}
	return s.list[0].ID
}

func (s *store) add(id ident.CheckpointID) {
	if id <= s.latest() {
		panic(fmt.Sprintf("checkpoint: %d completes after %d, which is newer", id, s.latest()))
	}
	s.list = append(s.list, Retained{ID: id})
}

// subsume asks for the deletion of all but the newest keep checkpoints. The
// newest one is never deleted by this, because keep is at least 1.
func (c *Coordinator) subsume(from, keep int) {
	drop := from - keep
	if drop <= 0 {
		return
	}
	gone := c.scratch[:0]
	gone = append(gone, c.store.list[:drop]...)
	c.scratch = gone
	c.store.list = slices.Delete(c.store.list, 0, drop)
	for _, r := range gone {
		if r.Foreign {
			continue
		}
		c.store.cleaning++
		a := c.slabs.deleteCompleted.next()
		*a = DeleteCompleted{ID: r.ID, LowestRetained: c.store.lowest()}
		c.out = append(c.out, a)
	}
}

func (c *Coordinator) onDeleted(e Deleted) {
	if c.store.cleaning == 0 {
		panic(fmt.Sprintf("checkpoint: %d was deleted, but no deletion was asked for", e.ID))
	}
	// A failed deletion is a leak and no more: the newer checkpoint stays
	// completed, and nothing is retried (S065).
	c.store.cleaning--
}

// maybeClose ends a shutdown once no outcome is open: what the job does not leave
// behind is deleted, and when that is done nothing is outstanding any more.
func (c *Coordinator) maybeClose() {
	if !c.closing || c.closed || len(c.pending) > 0 {
		return
	}
	if !c.purged {
		c.purged = true
		if !c.cfg.Retention.keeps(c.status) {
			c.subsume(len(c.store.list), 0)
		}
	}
	if c.store.cleaning == 0 {
		c.close(false)
	}
}

func (c *Coordinator) close(deposed bool) {
	c.closing, c.closed = true, true
	a := c.slabs.closed.next()
	*a = Closed{Deposed: deposed}
	c.out = append(c.out, a)
}
