package barrier

import "fmt"

// Reason says why a subtask has no part in a checkpoint. It holds the reasons a
// task can find out by itself; the coordinator's table, which has more, uses the
// same names, so that a decline can travel by name.
//
// Zero means "nothing to say": the coordinator knows already, because it was the
// one who aborted.
type Reason uint8

// The reasons of a subtask. Their String is the name on the wire, in scenario
// files, in logs and in metrics.
const (
	ReasonNone                  Reason = iota
	ReasonTaskNotReady                 // asked before the task runs, or after it stopped running
	ReasonTaskClosing                  // asked when the task is past its last checkpoint
	ReasonSubsumed                     // a newer barrier came while this one was aligning
	ReasonOnCancellationBarrier        // a cancel marker came from upstream
	ReasonInputEndOfStream             // an input ended during alignment, and checkpoints after finish are off
	ReasonDeclined                     // an operator or the storage refused the synchronous part
	ReasonAsyncException               // the asynchronous part failed, for example an upload
	ReasonIOException                  // the storage location could not be resolved
	reasonEnd
)

var reasonNames = [reasonEnd]string{
	ReasonNone:                  "NONE",
	ReasonTaskNotReady:          "CHECKPOINT_DECLINED_TASK_NOT_READY",
	ReasonTaskClosing:           "CHECKPOINT_DECLINED_TASK_CLOSING",
	ReasonSubsumed:              "CHECKPOINT_DECLINED_SUBSUMED",
	ReasonOnCancellationBarrier: "CHECKPOINT_DECLINED_ON_CANCELLATION_BARRIER",
	ReasonInputEndOfStream:      "CHECKPOINT_DECLINED_INPUT_END_OF_STREAM",
	ReasonDeclined:              "CHECKPOINT_DECLINED",
	ReasonAsyncException:        "CHECKPOINT_ASYNC_EXCEPTION",
	ReasonIOException:           "IO_EXCEPTION",
}

func (r Reason) String() string {
	if r >= reasonEnd {
		return fmt.Sprintf("REASON_%d", uint8(r))
	}
	return reasonNames[r]
}

// ParseReason is the inverse of [Reason.String].
func ParseReason(name string) (Reason, error) {
	for r, n := range reasonNames {
		if n == name {
			return Reason(r), nil
		}
	}
	return ReasonNone, fmt.Errorf("parse decline reason: no reason is named %q; both sides must run the same version", name)
}
