// Package ident holds the names of everything the engine talks about. Each is a
// type of its own, so that a checkpoint id can never be passed where an attempt
// is meant.
package ident

import (
	"encoding/hex"
	"fmt"

	"github.com/zeebo/xxh3"
)

// JobID names one job for its whole life, across restarts. It is drawn once,
// when the job's log is created.
type JobID [16]byte

func (id JobID) String() string { return hex.EncodeToString(id[:]) }

// OperatorID names an operator across restarts and program versions. State is
// found by it. It is derived from the operator's stable name alone, so that
// moving the operator in the program does not lose its state.
type OperatorID [16]byte

func (id OperatorID) String() string { return hex.EncodeToString(id[:]) }

// OperatorIDOf derives the id of the operator named name: XXH3-128 of the name.
func OperatorIDOf(name string) OperatorID {
	return OperatorID(xxh3.HashString128(name).Bytes())
}

// CheckpointID numbers checkpoints and savepoints of one job. Ids strictly
// increase over the whole life of the job and are never used twice
// (invariant I2). Zero means "none".
type CheckpointID uint64

// FencingToken is the number of a JobMaster's claim of the job log. A message
// with a smaller token comes from a deposed leader and is dropped.
type FencingToken uint64

// VertexID numbers the chains of a running graph, in topological order. It is
// only valid within one program; state is never keyed by it.
type VertexID int32

// SubtaskID is one parallel instance of a vertex.
type SubtaskID struct {
	Vertex VertexID
	Index  int32
}

func (s SubtaskID) String() string { return fmt.Sprintf("%d.%d", s.Vertex, s.Index) }

// AttemptID is one execution of a subtask. Messages of former attempts are
// recognised by it and dropped.
type AttemptID struct {
	Subtask SubtaskID
	Attempt int32
}

func (a AttemptID) String() string { return fmt.Sprintf("%s#%d", a.Subtask, a.Attempt) }

// ChannelID addresses one input channel of a subtask as gate.channel: a gate is
// the subtask's channels from one upstream vertex.
type ChannelID struct {
	Gate    int32
	Channel int32
}

func (c ChannelID) String() string { return fmt.Sprintf("%d.%d", c.Gate, c.Channel) }
