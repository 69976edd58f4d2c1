package barrier

import (
	"fmt"

	"github.com/cutwater-io/cutwater/internal/ident"
)

// TaskAction is what the task must do about its checkpoints: the output of
// [Snapshots.Step]. Actions are executed in order on the task loop.
type TaskAction interface {
	fmt.Stringer
	taskAction()
}

// AlignTrigger asks to step the aligner with the trigger, because the task has
// inputs.
type AlignTrigger struct{ Trigger }

// Snapshot asks for performCheckpoint as one uninterrupted action of the loop:
// prepare operators head to tail, broadcast the barrier, take the synchronous
// part of every operator tail to head. The answer is [SnapshotTaken] or
// [SnapshotFailed], before any other event.
type Snapshot struct{ Perform }

// StartAsync asks to run the asynchronous part off the loop.
type StartAsync struct{ Checkpoint ident.CheckpointID }

// CloseAsync asks to stop the asynchronous part at once: cancel its context from
// here, never through the queue it runs in (D72). It still reports its end.
type CloseAsync struct{ Checkpoint ident.CheckpointID }

// DiscardAsync asks to delete what the asynchronous part has stored, or what the
// synchronous part has captured if the asynchronous one never started.
type DiscardAsync struct{ Checkpoint ident.CheckpointID }

// Acknowledge asks to keep the local copy and then to send AcknowledgeCheckpoint
// with the result of the asynchronous part.
type Acknowledge struct{ Checkpoint ident.CheckpointID }

// Decline asks to send DeclineCheckpoint.
type Decline struct {
	Checkpoint ident.CheckpointID
	Reason     Reason
}

// ReportMetrics asks to send the metrics of a checkpoint that was closed: they
// are incomplete but still tell where the time went.
type ReportMetrics struct{ Checkpoint ident.CheckpointID }

// BroadcastCancel asks to send a cancel marker to every output channel. There is
// at most one for each id.
type BroadcastCancel struct{ Checkpoint ident.CheckpointID }

// DeliverComplete asks to call every operator's completion callback, tail to
// head. All are called even if one fails; the first error then fails the task.
type DeliverComplete struct{ Checkpoint ident.CheckpointID }

// DeliverSubsumed asks to tell the operators that all checkpoints up to this one
// are gone.
type DeliverSubsumed struct{ Checkpoint ident.CheckpointID }

// DeliverAborted asks to call every operator's abort callback, like
// [DeliverComplete].
type DeliverAborted struct{ Checkpoint ident.CheckpointID }

// PruneLocal asks to delete the local copies of checkpoints older than this one.
type PruneLocal struct{ Checkpoint ident.CheckpointID }

// DropLocal asks to delete the local copy of this checkpoint.
type DropLocal struct{ Checkpoint ident.CheckpointID }

// Fault is why a task must fail.
type Fault uint8

// The faults. Zero is none of them.
const (
	// FaultSnapshot: an operator's synchronous part failed, so its state may be
	// half changed.
	FaultSnapshot Fault = iota + 1
	// FaultStopAborted: the savepoint the job was to stop with was aborted. The
	// task reads no input any more and can only start anew.
	FaultStopAborted
)

func (f Fault) String() string {
	switch f {
	case FaultSnapshot:
		return "snapshot-failed"
	case FaultStopAborted:
		return "stop-aborted"
	}
	return fmt.Sprintf("fault-%d", uint8(f))
}

// FailTask asks to fail the task. Actions after it are not to be executed; the
// next event is [Closed].
type FailTask struct {
	Checkpoint ident.CheckpointID
	Fault      Fault
}

// Finish says that nothing of the task's output can be lost any more: it may
// quiesce its timers and mailbox and then step [Closing].
type Finish struct{}

// Drained says, after [Closing] or [Closed], that no asynchronous part is
// running any more: operators and state may be closed.
type Drained struct{}

func (AlignTrigger) taskAction()    {}
func (Snapshot) taskAction()        {}
func (StartAsync) taskAction()      {}
func (CloseAsync) taskAction()      {}
func (DiscardAsync) taskAction()    {}
func (Acknowledge) taskAction()     {}
func (Decline) taskAction()         {}
func (ReportMetrics) taskAction()   {}
func (BroadcastCancel) taskAction() {}
func (DeliverComplete) taskAction() {}
func (DeliverSubsumed) taskAction() {}
func (DeliverAborted) taskAction()  {}
func (PruneLocal) taskAction()      {}
func (DropLocal) taskAction()       {}
func (FailTask) taskAction()        {}
func (Finish) taskAction()          {}
func (Drained) taskAction()         {}

func (a AlignTrigger) String() string { return "align-" + a.Trigger.String() }

func (a Snapshot) String() string {
	var l line
	l.word("snapshot").checkpoint(a.Checkpoint)
	a.rest(&l)
	return l.String()
}

func (a Decline) String() string {
	var l line
	return l.word("decline").checkpoint(a.Checkpoint).reason(a.Reason).String()
}

func (a FailTask) String() string {
	var l line
	return l.word("fail-task").checkpoint(a.Checkpoint).pair("fault", a.Fault.String()).String()
}

func (Finish) String() string  { return "finish" }
func (Drained) String() string { return "drained" }

func (a StartAsync) String() string      { return named("start-async", a.Checkpoint) }
func (a CloseAsync) String() string      { return named("close-async", a.Checkpoint) }
func (a DiscardAsync) String() string    { return named("discard-async", a.Checkpoint) }
func (a Acknowledge) String() string     { return named("acknowledge", a.Checkpoint) }
func (a ReportMetrics) String() string   { return named("report-metrics", a.Checkpoint) }
func (a BroadcastCancel) String() string { return named("broadcast-cancel", a.Checkpoint) }
func (a DeliverComplete) String() string { return named("deliver-complete", a.Checkpoint) }
func (a DeliverSubsumed) String() string { return named("deliver-subsumed", a.Checkpoint) }
func (a DeliverAborted) String() string  { return named("deliver-aborted", a.Checkpoint) }
func (a PruneLocal) String() string      { return named("prune-local", a.Checkpoint) }
func (a DropLocal) String() string       { return named("drop-local", a.Checkpoint) }

func named(word string, id ident.CheckpointID) string {
	var l line
	return l.word(word).checkpoint(id).String()
}
