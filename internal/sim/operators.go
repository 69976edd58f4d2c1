package main

import (
	"slices"

	"github.com/cutwater-io/cutwater/internal/barrier"
	"github.com/cutwater-io/cutwater/internal/ident"
	"github.com/cutwater-io/cutwater/internal/keygroup"
)

// This file is what a task's operators do: read splits, count, write, commit, and
// their snapshots.

func owner(group uint16, parallelism int) int { return keygroup.Subtask(group, parallelism, groups) }

// addSplit takes an assignment; -1: there are no more.
func (t *task) addSplit(s int) {
	t.asked = false
	if s < 0 {
		t.noMore = true
	} else {
		t.splits = append(t.splits, s)
		t.at = append(t.at, t.w.g.splits[s].first)
	}
	t.wake()
}

// poll emits one record, or asks for a split when all of its own are read.
func (t *task) poll() {
	if t.dataEnded {
		return
	}
	for i, s := range t.splits {
		if t.at[i] < t.w.g.splits[s].end {
			r := t.at[i]
			t.at[i]++
			t.emit(int32(r))
			t.wake()
			return
		}
	}
	switch {
	case t.noMore:
		t.endData()
	case !t.asked:
		t.asked = true
		token, a := t.token, t.attempt
		t.report(func(jm *jobMaster) { jm.reader(token, a, true) })
	}
}

// process takes one record from a channel.
func (t *task) process(c *channel, n int32) {
	r := &t.w.g.recs[n]
	v := &t.w.g.vertices[t.v]
	if v.kind == writer {
		t.unstaged = append(t.unstaged, n)
		return
	}
	if v.in[c.gate].how == broadcast {
		t.told.add(r)
		return
	}
	t.counts[r.group].add(r)
	t.emit(n)
}

// perform is performCheckpoint: prepare, barrier, snapshot, as one action.
func (t *task) perform(p barrier.Perform) {
	w, id := t.w, p.Checkpoint
	t.promises.performed(t, id)
	if w.fault(failSnapshot) {
		t.step(barrier.SnapshotFailed{Checkpoint: id})
		return
	}
	t.prepare(id)
	early := w.bug == barrierAfterSnapshot
	s := &state{}
	if early {
		*s = t.capture()
		if t.kind() == source && !t.dataEnded {
			for i, sp := range t.splits {
				if t.at[i] < w.g.splits[sp].end {
					t.at[i]++
					t.emit(int32(t.at[i] - 1))
					break
				}
			}
		}
	}
	t.all(element{kind: barrierMark, id: id, ts: p.TimestampMillis})
	if !early {
		*s = t.capture()
	}
	if w.fault(refuseSnapshot) {
		t.step(barrier.SnapshotFailed{Checkpoint: id, Reason: barrier.ReasonDeclined})
		return
	}
	s.attempt = t.attempt
	t.asyncs[id] = &part{state: s}
	t.snapshotTaken(id)
	t.step(barrier.SnapshotTaken{Checkpoint: id})
}

// prepare ends the writer's open transaction and hands it to the committer.
func (t *task) prepare(id ident.CheckpointID) {
	if t.kind() != writer || len(t.unstaged) == 0 {
		return
	}
	n := t.w.stage(id, int(t.attempt.Subtask.Index), t.unstaged)
	t.unstaged = t.unstaged[:0]
	if t.w.bug == commitBeforeCompletion {
		t.w.commit(n)
	}
	if t.w.g.chained {
		t.pending = append(t.pending, n)
		return
	}
	for i := range t.out {
		o := &t.out[i]
		o.chans[int(t.attempt.Subtask.Index)%len(o.chans)].push(element{kind: transaction, n: int32(n)})
	}
}

func (t *task) capture() state {
	s := t.state
	s.splits, s.at, s.pending = slices.Clone(t.splits), slices.Clone(t.at), slices.Clone(t.pending)
	return s
}

// startAsync stores the state beside the task.
func (t *task) startAsync(id ident.CheckpointID) {
	w, p := t.w, t.asyncs[id]
	p.state.object = w.create(id)
	w.store[p.state.object].there = false
	w.after(w.storageTime(), func() {
		if t.over && !p.closed {
			return // the process is gone
		}
		failed := w.fault(failUpload) || p.closed && w.chance(0.5)
		if !failed {
			w.store[p.state.object].there = true
		} else {
			delete(t.asyncs, id)
		}
		if failed {
			t.step(barrier.AsyncFailed{Checkpoint: id, Reason: barrier.ReasonAsyncException})
		} else {
			t.step(barrier.AsyncDone{Checkpoint: id})
		}
		if t.ending {
			t.wake()
		}
	})
}

// commitDue commits what complete checkpoints have prepared. What the target
// refuses for now is tried again.
func (t *task) commitDue() {
	w := t.w
	kept := t.pending[:0]
	due := false
	for _, n := range t.pending {
		if w.sink.txs[n].checkpoint > t.upTo {
			kept = append(kept, n)
			continue
		}
		if w.fault(retryCommit) {
			kept, due = append(kept, n), true
			continue
		}
		w.commit(n)
		if w.fault(unknownCommit) { // done, but the answer is lost
			kept, due = append(kept, n), true
		}
	}
	t.pending = kept
	if due && t.running && !t.retrying {
		t.retrying = true
		w.after(w.micros(1_000, 30_000), func() {
			t.retrying = false
			if !t.over {
				t.commitDue()
				t.wake()
			}
		})
	}
}

// settled: everything of complete checkpoints is committed.
func (t *task) settled() bool {
	for _, n := range t.pending {
		if t.w.sink.txs[n].checkpoint <= t.upTo {
			return false
		}
	}
	return true
}

// readBlocked is a planted bug: the channels are read before the snapshot.
func (t *task) readBlocked() {
	for i, c := range t.in {
		if t.blocks[i] && !c.empty() && c.queue[c.head].kind == record {
			t.read(i)
		}
	}
}

// deal gives the state of a checkpoint to the subtasks of another parallelism.
func (w *world) deal(c *cut, par []int) []*state {
	var all []*state
	first := make([]int, len(par))
	for v, p := range par {
		first[v] = len(all)
		for range p {
			all = append(all, &state{})
		}
	}
	if c == nil {
		return all
	}
	w.checkObjects(c)
	next := 0
	for _, s := range c.states {
		v := int(s.attempt.Subtask.Vertex)
		mine, p := all[first[v]:], par[v]
		old := int(s.attempt.Subtask.Index)
		for i := range s.splits {
			to := mine[next%p]
			if p == c.par[v] {
				to = mine[old]
			}
			next++
			to.splits, to.at = append(to.splits, s.splits[i]), append(to.at, s.at[i])
		}
		for g := range s.counts {
			to := old % p
			if w.g.vertices[v].keyed {
				to = owner(uint16(g), p)
			}
			mine[to].counts[g].merge(s.counts[g])
		}
		for _, n := range s.pending {
			to := mine[w.sink.txs[n].from%p]
			to.pending = append(to.pending, n)
		}
		for i := range p { // broadcast state: new i gets that of old i mod p
			if i%c.par[v] == old {
				mine[i].told = s.told
			}
		}
	}
	for _, s := range all {
		slices.SortStableFunc(s.pending, func(a, b int) int { return int(w.sink.txs[a].checkpoint) - int(w.sink.txs[b].checkpoint) })
	}
	return all
}
