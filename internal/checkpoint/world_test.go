package checkpoint

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/cutwater-io/cutwater/internal/ident"
)

// world is everything around the coordinator, with the job log as the truth that
// outlives it.
type world struct {
	rng    *rand.Rand
	cfg    Config
	c      *Coordinator
	ledger *Ledger
	now    time.Duration
	seen   map[string]int
	trace  []string

	// Durable, across lives of the coordinator.
	log      []ident.CheckpointID // completed and not deleted
	newest   ident.CheckpointID   // of all that ever were in the log
	reserved ident.CheckpointID
	used     ident.CheckpointID // highest id that tasks could have heard of
	inDoubt  map[ident.CheckpointID]bool

	tasks     []Task
	running   bool
	timers    []TimerID
	stale     []TimerID // fired or cancelled
	io        []func(failing bool) Event
	acks      []Acked
	requests  RequestID
	completed map[RequestID]bool
	restore   bool // a RestoreFrom came
	err       error
}

func newWorld(seed uint64) *world {
	w := &world{
		rng:       rand.New(rand.NewPCG(seed, 17)),
		seen:      map[string]int{},
		inDoubt:   map[ident.CheckpointID]bool{},
		completed: map[RequestID]bool{},
	}
	w.cfg = Config{
		Interval:          time.Duration(w.rng.IntN(3)) * 40 * time.Millisecond,
		Timeout:           time.Duration(50+w.rng.IntN(400)) * time.Millisecond,
		MinPause:          time.Duration(w.rng.IntN(2)*w.rng.IntN(100)) * time.Millisecond,
		MaxConcurrent:     1 + w.rng.IntN(3),
		MaxRetained:       1 + w.rng.IntN(3),
		TolerableFailures: w.rng.IntN(4) - 1,
		Retention:         Retention(w.rng.IntN(3)),
		Unaligned:         w.rng.IntN(2) == 0,
		IDBlock:           1 + w.rng.Uint64N(5),
	}
	for i := range 2 + w.rng.IntN(3) {
		w.tasks = append(w.tasks, Task{
			Attempt: ident.AttemptID{Subtask: ident.SubtaskID{Vertex: ident.VertexID(i)}},
			Trigger: i == 0, Running: true,
		})
	}
	w.birth()
	return w
}

// birth begins the life of a coordinator from what the log says.
func (w *world) birth() {
	w.c, w.ledger = New(w.cfg), &Ledger{}
	w.io, w.acks, w.timers, w.stale, w.restore = nil, nil, nil, nil, false
	w.running = false
	for i := range w.tasks {
		w.tasks[i].Attempt.Attempt++
		w.tasks[i].Running, w.tasks[i].Finished = true, false
	}
	if len(w.log) > 0 || w.reserved > 0 {
		e := Restored{Reserved: w.reserved}
		for _, id := range w.log {
			e.Retained = append(e.Retained, Retained{ID: id})
		}
		w.rng.Shuffle(len(e.Retained), func(i, j int) { e.Retained[i], e.Retained[j] = e.Retained[j], e.Retained[i] })
		w.step(e)
		if got := w.c.LatestCompleted(); got != w.newest {
			w.fail("recovery found %d, but the newest in the log is %d", got, w.newest)
		}
	}
	w.tell()
	w.run()
}

func (w *world) fail(format string, args ...any) {
	w.err = errors.Join(w.err, fmt.Errorf(format, args...))
}

func (w *world) tail() string {
	s := ""
	for _, line := range w.trace[max(0, len(w.trace)-60):] {
		s += line + "\n"
	}
	return s
}

func (w *world) run() {
	w.running = true
	w.step(JobRunning{Random: w.rng.Float64()})
}

// tell reports the tasks; if no source is left, all others are triggered.
func (w *world) tell() {
	sources := 0
	for _, t := range w.tasks {
		if t.Attempt.Subtask.Vertex == 0 && !t.Finished {
			sources++
		}
	}
	for i := range w.tasks {
		w.tasks[i].Trigger = w.tasks[i].Attempt.Subtask.Vertex == 0 || sources == 0
	}
	w.step(TasksChanged{Tasks: w.tasks})
}

