package taskmanager

import (
	"github.com/cutwater-io/cutwater/internal/barrier"
	"github.com/cutwater-io/cutwater/internal/ident"
	"github.com/cutwater-io/cutwater/internal/operator"
	"github.com/cutwater-io/cutwater/internal/rpc"
	"github.com/cutwater-io/cutwater/internal/task"
)

// reporter turns what a task says into messages to the JobMaster.
type reporter struct {
	jm      rpc.JobMaster
	token   ident.FencingToken
	job     ident.JobID
	attempt ident.AttemptID
}

var _ task.Reporter = reporter{}

func (r reporter) Initializing() { r.state(rpc.Initializing) }
func (r reporter) Running()      { r.state(rpc.Running) }
func (r reporter) state(s rpc.TaskState) {
	r.jm.TaskStateChanged(rpc.TaskStateChanged{Token: r.token, Attempt: r.attempt, State: s})
}

func (r reporter) Acknowledge(id ident.CheckpointID, states []task.OperatorState, m task.Metrics) {
	msg := rpc.AcknowledgeCheckpoint{
		Token: r.token, Job: r.job, Attempt: r.attempt, Checkpoint: id,
		Metrics: rpc.CheckpointMetrics{
			StartDelayNanos: int64(m.StartDelay), AlignmentNanos: int64(m.Alignment),
			SyncNanos: int64(m.Sync), AsyncNanos: int64(m.Async), Bytes: m.Bytes,
		},
	}
	for _, s := range states {
		msg.States = append(msg.States, rpc.OperatorState(s))
	}
	r.jm.AcknowledgeCheckpoint(msg)
}

func (r reporter) Decline(id ident.CheckpointID, reason barrier.Reason, cause string) {
	r.jm.DeclineCheckpoint(rpc.DeclineCheckpoint{Token: r.token, Job: r.job, Attempt: r.attempt, Checkpoint: id, Reason: reason, Cause: cause})
}

func (r reporter) SnapshotTaken(id ident.CheckpointID) {
	r.jm.SnapshotTaken(rpc.SnapshotTaken{Token: r.token, Attempt: r.attempt, Checkpoint: id})
}

func (r reporter) OperatorEvent(op ident.OperatorID, kind operator.EventKind, payload []byte) {
	r.jm.OperatorEvent(rpc.OperatorEvent{Token: r.token, Attempt: r.attempt, Operator: op, Kind: kind, Payload: payload})
}

func (r reporter) EndOfData() { r.jm.EndOfData(rpc.EndOfData{Token: r.token, Attempt: r.attempt}) }
