package checkpoint

import (
	"errors"
	"fmt"

	"github.com/cutwater-io/cutwater/internal/ident"
)

// Ledger watches the events and actions of one coordinator from outside and keeps
// account of what the specification promises across steps: ids are new (I2), one
// outcome per id (I3), completion only of what is durable (I4), nothing durable or
// in doubt is deleted unless something newer is durable (I5), and everything held
// is released exactly once (I8). It shares no code with the coordinator. It is for
// tests and simulations; the zero value is ready.
type Ledger struct {
	errs []error

	ids         map[ident.CheckpointID]*ledgerID
	lastID      ident.CheckpointID // highest that was used
	firstFree   ident.CheckpointID // reserved ids that may be used: [firstFree, endFree)
	endFree     ident.CheckpointID
	reserved    ident.CheckpointID // highest ever
	durable     ident.CheckpointID // newest durable checkpoint
	requests    map[RequestID]bool // true: resolved
	timers      map[TimerID]bool   // true: alive
	lastTimer   TimerID
	tasks       int // that must acknowledge
	reserving   bool
	inLog       ident.CheckpointID // its Publish or ResolvePublish is not answered, or its outcome is in doubt
	ending      bool               // Shutdown seen
	silent      bool               // Suspend or Deposed seen: leave without a trace
	closed      bool
	awaitFailov bool
}

type ledgerID struct {
	expected       int // acknowledgements, when it was begun
	acks           map[ident.AttemptID]bool
	resolved       bool
	completed      bool
	aborted        bool // its abort was announced
	manifest       bool // written
	durable        bool
	foreign        bool
	released       bool // its payloads were let go
	deleted        bool
	awaitManifest  bool
	publishPending bool
}

func (l *Ledger) require(holds bool, format string, args ...any) {
	if !holds {
		l.errs = append(l.errs, fmt.Errorf(format, args...))
	}
}

func (l *Ledger) id(id ident.CheckpointID) *ledgerID {
	if l.ids == nil {
		l.ids = map[ident.CheckpointID]*ledgerID{}
		l.requests = map[RequestID]bool{}
		l.timers = map[TimerID]bool{}
	}
	e := l.ids[id]
	if e == nil {
		e = &ledgerID{acks: map[ident.AttemptID]bool{}}
		l.ids[id] = e
	}
	return e
}

// Observe accounts for one step and returns what was broken since the beginning.
func (l *Ledger) Observe(ev Event, actions []Action) error {
	l.id(0)
	wasClosed := l.closed
	l.event(ev)
	for _, a := range actions {
		l.action(a)
	}
	if wasClosed {
		for _, a := range actions {
			_, refusal := a.(*Resolve)
			l.require(refusal, "after the end: %v", a)
		}
	}
	return errors.Join(l.errs...)
}

func (l *Ledger) event(ev Event) {
	switch e := ev.(type) {
	case Restored:
		l.reserved, l.lastID = e.Reserved, e.Reserved
		for _, r := range e.Retained {
			x := l.id(r.ID)
			x.durable, x.resolved, x.completed, x.released, x.foreign = true, true, true, true, r.Foreign
			l.durable = max(l.durable, r.ID)
		}
	case TasksChanged:
		l.tasks = 0
		for _, t := range e.Tasks {
			if !t.Finished {
				l.tasks++
			}
		}
	case Request:
		l.requests[e.Request] = false
	case TimerFired:
		delete(l.timers, e.Timer)
	case IDsReserved:
		l.reserving = false
		l.silent = l.silent || e.Outcome == Deposed
		if e.Outcome == OK {
			l.firstFree, l.endFree = e.First, e.First+ident.CheckpointID(e.Count)
			l.reserved = max(l.reserved, l.endFree-1)
		}
	case ManifestWritten:
		x := l.id(e.ID)
		x.awaitManifest = false
		x.manifest = e.Err == nil
	case Published:
		if l.closed {
			return
		}
		x := l.id(e.ID)
		switch e.Outcome {
		case OK:
			l.inLog = 0
			x.durable = true
			l.require(e.ID > l.durable, "%d is durable after %d", e.ID, l.durable)
			l.durable = e.ID
		case Failed:
			l.inLog = 0
		case Deposed:
			l.silent = true
		}
		x.publishPending = false
	case Shutdown:
		l.ending = true
	case Suspend:
		l.silent = true
	case Failover:
		l.awaitFailov = true
	}
}

