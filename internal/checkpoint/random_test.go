package checkpoint

import (
	"slices"
	"testing"
	"time"
)

// TestAnyScheduleKeepsTheInvariantsAndHeals drives coordinators through random
// schedules: I/O that fails or whose outcome is unknown, lost and repeated
// messages, late timers, restarts of tasks, lost leadership, crashes. After every
// step the invariants are checked. Then the world heals, and a checkpoint that is
// asked for must complete.
func TestAnyScheduleKeepsTheInvariantsAndHeals(t *testing.T) {
	schedules := 3000
	if testing.Short() {
		schedules = 400
	}
	seen := map[string]int{}
	for seed := range uint64(schedules) {
		w := newWorld(seed)
		if err := w.live(120); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, w.tail())
		}
		if err := w.heal(); err != nil {
			t.Fatalf("seed %d, healing: %v\n%s", seed, err, w.tail())
		}
		for name, n := range w.seen {
			seen[name] += n
		}
	}
	// A schedule that never reaches a transition proves nothing about it.
	for _, name := range []string{
		"*checkpoint.DiscardCoordinators", "*checkpoint.DiscardAck", "*checkpoint.ResolvePublish",
		"*checkpoint.NotifyComplete", "*checkpoint.DeleteCompleted", "*checkpoint.FailJob", "*checkpoint.RestoreFrom",
		"deposed", "crash", "suspend", "shutdown", "in doubt and there", "in doubt and not there", "doomed",
	} {
		if seen[name] == 0 && schedules > 1000 {
			t.Errorf("no schedule reached %s", name)
		}
	}
}

// live lets n random things happen.
func (w *world) live(n int) error {
	for range n {
		w.now += time.Duration(w.rng.IntN(20)) * time.Millisecond
		w.something()
		if w.c.Closed() && w.seen["shutdown"] == 0 {
			w.birth() // another process takes over
		}
		if w.err != nil {
			return w.err
		}
	}
	return nil
}

func (w *world) something() {
	switch x := w.rng.IntN(1000); {
	case x < 380:
		if i, ok := pick(w, w.acks); ok {
			ack := w.acks[i]
			if w.rng.IntN(10) > 0 {
				w.acks = slices.Delete(w.acks, i, i+1)
			}
			w.step(ack)
		}
	case x < 640:
		w.finishIO(w.rng.IntN(8) == 0)
	case x < 760:
		if i, ok := pick(w, w.timers); ok {
			timer := w.timers[i]
			w.timers = slices.Delete(w.timers, i, i+1)
			w.stale = append(w.stale, timer)
			w.step(TimerFired{Timer: timer})
		}
	case x < 770:
		if i, ok := pick(w, w.stale); ok {
			w.step(TimerFired{Timer: w.stale[i]})
		}
	case x < 890:
		w.request()
	case x < 920:
		if i, ok := pick(w, w.acks); ok {
			a := w.acks[i]
			w.acks = slices.Delete(w.acks, i, i+1)
			w.step(Declined{ID: a.ID, Attempt: a.Attempt, Reason: Reason(w.rng.IntN(int(reasonEnd)))})
		}
	case x < 935:
		if i, ok := pick(w, w.acks); ok {
			w.step(TriggerFailed{ID: w.acks[i].ID, Attempt: w.acks[i].Attempt})
		}
	case x < 950:
		w.changeTask()
	case x < 965:
		w.failover()
	case x < 975:
		w.running = false
		w.step(JobNotRunning{})
	case x < 988:
		w.run()
	case x < 993:
		w.seen["suspend"]++
		w.step(Suspend{})
	case x < 998:
		if w.seen["shutdown"] > 0 {
			return // the job has ended; nobody begins a new life of it
		}
		w.seen["crash"]++
		w.trace = append(w.trace, "crash")
		w.birth()
	default:
		w.seen["shutdown"]++
		w.step(Shutdown{Status: JobStatus(w.rng.IntN(3))})
	}
}

func pick[T any](w *world, list []T) (int, bool) {
	if len(list) == 0 {
		return 0, false
	}
	return w.rng.IntN(len(list)), true
}

func (w *world) finishIO(failing bool) {
	if i, ok := pick(w, w.io); ok {
		f := w.io[i]
		w.io = slices.Delete(w.io, i, i+1)
		w.step(f(failing))
	}
}

func (w *world) request() RequestID {
	w.requests++
	w.step(Request{Request: w.requests, Kind: Kind(w.rng.IntN(4) / 3), Forced: w.rng.IntN(8) == 0})
	return w.requests
}

func (w *world) changeTask() {
	i := w.rng.IntN(len(w.tasks))
	switch w.rng.IntN(3) {
	case 0:
		w.tasks[i].Finished, w.tasks[i].Running = true, false
	case 1:
		w.tasks[i].Running = false
	case 2:
		w.tasks[i].Attempt.Attempt++
		w.tasks[i].Running, w.tasks[i].Finished = true, false
	}
	w.tell()
}

// failover announces one; if the restore point is known in time, tasks restart.
func (w *world) failover() {
	w.restore = false
	w.step(Failover{})
	for range 5 {
		if w.restore {
			break
		}
		w.finishIO(false)
	}
	if !w.restore {
		return
	}
	for i := range w.tasks {
		w.tasks[i].Attempt.Attempt++
		w.tasks[i].Running, w.tasks[i].Finished = true, false
	}
	w.tell()
}

// heal lets everything succeed from now on and wants one checkpoint.
func (w *world) heal() error {
	if w.seen["shutdown"] > 0 {
		w.drain()
		if w.err == nil && !w.c.Closed() {
			w.fail("the shutdown does not end")
		}
		return w.err
	}
	w.failover()
	w.drain()
	if !w.restore {
		w.fail("no restore point")
	}
	w.acks = nil
	for i := range w.tasks {
		w.tasks[i].Attempt.Attempt++
		w.tasks[i].Running, w.tasks[i].Finished = true, false
	}
	w.tell()
	w.run()
	w.requests++
	last := w.requests
	w.step(Request{Request: last})
	w.drain()
	if w.err == nil && !w.completed[last] {
		w.fail("request %d did not complete", last)
	}
	w.seen["shutdown"]++
	w.step(Shutdown{})
	w.drain()
	if w.err == nil && !w.c.Closed() {
		w.fail("the shutdown does not end")
	}
	return w.err
}

// drain answers whatever is open, well. Timers fire only when nothing else is
// left to do, and those of the period never, because that would not end.
func (w *world) drain() {
	for range 10000 {
		switch {
		case w.err != nil:
			return
		case len(w.io) > 0:
			w.finishIO(false)
		case len(w.acks) > 0:
			ack := w.acks[0]
			w.acks = w.acks[1:]
			w.step(ack)
		default:
			i := slices.IndexFunc(w.timers, func(t TimerID) bool { return t != w.c.periodic.timer })
			if i < 0 {
				return
			}
			timer := w.timers[i]
			w.timers = slices.Delete(w.timers, i, i+1)
			w.step(TimerFired{Timer: timer})
		}
	}
	w.fail("the world does not come to rest")
}
