package checkpoint

import (
	"errors"
	"fmt"

	"github.com/cutwater-io/cutwater/internal/ident"
)

// This file is the way of a checkpoint from a tick or a request to the trigger
// messages (specification 2.2, 3.2 and 3.3).

var (
	errJobNotRunning = errors.New("the job is not running")
	errTasksUnknown  = errors.New("the tasks of the job are not known yet")
	errRestarting    = errors.New("tasks are being restarted")
)

func (c *Coordinator) onRequest(e Request) {
	if e.Request == 0 {
		panic("checkpoint: a request without an id; 0 is the periodic one")
	}
	req := request{id: e.Request, kind: e.Kind, forced: e.Forced}
	if e.Kind == Savepoint && !c.cfg.Unaligned {
		// A savepoint is aligned always. Only an unaligned checkpoint beside it
		// would be disturbed, so without those it need not wait (S018, S019).
		req.forced = true
	}
	if c.closing {
		c.resolve(req, 0, cause{reason: CheckpointCoordinatorShutdown})
		return
	}
	c.enqueue(req)
}

func (c *Coordinator) enqueue(req request) {
	if dropped, overflow := c.queue.add(req); overflow {
		c.failStart(dropped, cause{reason: TooManyCheckpointRequests})
	}
}

// onTick is the periodic timer.
func (c *Coordinator) onTick() {
	// The next tick is planned from the plan, not from now, so that late timers
	// do not stretch the interval; but never in the past, so that a timer that
	// was very late is not followed by a burst (S001).
	next := c.periodic.plannedAt + c.cfg.Interval
	if next <= c.at.Now {
		next = c.at.Now + c.cfg.Interval
	}
	c.periodic.plannedAt = next
	c.periodic.timer = c.setTimer(next - c.at.Now)
	if !c.queue.hasPeriodic() {
		c.enqueue(request{})
	}
}

// mayStart is the table of specification 3.2, except for the minimum pause.
func (c *Coordinator) mayStart() bool {
	if c.closing || c.starting.active || len(c.queue.list) == 0 {
		return false
	}
	if c.store.cleaning > c.cfg.MaxConcurrent {
		return false // deletions do not keep up; more checkpoints would bury the store (defect D17)
	}
	for _, p := range c.pending {
		if p.phase == triggering {
			return false
		}
	}
	return len(c.pending) < c.cfg.MaxConcurrent || c.queue.list[0].forced
}

// start takes req, which is off the queue, as far as it gets without I/O.
func (c *Coordinator) start(req request) {
	if req.periodic() && c.anySuccess {
		if wait := c.completedAt + c.cfg.MinPause - c.at.Now; wait > 0 {
			c.cancelTimer(&c.periodic.timer)
			c.periodic.plannedAt = c.at.Now + wait
			c.periodic.timer = c.setTimer(wait)
			c.failStart(req, cause{reason: MinimumTimeBetweenCheckpoints})
			return
		}
	}
	if why := c.precheck(req); why.reason != ReasonNone {
		c.failStart(req, why)
		return
	}
	if c.ids.next < c.ids.end {
		c.begin(req)
		return
	}
	c.starting.active, c.starting.req = true, req
	if c.ids.reserving {
		return // asked for by a request that has failed since
	}
	c.ids.reserving = true
	a := c.slabs.reserveIDs.next()
	*a = ReserveIDs{Above: c.ids.highest, Count: c.cfg.IDBlock}
	c.out = append(c.out, a)
}

// precheck says why req cannot start now; reason is ReasonNone when it can.
func (c *Coordinator) precheck(req request) cause {
	switch {
	case c.cfg.BlockingOutputs:
		return cause{reason: BlockingOutputExist}
	case !c.jobRunning && req.periodic():
		return cause{reason: PeriodicSchedulerShutdown}
	case !c.jobRunning:
		return cause{reason: NotAllRequiredTasksRunning, err: errJobNotRunning}
	case c.awaitTasks:
		return cause{reason: NotAllRequiredTasksRunning, err: errRestarting}
	case c.plan == nil:
		return cause{reason: NotAllRequiredTasksRunning, err: errTasksUnknown}
	case c.plan.problem != nil:
		return cause{reason: NotAllRequiredTasksRunning, err: c.plan.problem}
	}
	return cause{}
}

