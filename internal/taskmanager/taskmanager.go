package taskmanager

import (
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"sync"

	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/internal/blob"
	"github.com/cutwater-io/cutwater/internal/ident"
	"github.com/cutwater-io/cutwater/internal/operator"
	"github.com/cutwater-io/cutwater/internal/plan"
	"github.com/cutwater-io/cutwater/internal/rpc"
	"github.com/cutwater-io/cutwater/internal/task"
)

// Config of a TaskManager. Everything is shared and read only.
type Config struct {
	Program     *operator.Program
	Plan        *plan.Plan
	Job         ident.JobID
	Env         connector.Env
	Store       blob.Store
	Checkpoints bool // checkpoints are taken
	JobMaster   rpc.JobMaster
}

// TaskManager hosts tasks. Its methods may be called from any goroutine.
type TaskManager struct {
	cfg Config
	ctx context.Context
	wg  sync.WaitGroup

	mu       sync.Mutex // guards the fields below; never held while calling out
	networks map[int32]*network
	tasks    map[ident.AttemptID]*hosted
	token    ident.FencingToken // the highest seen
}

// hosted is a running task.
type hosted struct {
	task   *task.Task
	cancel context.CancelFunc
}

var _ rpc.TaskManager = (*TaskManager)(nil)

// New makes a TaskManager without tasks. All tasks end when ctx does.
func New(ctx context.Context, cfg Config) *TaskManager {
	return &TaskManager{cfg: cfg, ctx: ctx, networks: map[int32]*network{}, tasks: map[ident.AttemptID]*hosted{}}
}

// Wait returns when all tasks have ended.
func (tm *TaskManager) Wait() { tm.wg.Wait() }

// accept reports whether a message is from the newest JobMaster known.
func (tm *TaskManager) accept(token ident.FencingToken) bool {
	if token < tm.token {
		return false
	}
	tm.token = token
	return true
}

// Deploy starts an attempt. Its channels are made together with those of all
// attempts of the same number, whichever is deployed first.
func (tm *TaskManager) Deploy(d rpc.Deploy) {
	tm.mu.Lock()
	if !tm.accept(d.Token) || tm.tasks[d.Attempt] != nil {
		tm.mu.Unlock()
		return
	}
	n := tm.networks[d.Attempt.Attempt]
	if n == nil {
		n = newNetwork(tm.cfg.Plan)
		tm.networks[d.Attempt.Attempt] = n
	}
	end := n.end(d.Attempt.Subtask)
	t := task.New(task.Config{
		Program: tm.cfg.Program, Plan: tm.cfg.Plan, Job: d.Job, Attempt: d.Attempt, Unique: d.Unique,
		RestoredFrom: d.RestoredFrom, States: d.States, Env: tm.cfg.Env, Store: tm.cfg.Store,
		Checkpoints: tm.cfg.Checkpoints, Inbox: end.inbox, Waker: end.waker, Outputs: n.outputs(d.Attempt.Subtask),
		Reporter: reporter{jm: tm.cfg.JobMaster, token: d.Token, job: d.Job, attempt: d.Attempt},
	})
	ctx, cancel := context.WithCancel(tm.ctx)
	tm.tasks[d.Attempt] = &hosted{t, cancel}
	tm.mu.Unlock()

	tm.wg.Go(func() {
		defer cancel()
		// Profiles and dumps show whose goroutine it is.
		labels := pprof.Labels("job", tm.cfg.Plan.Graph.Name, "task", t.Name())
		var err error
		pprof.Do(ctx, labels, func(ctx context.Context) { err = t.Run(ctx) })
		tm.ended(d, t, err)
	})
}

func (tm *TaskManager) ended(d rpc.Deploy, t *task.Task, err error) {
	tm.mu.Lock()
	delete(tm.tasks, d.Attempt)
	left := false
	for a := range tm.tasks {
		left = left || a.Attempt == d.Attempt.Attempt
	}
	if !left && tm.networks[d.Attempt.Attempt].complete() {
		delete(tm.networks, d.Attempt.Attempt)
	}
	tm.mu.Unlock()
	state := rpc.Finished
	switch {
	case errors.Is(err, task.ErrCanceled):
		state, err = rpc.Canceled, nil
	case err != nil:
		state = rpc.Failed
	}
	m := rpc.TaskStateChanged{Token: d.Token, Attempt: d.Attempt, State: state, Err: err}
	m.Counters.Late, m.Counters.LateCounted, m.Counters.BadRecords, m.Counters.Overdrawn = t.Counters()
	tm.cfg.JobMaster.TaskStateChanged(m)
}

// find returns the task of an attempt; nil when it is not here or the message is
// from a JobMaster of the past.
func (tm *TaskManager) find(token ident.FencingToken, a ident.AttemptID) *hosted {
	tm.mu.Lock()
	defer tm.mu.Unlock()
	if !tm.accept(token) {
		return nil
	}
	return tm.tasks[a]
}

func (tm *TaskManager) Cancel(m rpc.Cancel) {
	if h := tm.find(m.Token, m.Attempt); h != nil {
		h.cancel()
	}
}

func (tm *TaskManager) TriggerCheckpoint(m rpc.TriggerCheckpoint) error {
	h := tm.find(m.Token, m.Attempt)
	if h == nil || !h.task.Trigger(m.Checkpoint, m.TimestampMillis) {
		return fmt.Errorf("trigger checkpoint %d at task %s: %w", m.Checkpoint, m.Attempt, rpc.ErrUnknownTask)
	}
	return nil
}

func (tm *TaskManager) NotifyCheckpointComplete(m rpc.NotifyCheckpointComplete) {
	if h := tm.find(m.Token, m.Attempt); h != nil {
		h.task.Complete(m.Checkpoint, m.LastSubsumed)
	}
}

func (tm *TaskManager) NotifyCheckpointAborted(m rpc.NotifyCheckpointAborted) {
	if h := tm.find(m.Token, m.Attempt); h != nil {
		h.task.Aborted(m.Checkpoint, m.LatestCompleted)
	}
}

func (tm *TaskManager) Finish(m rpc.Finish) {
	if h := tm.find(m.Token, m.Attempt); h != nil {
		h.task.Finish(m.Checkpoint)
	}
}

func (tm *TaskManager) OperatorEvent(m rpc.OperatorEvent) error {
	h := tm.find(m.Token, m.Attempt)
	if h == nil || !h.task.OperatorEvent(m.Operator, m.Kind, m.Payload) {
		return fmt.Errorf("operator event for task %s: %w", m.Attempt, rpc.ErrUnknownTask)
	}
	return nil
}
