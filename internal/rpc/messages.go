// Package rpc holds the conversation between a JobMaster and its TaskManagers:
// the messages of specification 2.1 and the two ends that receive them. Both ends
// may share a process; then calls are function calls, and the receiver still
// only queues the message and returns.
//
//	JobMaster ── Deploy, Cancel, TriggerCheckpoint, NotifyCheckpointComplete,
//	             NotifyCheckpointAborted, OperatorEvent ──▶ TaskManager
//	JobMaster ◀── TaskStateChanged, AcknowledgeCheckpoint, DeclineCheckpoint,
//	             OperatorEvent, EndOfData ── TaskManager
//
// Every message names the attempt it is for or from, and carries the JobMaster's
// fencing token, so that messages of the past are recognised and dropped.
package rpc

import (
	"errors"

	"github.com/cutwater-io/cutwater/internal/barrier"
	"github.com/cutwater-io/cutwater/internal/ident"
	"github.com/cutwater-io/cutwater/internal/manifest"
	"github.com/cutwater-io/cutwater/internal/operator"
)

// ErrUnknownTask is the answer to a message for an attempt that is not there: it has
// ended, or the message is from a JobMaster of the past.
var ErrUnknownTask = errors.New("no such task here")

// Deploy starts one attempt of a subtask.
type Deploy struct {
	Token   ident.FencingToken
	Job     ident.JobID
	Attempt ident.AttemptID
	// Unique is a number no other attempt of any run has.
	Unique uint64
	// RestoredFrom is the checkpoint whose state follows; 0: a fresh start.
	RestoredFrom ident.CheckpointID
	// States by operator; those without state are absent.
	States map[ident.OperatorID]manifest.Restored
}

// Cancel ends an attempt; it answers with TaskStateChanged.
type Cancel struct {
	Token   ident.FencingToken
	Attempt ident.AttemptID
}

// TriggerCheckpoint tells a source to begin a checkpoint.
type TriggerCheckpoint struct {
	Token           ident.FencingToken
	Attempt         ident.AttemptID
	Checkpoint      ident.CheckpointID
	TimestampMillis int64 // wall clock of the JobMaster
}

// NotifyCheckpointComplete tells a task that a checkpoint is complete and
// durable.
type NotifyCheckpointComplete struct {
	Token        ident.FencingToken
	Attempt      ident.AttemptID
	Checkpoint   ident.CheckpointID
	LastSubsumed ident.CheckpointID // 0: none
}

// NotifyCheckpointAborted tells a task that a checkpoint will not complete.
// LatestCompleted repairs a lost completion.
type NotifyCheckpointAborted struct {
	Token           ident.FencingToken
	Attempt         ident.AttemptID
	Checkpoint      ident.CheckpointID
	LatestCompleted ident.CheckpointID
}

// OperatorEvent travels between a subtask and the coordinator of its operator.
type OperatorEvent struct {
	Token    ident.FencingToken
	Attempt  ident.AttemptID
	Operator ident.OperatorID
	Kind     operator.EventKind
	Payload  []byte
}

// AcknowledgeCheckpoint carries a subtask's part of a checkpoint.
type AcknowledgeCheckpoint struct {
	Token      ident.FencingToken
	Job        ident.JobID
	Attempt    ident.AttemptID
	Checkpoint ident.CheckpointID
	// States by operator; operators without state are absent.
	States  []OperatorState
	Metrics CheckpointMetrics
}

// OperatorState is the state of one operator in one subtask.
type OperatorState struct {
	Operator ident.OperatorID
	State    manifest.SubtaskState
}

// CheckpointMetrics are what a subtask measured (specification 2.9). -1 means
// unknown.
type CheckpointMetrics struct {
	StartDelayNanos int64
	AlignmentNanos  int64
	SyncNanos       int64
	AsyncNanos      int64
	Bytes           int64
}

// DeclineCheckpoint says that a subtask cannot take part.
type DeclineCheckpoint struct {
	Token      ident.FencingToken
	Job        ident.JobID
	Attempt    ident.AttemptID
	Checkpoint ident.CheckpointID
	Reason     barrier.Reason
	Cause      string
}

// SnapshotTaken reopens the event gateway between a subtask and the coordinators
// of its operators: the subtask took its part of the checkpoint, so events from
// now on belong behind it (AcknowledgeCheckpointEvent of specification 2.5).
type SnapshotTaken struct {
	Token      ident.FencingToken
	Attempt    ident.AttemptID
	Checkpoint ident.CheckpointID
}

// TaskState of an attempt.
type TaskState uint8

const (
	Deploying TaskState = iota
	Initializing
	Running
	Finished
	Canceled
	Failed
)

var taskStateNames = [...]string{"DEPLOYING", "INITIALIZING", "RUNNING", "FINISHED", "CANCELED", "FAILED"}

func (s TaskState) String() string { return taskStateNames[s] }

// TaskStateChanged reports an attempt's life.
type TaskStateChanged struct {
	Token   ident.FencingToken
	Attempt ident.AttemptID
	State   TaskState
	Err     error // Failed: why
	// Counters of the attempt, when it has ended.
	Counters Counters
}

// Counters are what a task counted since it started.
type Counters struct {
	Late        int64 // records dropped because all their windows were finished
	LateCounted int64 // records behind their window's end that counted all the same
	BadRecords  int64 // input that went to a dead letter output
	Overdrawn   int64 // batches taken beyond the credits of a channel
}

// Add adds what another task counted.
func (c *Counters) Add(o Counters) {
	c.Late += o.Late
	c.LateCounted += o.LateCounted
	c.BadRecords += o.BadRecords
	c.Overdrawn += o.Overdrawn
}

// EndOfData reports that an attempt will emit nothing more.
type EndOfData struct {
	Token   ident.FencingToken
	Attempt ident.AttemptID
}

// Finish tells a task that it may end: no task of the job will emit anything more,
// and a checkpoint that covers everything is complete.
type Finish struct {
	Token   ident.FencingToken
	Attempt ident.AttemptID
	// Checkpoint is the one that covers everything. Its own notification may be
	// lost or late, and sinks must hear of it before they end.
	Checkpoint ident.CheckpointID
}

// TaskManager receives what a JobMaster says. No method blocks. The error of
// TriggerCheckpoint and OperatorEvent says that the attempt is unknown.
type TaskManager interface {
	Deploy(Deploy)
	Cancel(Cancel)
	TriggerCheckpoint(TriggerCheckpoint) error
	NotifyCheckpointComplete(NotifyCheckpointComplete)
	NotifyCheckpointAborted(NotifyCheckpointAborted)
	Finish(Finish)
	OperatorEvent(OperatorEvent) error
}

// JobMaster receives what TaskManagers say. No method blocks.
type JobMaster interface {
	TaskStateChanged(TaskStateChanged)
	AcknowledgeCheckpoint(AcknowledgeCheckpoint)
	DeclineCheckpoint(DeclineCheckpoint)
	SnapshotTaken(SnapshotTaken)
	OperatorEvent(OperatorEvent)
	EndOfData(EndOfData)
}
