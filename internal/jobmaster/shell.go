package jobmaster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cutwater-io/cutwater/internal/blob"
	"github.com/cutwater-io/cutwater/internal/checkpoint"
	"github.com/cutwater-io/cutwater/internal/ident"
	"github.com/cutwater-io/cutwater/internal/joblog"
	"github.com/cutwater-io/cutwater/internal/keygroup"
	"github.com/cutwater-io/cutwater/internal/manifest"
	"github.com/cutwater-io/cutwater/internal/rpc"
)

// ioTimeout bounds every write of a manifest or a log entry, so that the
// coordinator always gets its answer.
const ioTimeout = 2 * time.Minute

// heldCheckpoint is what is kept for a checkpoint until its outcome is known.
type heldCheckpoint struct {
	acks         map[ident.AttemptID]*rpc.AcknowledgeCheckpoint
	coordinators map[ident.OperatorID][]byte
	manifest     string // object name, once it is being written
	stats        checkpoint.Stats
}

func (jm *JobMaster) hold(id ident.CheckpointID) *heldCheckpoint {
	h := jm.held[id]
	if h == nil {
		h = &heldCheckpoint{acks: map[ident.AttemptID]*rpc.AcknowledgeCheckpoint{}}
		jm.held[id] = h
	}
	return h
}

// step tells the coordinator an event and carries out its actions. An event that
// comes up while actions are carried out waits until they are done: the actions
// belong to the coordinator and are reused by its next step.
func (jm *JobMaster) step(ev checkpoint.Event) {
	jm.events = append(jm.events, ev)
	if jm.stepping {
		return
	}
	jm.stepping = true
	for len(jm.events) > 0 {
		ev := jm.events[0]
		jm.events = jm.events[1:]
		jm.actions = jm.coord.Step(jm.actions[:0], ev)
		for _, a := range jm.actions {
			jm.act(a)
		}
	}
	jm.stepping = false
}

// act carries out one action.
func (jm *JobMaster) act(a checkpoint.Action) {
	switch a := a.(type) {
	case *checkpoint.ReserveIDs:
		jm.reserve(a.Count)
	case *checkpoint.SnapshotCoordinators:
		jm.snapshotCoordinators(a.ID)
	case *checkpoint.DiscardCoordinators:
		if h := jm.held[a.ID]; h != nil {
			h.coordinators = nil
		}
	case *checkpoint.SendTrigger:
		jm.trigger(a)
	case *checkpoint.KeepAck:
		jm.hold(a.ID).acks[a.Attempt] = jm.lastAck
	case *checkpoint.DiscardAck:
		jm.discardAck(a.ID)
	case *checkpoint.WriteManifest:
		jm.writeManifest(a)
	case *checkpoint.Publish:
		jm.publish(a.ID)
	case *checkpoint.ResolvePublish:
		id := a.ID
		jm.log(func(l *joblog.Log) error { return l.Resolve(jm.ctx, id) }, func(err error) { jm.published(id, err) })
	case *checkpoint.NotifyComplete:
		jm.notifyComplete(a)
	case *checkpoint.NotifyAborted:
		for _, to := range a.To {
			jm.tm.NotifyCheckpointAborted(rpc.NotifyCheckpointAborted{Token: jm.token, Attempt: to, Checkpoint: a.ID, LatestCompleted: a.LatestCompleted})
		}
		for _, g := range jm.gateways {
			g.reopen(a.ID)
		}
		jm.abandonSnapshot(a.ID)
		jm.maybeSnapshot()
	case *checkpoint.DiscardPending:
		jm.discard(a.ID)
	case *checkpoint.DeleteCompleted:
		jm.deleteCompleted(a.ID)
	case *checkpoint.SetTimer:
		jm.setTimer(a.Timer, a.After)
	case *checkpoint.CancelTimer:
		if cancel := jm.timers[a.Timer]; cancel != nil {
			cancel()
			delete(jm.timers, a.Timer)
		}
	case *checkpoint.Resolve:
		jm.resolve(a)
	case *checkpoint.FailJob:
		err := fmt.Errorf("%d checkpoints failed in a row, the last one with %v", a.Failures, a.Reason)
		if a.Err != nil {
			err = fmt.Errorf("%w: %w", err, a.Err)
		}
		jm.fail(err)
	case *checkpoint.RestoreFrom:
		jm.restoreFrom(a.ID)
	case *checkpoint.Closed:
		jm.ending.closed, jm.ending.deposed = true, a.Deposed
		if a.Deposed {
			jm.end(checkpoint.JobFailed, joblog.ErrDeposed)
		}
	default:
		panic(fmt.Sprintf("jobmaster: unknown action %v", a))
	}
}

