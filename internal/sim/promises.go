package main

import (
	"slices"

	"github.com/cutwater-io/cutwater/internal/ident"
)

// promises is what the cores of one task have promised and done. A breach of these
// loses nothing: the timeout of a checkpoint heals it. So the job would finish all
// the same, and only here it is found.
type promises struct {
	aborted    []ident.CheckpointID // by the coordinator, as far as the task was told
	cancelled  ident.CheckpointID   // newest cancel marker sent
	complete   ident.CheckpointID   // newest completion the operators know
	blockedFor []ident.CheckpointID // by input channel: the checkpoint it was blocked for
	depth      int                  // lists of the aligner's actions that are being carried out
}

// blocked: no channel waits for the barriers of a checkpoint that nobody wants.
func (p *promises) blocked(t *task, id ident.CheckpointID) {
	if slices.Contains(p.aborted, id) {
		t.w.violate("I8", "task %v blocks a channel for %d, of whose abort it was told", t.attempt, id)
	}
}

// aligned: a channel is blocked for the checkpoint that is being aligned only.
func (p *promises) aligned(t *task) {
	if t.over || p.depth > 1 {
		return
	}
	for i, blocked := range t.blocks {
		if now := t.aligner.Pending(); blocked && now != p.blockedFor[i] {
			t.w.violate("I8", "task %v has channel %v blocked for %d and aligns %d", t.attempt, t.in[i].id, p.blockedFor[i], now)
		}
	}
}

// gaveUp: a task that has no part in a checkpoint says so to those behind it.
func (p *promises) gaveUp(t *task, id ident.CheckpointID) {
	if !t.over && p.cancelled < id {
		t.w.violate("I8", "task %v gave up %d and sent no cancel marker, its consumers wait for the barrier", t.attempt, id)
	}
}

// performed: no snapshot of a checkpoint that is known as aborted.
func (p *promises) performed(t *task, id ident.CheckpointID) {
	if slices.Contains(p.aborted, id) {
		t.w.violate("I3", "task %v takes a snapshot for %d, of whose abort it was told", t.attempt, id)
	}
}

// delivered: the operators hear of completions once, in ascending order.
func (p *promises) delivered(t *task, id ident.CheckpointID) {
	if id <= p.complete || id <= t.restored {
		t.w.violate("I3", "the operators of %v are told of the completion of %d after that of %d", t.attempt, id, max(p.complete, t.restored))
	}
	p.complete = id
}
