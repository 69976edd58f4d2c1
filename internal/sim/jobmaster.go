package main

import (
	"slices"
	"time"

	"github.com/cutwater-io/cutwater/internal/checkpoint"
	"github.com/cutwater-io/cutwater/internal/ident"
)

// jobMaster is one process that leads, or believes so, around a real Coordinator:
// what package jobmaster does, without state bytes, goroutines and errors' texts.
type jobMaster struct {
	w      *world
	n      int
	alive  bool
	claims bool // it has its token
	token  ident.FencingToken
	cfg    checkpoint.Config
	skew   time.Duration // of its clock
	paused time.Duration // it does not get to run until then

	coord    *checkpoint.Coordinator
	ledger   *checkpoint.Ledger
	events   []checkpoint.Event
	actions  []checkpoint.Action
	stepping bool
	lastAck  *state

	exec     execution
	gateways []*gateway // by source vertex
	held     map[ident.CheckpointID]*heldCheckpoint
	logQueue []func()
	logBusy  bool
	timers   map[checkpoint.TimerID]bool
	requests map[checkpoint.RequestID]func(ok bool)
	lastReq  checkpoint.RequestID
	complete []*cut // retained, as far as this process knows
	saved    []*cut // savepoints of this process
	restore  *cut
	links    []link             // to each TaskManager
	waiting  ident.CheckpointID // its snapshot of the enumerators waits for gateways

	decided bool // how the job ends
	status  checkpoint.JobStatus
	logging bool
	closed  bool
}

type heldCheckpoint struct {
	acks []*state
	free [][]int
	cut  *cut
}

// newJobMaster starts a process. With cfg nil it draws the configuration.
func (w *world) newJobMaster(cfg *checkpoint.Config) {
	if cfg == nil {
		cfg = &checkpoint.Config{
			Interval:          time.Duration(10+w.rng.IntN(90)) * time.Millisecond,
			Timeout:           time.Duration(20+w.rng.IntN(400)) * time.Millisecond,
			MinPause:          time.Duration(w.rng.IntN(2)*w.rng.IntN(60)) * time.Millisecond,
			MaxConcurrent:     1 + w.rng.IntN(3),
			MaxRetained:       1 + w.rng.IntN(3),
			TolerableFailures: w.rng.IntN(5) - 1,
			Unaligned:         false,
			IDBlock:           1 + w.rng.Uint64N(5),
		}
		if w.rng.IntN(8) == 0 {
			cfg.Interval = 5 * time.Minute // by hand, nearly; below maxHeal, since the next checkpoint repairs lost aborts
		}
	}
	jm := &jobMaster{
		w: w, n: len(w.jms) + 1, alive: true, cfg: *cfg, coord: checkpoint.New(*cfg), ledger: &checkpoint.Ledger{},
		held: map[ident.CheckpointID]*heldCheckpoint{}, timers: map[checkpoint.TimerID]bool{},
		requests: map[checkpoint.RequestID]func(bool){}, links: make([]link, len(w.tms)),
	}
	w.jms = append(w.jms, jm)
	w.say("jobmaster %d starts: interval %v, timeout %v, pause %v, concurrent %d, retained %d, tolerable %d, block %d", jm.n,
		cfg.Interval, cfg.Timeout, cfg.MinPause, cfg.MaxConcurrent, cfg.MaxRetained, cfg.TolerableFailures, cfg.IDBlock)
	jm.later(w.micros(100, 5_000), jm.claim)
}

// later runs do in the process, if it lives by then and when it gets to run.
func (jm *jobMaster) later(d time.Duration, do func()) {
	jm.w.after(d, func() { jm.run(do) })
}

func (jm *jobMaster) run(do func()) {
	switch {
	case !jm.alive:
	case jm.paused > jm.w.now:
		jm.w.at(jm.paused, func() { jm.run(do) })
	default:
		do()
	}
}