// log runs an operation of the job log beside the loop, in order, and then done
// in the loop.
func (jm *JobMaster) log(op func(*joblog.Log) error, done func(error)) {
	jm.logQueue = append(jm.logQueue, func() {
		jm.wg.Go(func() {
			err := op(jm.cfg.Log)
			jm.post(func() {
				jm.logBusy = false
				done(err)
				jm.nextLog()
			})
		})
	})
	jm.nextLog()
}

func (jm *JobMaster) nextLog() {
	if jm.logBusy || len(jm.logQueue) == 0 {
		return
	}
	op := jm.logQueue[0]
	jm.logQueue = jm.logQueue[1:]
	jm.logBusy = true
	op()
}

func (jm *JobMaster) ioContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(jm.ctx, ioTimeout)
}

func outcomeOf(err error) checkpoint.Outcome {
	switch {
	case err == nil:
		return checkpoint.OK
	case errors.Is(err, joblog.ErrDeposed):
		return checkpoint.Deposed
	case errors.Is(err, blob.ErrUnknown), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return checkpoint.Unknown
	}
	return checkpoint.Failed
}

func (jm *JobMaster) reserve(count uint64) {
	var first ident.CheckpointID
	jm.log(func(l *joblog.Log) (err error) {
		ctx, cancel := jm.ioContext()
		defer cancel()
		first, err = l.Reserve(ctx, uint32(count))
		return err
	}, func(err error) {
		jm.step(checkpoint.IDsReserved{At: jm.now(), Outcome: outcomeOf(err), First: first, Count: count, Err: err})
	})
}

func (jm *JobMaster) trigger(a *checkpoint.SendTrigger) {
	jm.cfg.Observer(CheckpointTriggered{a.ID})
	for _, to := range a.To {
		err := jm.tm.TriggerCheckpoint(rpc.TriggerCheckpoint{Token: jm.token, Attempt: to, Checkpoint: a.ID, TimestampMillis: a.TimestampMillis})
		if err != nil {
			jm.step(checkpoint.TriggerFailed{At: jm.now(), ID: a.ID, Attempt: to, Reason: checkpoint.TaskCheckpointFailure, Err: err})
		}
	}
}

func (jm *JobMaster) writeManifest(a *checkpoint.WriteManifest) {
	h := jm.hold(a.ID)
	h.stats = a.Stats
	m := jm.manifest(a.ID, h)
	h.manifest = manifest.Name(manifest.Prefix(a.ID, jm.cfg.Env.Random()))
	name, id := h.manifest, a.ID
	jm.wg.Go(func() {
		ctx, cancel := jm.ioContext()
		defer cancel()
		err := manifest.Write(ctx, jm.cfg.Store, name, m)
		jm.post(func() { jm.step(checkpoint.ManifestWritten{At: jm.now(), ID: id, Err: err}) })
	})
}

