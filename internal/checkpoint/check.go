package checkpoint

import (
	"errors"
	"fmt"

	"github.com/cutwater-io/cutwater/internal/ident"
)

// Check verifies the invariants of the state between two steps and returns all
// that are broken, nil when none is. Tests and simulations call it after every
// Step. What spans steps, such as "one outcome per id", is the business of
// [Ledger].
func (c *Coordinator) Check() error {
	var errs []error
	require := func(holds bool, format string, args ...any) {
		if !holds {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	require(c.out == nil, "actions are left over from a step")
	require(c.ids.next <= c.ids.end && c.ids.end <= c.ids.highest+1, "ids: next %d, end %d, highest %d", c.ids.next, c.ids.end, c.ids.highest)
	require(!c.starting.active || c.ids.reserving, "a request waits for an id that nobody reserves")
	c.checkPending(require)
	c.checkQueue(require)
	c.checkStore(require)
	require(c.jobRunning || c.periodic.timer == 0, "the periodic timer is set although the job does not run")
	require(c.failures.tolerable == UnlimitedFailures || c.failures.inRow <= c.failures.tolerable, "%d failures in a row are more than are tolerated", c.failures.inRow)
	if c.closing {
		require(!c.starting.active && len(c.queue.list) == 0 && c.periodic.timer == 0, "a request or the periodic timer outlives the shutdown")
	}
	if c.closed {
		require(len(c.pending) == 0, "%d checkpoints are pending after the end", len(c.pending))
	} else {
		// Liveness of a single step: whatever could go on has gone on.
		require(!c.mayStart(), "a request could start and does not")
		require(!c.closing || len(c.pending) > 0 || c.store.cleaning > 0, "the shutdown waits for nothing")
	}
	return errors.Join(errs...)
}

type requireFunc func(holds bool, format string, args ...any)

func (c *Coordinator) checkPending(require requireFunc) {
	var last ident.CheckpointID
	inTrigger, inLog, waiting := 0, 0, 0
	timers := map[TimerID]bool{c.periodic.timer: true, 0: true}
	for _, p := range c.pending {
		require(p.id > last, "pending %d comes after %d", p.id, last)
		require(p.id < c.ids.next, "pending %d was not taken from the reserved ids, of which %d is next", p.id, c.ids.next)
		last = p.id
		switch p.phase {
		case triggering:
			inTrigger++
		case written:
			waiting++
		case publishing, resolving:
			inLog++
		}
		missing := 0
		for i, t := range p.plan.tasks {
			if t.Finished {
				require(!p.hasAcked(i), "%d: finished task %v acknowledged", p.id, t.Attempt)
			} else if !p.hasAcked(i) {
				missing++
			}
		}
		require(missing == p.remaining, "%d: %d tasks have not acknowledged, but %d are counted", p.id, missing, p.remaining)
		require(p.finalizing() == (missing == 0) || p.phase == triggering, "%d is %v with %d acknowledgements missing", p.id, p.phase, missing)
		require((p.timer != 0) == !p.finalizing() || p.phase == resolving, "%d is %v with timer %d", p.id, p.phase, p.timer)
		require(p.timer == 0 || !timers[p.timer], "%d: timer %d is used twice", p.id, p.timer)
		timers[p.timer] = true
		require(p.doomed == ReasonNone || p.phase == writing, "%d is doomed but %v", p.id, p.phase)
		if p.req.kind == Savepoint {
			require(p.phase <= writing, "savepoint %d is %v", p.id, p.phase)
		} else {
			require(p.id > c.store.latest() || p.doomed != ReasonNone, "%d is pending although %d completed", p.id, c.store.latest())
		}
	}
	require(inTrigger <= 1, "%d checkpoints are being triggered", inTrigger)
	require(!c.starting.active || inTrigger == 0, "a request waits for an id while another is being triggered")
	require(inLog <= 1, "%d log entries are on their way", inLog)
	require(waiting == 0 || inLog == 1, "%d manifests wait for an older log entry, but none is on its way", waiting)
}

func (c *Coordinator) checkQueue(require requireFunc) {
	require(len(c.queue.list) <= maxQueuedRequests, "%d requests are queued", len(c.queue.list))
	periodic := 0
	for i, r := range c.queue.list {
		require(i == 0 || !r.before(c.queue.list[i-1]), "request %d stands behind one it comes before", r.id)
		if r.periodic() {
			periodic++
		}
	}
	require(periodic <= 1, "%d periodic requests are queued", periodic)
}

func (c *Coordinator) checkStore(require requireFunc) {
	var last ident.CheckpointID
	for _, r := range c.store.list {
		require(r.ID > last, "completed %d comes after %d", r.ID, last)
		last = r.ID
		require(r.ID <= c.ids.highest, "completed %d was never reserved", r.ID)
	}
	require(c.store.lastSubsumed == 0 || c.store.lastSubsumed < c.store.lowest() || c.purged, "%d is retained although %d was subsumed", c.store.lowest(), c.store.lastSubsumed)
	require(c.store.cleaning >= 0, "%d deletions are outstanding", c.store.cleaning)
}