// claim takes the log over and begins.
func (jm *jobMaster) claim() {
	w := jm.w
	w.decide()
	if w.fault(failLog) || w.fault(unknownLog) {
		jm.later(w.micros(1_000, 20_000), jm.claim)
		return
	}
	if jm.n < len(w.jms) {
		jm.alive = false // another one was started meanwhile and is first
		return
	}
	w.log.token++
	jm.token, jm.claims = w.log.token, true
	w.say("log: claim token=%d", jm.token)
	if w.log.finished {
		w.done, jm.alive = true, false
		return
	}
	for _, tm := range w.tms {
		// Those that get no task of the new execution are fenced as well.
		jm.tell(tm, func() { tm.fence(jm.token) })
	}
	e := checkpoint.Restored{At: jm.now(), Reserved: w.log.nextID - 1}
	for _, c := range w.log.completed {
		e.Retained = append(e.Retained, checkpoint.Retained{ID: c.id})
		jm.complete = append(jm.complete, c)
	}
	if w.bug == reuseIDs {
		e.Reserved = 0
	}
	jm.step(e)
	if n := len(jm.complete); n > 0 {
		jm.restore = jm.complete[n-1]
	}
	jm.sweep()
	jm.exec.init(w, jm.restore)
	jm.startEnumerators()
	jm.deploy()
}

// sweep deletes what earlier processes left behind, but not what was written for a
// savepoint. Those are in no log, so a leader that does not know yet that it is
// deposed may still complete one and hand it to its user.
func (jm *jobMaster) sweep() {
	w := jm.w
	for n := range w.store {
		o := &w.store[n]
		used := func(c *cut) bool { return c.uses(n) }
		if o.there && o.id < w.log.nextID && !w.forUser[o.id] && !slices.ContainsFunc(w.log.completed, used) {
			w.remove(n)
		}
	}
}

func (jm *jobMaster) now() checkpoint.At {
	w := jm.w
	if w.fault(clockStep) {
		jm.skew += time.Duration(w.rng.IntN(400)-200) * time.Millisecond
	}
	at := checkpoint.At{Now: w.now, WallMillis: int64((w.now + jm.skew) / time.Millisecond)}
	if jm.skew < 0 {
		at.Now = max(0, at.Now+jm.skew/100) // the monotonic clock jitters back
	}
	return at
}

func (jm *jobMaster) step(ev checkpoint.Event) {
	jm.events = append(jm.events, ev)
	if jm.stepping {
		return
	}
	jm.stepping = true
	for len(jm.events) > 0 && jm.w.err == nil {
		ev := jm.events[0]
		jm.events = jm.events[1:]
		if jm.w.tracing {
			jm.w.say("jm%d > %v", jm.n, ev)
		}
		jm.actions = jm.coord.Step(jm.actions[:0], ev)
		jm.w.note('J', uint64(jm.n), uint64(len(jm.actions)))
		if err := jm.ledger.Observe(ev, jm.actions); err != nil {
			jm.w.violate("ledger", "jobmaster %d: %v", jm.n, err)
		}
		if err := jm.coord.Check(); err != nil {
			jm.w.violate("coordinator", "jobmaster %d: %v", jm.n, err)
		}
		for _, a := range jm.actions {
			if jm.w.tracing {
				jm.w.say("jm%d     %v", jm.n, a)
			}
			jm.act(a)
		}
	}
	jm.stepping = false
}

func (jm *jobMaster) hold(id ident.CheckpointID) *heldCheckpoint {
	if jm.held[id] == nil {
		jm.held[id] = &heldCheckpoint{}
	}
	return jm.held[id]
}

