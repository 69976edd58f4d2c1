package main

import (
	"time"

	"github.com/cutwater-io/cutwater/internal/checkpoint"
	"github.com/cutwater-io/cutwater/internal/ident"
)

// execution is the present attempt of every subtask; all are restarted together.
type execution struct {
	par     []int
	attempt int32
	tasks   []taskRecord
	first   []int // index of each vertex's first subtask in tasks
	failing bool
	waiting bool
	ended   int
}

type taskRecord struct {
	attempt ident.AttemptID
	state   taskState
	data    bool
}

type taskState uint8

const (
	deploying taskState = iota
	running
	finished
	gone // canceled or failed
)

// init fixes the parallelism of this process's life: that of the checkpoint, or
// another one.
func (x *execution) init(w *world, restore *cut) {
	if restore != nil && !w.fault(rescaleJob) {
		x.par = restore.par
	} else {
		x.par = w.g.parallelism(w.rng)
		if restore != nil {
			w.seen[seenRescaled]++
			w.say("rescale from %v to %v", restore.par, x.par)
		}
	}
	for v, p := range x.par {
		x.first = append(x.first, len(x.tasks))
		for i := range p {
			x.tasks = append(x.tasks, taskRecord{state: gone, attempt: ident.AttemptID{Subtask: ident.SubtaskID{Vertex: ident.VertexID(v), Index: int32(i)}}})
		}
	}
}

func (x *execution) at(s ident.SubtaskID) *taskRecord {
	return &x.tasks[x.first[s.Vertex]+int(s.Index)]
}

func (x *execution) allEnded() bool {
	for i := range x.tasks {
		if x.tasks[i].state < finished {
			return false
		}
	}
	return true
}

func (x *execution) count(s taskState) (n int) {
	for i := range x.tasks {
		if x.tasks[i].state == s {
			n++
		}
	}
	return n
}

func (x *execution) attempts() (list []ident.AttemptID) {
	for i := range x.tasks {
		list = append(list, x.tasks[i].attempt)
	}
	return list
}

func (jm *jobMaster) deploy() {
	x := &jm.exec
	x.attempt++
	x.failing, x.ended = false, 0
	w := jm.w
	w.seen[seenDeployed]++
	w.say("jobmaster %d deploys attempt %d from checkpoint %d at %v", jm.n, x.attempt, restoredID(jm.restore), x.par)
	for i := range x.tasks {
		r := &x.tasks[i]
		r.attempt.Attempt, r.state, r.data = x.attempt, deploying, false
	}
	for _, g := range jm.gateways {
		g.attach()
	}
	jm.tasksChanged()
	restored := w.deal(jm.restore, x.par)
	net := newNetwork(jm)
	for i := range x.tasks {
		a := x.tasks[i].attempt
		tm := jm.host(a)
		st := restored[i]
		jm.tell(tm, func() { tm.deploy(jm, a, net, st) })
	}
}

func restoredID(c *cut) ident.CheckpointID {
	if c == nil {
		return 0
	}
	return c.id
}

func (jm *jobMaster) tasksChanged() {
	x := &jm.exec
	tasks := make([]checkpoint.Task, 0, len(x.tasks))
	for i := range x.tasks {
		r := &x.tasks[i]
		tasks = append(tasks, checkpoint.Task{Attempt: r.attempt, Trigger: jm.triggered(r.attempt.Subtask), Running: r.state == running, Finished: r.state == finished})
	}
	jm.step(checkpoint.TasksChanged{At: jm.now(), Tasks: tasks})
}

// triggered: no barrier reaches the subtask, because it is a source or everybody
// before it has finished.
func (jm *jobMaster) triggered(s ident.SubtaskID) bool {
	x := &jm.exec
	for _, e := range jm.w.g.vertices[s.Vertex].in {
		one := e.how == pointwise && x.par[e.from] == x.par[s.Vertex]
		for i := range x.par[e.from] {
			if (!one || i == int(s.Index)) && x.tasks[x.first[e.from]+i].state != finished {
				return false
			}
		}
	}
	return true
}

// record finds the present attempt that a message is from, nil for the past's.
func (jm *jobMaster) record(token ident.FencingToken, a ident.AttemptID) *taskRecord {
	x := &jm.exec
	if token != jm.token || int(a.Subtask.Vertex) >= len(x.par) || int(a.Subtask.Index) >= x.par[a.Subtask.Vertex] {
		return nil
	}
	if r := x.at(a.Subtask); r.attempt == a {
		return r
	}
	return nil
}

