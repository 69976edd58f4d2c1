package checkpoint

import (
	"fmt"
	"time"

	"github.com/cutwater-io/cutwater/internal/ident"
)

// Coordinator decides when the checkpoints of one job start and how they end. It
// is a state machine: it has no clock, no goroutine, no lock and does no I/O.
// One loop owns it and calls Step.
//
// Invariants, checked by [Coordinator.Check]:
//   - pending ascends by id, and at most one of it is triggering;
//   - at most one of it is publishing or resolving, so that log entries are in the
//     order of ids;
//   - every id given out lies below ids.next, and ids.next ≤ ids.end.
type Coordinator struct {
	cfg Config

	at  At
	out []Action // of the step that runs now; nil between steps

	// What is known of the job.
	jobRunning bool
	plan       *plan // nil: unknown
	// awaitRestore: a failover waits for its RestoreFrom.
	awaitRestore bool
	// awaitTasks: after a failover the plan is out of date until tasks change.
	awaitTasks bool

	// What waits to start, and the one that is being started. These are
	// Flink's isTriggering: it is true when starting.active or when one of
	// pending is triggering. There is no flag that could be forgotten (defect D1).
	queue    queue
	starting struct {
		active bool // drawn from the queue, waits for an id
		req    request
	}
	ids idBlock

	pending []*pending
	unused  []*pending // ended ones, to be used again
	expired expiredRing

	store       store
	failures    failureManager
	completedAt time.Duration // when the last success was processed
	anySuccess  bool          // completedAt is valid

	periodic struct {
		timer     TimerID       // 0: not scheduled
		plannedAt time.Duration // when it should fire
	}
	lastTimer TimerID // highest id given out

	closing bool // shut down, but something is outstanding
	purged  bool // the deletions of the shutdown were asked for
	closed  bool
	status  JobStatus // valid when closing

	slabs   slabs
	scratch []Retained
}

// idBlock is the rest of the ids reserved in the job log.
type idBlock struct {
	next, end ident.CheckpointID // ids in [next, end) may be used
	highest   ident.CheckpointID // highest id ever reserved for the job
	reserving bool               // a ReserveIDs is not answered yet
}

type slabs struct {
	reserveIDs           slab[ReserveIDs]
	snapshotCoordinators slab[SnapshotCoordinators]
	discardCoordinators  slab[DiscardCoordinators]
	sendTrigger          slab[SendTrigger]
	keepAck              slab[KeepAck]
	discardAck           slab[DiscardAck]
	writeManifest        slab[WriteManifest]
	publish              slab[Publish]
	resolvePublish       slab[ResolvePublish]
	notifyComplete       slab[NotifyComplete]
	notifyAborted        slab[NotifyAborted]
	discardPending       slab[DiscardPending]
	deleteCompleted      slab[DeleteCompleted]
	setTimer             slab[SetTimer]
	cancelTimer          slab[CancelTimer]
	resolve              slab[Resolve]
	failJob              slab[FailJob]
	restoreFrom          slab[RestoreFrom]
	closed               slab[Closed]
}

func (s *slabs) reset() {
	s.reserveIDs.used = 0
	s.snapshotCoordinators.used = 0
	s.discardCoordinators.used = 0
	s.sendTrigger.used = 0
	s.keepAck.used = 0
	s.discardAck.used = 0
	s.writeManifest.used = 0
	s.publish.used = 0
	s.resolvePublish.used = 0
	s.notifyComplete.used = 0
	s.notifyAborted.used = 0
	s.discardPending.used = 0
	s.deleteCompleted.used = 0
	s.setTimer.used = 0
	s.cancelTimer.used = 0
	s.resolve.used = 0
	s.failJob.used = 0
	s.restoreFrom.used = 0
	s.closed.used = 0
}

// New returns the coordinator of one job, in the state before its first event. It
// applies [Config.Effective]; the configuration must be valid.
func New(cfg Config) *Coordinator {
	if err := cfg.Validate(); err != nil {
		panic("checkpoint: " + err.Error())
	}
	cfg, _ = cfg.Effective()
	return &Coordinator{cfg: cfg, failures: failureManager{tolerable: cfg.TolerableFailures}}
}