func (w *world) step(ev Event) {
	if w.err != nil {
		return
	}
	ev = stamped(ev, At{Now: w.now, WallMillis: 1000 - w.now.Milliseconds()}) // the wall clock runs backwards
	w.trace = append(w.trace, "> "+ev.String())
	actions := w.c.Step(nil, ev)
	for _, a := range actions {
		w.trace = append(w.trace, a.String())
		w.seen[fmt.Sprintf("%T", a)]++
		w.do(a)
	}
	for _, p := range w.c.pending {
		if p.doomed != ReasonNone {
			w.seen["doomed"]++
		}
	}
	if err := errors.Join(w.c.Check(), w.ledger.Observe(ev, actions)); err != nil {
		w.err = errors.Join(w.err, err)
	}
}

// do begins what the coordinator wants; the I/O ends when its function is called.
func (w *world) do(a Action) {
	switch a := a.(type) {
	case *SetTimer:
		w.timers = append(w.timers, a.Timer)
	case *CancelTimer:
		w.timers = slices.DeleteFunc(w.timers, func(t TimerID) bool { return t == a.Timer })
		w.stale = append(w.stale, a.Timer)
	case *ReserveIDs:
		first := max(w.reserved, a.Above) + 1
		w.io = append(w.io, func(failing bool) Event { return w.reserve(first, a.Count, failing) })
	case *SnapshotCoordinators:
		id := a.ID
		if id <= w.used {
			w.fail("I2: id %d was used in an earlier life; %d was the highest", id, w.used)
		}
		w.used = id
		w.io = append(w.io, func(failing bool) Event {
			e := CoordinatorsSnapshotted{ID: id}
			if failing {
				e.Err = errors.New("enumerator")
			}
			return e
		})
	case *SendTrigger:
		for _, t := range w.tasks {
			if !t.Finished {
				w.acks = append(w.acks, Acked{ID: a.ID, Attempt: t.Attempt, Metrics: Metrics{Bytes: w.rng.Int64N(100) - 1}})
			}
		}
	case *WriteManifest:
		id := a.ID
		w.io = append(w.io, func(failing bool) Event {
			e := ManifestWritten{ID: id}
			if failing {
				e.Err = errors.New("disk full")
			}
			return e
		})
	case *Publish:
		id := a.ID
		w.io = append(w.io, func(failing bool) Event { return w.publish(id, failing) })
	case *ResolvePublish:
		id := a.ID
		w.io = append(w.io, func(failing bool) Event { return w.readBack(id, failing) })
	case *DeleteCompleted:
		id := a.ID
		w.io = append(w.io, func(failing bool) Event {
			e := Deleted{ID: id}
			if failing {
				e.Err = errors.New("access denied")
			}
			// The entry goes first, and goes even if the files stay.
			w.log = slices.DeleteFunc(w.log, func(x ident.CheckpointID) bool { return x == id })
			if id == w.newest && w.seen["shutdown"] == 0 {
				w.fail("I5: the newest checkpoint %d is deleted", id)
			}
			return e
		})
	case *Resolve:
		if a.Reason == ReasonNone && a.Request != 0 {
			w.completed[a.Request] = true
		}
	case *RestoreFrom:
		if a.ID != w.newest {
			w.fail("restore from %d, but the newest in the log is %d", a.ID, w.newest)
		}
		w.restore = true
	case *Closed:
		if a.Deposed {
			w.seen["deposed"]++
		}
	}
}

func (w *world) reserve(first ident.CheckpointID, count uint64, failing bool) Event {
	e := IDsReserved{First: first, Count: count}
	if failing {
		e.Outcome = Outcome(1 + w.rng.IntN(3))
		e.Err = errors.New("log")
	}
	if e.Outcome == OK || e.Outcome == Unknown && w.rng.IntN(2) == 0 {
		w.reserved = first + ident.CheckpointID(count) - 1
	}
	return e
}

func (w *world) append(id ident.CheckpointID) {
	w.log = append(w.log, id)
	w.newest = id
}

func (w *world) publish(id ident.CheckpointID, failing bool) Event {
	e := Published{ID: id}
	if failing {
		e.Outcome = Outcome(1 + w.rng.IntN(3))
		e.Err = errors.New("log")
	}
	switch e.Outcome {
	case OK:
		w.append(id)
	case Unknown:
		w.inDoubt[id] = w.rng.IntN(2) == 0
		if w.inDoubt[id] {
			w.append(id)
			w.seen["in doubt and there"]++
		} else {
			w.seen["in doubt and not there"]++
		}
	}
	return e
}

func (w *world) readBack(id ident.CheckpointID, failing bool) Event {
	e := Published{ID: id, Outcome: Failed}
	if w.inDoubt[id] {
		e.Outcome = OK
	}
	if failing {
		e.Outcome = Unknown
	}
	return e
}
