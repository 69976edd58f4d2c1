package main

import (
	"errors"
	"slices"

	"github.com/cutwater-io/cutwater/internal/checkpoint"
	"github.com/cutwater-io/cutwater/internal/ident"
)

// gateway stands between the enumerator of a source, which assigns splits one by
// one, and its readers: each assignment is part of a checkpoint on both sides or
// on neither.
type gateway struct {
	jm   *jobMaster
	v    int
	free []int // the enumerator's state: splits not assigned
	subs []gate
}

type gate struct {
	attempt ident.AttemptID
	closed  ident.CheckpointID // 0: open
	kept    []int              // assignments; -1: there are no more
	ready   bool
}

func (jm *jobMaster) startEnumerators() {
	jm.gateways = jm.gateways[:0]
	for v := range jm.w.g.vertices {
		if jm.w.g.vertices[v].kind != source {
			break
		}
		g := &gateway{jm: jm, v: v, subs: make([]gate, jm.exec.par[v])}
		if jm.restore != nil {
			g.free = slices.Clone(jm.restore.free[v])
		} else {
			for s := range jm.w.g.splits {
				if jm.w.g.splits[s].source == v {
					g.free = append(g.free, s)
				}
			}
		}
		jm.gateways = append(jm.gateways, g)
	}
}

func (g *gateway) attach() {
	for i := range g.subs {
		g.subs[i] = gate{attempt: ident.AttemptID{Subtask: ident.SubtaskID{Vertex: ident.VertexID(g.v), Index: int32(i)}, Attempt: g.jm.exec.attempt}}
	}
}

// event takes what a reader sent: that it is there, or that it wants a split.
func (g *gateway) event(a ident.AttemptID, wants bool) {
	s := &g.subs[a.Subtask.Index]
	if s.attempt != a {
		return
	}
	if !wants {
		s.ready = true
		if s.closed == 0 {
			g.open(s)
		}
		return
	}
	give := -1
	if n := len(g.free); n > 0 {
		give, g.free = g.free[n-1], g.free[:n-1]
	}
	if s.closed != 0 || !s.ready {
		s.kept = append(s.kept, give)
		return
	}
	g.send(s, give)
}

// send delivers an assignment in order with triggers. It cannot be lost without
// the task: the enumerator believes that the reader has it.
func (g *gateway) send(s *gate, give int) {
	jm, a := g.jm, s.attempt
	tm := jm.host(a)
	jm.tell(tm, func() { tm.with(jm.token, a, func(t *task) { t.addSplit(give) }) })
}

func (g *gateway) open(s *gate) {
	s.closed = 0
	if !s.ready {
		return
	}
	kept := s.kept
	s.kept = nil
	for _, give := range kept {
		g.send(s, give)
	}
}

// snapshotCoordinators takes the state of all enumerators and closes their
// gateways. It waits until no gateway is closed for an earlier checkpoint: what is
// kept there was assigned, and so is missing in the enumerator's state, but its
// reader would get it behind the barrier of this checkpoint.
func (jm *jobMaster) snapshotCoordinators(id ident.CheckpointID) {
	w := jm.w
	for _, g := range jm.gateways {
		for i := range g.subs {
			if len(g.subs[i].kept) > 0 && w.bug != overlapGateway {
				w.seen[seenGateWaits]++
				jm.waiting = id
				return
			}
		}
	}
	jm.waiting = 0
	h := jm.hold(id)
	for _, g := range jm.gateways {
		free := slices.Clone(g.free)
		if w.bug == forgetSplit && len(free) > 2 {
			free = free[:len(free)-1]
		}
		h.free = append(h.free, free)
		for i := range g.subs {
			if w.bug != openGateway {
				g.subs[i].closed = id
			}
		}
	}
	answer := func() {
		e := checkpoint.CoordinatorsSnapshotted{At: jm.now(), ID: id}
		if w.fault(refuseSnapshot) {
			e.Err = errors.New("enumerator")
		}
		jm.step(e)
	}
	if w.chance(0.5) { // enumerators may take their time
		jm.later(w.micros(100, 10_000), answer)
		return
	}
	answer()
}

// maybeSnapshot goes on with a snapshot that waited for gateways.
func (jm *jobMaster) maybeSnapshot() {
	if id := jm.waiting; id != 0 {
		jm.snapshotCoordinators(id)
	}
}

// taken opens the gate to a subtask that has taken its snapshot.
func (jm *jobMaster) taken(token ident.FencingToken, a ident.AttemptID, id ident.CheckpointID) {
	if jm.record(token, a) == nil || int(a.Subtask.Vertex) >= len(jm.gateways) {
		return
	}
	g := jm.gateways[a.Subtask.Vertex]
	if s := &g.subs[a.Subtask.Index]; s.attempt == a && s.closed != 0 && s.closed <= id {
		g.open(s)
		jm.maybeSnapshot()
	}
}

// reopen opens the gates that are closed for a checkpoint that has ended. If its
// snapshot of the enumerators still waits, it is not taken any more: gates that it
// would close nobody would open.
func (jm *jobMaster) reopen(id ident.CheckpointID) {
	if jm.waiting == id {
		jm.waiting = 0
		jm.step(checkpoint.CoordinatorsSnapshotted{At: jm.now(), ID: id, Err: errors.New("aborted")})
	}
	for _, g := range jm.gateways {
		for i := range g.subs {
			if s := &g.subs[i]; s.closed != 0 && s.closed <= id {
				g.open(s)
			}
		}
	}
	jm.later(0, jm.maybeSnapshot)
}