// manifest puts the acknowledgements of a checkpoint together.
func (jm *JobMaster) manifest(id ident.CheckpointID, h *heldCheckpoint) *manifest.Manifest {
	m := &manifest.Manifest{
		Job: jm.cfg.Log.Job(), JobName: jm.cfg.Plan.Graph.Name, Checkpoint: id, Token: jm.token, HashName: keygroup.HashName,
		Stats: manifest.Stats{
			TriggeredMillis: h.stats.TriggeredMillis, DurationMillis: h.stats.DurationMillis,
			AlignmentMillis: h.stats.AlignmentMillis, StartDelayMillis: h.stats.StartDelayMillis,
			SyncMillis: h.stats.SyncMillis, AsyncMillis: h.stats.AsyncMillis, Bytes: h.stats.Bytes,
		},
	}
	byID := map[ident.OperatorID]*manifest.OperatorState{}
	for i := range jm.cfg.Plan.Graph.Nodes {
		n := &jm.cfg.Plan.Graph.Nodes[i]
		byID[n.ID] = &manifest.OperatorState{
			ID: n.ID, Name: n.Name, MaxParallelism: int32(jm.cfg.Plan.Max[i]),
			Parallelism: int32(jm.cfg.Plan.Vertices[jm.cfg.Plan.VertexOf[i]].Parallelism), Coordinator: h.coordinators[n.ID],
		}
	}
	for _, ack := range h.acks {
		for _, s := range ack.States {
			op := byID[s.Operator]
			op.Subtasks = append(op.Subtasks, s.State)
		}
	}
	for _, op := range byID {
		slices.SortFunc(op.Subtasks, func(a, b manifest.SubtaskState) int { return int(a.Subtask - b.Subtask) })
		m.Operators = append(m.Operators, *op)
	}
	slices.SortFunc(m.Operators, func(a, b manifest.OperatorState) int { return strings.Compare(a.Name, b.Name) })
	return m
}

func (jm *JobMaster) publish(id ident.CheckpointID) {
	entry := joblog.Completed{Checkpoint: id, Kind: joblog.Periodic, Manifest: jm.held[id].manifest}
	jm.log(func(l *joblog.Log) error {
		ctx, cancel := jm.ioContext()
		defer cancel()
		return l.Append(ctx, entry)
	}, func(err error) { jm.published(id, err) })
}

func (jm *JobMaster) published(id ident.CheckpointID, err error) {
	outcome := outcomeOf(err)
	if outcome == checkpoint.OK {
		jm.complete[id] = jm.held[id].manifest
		jm.cfg.Observer(CheckpointPublished{id})
	}
	jm.step(checkpoint.Published{At: jm.now(), ID: id, Outcome: outcome, Err: err})
}

func (jm *JobMaster) notifyComplete(a *checkpoint.NotifyComplete) {
	for _, to := range a.To {
		jm.tm.NotifyCheckpointComplete(rpc.NotifyCheckpointComplete{Token: jm.token, Attempt: to, Checkpoint: a.ID, LastSubsumed: a.LastSubsumed})
	}
	for _, g := range jm.gateways {
		g.complete(a.ID)
	}
	jm.maybeSnapshot()
	var stats checkpoint.Stats
	if h := jm.held[a.ID]; h != nil {
		stats = h.stats
	}
	delete(jm.held, a.ID)
	jm.cfg.Observer(CheckpointCompleted{Checkpoint: a.ID, Stats: stats})
}

func (jm *JobMaster) resolve(a *checkpoint.Resolve) {
	if done := jm.requests[a.Request]; done != nil {
		delete(jm.requests, a.Request)
		var err error
		if a.Reason != checkpoint.ReasonNone {
			err = fmt.Errorf("checkpoint %d: %v", a.ID, a.Reason)
			if a.Err != nil {
				err = fmt.Errorf("%w: %w", err, a.Err)
			}
		}
		done(a.ID, err)
	}
	if a.Reason != checkpoint.ReasonNone {
		jm.cfg.Observer(CheckpointFailed{Checkpoint: a.ID, Reason: a.Reason, Err: a.Err})
	}
}

// request asks the coordinator for a checkpoint now.
func (jm *JobMaster) request(done func(ident.CheckpointID, error)) {
	jm.lastReq++
	jm.requests[jm.lastReq] = done
	jm.step(checkpoint.Request{At: jm.now(), Request: jm.lastReq, Kind: checkpoint.Checkpoint})
}

func (jm *JobMaster) setTimer(id checkpoint.TimerID, after time.Duration) {
	ctx, cancel := context.WithCancel(jm.ctx)
	jm.timers[id] = cancel
	jm.wg.Go(func() {
		select {
		case <-jm.cfg.Env.Clock.After(after):
			jm.post(func() {
				if _, ok := jm.timers[id]; ok {
					delete(jm.timers, id)
					cancel()
					jm.step(checkpoint.TimerFired{At: jm.now(), Timer: id})
				}
			})
		case <-ctx.Done():
		}
	})
}
