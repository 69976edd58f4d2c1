package jobmaster

import (
	"errors"
	"slices"

	"github.com/cutwater-io/cutwater/internal/checkpoint"
	"github.com/cutwater-io/cutwater/internal/ident"
	"github.com/cutwater-io/cutwater/internal/plan"
	"github.com/cutwater-io/cutwater/internal/rpc"
)

// The messages of TaskManagers. Each is queued for the loop.

func (jm *JobMaster) TaskStateChanged(m rpc.TaskStateChanged) {
	jm.post(func() { jm.taskStateChanged(m) })
}

func (jm *JobMaster) AcknowledgeCheckpoint(m rpc.AcknowledgeCheckpoint) {
	jm.post(func() {
		if !jm.ours(m.Token, m.Job, m.Attempt, m.Checkpoint) {
			return
		}
		for _, s := range m.States {
			if !slices.ContainsFunc(jm.cfg.Plan.Graph.Nodes, func(n plan.Node) bool { return n.ID == s.Operator }) {
				jm.cfg.Env.Log.Error("an acknowledgement holds state of an operator that the job does not have; it is ignored, and the checkpoint will expire",
					"checkpoint", m.Checkpoint, "task", m.Attempt, "operator", s.Operator)
				return
			}
		}
		jm.lastAck = &m
		jm.step(checkpoint.Acked{At: jm.now(), ID: m.Checkpoint, Attempt: m.Attempt, Metrics: checkpoint.Metrics{
			StartDelayMillis: millis(m.Metrics.StartDelayNanos), AlignmentMillis: millis(m.Metrics.AlignmentNanos),
			SyncMillis: millis(m.Metrics.SyncNanos), AsyncMillis: millis(m.Metrics.AsyncNanos), Bytes: m.Metrics.Bytes,
		}})
		jm.lastAck = nil
	})
}

// ours reports whether a message about a checkpoint is for this job and from a task
// that this JobMaster deployed. Nothing that came with another one is touched.
func (jm *JobMaster) ours(token ident.FencingToken, job ident.JobID, from ident.AttemptID, id ident.CheckpointID) bool {
	if job != jm.cfg.Log.Job() {
		jm.cfg.Env.Log.Error("a message about a checkpoint of another job is ignored", "job", job, "checkpoint", id, "task", from)
		return false
	}
	return token == jm.token
}

func millis(nanos int64) int64 { return nanos / 1e6 }

func (jm *JobMaster) DeclineCheckpoint(m rpc.DeclineCheckpoint) {
	jm.post(func() {
		if !jm.ours(m.Token, m.Job, m.Attempt, m.Checkpoint) {
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
		jm.maybeSnapshot()
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
