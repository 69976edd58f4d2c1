package main

import (
	"github.com/cutwater-io/cutwater/internal/barrier"
	"github.com/cutwater-io/cutwater/internal/ident"
)

// task is one attempt of a subtask around the real cores: what package task does.
type task struct {
	w        *world
	tm       *taskManager
	jm       *jobMaster // that deployed it
	token    ident.FencingToken
	attempt  ident.AttemptID
	v        int
	net      *network
	restored ident.CheckpointID

	aligner *barrier.Aligner // nil without inputs
	snaps   *barrier.Snapshots
	in      []*channel
	blocks  []bool // by input channel
	out     []output
	openIn  int // channels whose data has not ended

	state
	unstaged []int32 // the writer's open transaction
	upTo     ident.CheckpointID
	retrying bool
	asyncs   map[ident.CheckpointID]*part
	promises promises

	running, over, scheduled, held bool
	noMore, asked, dataEnded       bool
	mayEnd, ended, ending, drained bool
}

// part is the asynchronous part of a checkpoint.
type part struct {
	state  *state
	closed bool
}

// open restores the state, commits what the checkpoint prepared, and reports that
// the task runs.
func (t *task) open() {
	w := t.w
	if t.over {
		return
	}
	if w.fault(failRestore) {
		t.fail("cannot restore its state")
		return
	}
	t.upTo = t.restored
	if w.bug != noCommitOnRestore {
		t.commitDue()
		if len(t.pending) > 0 {
			w.after(w.micros(1_000, 10_000), t.open) // no new record before that
			return
		}
	} else {
		t.pending = nil
	}
	t.running = true
	t.step(barrier.Running{})
	token, a := t.token, t.attempt
	t.report(func(jm *jobMaster) { jm.taskStateChanged(token, a, running, false) })
	if t.kind() == source {
		t.report(func(jm *jobMaster) { jm.reader(token, a, false) })
	}
	t.wake()
}

func (jm *jobMaster) reader(token ident.FencingToken, a ident.AttemptID, wants bool) {
	if jm.record(token, a) != nil {
		jm.gateways[a.Subtask.Vertex].event(a, wants)
	}
}

func (t *task) kind() kind { return t.w.g.vertices[t.v].kind }

// kill ends the task without a word, as when its process dies or is fenced.
func (t *task) kill() {
	if t.over {
		return
	}
	t.stepBoth(barrier.Closed{})
	t.over = true
	for _, c := range t.in { // senders do not wait for it any more
		if c.from != nil && c.from.held {
			c.from.wake()
		}
	}
}

func (t *task) fail(why string) {
	if t.over {
		return
	}
	t.w.say("task %v %s", t.attempt, why)
	t.kill()
	token, a := t.token, t.attempt
	t.report(func(jm *jobMaster) { jm.taskStateChanged(token, a, gone, true) })
}

func (t *task) wake() {
	if t.scheduled || t.over || !t.running {
		return
	}
	t.scheduled = true
	lo, hi := 20, 400
	if t.kind() == source {
		lo, hi = 300, 6_000
	}
	t.w.after(t.w.micros(lo, hi), t.work)
}

// work does one thing: a record of the source, or an element of an input.
func (t *task) work() {
	t.scheduled = false
	if t.over {
		return
	}
	if t.mayEnd {
		t.close()
		return
	}
	t.held = false
	for i := range t.out {
		if t.out[i].full() {
			t.held = true
			return
		}
	}
	if t.kind() == source {
		t.poll()
		return
	}
	ready, n := -1, 0
	for i, c := range t.in {
		if !t.blocks[i] && !c.empty() {
			n++
			if t.w.rng.IntN(n) == 0 {
				ready = i
			}
		}
	}
	if ready < 0 {
		return
	}
	t.read(ready)
	t.wake()
}

// read takes one element from a channel.
func (t *task) read(i int) {
	c := t.in[i]
	e := c.pop()
	switch e.kind {
	case record:
		t.process(c, e.n)
	case transaction:
		t.pending = append(t.pending, int(e.n))
	case barrierMark:
		t.align(barrier.Barrier{Channel: c.id, Checkpoint: e.id, TimestampMillis: e.ts, Now: t.moment()})
	case cancelMark:
		t.w.seen[seenCancelMarks]++
		t.align(barrier.CancelMarker{Channel: c.id, Checkpoint: e.id})
	case endOfDataMark:
		t.openIn--
		if t.openIn == 0 {
			t.endData()
		}
	case endOfPartition:
		t.align(barrier.EndOfPartition{Channel: c.id, Now: t.moment()})
	}
}

func (t *task) moment() barrier.Moment {
	return barrier.Moment{Nanos: int64(t.w.now), WallMillis: int64((t.w.now + t.jm.skew) / 1e6)}
}

// align steps the aligner and carries out what it says.
func (t *task) align(ev barrier.Event) {
	if t.aligner == nil || t.over {
		return
	}
	if t.w.tracing {
		t.w.say("%v > %v", t.attempt, ev)
	}
	actions := t.aligner.Step(nil, ev)
	t.promises.depth++
	defer func() { t.promises.depth-- }()
	t.w.note('A', uint64(t.attempt.Subtask.Vertex)<<8|uint64(t.attempt.Subtask.Index), uint64(len(actions)))
	for _, a := range actions {
		if t.over {
			return
		}
		if t.w.tracing {
			t.w.say("%v     %v", t.attempt, a)
		}
		switch a := a.(type) {
		case barrier.Block:
			t.promises.blocked(t, t.aligner.Pending())
			if t.w.bug != noBlocking {
				t.block(a.Channel, true)
			}
		case barrier.Unblock:
			if t.w.bug != noBlocking {
				t.block(a.Channel, false)
				t.wake()
			}
		case barrier.Perform:
			if t.w.bug == unblockBeforePerform {
				t.readBlocked()
			}
			t.step(a)
		case barrier.Abort:
			t.step(a)
			t.promises.gaveUp(t, a.Checkpoint)
		}
	}
	t.promises.aligned(t)
}

