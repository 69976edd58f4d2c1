package joblog

import (
	"fmt"
	"testing"

	"github.com/cutwater-io/cutwater/internal/blob"
	"github.com/cutwater-io/cutwater/internal/host/crashfs"
	"github.com/cutwater-io/cutwater/internal/ident"
)

// ledger is what the outside knows of a job: what was answered, over all lives
// of its processes.
type ledger struct {
	completed map[ident.CheckpointID]bool // Append returned nil
	removing  map[ident.CheckpointID]bool // Removed was called, whatever came of it
	handedOut ident.CheckpointID          // greatest id that Reserve returned
	token     ident.FencingToken
}

func newLedger() *ledger {
	return &ledger{completed: make(map[ident.CheckpointID]bool), removing: make(map[ident.CheckpointID]bool)}
}

// live runs one process life: it recovers, checks what it finds against the
// ledger, and takes a few checkpoints, until it dies or is done.
func (g *ledger) live(t *testing.T, f *crashfs.FS, every uint64) {
	t.Helper()
	s := blob.Dir("/state", f)
	l, r, err := Open(ctx, s, "word-count", random)
	if err != nil {
		if !f.Killed() {
			t.Errorf("open: %v", err)
		}
		return
	}
	l.every = every
	g.check(t, s, r)
	if f.Killed() {
		return
	}
	g.token = l.Token()
	var previous Completed
	for range 2 {
		id, err := l.Reserve(ctx, 2)
		if err != nil {
			return
		}
		if id <= g.handedOut {
			t.Errorf("id %d was given out again", id)
		}
		g.handedOut = id + 1
		c := Completed{Checkpoint: id, Manifest: fmt.Sprintf("chk/%d-%d/manifest", id, random())}
		if s.Put(ctx, c.Manifest, []byte(c.Manifest)) != nil || l.Append(ctx, c) != nil {
			return
		}
		g.completed[id] = true
		if previous.Checkpoint != 0 {
			g.removing[previous.Checkpoint] = true
			if l.Append(ctx, Removed{Checkpoint: previous.Checkpoint}) != nil {
				return
			}
			if s.Delete(ctx, previous.Manifest) != nil {
				return
			}
		}
		previous = c
	}
}

func (g *ledger) check(t *testing.T, s blob.Store, r Recovered) {
	t.Helper()
	there := make(map[ident.CheckpointID]bool)
	for _, c := range r.Completed {
		there[c.Checkpoint] = true
		b, err := s.Get(ctx, c.Manifest)
		// Also one that was being removed: its files go after its entry (S060).
		if err != nil || string(b) != c.Manifest {
			t.Errorf("checkpoint %d is complete and its manifest is not: %q, %v", c.Checkpoint, b, err)
		}
	}
	for id := range g.completed {
		if !there[id] && !g.removing[id] {
			t.Errorf("checkpoint %d was completed and is lost", id)
		}
	}
	if r.NextID <= g.handedOut {
		t.Errorf("next id is %d, id %d was given out", r.NextID, g.handedOut)
	}
	if r.Token <= g.token {
		t.Errorf("token %d after %d", r.Token, g.token)
	}
}

// copyOf lets several futures begin at the same past.
func (g *ledger) copyOf() *ledger {
	c := newLedger()
	*c = ledger{completed: c.completed, removing: c.removing, handedOut: g.handedOut, token: g.token}
	for id := range g.completed {
		c.completed[id] = true
	}
	for id := range g.removing {
		c.removing[id] = true
	}
	return c
}

// killEverywhere runs a life on copies of a disk, killed at each operation in
// turn, and hands each possible disk after it to then.
func killEverywhere(t *testing.T, disk *crashfs.FS, g *ledger, every uint64, modes []func(*crashfs.FS) *crashfs.FS, then func(*crashfs.FS, *ledger)) (points int) {
	rehearsal := disk.Restart()
	g.copyOf().live(t, rehearsal, every)
	ops := rehearsal.Ops()
	for _, op := range ops {
		for _, effect := range []bool{false, true} {
			for _, mode := range modes {
				// Restart leaves its receiver unusable as a process, not as a disk.
				f, after := disk.Restart(), g.copyOf()
				f.KillAt(op.N, effect)
				after.live(t, f, every)
				points++
				then(mode(f), after)
				if t.Failed() {
					t.Fatalf("killed at %s, effect=%t", op, effect)
				}
			}
		}
	}
	return points
}

func modes(seeds ...uint64) []func(*crashfs.FS) *crashfs.FS {
	m := []func(*crashfs.FS) *crashfs.FS{(*crashfs.FS).Restart}
	for _, seed := range seeds {
		m = append(m, func(f *crashfs.FS) *crashfs.FS { return f.PowerLoss(seed) })
	}
	return m
}

func TestS131S132S133AKillAtAnyFileOperationLosesNoCheckpointAndRepeatsNoId(t *testing.T) {
	points := killEverywhere(t, crashfs.New(), newLedger(), snapshotEvery, modes(0, 1, 2, 3), func(f *crashfs.FS, g *ledger) {
		g.live(t, f, snapshotEvery)
	})
	t.Logf("%d crash points", points)
}

func TestASecondKillDuringTheRecoveryFromTheFirstChangesNothing(t *testing.T) {
	points := 0
	killEverywhere(t, crashfs.New(), newLedger(), snapshotEvery, modes(0), func(f *crashfs.FS, g *ledger) {
		if points%61 != 0 { // a part of the pairs: all are 60,000
			points++
			return
		}
		points += killEverywhere(t, f, g, snapshotEvery, modes(0)[1:], func(f *crashfs.FS, g *ledger) {
			g.live(t, f, snapshotEvery)
		})
	})
	t.Logf("%d pairs of crash points", points)
}

func TestS138AKillAtAnyFileOperationOfACompactionIsHarmless(t *testing.T) {
	disk, g := crashfs.New(), newLedger()
	for range 3 {
		g.live(t, disk, 4)
		disk = disk.Restart()
	}
	points := killEverywhere(t, disk, g, 4, modes(0, 1, 2), func(f *crashfs.FS, g *ledger) {
		g.live(t, f, 4)
	})
	t.Logf("%d crash points", points)
}