func (jm *jobMaster) taskStateChanged(token ident.FencingToken, a ident.AttemptID, s taskState, failed bool) {
	r := jm.record(token, a)
	if r == nil || r.state >= finished {
		return
	}
	if jm.w.tracing {
		jm.w.say("jm%d hears: task %v is %v", jm.n, a, [...]string{"deploying", "running", "finished", "gone"}[s])
	}
	if s == gone {
		jm.fail()
	}
	r.state = s
	switch {
	case jm.decided:
		jm.maybeClose()
	case jm.exec.failing:
		jm.maybeRestart()
	default:
		jm.tasksChanged()
		if s == running && jm.exec.count(running) == len(jm.exec.tasks) {
			jm.step(checkpoint.JobRunning{At: jm.now(), Random: jm.w.rng.Float64()})
		}
		if jm.exec.count(finished) == len(jm.exec.tasks) {
			jm.end(checkpoint.Finished)
		}
	}
}

func (jm *jobMaster) end(s checkpoint.JobStatus) {
	if jm.decided {
		return
	}
	jm.decided, jm.status = true, s
	jm.w.say("jobmaster %d ends the job: %v", jm.n, s)
	jm.cancelTasks()
	jm.maybeClose()
}

// fail begins the failover of all tasks.
func (jm *jobMaster) fail() {
	if jm.decided || jm.exec.failing || !jm.claims {
		return
	}
	jm.exec.failing = true
	jm.w.say("jobmaster %d fails the execution", jm.n)
	jm.step(checkpoint.JobNotRunning{At: jm.now()})
	jm.cancelTasks()
	jm.later(0, jm.maybeRestart)
}

func (jm *jobMaster) cancelTasks() {
	for i := range jm.exec.tasks {
		if r := &jm.exec.tasks[i]; r.state < finished {
			a, tm := r.attempt, jm.host(r.attempt)
			jm.tell(tm, func() { tm.cancel(jm, a) })
		}
	}
}

func (jm *jobMaster) maybeRestart() {
	x := &jm.exec
	if !x.failing || !x.allEnded() || jm.decided || x.waiting {
		return
	}
	x.waiting = true
	jm.later(jm.w.micros(500, 20_000), func() {
		if !jm.decided {
			jm.step(checkpoint.Failover{At: jm.now()})
		}
	})
}

func (jm *jobMaster) restoreFrom(id ident.CheckpointID) {
	jm.later(0, func() {
		if jm.decided {
			return
		}
		w := jm.w
		jm.exec.waiting = false
		if w.fault(failRestore) {
			jm.maybeRestart()
			return
		}
		jm.restore = nil
		for i, c := range jm.complete {
			if c.id == id {
				jm.restore = c
				if w.bug == restoreOlder && i > 0 {
					jm.restore = jm.complete[i-1]
				}
			}
		}
		if id != w.log.highest && jm.token == w.log.token {
			w.violate("I9", "restore from checkpoint %d, but the newest in the log is %d", id, w.log.highest)
		}
		if id != 0 && jm.restore == nil {
			w.violate("I5", "restore from checkpoint %d, which is not in the log", id)
			return
		}
		if jm.token < w.log.token && jm.restore != nil && !w.stored(jm.restore) {
			// Its successor has deleted it. The log tells who leads, not this.
			jm.maybeRestart()
			return
		}
		jm.startEnumerators()
		jm.deploy()
	})
}

func (jm *jobMaster) endOfData(token ident.FencingToken, a ident.AttemptID) {
	r := jm.record(token, a)
	if r == nil || r.data {
		return
	}
	r.data = true
	jm.exec.ended++
	if jm.exec.ended == len(jm.exec.tasks) {
		jm.finalCheckpoint()
	}
}

func (jm *jobMaster) finalCheckpoint() {
	attempt := jm.exec.attempt
	still := func() bool { return !jm.decided && !jm.exec.failing && jm.exec.attempt == attempt }
	jm.request(checkpoint.Checkpoint, func(ok bool) {
		switch {
		case !still():
		case ok:
			// Behind the notifications of this checkpoint.
			jm.later(0, func() { jm.finishTasks(jm.coord.LatestCompleted()) })
		default:
			jm.later(time.Second, func() {
				if still() {
					jm.finalCheckpoint()
				}
			})
		}
	})
}

func (jm *jobMaster) finishTasks(id ident.CheckpointID) {
	if jm.w.bug != checkpointWhileFinishing {
		// A checkpoint of the tasks that have not finished yet would be without the
		// state of those that have.
		jm.step(checkpoint.JobNotRunning{At: jm.now()})
	}
	if jm.w.bug == finishUnnamed {
		id = 0
	}
	for i := range jm.exec.tasks {
		a, tm := jm.exec.tasks[i].attempt, jm.host(jm.exec.tasks[i].attempt)
		jm.tell(tm, func() { tm.with(jm.token, a, func(t *task) { t.finish(id) }) })
	}
}

func (jm *jobMaster) request(k checkpoint.Kind, done func(ok bool)) {
	jm.lastReq++
	jm.requests[jm.lastReq] = done
	jm.step(checkpoint.Request{At: jm.now(), Request: jm.lastReq, Kind: k, Forced: jm.w.chance(0.1)})
}
