package barrier

import (
	"fmt"

	"github.com/cutwater-io/cutwater/internal/ident"
)

// TaskEvent is what happened in the life and the checkpoints of a task: the
// input of [Snapshots.Step]. Besides the types of this file, [Trigger],
// [Aborted] and [Closed] are task events, and so are the aligner's [Perform] and
// [Abort]: the task hands them over as they are.
type TaskEvent interface {
	fmt.Stringer
	taskEvent()
}

// Running says that the task has restored its state and consumed what was in
// flight: from now on it takes part in checkpoints.
type Running struct{}

// EndOfData says that all inputs have ended their data and all operators have
// finished. The task goes on to serve checkpoints.
type EndOfData struct{}

// Closing says that the task's mailbox takes no more mail: it is past its last
// checkpoint and closes its operators. Parts still running may end.
type Closing struct{}

// SnapshotTaken says that the synchronous part of a [Snapshot] is done, the
// barrier is downstream, and the asynchronous part is ready to start.
type SnapshotTaken struct{ Checkpoint ident.CheckpointID }

// SnapshotFailed says that a [Snapshot] failed, and that everything obtained for
// it has been given back.
type SnapshotFailed struct {
	Checkpoint ident.CheckpointID
	// Reason is why this checkpoint, and nothing else, cannot be. ReasonNone: the
	// operators are no longer to be trusted and the task must fail.
	Reason Reason
}

// AsyncDone says that the asynchronous part of a checkpoint has stored all its
// state. Each [StartAsync] is followed by exactly one AsyncDone or [AsyncFailed],
// also after [CloseAsync].
type AsyncDone struct{ Checkpoint ident.CheckpointID }

// AsyncFailed says that the asynchronous part ended without result, because of
// an error or because it was closed, and has deleted what it had stored.
type AsyncFailed struct {
	Checkpoint ident.CheckpointID
	Reason     Reason // ReasonNone stands for ReasonAsyncException
}

// Complete is the coordinator's NotifyCheckpointComplete.
type Complete struct {
	Checkpoint ident.CheckpointID
	// Subsumed is the newest checkpoint that this one replaced. Zero: none.
	Subsumed ident.CheckpointID
}

func (Trigger) taskEvent()        {}
func (Aborted) taskEvent()        {}
func (Closed) taskEvent()         {}
func (Perform) taskEvent()        {}
func (Abort) taskEvent()          {}
func (Running) taskEvent()        {}
func (EndOfData) taskEvent()      {}
func (Closing) taskEvent()        {}
func (SnapshotTaken) taskEvent()  {}
func (SnapshotFailed) taskEvent() {}
func (AsyncDone) taskEvent()      {}
func (AsyncFailed) taskEvent()    {}
func (Complete) taskEvent()       {}

func (Running) String() string   { return "running" }
func (EndOfData) String() string { return "end-of-data" }
func (Closing) String() string   { return "closing" }

func (e SnapshotTaken) String() string {
	var l line
	return l.word("snapshot-taken").checkpoint(e.Checkpoint).String()
}

func (e SnapshotFailed) String() string {
	var l line
	return l.word("snapshot-failed").checkpoint(e.Checkpoint).reason(e.Reason).String()
}

func (e AsyncDone) String() string {
	var l line
	return l.word("async-done").checkpoint(e.Checkpoint).String()
}

func (e AsyncFailed) String() string {
	var l line
	return l.word("async-failed").checkpoint(e.Checkpoint).reason(e.Reason).String()
}

func (e Complete) String() string {
	var l line
	return l.word("complete").checkpoint(e.Checkpoint).number("subsumed", int64(e.Subsumed)).String()
}