// failStart ends a request that never had an id.
func (c *Coordinator) failStart(req request, why cause) {
	c.resolve(req, 0, why)
	c.countFailure(req, 0, why)
}

// failStarting ends the request that waits for an id, if there is one.
func (c *Coordinator) failStarting(why cause) {
	if !c.starting.active {
		return
	}
	c.starting.active = false
	c.failStart(c.starting.req, why)
}

func (c *Coordinator) onIDsReserved(e IDsReserved) {
	if !c.ids.reserving {
		panic("checkpoint: ids were reserved that nobody asked for")
	}
	c.ids.reserving = false
	switch e.Outcome {
	case Deposed:
		c.leave(true)
		return
	case Failed, Unknown:
		c.failStarting(cause{reason: IOException, err: e.Err})
		return
	}
	if e.First <= c.ids.highest || e.Count == 0 {
		panic(fmt.Sprintf("checkpoint: reserved ids %d, %d of them, although %d was reserved before", e.First, e.Count, c.ids.highest))
	}
	c.ids.next, c.ids.end = e.First, e.First+ident.CheckpointID(e.Count)
	c.ids.highest = c.ids.end - 1
	if !c.starting.active {
		return // it failed meanwhile; the ids serve the next one
	}
	// The world may have changed while the log was written.
	if why := c.precheck(c.starting.req); why.reason != ReasonNone {
		c.failStarting(why)
		return
	}
	c.starting.active = false
	c.begin(c.starting.req)
}

// begin makes req a pending checkpoint and has the operator coordinators
// snapshotted before any task hears of it (defect D9).
//
// REQUIRES: precheck has passed and an id is there.
func (c *Coordinator) begin(req request) {
	var p *pending
	if n := len(c.unused); n > 0 {
		p, c.unused = c.unused[n-1], c.unused[:n-1]
	} else {
		p = new(pending)
	}
	p.begin(c.ids.next, req, c.plan, c.at)
	c.ids.next++
	c.pending = append(c.pending, p)
	p.timer = c.setTimer(c.cfg.Timeout)
	a := c.slabs.snapshotCoordinators.next()
	*a = SnapshotCoordinators{ID: p.id, Kind: req.kind, Request: req.id}
	c.out = append(c.out, a)
}

func (c *Coordinator) onCoordinatorsSnapshotted(e CoordinatorsSnapshotted) {
	p := c.find(e.ID)
	if p != nil && p.phase != triggering {
		panic(fmt.Sprintf("checkpoint: the operator coordinators were snapshotted twice for %d", e.ID))
	}
	if p == nil { // it was aborted meanwhile
		a := c.slabs.discardCoordinators.next()
		*a = DiscardCoordinators{ID: e.ID}
		c.out = append(c.out, a)
		return
	}
	if e.Err != nil {
		c.abort(p, cause{reason: IOException, err: e.Err})
		return
	}
	// No check of the tasks is needed here: a change that makes the plan
	// impossible has aborted p already.
	p.phase = inProgress
	a := c.slabs.sendTrigger.next()
	*a = SendTrigger{ID: p.id, Kind: p.req.kind, TimestampMillis: p.stats.TriggeredMillis, To: p.plan.appendTriggered(a.To[:0])}
	c.out = append(c.out, a)
}

func (c *Coordinator) onTriggerFailed(e TriggerFailed) {
	p := c.find(e.ID)
	if p == nil || p.phase != inProgress {
		return
	}
	i := p.plan.expects(e.Attempt)
	if i < 0 || p.hasAcked(i) {
		return // only the reply was lost: the task has done its part
	}
	reason := e.Reason.known()
	if reason == ReasonNone {
		reason = TriggerCheckpointFailure
	}
	c.abort(p, cause{reason: reason, attempt: e.Attempt, hasAttempt: true, err: e.Err})
}