func (jm *jobMaster) act(a checkpoint.Action) {
	w := jm.w
	switch a := a.(type) {
	case *checkpoint.ReserveIDs:
		jm.reserve(a.Count)
	case *checkpoint.SnapshotCoordinators:
		if a.Kind == checkpoint.Savepoint {
			w.forUser[a.ID] = true
		}
		jm.snapshotCoordinators(a.ID)
	case *checkpoint.DiscardCoordinators:
		if h := jm.held[a.ID]; h != nil {
			delete(jm.held, a.ID)
		}
	case *checkpoint.SendTrigger:
		jm.trigger(a)
	case *checkpoint.KeepAck:
		h := jm.hold(a.ID)
		h.acks = append(h.acks, jm.lastAck)
	case *checkpoint.DiscardAck:
		if w.bug == keepAbortedAck {
			h := jm.hold(a.ID)
			h.acks = append(h.acks, jm.lastAck)
			return
		}
		// One that was delivered twice may name what a completed one owns.
		is := func(c *cut) bool { return c.id == a.ID }
		if !slices.ContainsFunc(jm.complete, is) && !slices.ContainsFunc(jm.saved, is) {
			w.remove(jm.lastAck.object)
		}
	case *checkpoint.WriteManifest:
		jm.writeManifest(a.ID, a.Kind)
	case *checkpoint.Publish:
		jm.publish(a.ID)
	case *checkpoint.ResolvePublish:
		jm.readBack(a.ID)
	case *checkpoint.NotifyComplete:
		jm.notifyComplete(a.ID, a.LastSubsumed, a.To)
	case *checkpoint.NotifyAborted:
		id, latest := a.ID, a.LatestCompleted
		if len(a.To) > 0 {
			w.seen[seenAborted]++
		}
		for _, to := range a.To {
			jm.notify(to, func(t *task) { t.aborted(id, latest) })
		}
		jm.reopen(a.ID)
	case *checkpoint.DiscardPending:
		jm.discard(a.ID)
	case *checkpoint.DeleteCompleted:
		jm.deleteCompleted(a.ID)
	case *checkpoint.SetTimer:
		id := a.Timer
		jm.timers[id] = true
		late := time.Duration(0)
		if w.fault(delayMessage) {
			late = w.micros(1_000, 100_000)
		}
		jm.later(a.After+late, func() {
			if jm.timers[id] {
				delete(jm.timers, id)
				jm.step(checkpoint.TimerFired{At: jm.now(), Timer: id})
			}
		})
	case *checkpoint.CancelTimer:
		delete(jm.timers, a.Timer)
	case *checkpoint.Resolve:
		if a.Reason == checkpoint.CheckpointSubsumed && a.Kind == checkpoint.Savepoint {
			w.violate("I3", "somebody asked for savepoint %d, and a checkpoint took its place", a.ID)
		}
		if a.Reason == checkpoint.ReasonNone && a.Kind == checkpoint.Savepoint {
			// Nobody is notified of a savepoint: this is its end.
			c := jm.held[a.ID].cut
			jm.saved = append(jm.saved, c)
			w.saved = append(w.saved, c)
			w.checkObjects(c)
			delete(jm.held, a.ID)
			jm.reopen(a.ID)
			w.seen[seenSavepoints]++
		}
		if done := jm.requests[a.Request]; done != nil {
			delete(jm.requests, a.Request)
			done(a.Reason == checkpoint.ReasonNone)
		}
	case *checkpoint.FailJob:
		w.seen[seenFailJob]++
		if jm.cfg.TolerableFailures == checkpoint.UnlimitedFailures || a.Failures <= jm.cfg.TolerableFailures {
			w.violate("I10", "%v, although %d are tolerated", a, jm.cfg.TolerableFailures)
		}
		jm.fail()
	case *checkpoint.RestoreFrom:
		jm.restoreFrom(a.ID)
	case *checkpoint.Closed:
		jm.onClosed(a.Deposed)
	}
}

func (jm *jobMaster) onClosed(deposed bool) {
	jm.closed = true
	if deposed {
		jm.w.seen[seenDeposed]++
		jm.die("is deposed")
		return
	}
	if len(jm.held) > 0 {
		jm.w.violate("I8", "jobmaster %d has closed and holds the parts of %d checkpoints", jm.n, len(jm.held))
	}
	jm.die("has ended")
}

// die ends the process: nothing of it is left but what it has stored and sent.
func (jm *jobMaster) die(why string) {
	if !jm.alive {
		return
	}
	jm.alive = false
	jm.w.say("jobmaster %d %s", jm.n, why)
	switch {
	case jm.w.log.finished:
		jm.w.done = true
	case jm == jm.w.jms[len(jm.w.jms)-1]:
		cfg := jm.cfg
		jm.w.after(jm.w.micros(1_000, 30_000), func() {
			if jm == jm.w.jms[len(jm.w.jms)-1] {
				jm.w.newJobMaster(&cfg)
			}
		})
	}
}

func (jm *jobMaster) discard(id ident.CheckpointID) {
	h := jm.held[id]
	if h == nil {
		return
	}
	delete(jm.held, id)
	for _, s := range h.acks {
		jm.w.remove(s.object)
	}
	if h.cut != nil && h.cut.written {
		jm.w.remove(h.cut.object)
	}
}
