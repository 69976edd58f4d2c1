package main

import (
	"github.com/cutwater-io/cutwater/internal/barrier"
	"github.com/cutwater-io/cutwater/internal/ident"
)

// taskManager is a process that hosts tasks. When it crashes another one takes its
// place at once; the JobMaster hears of the tasks that are gone.
type taskManager struct {
	w     *world
	n     int
	token ident.FencingToken // highest seen: smaller ones are deposed leaders
	tasks map[taskKey]*task  // looked up only: its order reaches nothing
	order []*task
}

// fence stops whatever a deposed leader has running here.
func (tm *taskManager) fence(token ident.FencingToken) {
	if token <= tm.token {
		return
	}
	tm.token = token
	for _, t := range tm.order {
		if t.token < token {
			t.kill()
		}
	}
	tm.forget()
}

// forget drops tasks that are over, so that lists stay short.
func (tm *taskManager) forget() {
	kept := tm.order[:0]
	for _, t := range tm.order {
		if t.over {
			delete(tm.tasks, taskKey{t.token, t.attempt})
		} else {
			kept = append(kept, t)
		}
	}
	tm.order = kept
}

// with runs do in a task that lives here; false: it does not.
func (tm *taskManager) with(token ident.FencingToken, a ident.AttemptID, do func(*task)) bool {
	t := tm.tasks[taskKey{token, a}]
	if t == nil || t.over || token < tm.token {
		return false
	}
	do(t)
	return true
}

func (tm *taskManager) cancel(jm *jobMaster, a ident.AttemptID) {
	if tm.with(jm.token, a, func(t *task) { t.fail("is canceled") }) {
		tm.forget()
		return
	}
	// Not here: it never came, or went with the process before this one.
	jm.w.after(jm.w.latency(), func() { jm.run(func() { jm.taskStateChanged(jm.token, a, gone, true) }) })
}

func (tm *taskManager) deploy(jm *jobMaster, a ident.AttemptID, net *network, restored *state) {
	if jm.token < tm.token {
		return
	}
	tm.fence(jm.token)
	w := tm.w
	t := &task{w: w, tm: tm, jm: jm, token: jm.token, attempt: a, v: int(a.Subtask.Vertex), net: net, state: *restored, asyncs: map[ident.CheckpointID]*part{}}
	t.restored = restoredID(net.from)
	tm.tasks[taskKey{jm.token, a}] = t
	tm.order = append(tm.order, t)
	var counts []int32
	for _, chans := range net.gates(t) {
		counts = append(counts, int32(len(chans)))
		t.in = append(t.in, chans...)
	}
	if len(t.in) > 0 {
		t.aligner = barrier.NewAligner(barrier.Config{Channels: counts, AfterFinish: true, Restored: t.restored})
	}
	t.openIn = len(t.in)
	t.blocks = make([]bool, len(t.in))
	t.promises.blockedFor = make([]ident.CheckpointID, len(t.in))
	t.snaps = barrier.NewSnapshots(barrier.TaskConfig{HasInputs: len(t.in) > 0, Restored: t.restored})
	for _, c := range t.in {
		c.to = t
	}
	net.join(t)
	w.after(w.micros(100, 10_000), t.open)
}

// crash ends the process and all its tasks without a word; connections break.
func (tm *taskManager) crash() {
	tm.w.say("taskmanager %d crashes", tm.n)
	for _, t := range tm.order {
		if t.over {
			continue
		}
		t.kill()
		t.report(func(jm *jobMaster) { jm.taskStateChanged(t.token, t.attempt, gone, true) })
	}
	tm.forget()
}