func (l *Ledger) action(a Action) {
	if l.silent {
		switch a.(type) {
		case *Resolve, *CancelTimer, *Closed:
		default:
			l.require(false, "a coordinator that does not lead any more does %v", a)
		}
	}
	switch a := a.(type) {
	case *ReserveIDs:
		l.require(!l.reserving, "ids are reserved twice at a time")
		l.require(a.Above == l.reserved, "ids are to be above %d, but %d was reserved", a.Above, l.reserved)
		l.reserving = true
	case *SnapshotCoordinators:
		l.require(a.ID > l.lastID, "I2: id %d is used after %d", a.ID, l.lastID)
		l.require(l.firstFree <= a.ID && a.ID < l.endFree, "I2: id %d is used, but reserved are %d to %d", a.ID, l.firstFree, l.endFree)
		l.lastID = a.ID
		l.id(a.ID).expected = l.tasks
	case *KeepAck:
		x := l.id(a.ID)
		l.require(!x.acks[a.Attempt] && !x.released, "I8: %v", a)
		x.acks[a.Attempt] = true
	case *DiscardAck:
		x := l.id(a.ID)
		l.require(!x.acks[a.Attempt] || x.released, "I8: a kept payload is deleted: %v", a)
	case *WriteManifest:
		x := l.id(a.ID)
		l.require(len(x.acks) == x.expected, "I1: %d of %d tasks acknowledged: %v", len(x.acks), x.expected, a)
		l.require(!x.resolved && !x.awaitManifest && !x.manifest, "%v", a)
		x.awaitManifest = true
	case *Publish:
		x := l.id(a.ID)
		l.require(x.manifest && l.inLog == 0 && !x.resolved && a.ID > l.durable, "%v with %d on its way", a, l.inLog)
		x.publishPending = true
		l.inLog = a.ID
	case *ResolvePublish:
		x := l.id(a.ID)
		l.require(l.inLog == a.ID && !x.publishPending, "%v", a)
		x.publishPending = true
	case *NotifyComplete:
		x := l.id(a.ID)
		l.require(x.durable, "I4: not durable: %v", a)
		l.require(x.completed && !x.aborted, "I3: %v", a)
	case *NotifyAborted:
		x := l.id(a.ID)
		l.require(!x.aborted && !x.completed && !x.durable, "I3: %v", a)
		l.require(l.id(a.LatestCompleted).durable || a.LatestCompleted == 0, "I4: not durable: %v", a)
		x.aborted = true
	case *DiscardPending:
		x := l.id(a.ID)
		l.require(!x.durable && l.inLog != a.ID && !x.awaitManifest, "I5: %v", a)
		l.require(!x.released, "I8: %v", a)
		x.released = true
	case *DeleteCompleted:
		x := l.id(a.ID)
		l.require(x.durable && !x.deleted && !x.foreign, "I5: %v", a)
		l.require(a.ID < l.durable || l.ending, "I5: the newest is deleted: %v", a)
		x.deleted = true
	case *SetTimer:
		l.require(a.Timer > l.lastTimer && a.After >= 0, "%v", a)
		l.lastTimer = a.Timer
		l.timers[a.Timer] = true
	case *CancelTimer:
		l.require(l.timers[a.Timer], "I8: not alive: %v", a)
		delete(l.timers, a.Timer)
	case *Resolve:
		l.resolve(a)
	case *RestoreFrom:
		l.require(l.awaitFailov, "nobody asked: %v", a)
		l.require(a.ID == l.durable && l.inLog == 0, "with %d durable and %d on its way: %v", l.durable, l.inLog, a)
		l.awaitFailov = false
	case *Closed:
		l.require(!l.closed, "closed twice")
		l.closed = true
		for t := range l.timers {
			l.require(false, "I8: timer %d outlives the coordinator", t)
		}
		if open := l.Open(); open != "" {
			l.require(false, "I8: at the end %s", open)
		}
	}
}

func (l *Ledger) resolve(a *Resolve) {
	if a.Request != 0 {
		done, known := l.requests[a.Request]
		l.require(known && !done, "I8: not asked, or answered before: %v", a)
		l.requests[a.Request] = true
	}
	if a.ID == 0 {
		l.require(a.Reason != ReasonNone, "success without an id: %v", a)
		return
	}
	x := l.id(a.ID)
	l.require(!x.resolved, "I3: a second outcome: %v", a)
	x.resolved = true
	if a.Reason != ReasonNone {
		l.require(!x.durable, "I3: durable, but %v", a)
		return
	}
	l.require(x.manifest && (x.durable || a.Kind == Savepoint), "I4: %v", a)
	l.require(!x.released, "I8: %v", a)
	x.completed, x.released = true, true
}

// Open says what has no end yet, or nothing. It is empty when the coordinator
// rests and when it has closed.
func (l *Ledger) Open() string {
	for id, x := range l.ids {
		if id != 0 && !x.resolved && (x.expected > 0 || x.manifest) {
			return fmt.Sprintf("checkpoint %d has no outcome", id)
		}
	}
	for r, done := range l.requests {
		if !done {
			return fmt.Sprintf("request %d has no answer", r)
		}
	}
	return ""
}
