package main

import (
	"fmt"
)

// This file holds what must be true: of each checkpoint, and at the end.

// checkCut compares a checkpoint that all tasks have acknowledged with the oracle:
// from the positions of the sources follows what every operator has seen (I1).
func (w *world) checkCut(c *cut) {
	at := make([]int, len(w.g.splits))
	for i := range at {
		at[i] = -1
	}
	place := func(s, pos int, where string) {
		if at[s] >= 0 {
			w.violate("I1", "checkpoint %d has split %d twice, the second time %s", c.id, s, where)
		}
		at[s] = pos
	}
	for _, free := range c.free {
		for _, s := range free {
			place(s, w.g.splits[s].first, "with the enumerator")
		}
	}
	subtasks := 0
	for _, p := range c.par {
		subtasks += p
	}
	if len(c.states) != subtasks {
		w.violate("I1", "checkpoint %d has %d states of %d subtasks", c.id, len(c.states), subtasks)
		return
	}
	for _, s := range c.states {
		for i := range s.splits {
			place(s.splits[i], s.at[i], "with "+s.attempt.String())
		}
	}
	for s := range at {
		if at[s] < 0 {
			w.violate("I1", "checkpoint %d has split %d nowhere", c.id, s)
			return
		}
	}
	read := w.g.prefix(at)
	seen := make([][groups]digest, len(c.par))
	for _, s := range c.states {
		v := int(s.attempt.Subtask.Vertex)
		vx := &w.g.vertices[v]
		var told digest
		for src := range read {
			for g := range groups {
				told.plus(read[src][g], vx.told[src])
			}
		}
		if s.told != told {
			w.violate("I1", "checkpoint %d: %v has seen %v of the broadcast input and not %v", c.id, s.attempt, s.told, told)
		}
		for g := range s.counts {
			if vx.keyed && s.counts[g] != (digest{}) && owner(uint16(g), c.par[v]) != int(s.attempt.Subtask.Index) {
				w.violate("I1", "checkpoint %d: %v has state of key group %d", c.id, s.attempt, g)
			}
			seen[v][g].merge(s.counts[g])
		}
	}
	for v := range seen {
		vx := &w.g.vertices[v]
		if vx.kind != counter {
			continue
		}
		for g := range groups {
			var want digest
			for src := range read {
				want.plus(read[src][g], vx.times[src])
			}
			if seen[v][g] != want {
				w.violate("I1", "checkpoint %d: operator %d has counted %d records of key group %d, of which the sources have read %d", c.id, v, seen[v][g].n, g, want.n)
				return
			}
		}
	}
	w.checkOutput(c, read)
}

// checkOutput: what is visible and what the committers' state holds are together
// exactly the records before the barrier.
func (w *world) checkOutput(c *cut, read [][groups]digest) {
	var have, want digest
	take := func(t *tx) {
		t.stamp = int(c.id)
		for _, r := range t.recs {
			have.add(&w.g.recs[r])
		}
	}
	for i := range w.sink.txs {
		// A savepoint may be complete when newer checkpoints have committed more.
		if t := &w.sink.txs[i]; t.committed && t.checkpoint <= c.id {
			take(t)
		}
	}
	for _, n := range c.pending {
		if t := &w.sink.txs[n]; !t.committed {
			take(t)
		}
	}
	sink := &w.g.vertices[w.g.sinkOf()]
	for src := range read {
		for g := range groups {
			want.plus(read[src][g], sink.times[src])
		}
	}
	if have != want {
		w.violate("I1", "checkpoint %d: committed and prepared output has %d records and the sources have read %d, or they are other ones", c.id, have.n, want.n)
	}
}

// checkObjects: everything a completed checkpoint refers to is there (I5).
func (w *world) checkObjects(c *cut) {
	if !w.store[c.object].there {
		w.violate("I5", "the manifest of checkpoint %d is not there", c.id)
	}
	for _, s := range c.states {
		if !w.store[s.object].there {
			w.violate("I5", "object %d of checkpoint %d is not there", s.object, c.id)
		}
	}
}

// stored reports whether all objects of a checkpoint are there.
func (w *world) stored(c *cut) bool {
	if !w.store[c.object].there {
		return false
	}
	for _, s := range c.states {
		if !w.store[s.object].there {
			return false
		}
	}
	return true
}

// checkCommitted: a job that is to be called finished has all its output visible.
func (w *world) checkCommitted() {
	sink := &w.g.vertices[w.g.sinkOf()]
	for r := range w.g.recs {
		if want := sink.times[w.g.recs[r].source]; int(w.sink.count[r]) != want {
			w.violate("I9", "the job ends, and record %d is visible %d times and not %d", r, w.sink.count[r], want)
			return
		}
	}
}

// checkEnd is after the job has finished.
func (w *world) checkEnd() {
	w.checkCommitted()
	if w.log.highest == 0 {
		w.violate("liveness", "no checkpoint was ever completed")
	}
}

// heal ends all faults: from now on the job must come to its end.
func (w *world) heal() {
	w.healed = true
	w.say("healed")
	last := w.jms[len(w.jms)-1]
	for _, jm := range w.jms {
		jm.paused = 0
		if jm != last && jm.alive {
			jm.die("is no more")
		}
	}
}

// stuck says where a job hangs.
func (w *world) stuck() string {
	jm := w.leader()
	if jm == nil {
		return "nobody leads"
	}
	s := fmt.Sprintf("jobmaster %d has %d pending, ended %d, tasks ", jm.n, jm.coord.Pending(), jm.exec.ended)
	for i := range jm.exec.tasks {
		s += fmt.Sprintf("%v:%d ", jm.exec.tasks[i].attempt, jm.exec.tasks[i].state)
	}
	return s + jm.ledger.Open()
}

// seenKind is something that a set of seeds must reach to prove anything about it.
type seenKind uint8

const (
	seenCompleted seenKind = iota
	seenTriggered
	seenAborted
	seenDeclined
	seenCancelMarks
	seenSavepoints
	seenCommits
	seenDeployed
	seenRescaled
	seenDeposed
	seenUnknown
	seenFailJob
	seenGateWaits
	seenKinds
)

var seenNames = [seenKinds]string{
	"completed", "triggered", "aborted", "declined", "cancel markers", "savepoints", "commits", "deployed",
	"rescaled", "deposed", "unknown outcomes", "fail-job", "waits at a gateway",
}
