package barrier

import (
	"fmt"
	"time"

	"github.com/cutwater-io/cutwater/internal/ident"
)

// Action is what the task loop must do at its gates: the output of
// [Aligner.Step]. Actions are executed in order, on the task loop, before the
// gates are read again.
type Action interface {
	fmt.Stringer
	alignerAction()
}

// Block asks the gate not to read a channel until it is unblocked. Nothing is
// lost: what arrives waits at the channel, within its credits, and the sender
// stops when they are used up.
type Block struct{ Channel ident.ChannelID }

// Unblock asks the gate to read a channel again. Every Block is followed by
// exactly one Unblock of the same channel, and there is no other.
type Unblock struct{ Channel ident.ChannelID }

// Perform asks for the snapshot of a checkpoint: all inputs have reached its
// barrier. The task steps [Snapshots] with it and carries out what that core
// says before it executes the unblocks that follow.
type Perform struct {
	Checkpoint      ident.CheckpointID
	TimestampMillis int64 // as in the first barrier
	Options         Options
	// Alignment is the time from the first barrier to the last. Zero with one
	// channel, or none.
	Alignment time.Duration
	// AlignedBytes is what was read from unblocked channels in that time.
	AlignedBytes int64
	// StartDelay is the time from the trigger to the first barrier. Zero also if
	// the clocks of the two machines say it was less.
	StartDelay time.Duration
}

// Abort gives up a checkpoint that this task has not performed. The task steps
// [Snapshots] with it, which declines the checkpoint and tells downstream.
type Abort struct {
	Checkpoint ident.CheckpointID
	// Reason of the decline. ReasonNone: the coordinator aborted it itself.
	Reason Reason
}

func (Block) alignerAction()   {}
func (Unblock) alignerAction() {}
func (Perform) alignerAction() {}
func (Abort) alignerAction()   {}

func (a Block) String() string { var l line; return l.word("block").channel(a.Channel).String() }

func (a Unblock) String() string { var l line; return l.word("unblock").channel(a.Channel).String() }

func (a Perform) String() string {
	var l line
	l.word("perform").checkpoint(a.Checkpoint)
	a.rest(&l)
	return l.String()
}

func (a Perform) rest(l *line) {
	l.number("timestamp", a.TimestampMillis).options(a.Options)
	if a.Alignment != 0 {
		l.pair("alignment", a.Alignment.String())
	}
	l.number("aligned-bytes", a.AlignedBytes)
	if a.StartDelay != 0 {
		l.pair("start-delay", a.StartDelay.String())
	}
}

func (a Abort) String() string {
	var l line
	return l.word("abort").checkpoint(a.Checkpoint).reason(a.Reason).String()
}