func (t *task) block(c ident.ChannelID, on bool) {
	i := t.aligner.Index(c)
	if t.blocks[i] == on {
		t.w.violate("I8", "task %v: channel %v is blocked or unblocked twice", t.attempt, c)
	}
	t.blocks[i] = on
	t.promises.blockedFor[i] = t.aligner.Pending()
}

// step steps the core of the task's checkpoints and carries out what it says.
func (t *task) step(ev barrier.TaskEvent) {
	actions := t.snaps.Step(nil, ev)
	if t.w.tracing {
		t.w.say("%v > %v", t.attempt, ev)
	}
	t.w.note('T', uint64(t.attempt.Subtask.Vertex)<<8|uint64(t.attempt.Subtask.Index), uint64(len(actions)))
	for _, a := range actions {
		if t.w.tracing {
			t.w.say("%v     %v", t.attempt, a)
		}
		if !t.act(a) {
			return
		}
	}
}

// act carries out one action; false: the task has failed.
func (t *task) act(a barrier.TaskAction) bool {
	switch a := a.(type) {
	case barrier.AlignTrigger:
		t.align(a.Trigger)
	case barrier.Snapshot:
		t.perform(a.Perform)
	case barrier.StartAsync:
		t.startAsync(a.Checkpoint)
	case barrier.CloseAsync:
		t.asyncs[a.Checkpoint].closed = true
	case barrier.DiscardAsync:
		if p := t.asyncs[a.Checkpoint]; p != nil {
			delete(t.asyncs, a.Checkpoint)
			t.w.remove(p.state.object)
		}
	case barrier.Acknowledge:
		p := t.asyncs[a.Checkpoint]
		delete(t.asyncs, a.Checkpoint)
		if p.closed {
			t.w.violate("I8", "task %v acknowledges %d, whose part was closed", t.attempt, a.Checkpoint)
		}
		t.acknowledge(a.Checkpoint, p.state)
	case barrier.Decline:
		t.decline(a.Checkpoint, a.Reason.String())
	case barrier.BroadcastCancel:
		t.promises.cancelled = a.Checkpoint
		t.all(element{kind: cancelMark, id: a.Checkpoint})
	case barrier.DeliverComplete:
		t.promises.delivered(t, a.Checkpoint)
		t.upTo = max(t.upTo, a.Checkpoint)
		t.commitDue()
	case barrier.FailTask:
		t.fail(a.String())
		return false
	case barrier.Finish:
		t.mayEnd = true
		t.wake()
	case barrier.Drained:
		t.drained = true
	}
	return !t.over
}

// stepBoth: Snapshots first, then the aligner.
func (t *task) stepBoth(ev interface {
	barrier.TaskEvent
	barrier.Event
}) {
	t.step(ev)
	t.align(ev)
}

// The mail of the task.

func (t *task) trigger(id ident.CheckpointID, ts int64) {
	t.step(barrier.Trigger{Checkpoint: id, TimestampMillis: ts, Now: t.moment()})
}

func (t *task) complete(id, subsumed ident.CheckpointID) {
	t.step(barrier.Complete{Checkpoint: id, Subsumed: subsumed})
}

func (t *task) aborted(id, latest ident.CheckpointID) {
	t.promises.aborted = append(t.promises.aborted, id)
	t.stepBoth(barrier.Aborted{Checkpoint: id, Latest: latest})
}

// finish: all data has ended and checkpoint id covers it.
func (t *task) finish(id ident.CheckpointID) {
	if id != 0 {
		t.complete(id, 0)
	}
	if !t.over && !t.ended {
		t.ended = true
		t.step(barrier.EndOfData{})
	}
}

func (t *task) endData() {
	t.dataEnded = true
	t.all(element{kind: endOfDataMark})
	token, a := t.token, t.attempt
	t.report(func(jm *jobMaster) { jm.endOfData(token, a) })
}

// close is the ordinary end: nothing left to commit, asynchronous parts ended.
func (t *task) close() {
	if !t.settled() {
		return // the next try to commit wakes it
	}
	if !t.ending {
		t.ending = true
		t.step(barrier.Closing{})
	}
	if !t.drained {
		return // the last part wakes it
	}
	t.align(barrier.Closed{}) // a checkpoint that nobody completes may be aligning
	for i, blocked := range t.blocks {
		if blocked {
			t.w.violate("I8", "task %v ends and has blocked channel %v", t.attempt, t.in[i].id)
		}
	}
	if len(t.asyncs)+t.snaps.Running() > 0 {
		t.w.violate("I8", "task %v ends and holds %d parts of checkpoints, of which %d run", t.attempt, len(t.asyncs), t.snaps.Running())
	}
	t.all(element{kind: endOfPartition})
	t.over = true
	token, a := t.token, t.attempt
	t.report(func(jm *jobMaster) { jm.taskStateChanged(token, a, finished, false) })
}
