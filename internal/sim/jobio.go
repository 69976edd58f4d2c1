package main

import (
	"errors"
	"slices"

	"github.com/cutwater-io/cutwater/internal/checkpoint"
	"github.com/cutwater-io/cutwater/internal/ident"
)

// This file is what a JobMaster stores: ids, manifests, entries of the log.

var errStorage = errors.New("storage")

// logOp runs operations of the log one at a time, in order. Each ends by calling
// next.
func (jm *jobMaster) logOp(op func(next func())) {
	jm.logQueue = append(jm.logQueue, func() {
		jm.later(jm.w.storageTime(), func() {
			op(func() { jm.logBusy = false; jm.nextLog() })
		})
	})
	jm.nextLog()
}

func (jm *jobMaster) nextLog() {
	if jm.logBusy || len(jm.logQueue) == 0 {
		return
	}
	op := jm.logQueue[0]
	jm.logQueue = jm.logQueue[1:]
	jm.logBusy = true
	op()
}

// logPut appends an entry; then gets its outcome a while later.
func (jm *jobMaster) logPut(apply func(), then func(checkpoint.Outcome)) {
	jm.logOp(func(next func()) {
		outcome := jm.w.put(jm.token, apply)
		jm.w.note('L', uint64(jm.n), uint64(outcome))
		jm.later(jm.w.storageTime(), func() {
			then(outcome)
			next()
		})
	})
}

func (jm *jobMaster) reserve(count uint64) {
	var first ident.CheckpointID
	jm.logPut(func() {
		first = jm.w.log.nextID
		if jm.w.bug == reuseIDs {
			first = jm.w.log.highest + 1
		}
		jm.w.log.nextID = max(jm.w.log.nextID, first+ident.CheckpointID(count))
	}, func(o checkpoint.Outcome) {
		e := checkpoint.IDsReserved{At: jm.now(), Outcome: o, First: first, Count: count}
		if o != checkpoint.OK {
			e.First, e.Count, e.Err = 0, 0, errStorage
		}
		jm.step(e)
	})
}

func (jm *jobMaster) writeManifest(id ident.CheckpointID, k checkpoint.Kind) {
	w := jm.w
	h := jm.hold(id)
	c := &cut{id: id, free: h.free, states: slices.Clone(h.acks), par: jm.exec.par, isSaved: k == checkpoint.Savepoint}
	for _, s := range c.states {
		c.pending = append(c.pending, s.pending...)
	}
	slices.SortFunc(c.states, func(a, b *state) int {
		x, y := a.attempt.Subtask, b.attempt.Subtask
		return int(x.Vertex-y.Vertex)*64 + int(x.Index-y.Index)
	})
	w.checkCut(c)
	h.cut = c
	c.object = w.create(id)
	w.store[c.object].there = false
	jm.w.after(w.storageTime(), func() {
		failed := w.fault(failObject)
		if !failed || w.chance(0.5) { // it may be there all the same
			w.store[c.object].there, c.written = true, true
		}
		jm.run(func() {
			e := checkpoint.ManifestWritten{At: jm.now(), ID: id}
			if failed {
				e.Err = errStorage
			}
			jm.step(e)
		})
	})
}

func (jm *jobMaster) publish(id ident.CheckpointID) {
	w := jm.w
	c := jm.held[id].cut
	if w.bug == notifyBeforeDurable {
		for _, to := range jm.exec.attempts() {
			jm.notify(to, func(t *task) { t.complete(id, 0) })
		}
	}
	jm.logPut(func() { w.publish(c) }, func(o checkpoint.Outcome) { jm.published(id, o) })
}

// readBack decides the slot in doubt and looks for the entry.
func (jm *jobMaster) readBack(id ident.CheckpointID) {
	jm.logOp(func(next func()) {
		w := jm.w
		var o checkpoint.Outcome
		switch {
		case jm.token < w.log.token:
			o = checkpoint.Deposed
		case w.fault(unknownLog) || w.fault(failLog):
			o = checkpoint.Unknown
		default:
			w.decide()
			o = checkpoint.Failed
			if w.log.find(id) != nil {
				o = checkpoint.OK
			}
		}
		jm.later(w.storageTime(), func() {
			jm.published(id, o)
			next()
		})
	})
}

func (jm *jobMaster) published(id ident.CheckpointID, o checkpoint.Outcome) {
	w := jm.w
	if jm.closed {
		return
	}
	if o == checkpoint.Unknown {
		w.seen[seenUnknown]++
		if w.bug == unknownIsFailed {
			o = checkpoint.Failed
		}
	}
	e := checkpoint.Published{At: jm.now(), ID: id, Outcome: o}
	if o == checkpoint.OK {
		jm.complete = append(jm.complete, jm.held[id].cut)
	} else {
		e.Err = errStorage
	}
	jm.step(e)
}

func (jm *jobMaster) notifyComplete(id, subsumed ident.CheckpointID, to []ident.AttemptID) {
	if w := jm.w; w.log.highest < id {
		w.violate("I4", "completion of %d is notified, but the newest in the log was %d", id, w.log.highest)
	}
	for _, a := range to {
		jm.notify(a, func(t *task) { t.complete(id, subsumed) })
	}
	delete(jm.held, id)
	jm.reopen(id)
}

// deleteCompleted takes a superseded checkpoint off the log, then deletes its
// objects.
func (jm *jobMaster) deleteCompleted(id ident.CheckpointID) {
	w := jm.w
	i := slices.IndexFunc(jm.complete, func(c *cut) bool { return c.id == id })
	c := jm.complete[i]
	objects := func() {
		for _, s := range c.states {
			w.remove(s.object)
		}
		w.remove(c.object)
	}
	if w.bug == deleteBeforeRemoved {
		objects()
	}
	jm.logPut(func() { w.removed(id) }, func(o checkpoint.Outcome) {
		e := checkpoint.Deleted{At: jm.now(), ID: id}
		if o == checkpoint.OK {
			// Not before the log says so: until then a late repetition of an
			// acknowledgement must find that its objects belong to somebody.
			jm.complete = slices.DeleteFunc(jm.complete, func(c *cut) bool { return c.id == id })
			objects()
		} else {
			e.Err = errStorage
		}
		jm.step(e)
	})
}

// maybeClose ends the job when all its tasks have: first the log, then the rest.
func (jm *jobMaster) maybeClose() {
	if !jm.decided || jm.logging || !jm.exec.allEnded() {
		return
	}
	jm.logging = true
	jm.stopped()
}

func (jm *jobMaster) stopped() {
	w := jm.w
	jm.logPut(func() {
		w.say("log: stopped %v", jm.status)
		if jm.status == checkpoint.Finished {
			w.checkCommitted()
			w.log.finished = true
		}
	}, func(o checkpoint.Outcome) {
		switch o {
		case checkpoint.OK:
			jm.step(checkpoint.Shutdown{At: jm.now(), Status: jm.status})
		case checkpoint.Deposed:
			jm.die("is deposed")
		default:
			jm.later(w.micros(1_000, 20_000), jm.stopped)
		}
	})
}
