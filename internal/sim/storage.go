package main

import (
	"slices"
	"time"

	"github.com/cutwater-io/cutwater/internal/checkpoint"
	"github.com/cutwater-io/cutwater/internal/ident"
)

// jobLog is the job log as package joblog promises it: entries in slots, one
// leader, and writes whose outcome is not known until the slot is decided.
type jobLog struct {
	token     ident.FencingToken
	nextID    ident.CheckpointID
	completed []*cut // ascending by id, without removed ones
	highest   ident.CheckpointID
	finished  bool
	// inDoubt is an entry that may be found in the slot when it is decided.
	inDoubt func()
}

// decide settles the slot: an entry in doubt is there from now on or never.
func (w *world) decide() {
	if f := w.log.inDoubt; f != nil {
		w.log.inDoubt = nil
		if w.chance(0.5) {
			f()
		}
	}
}

// put appends an entry, whose effect is apply, for the writer with token.
func (w *world) put(token ident.FencingToken, apply func()) checkpoint.Outcome {
	w.decide()
	switch {
	case token < w.log.token && w.bug != noFencing:
		return checkpoint.Deposed
	case w.fault(failLog):
		return checkpoint.Failed
	case w.fault(unknownLog):
		switch w.rng.IntN(3) {
		case 0:
			apply() // it is there, the answer is lost
		case 1: // it may arrive later
			w.log.inDoubt = apply
			w.after(w.micros(1000, 200_000), func() {
				if w.log.inDoubt != nil {
					w.decide()
				}
			})
		}
		return checkpoint.Unknown
	}
	apply()
	return checkpoint.OK
}

// find reports whether a completed checkpoint is in the log.
func (l *jobLog) find(id ident.CheckpointID) *cut {
	for _, c := range l.completed {
		if c.id == id {
			return c
		}
	}
	return nil
}

// publish makes c the newest completed checkpoint. From here on it is durable.
func (w *world) publish(c *cut) {
	l := &w.log
	if c.id <= l.highest {
		w.violate("I2", "checkpoint %d is completed after %d", c.id, l.highest)
	}
	if c.id >= l.nextID {
		w.violate("I2", "checkpoint %d is completed, but ids are reserved below %d only", c.id, l.nextID)
	}
	l.highest = c.id
	l.completed = append(l.completed, c)
	w.note('P', uint64(c.id), 0)
	w.say("log: completed checkpoint=%d", c.id)
	w.seen[seenCompleted]++
	for _, tx := range c.pending {
		w.sink.txs[tx].covered = true
	}
	w.checkObjects(c)
}

func (w *world) removed(id ident.CheckpointID) {
	l := &w.log
	l.completed = slices.DeleteFunc(l.completed, func(c *cut) bool { return c.id == id })
	w.say("log: removed checkpoint=%d", id)
	if len(l.completed) == 0 && !l.finished {
		w.violate("I5", "the only completed checkpoint %d is removed from the log", id)
	}
}

// cut is the content of a manifest: what a checkpoint is made of.
type cut struct {
	id      ident.CheckpointID
	object  int     // of the manifest
	free    [][]int // by source: splits that its enumerator has not assigned
	states  []*state
	par     []int
	pending []int // transactions in the committers' state
	isSaved bool  // a savepoint
	written bool
}

// state is what one subtask put into a checkpoint.
type state struct {
	attempt ident.AttemptID
	object  int   // where the asynchronous part stored it
	splits  []int // a source's, with positions beside
	at      []int
	counts  [groups]digest
	told    digest
	pending []int
}

// object of the store. Its number is its name, which is never used twice.
type object struct {
	there bool
	id    ident.CheckpointID // written for
}

func (w *world) create(id ident.CheckpointID) int {
	w.store = append(w.store, object{true, id})
	return len(w.store) - 1
}

// remove deletes an object. Nothing that a checkpoint in the log needs may be.
func (w *world) remove(n int) {
	if w.fault(failObject) {
		return // stays as a leak, for the sweep of the next start
	}
	w.store[n].there = false
	for _, c := range w.log.completed {
		if c.uses(n) {
			w.violate("I5", "object %d of checkpoint %d, which is completed, is deleted", n, c.id)
		}
	}
	for _, c := range w.saved {
		if c.uses(n) {
			w.violate("I5", "object %d of savepoint %d is deleted", n, c.id)
		}
	}
}

func (c *cut) uses(n int) bool {
	return c.object == n || slices.ContainsFunc(c.states, func(s *state) bool { return s.object == n })
}

// storageTime is how long a write takes.
func (w *world) storageTime() time.Duration {
	if w.fault(slowStorage) {
		return w.micros(5_000, 300_000)
	}
	return w.micros(100, 5_000)
}

// external is the system behind the sink. Transactions are staged by writers and
// become visible by a commit.
type external struct {
	txs   []tx
	count []int16 // how often each record is visible
}

type tx struct {
	checkpoint ident.CheckpointID
	from       int // the writer's subtask
	recs       []int32
	covered    bool // by the state of a completed checkpoint
	committed  bool
	stamp      int
}

func (w *world) stage(id ident.CheckpointID, from int, recs []int32) int {
	w.sink.txs = append(w.sink.txs, tx{checkpoint: id, from: from, recs: slices.Clone(recs)})
	return len(w.sink.txs) - 1
}

// commit makes a transaction visible. It is idempotent.
func (w *world) commit(n int) {
	t := &w.sink.txs[n]
	if t.committed && w.bug != commitTwice {
		return
	}
	w.note('C', uint64(n), uint64(t.checkpoint))
	w.say("sink: transaction %d of checkpoint %d is committed, %d records", n, t.checkpoint, len(t.recs))
	w.seen[seenCommits]++
	t.committed = true
	if !t.covered {
		w.violate("I9", "transaction %d of checkpoint %d is committed, but no completed checkpoint has it", n, t.checkpoint)
	}
	sink := &w.g.vertices[w.g.sinkOf()]
	for _, r := range t.recs {
		w.sink.count[r]++
		if int(w.sink.count[r]) > sink.times[w.g.recs[r].source] {
			w.violate("I9", "record %d is visible %d times, transaction %d of checkpoint %d brought it again", r, w.sink.count[r], n, t.checkpoint)
		}
	}
}
