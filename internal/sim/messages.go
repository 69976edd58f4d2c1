package main

import (
	"time"

	"github.com/cutwater-io/cutwater/internal/checkpoint"
	"github.com/cutwater-io/cutwater/internal/ident"
)

// This file is the network between JobMasters and TaskManagers. Two kinds of
// message exist, as the protocol demands:
//
//	in order, not lost   deploy, cancel, fence, finish, assignments of splits;
//	                     state of a task, end of data, requests for splits.
//	                     Between one JobMaster and one TaskManager, or back.
//	in order             triggers, among those above; they may be lost or repeated.
//	any way              notifications, acknowledgements, declines, snapshot taken:
//	                     lost, delayed, repeated, reordered.
type link struct{ there, back time.Duration } // when the last one in order arrives

func (w *world) latency() time.Duration {
	if w.fault(delayMessage) {
		return w.micros(2_000, 150_000)
	}
	return w.micros(20, 1_500)
}

// host is where an attempt runs.
func (jm *jobMaster) host(a ident.AttemptID) *taskManager {
	return jm.w.tms[(int(a.Subtask.Vertex)+int(a.Subtask.Index))%len(jm.w.tms)]
}

// tell sends in order and without loss.
func (jm *jobMaster) tell(tm *taskManager, do func()) {
	l := &jm.links[tm.n]
	l.there = max(l.there, jm.w.now+jm.w.latency())
	jm.w.at(l.there, do)
}

// trigger sends the triggers of a checkpoint.
func (jm *jobMaster) trigger(a *checkpoint.SendTrigger) {
	w := jm.w
	w.seen[seenTriggered]++
	id, ts := a.ID, a.TimestampMillis
	for _, to := range a.To {
		if w.fault(loseMessage) {
			continue
		}
		tm := jm.host(to)
		do := func() {
			if !tm.with(jm.token, to, func(t *task) { t.trigger(id, ts) }) && w.chance(0.5) {
				jm.later(w.latency(), func() {
					jm.step(checkpoint.TriggerFailed{At: jm.now(), ID: id, Attempt: to, Reason: checkpoint.TaskCheckpointFailure, Err: errStorage})
				})
			}
		}
		jm.tell(tm, do)
		if w.fault(repeatMessage) {
			jm.tell(tm, do)
		}
	}
}

// notify sends a notification, which may get lost, late, repeated, reordered.
func (jm *jobMaster) notify(to ident.AttemptID, do func(*task)) {
	tm, token := jm.host(to), jm.token
	jm.w.anyWay(func() { tm.with(token, to, do) })
}

func (w *world) anyWay(do func()) {
	if w.fault(loseMessage) {
		return
	}
	w.after(w.latency(), do)
	for w.fault(repeatMessage) {
		w.after(w.latency()+w.latency(), do)
	}
}

// report sends from a task to its JobMaster in order and without loss.
func (t *task) report(do func(jm *jobMaster)) {
	jm := t.jm
	l := &jm.links[t.tm.n]
	l.back = max(l.back, t.w.now+t.w.latency())
	t.w.at(l.back, func() { jm.run(func() { do(jm) }) })
}

// acknowledge is AcknowledgeCheckpoint.
func (t *task) acknowledge(id ident.CheckpointID, s *state) {
	jm, token, a := t.jm, t.token, t.attempt
	t.w.anyWay(func() {
		jm.run(func() {
			if token != jm.token {
				return
			}
			jm.lastAck = s
			jm.step(checkpoint.Acked{At: jm.now(), ID: id, Attempt: a, Metrics: checkpoint.Metrics{StartDelayMillis: -1, AlignmentMillis: -1, SyncMillis: -1, AsyncMillis: -1, Bytes: 1}})
		})
	})
}

// decline is DeclineCheckpoint.
func (t *task) decline(id ident.CheckpointID, reason string) {
	jm, a := t.jm, t.attempt
	r, err := checkpoint.ParseReason(reason)
	if err != nil {
		t.w.violate("reason", "%v", err)
	}
	t.w.seen[seenDeclined]++
	t.w.anyWay(func() {
		jm.run(func() { jm.step(checkpoint.Declined{At: jm.now(), ID: id, Attempt: a, Reason: r}) })
	})
}

// snapshotTaken reopens the gateways to the task.
func (t *task) snapshotTaken(id ident.CheckpointID) {
	jm, token, a := t.jm, t.token, t.attempt
	t.w.anyWay(func() { jm.run(func() { jm.taken(token, a, id) }) })
}