// Step takes in what happened and appends to dst what must be done, in order. The
// actions are valid until the next Step. Step panics when an event contradicts
// the contract of the shell, for example an answer nobody asked for, because the
// state is then not to be trusted.
func (c *Coordinator) Step(dst []Action, ev Event) []Action {
	c.slabs.reset()
	c.out = dst
	if c.closed {
		if e, ok := ev.(Request); ok {
			c.onRequest(e)
		}
		return c.takeOut()
	}
	// Each case stamps the time itself: a method of the Event interface would
	// make every event escape to the heap.
	switch e := ev.(type) {
	case Restored:
		c.stamp(e.At)
		c.onRestored(e)
	case JobRunning:
		c.stamp(e.At)
		c.onJobRunning(e)
	case JobNotRunning:
		c.stamp(e.At)
		c.onJobNotRunning()
	case TasksChanged:
		c.stamp(e.At)
		c.onTasksChanged(e)
	case Failover:
		c.stamp(e.At)
		c.onFailover()
	case TimerFired:
		c.stamp(e.At)
		c.onTimerFired(e)
	case Request:
		c.stamp(e.At)
		c.onRequest(e)
	case IDsReserved:
		c.stamp(e.At)
		c.onIDsReserved(e)
	case CoordinatorsSnapshotted:
		c.stamp(e.At)
		c.onCoordinatorsSnapshotted(e)
	case TriggerFailed:
		c.stamp(e.At)
		c.onTriggerFailed(e)
	case Acked:
		c.stamp(e.At)
		c.onAcked(e)
	case Declined:
		c.stamp(e.At)
		c.onDeclined(e)
	case ManifestWritten:
		c.stamp(e.At)
		c.onManifestWritten(e)
	case Published:
		c.stamp(e.At)
		c.onPublished(e)
	case Deleted:
		c.stamp(e.At)
		c.onDeleted(e)
	case Shutdown:
		c.stamp(e.At)
		c.onShutdown(e)
	case Suspend:
		c.stamp(e.At)
		c.leave(false)
	default:
		panic("checkpoint: an event is nil or a pointer; events are passed by value")
	}
	c.advance()
	return c.takeOut()
}

// advance does what the event made possible. One place asks, after every event,
// what can go on; no transition has to remember whom it unblocks.
func (c *Coordinator) advance() {
	if c.closed {
		return
	}
	c.maybePublish()
	for c.mayStart() {
		c.start(c.queue.pop())
	}
	c.maybeAnswerFailover()
	c.maybeClose()
}

func (c *Coordinator) takeOut() []Action {
	out := c.out
	c.out = nil
	return out
}

func (c *Coordinator) stamp(at At) {
	at.Now = max(at.Now, c.at.Now)
	c.at = at
}

// find returns the pending checkpoint id, or nil.
func (c *Coordinator) find(id ident.CheckpointID) *pending {
	for _, p := range c.pending {
		if p.id == id {
			return p
		}
	}
	return nil
}

// remove takes p, which has its outcome now, off the list.
func (c *Coordinator) remove(p *pending) {
	for i, q := range c.pending {
		if q == p {
			copy(c.pending[i:], c.pending[i+1:])
			c.pending[len(c.pending)-1] = nil
			c.pending = c.pending[:len(c.pending)-1]
			c.unused = append(c.unused, p)
			return
		}
	}
	panic(fmt.Sprintf("checkpoint: %d is ended twice", p.id))
}

func (c *Coordinator) setTimer(after time.Duration) TimerID {
	c.lastTimer++
	a := c.slabs.setTimer.next()
	*a = SetTimer{Timer: c.lastTimer, After: after}
	c.out = append(c.out, a)
	return c.lastTimer
}

// cancelTimer cancels *t if there is one.
func (c *Coordinator) cancelTimer(t *TimerID) {
	if *t == 0 {
		return
	}
	a := c.slabs.cancelTimer.next()
	*a = CancelTimer{Timer: *t}
	c.out = append(c.out, a)
	*t = 0
}

// cause is why something failed: a reason, and who and what it came from.
type cause struct {
	reason     Reason
	attempt    ident.AttemptID
	hasAttempt bool
	err        error
}

// resolve tells how req ended. id is 0 when it never had one.
func (c *Coordinator) resolve(req request, id ident.CheckpointID, why cause) {
	a := c.slabs.resolve.next()
	*a = Resolve{Request: req.id, Kind: req.kind, ID: id, Reason: why.reason, Attempt: why.attempt, HasAttempt: why.hasAttempt, Err: why.err}
	c.out = append(c.out, a)
}

// countFailure lets the failure manager decide whether the job fails.
func (c *Coordinator) countFailure(req request, id ident.CheckpointID, why cause) {
	inRow, tooMany := c.failures.failed(req.kind, id, why.reason, why.hasAttempt)
	if !tooMany {
		return
	}
	byTask := why.hasAttempt && !why.reason.PreFlight()
	if byTask && (c.plan == nil || c.plan.expects(why.attempt) < 0) {
		return // that attempt is gone; its successor is not to blame (S096)
	}
	a := c.slabs.failJob.next()
	*a = FailJob{Reason: why.reason, HasAttempt: byTask, Failures: inRow, Err: why.err}
	if byTask {
		a.Attempt = why.attempt
	}
	c.out = append(c.out, a)
}

// LatestCompleted is the newest completed checkpoint in the job log; 0: none.
func (c *Coordinator) LatestCompleted() ident.CheckpointID { return c.store.latest() }

// Pending is the number of checkpoints that have an id and no outcome.
func (c *Coordinator) Pending() int { return len(c.pending) }

// Closed reports whether the coordinator has ended.
func (c *Coordinator) Closed() bool { return c.closed }
