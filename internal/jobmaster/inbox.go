package jobmaster

import (
	"errors"

	"github.com/cutwater-io/cutwater/internal/checkpoint"
	"github.com/cutwater-io/cutwater/internal/rpc"
)

// The messages of TaskManagers. Each is queued for the loop.

func (jm *JobMaster) TaskStateChanged(m rpc.TaskStateChanged) {
	jm.post(func() { jm.taskStateChanged(m) })
}

func (jm *JobMaster) AcknowledgeCheckpoint(m rpc.AcknowledgeCheckpoint) {
	jm.post(func() {
		if m.Token != jm.token {
			return
		}
		jm.lastAck = &m
		jm.step(checkpoint.Acked{At: jm.now(), ID: m.Checkpoint, Attempt: m.Attempt, Metrics: checkpoint.Metrics{
			StartDelayMillis: millis(m.Metrics.StartDelayNanos), AlignmentMillis: millis(m.Metrics.AlignmentNanos),
			SyncMillis: millis(m.Metrics.SyncNanos), AsyncMillis: millis(m.Metrics.AsyncNanos), Bytes: m.Metrics.Bytes,
		}})
		jm.lastAck = nil
	})
}

func millis(nanos int64) int64 { return nanos / 1e6 }

func (jm *JobMaster) DeclineCheckpoint(m rpc.DeclineCheckpoint) {
	jm.post(func() {
		if m.Token != jm.token {
			return
		}
		// Both tables use the specification's names.
		reason, err := checkpoint.ParseReason(m.Reason.String())
		if err != nil {
			reason = checkpoint.CheckpointDeclined
		}
		var cause error
		if m.Cause != "" {
			cause = errors.New(m.Cause)
		}
		jm.step(checkpoint.Declined{At: jm.now(), ID: m.Checkpoint, Attempt: m.Attempt, Reason: reason, Err: cause})
	})
}

func (jm *JobMaster) SnapshotTaken(m rpc.SnapshotTaken) {
	jm.post(func() {
		if jm.record(m.Token, m.Attempt) == nil {
			return
		}
		for _, g := range jm.gateways {
			if g.vertex == m.Attempt.Subtask.Vertex {
				g.taken(m.Attempt, m.Checkpoint)
			}
		}
	})
}

func (jm *JobMaster) OperatorEvent(m rpc.OperatorEvent) {
	jm.post(func() {
		if jm.record(m.Token, m.Attempt) == nil {
			return
		}
		for _, g := range jm.gateways {
			if g.id == m.Operator {
				g.event(m)
			}
		}
	})
}

func (jm *JobMaster) EndOfData(m rpc.EndOfData) { jm.post(func() { jm.endOfData(m) }) }
