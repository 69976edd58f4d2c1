package jobmaster

import (
	"errors"
	"fmt"
	"time"

	"github.com/cutwater-io/cutwater/internal/checkpoint"
	"github.com/cutwater-io/cutwater/internal/ident"
	"github.com/cutwater-io/cutwater/internal/operator"
	"github.com/cutwater-io/cutwater/internal/plan"
	"github.com/cutwater-io/cutwater/internal/rpc"
)

// execution is the present attempt of every subtask. All subtasks are restarted
// together, so they share one attempt number.
type execution struct {
	plan    *plan.Plan
	attempt int32
	tasks   map[ident.SubtaskID]*taskRecord
	order   []ident.SubtaskID
	// failing: an attempt failed and the others are being canceled.
	failing error
	waiting bool // for the delay before a restart
	ended   int  // tasks that reported the end of their data
}

type taskRecord struct {
	attempt ident.AttemptID
	state   rpc.TaskState
	data    bool // its data has ended
	// undelivered: an event did not reach the task, which has ended; how is not
	// known yet.
	undelivered error
}

func (s taskRecord) terminal() bool { return s.state >= rpc.Finished }

func (x *execution) init(p *plan.Plan) {
	x.plan = p
	x.tasks = map[ident.SubtaskID]*taskRecord{}
	for i := range p.Vertices {
		for s := range int32(p.Vertices[i].Parallelism) {
			x.order = append(x.order, ident.SubtaskID{Vertex: p.Vertices[i].ID, Index: s})
		}
	}
}

// allEnded reports whether no attempt runs.
func (x *execution) allEnded() bool {
	for _, t := range x.tasks {
		if !t.terminal() {
			return false
		}
	}
	return true
}

func (x *execution) count(s rpc.TaskState) (n int) {
	for _, t := range x.tasks {
		if t.state == s {
			n++
		}
	}
	return n
}

// deploy starts a new attempt of every subtask.
func (jm *JobMaster) deploy() error {
	x := &jm.exec
	x.attempt++
	x.failing, x.ended = nil, 0
	restored := Restoring{Restart: jm.restarts.Count(), Finished: jm.restore == nil && jm.cfg.Recovered.Finished}
	if jm.restore != nil {
		restored.Checkpoint = jm.restore.Checkpoint
	}
	jm.cfg.Observer(restored)
	for _, g := range jm.gateways {
		g.attach(x.attempt)
	}
	for _, s := range x.order {
		x.tasks[s] = &taskRecord{attempt: ident.AttemptID{Subtask: s, Attempt: x.attempt}, state: rpc.Deploying}
	}
	jm.tasksChanged()
	for _, s := range x.order {
		d := rpc.Deploy{Token: jm.token, Job: jm.cfg.Log.Job(), Attempt: x.tasks[s].attempt, Unique: jm.cfg.Env.Random()}
		if jm.restore != nil {
			d.RestoredFrom, d.States = jm.restore.Checkpoint, jm.restore.states[s]
		}
		jm.tm.Deploy(d)
	}
	return nil
}

// tasksChanged tells the coordinator the task set.
func (jm *JobMaster) tasksChanged() {
	tasks := make([]checkpoint.Task, 0, len(jm.exec.order))
	for _, s := range jm.exec.order {
		t := jm.exec.tasks[s]
		tasks = append(tasks, checkpoint.Task{
			Attempt: t.attempt, Trigger: jm.triggered(s),
			Running: t.state == rpc.Running, Finished: t.state == rpc.Finished,
		})
	}
	jm.step(checkpoint.TasksChanged{At: jm.now(), Tasks: tasks})
}

// triggered reports whether a subtask is told of a checkpoint by message, because no
// barrier reaches it: a source, and a task behind which nobody runs any more
// (specification 3.8). Without the latter a task that missed its last notification
// would wait for ever when its sources have finished.
func (jm *JobMaster) triggered(s ident.SubtaskID) bool {
	p := jm.cfg.Plan
	for _, x := range p.Vertices[s.Vertex].In {
		ex := &p.Exchanges[x]
		for i := range int32(p.Vertices[ex.From].Parallelism) {
			connected := !ex.Pointwise || i == s.Index
			if connected && jm.exec.tasks[ident.SubtaskID{Vertex: ex.From, Index: i}].state != rpc.Finished {
				return false
			}
		}
	}
	return true
}

// record finds the present attempt a message is from; nil for messages of the
// past.
func (jm *JobMaster) record(token ident.FencingToken, a ident.AttemptID) *taskRecord {
	t := jm.exec.tasks[a.Subtask]
	if token != jm.token || t == nil || t.attempt != a {
		return nil
	}
	return t
}

func (jm *JobMaster) taskStateChanged(m rpc.TaskStateChanged) {
	t := jm.record(m.Token, m.Attempt)
	if t == nil || t.terminal() {
		return
	}
	jm.counters.Add(m.Counters)
	if m.State == rpc.Finished && t.undelivered != nil {
		m.State, m.Err = rpc.Failed, t.undelivered
	}
	if m.State == rpc.Failed {
		jm.taskFailed(m.Attempt, m.Err)
		t.state = rpc.Failed
	} else {
		t.state = m.State
	}
	switch {
	case jm.ending.decided:
		jm.maybeClose()
	case jm.exec.failing != nil:
		jm.maybeRestart()
	case m.State == rpc.Canceled:
		jm.taskFailed(m.Attempt, errors.New("the task was canceled by nobody"))
	default:
		jm.tasksChanged()
		if m.State == rpc.Running && jm.exec.count(rpc.Running) == len(jm.exec.order) {
			jm.cfg.Observer(AllRunning{len(jm.exec.order)})
			jm.step(checkpoint.JobRunning{At: jm.now(), Random: float64(jm.cfg.Env.Random()>>11) / (1 << 53)})
		}
		if jm.exec.count(rpc.Finished) == len(jm.exec.order) {
			jm.end(checkpoint.Finished, nil)
		}
	}
}

// taskFailed begins the failover: all other attempts are canceled, and when the
// last one is gone the job restarts or ends.
func (jm *JobMaster) taskFailed(a ident.AttemptID, err error) {
	t := jm.exec.tasks[a.Subtask]
	if t == nil || t.attempt != a {
		return
	}
	jm.cfg.Observer(TaskFailed{Task: jm.cfg.Plan.VertexName(a.Subtask.Vertex), Err: err})
	jm.fail(err)
}

// undelivered is told that an event did not reach a task. If the task has ended,
// why is in its own message, which may still be under way and is the better error.
// If the event was lost on its way, the task cannot go on: the enumerator believes
// that the reader has it.
func (jm *JobMaster) undelivered(a ident.AttemptID, err error) {
	t := jm.exec.tasks[a.Subtask]
	switch {
	case t == nil || t.attempt != a || jm.exec.failing != nil || jm.ending.decided:
	case !t.terminal() && !errors.Is(err, rpc.ErrUnknownTask):
		jm.taskFailed(a, err)
	case !t.terminal():
		t.undelivered = err
	case t.state == rpc.Finished:
		jm.taskFailed(a, err)
	}
}

func (jm *JobMaster) fail(err error) {
	if jm.ending.decided || jm.exec.failing != nil {
		return
	}
	if errors.Is(err, operator.ErrPermanent) {
		jm.end(checkpoint.JobFailed, err)
		return
	}
	jm.exec.failing = err
	jm.step(checkpoint.JobNotRunning{At: jm.now()})
	jm.cancelTasks()
	jm.post(jm.maybeRestart)
}

func (jm *JobMaster) cancelTasks() {
	for _, s := range jm.exec.order {
		if t := jm.exec.tasks[s]; t != nil && !t.terminal() {
			jm.tm.Cancel(rpc.Cancel{Token: jm.token, Attempt: t.attempt})
		}
	}
}

// maybeRestart goes on when every attempt of the failed execution is gone.
func (jm *JobMaster) maybeRestart() {
	x := &jm.exec
	if x.failing == nil || !x.allEnded() || jm.ending.decided || x.waiting {
		return
	}
	delay, ok := jm.restarts.Failure(jm.now().Now, float64(jm.cfg.Env.Random()>>11)/(1<<53))
	if !ok {
		jm.end(checkpoint.JobFailed, x.failing)
		return
	}
	x.waiting = true
	jm.cfg.Observer(Restarting{Restart: jm.restarts.Count(), Delay: delay})
	jm.wg.Go(func() {
		select {
		case <-jm.cfg.Env.Clock.After(delay):
		case <-jm.ctx.Done():
		}
		jm.post(func() {
			if !jm.ending.decided {
				jm.step(checkpoint.Failover{At: jm.now()})
			}
		})
	})
}

// restoreFrom starts the next execution from a checkpoint of this run or of the
// log.
func (jm *JobMaster) restoreFrom(id ident.CheckpointID) {
	jm.post(func() {
		if jm.ending.decided {
			return // canceled meanwhile: nobody would stop what starts now
		}
		jm.exec.waiting = false
		err := jm.load(id)
		if err == nil {
			err = jm.startEnumerators()
		}
		if err == nil {
			err = jm.deploy()
		}
		if err != nil {
			// What cannot be read now may be readable later: it counts as one
			// more failure.
			jm.exec.failing = fmt.Errorf("restart from checkpoint %d: %w", id, err)
			jm.cfg.Env.Log.Warn("the job could not be restarted", "checkpoint", id, "error", err)
			jm.maybeRestart()
		}
	})
}

func (jm *JobMaster) endOfData(m rpc.EndOfData) {
	t := jm.record(m.Token, m.Attempt)
	if t == nil || t.data {
		return
	}
	t.data = true
	jm.exec.ended++
	if jm.exec.ended < len(jm.exec.order) {
		return
	}
	jm.finalCheckpoint()
}

// finalRetry is the pause before a failed final checkpoint is asked for again.
const finalRetry = time.Second

// finalCheckpoint asks for the checkpoint that lets the tasks finish, at once and
// again if it fails: the last output must not wait for the interval (S127, S128).
func (jm *JobMaster) finalCheckpoint() {
	if !jm.checkpoints() {
		return
	}
	attempt := jm.exec.attempt
	jm.request(func(_ ident.CheckpointID, err error) {
		if jm.ending.decided || jm.exec.failing != nil || jm.exec.attempt != attempt {
			return
		}
		if err == nil {
			// Behind the notifications of this checkpoint, by which sinks commit.
			jm.post(func() { jm.finishTasks(jm.coord.LatestCompleted()) })
			return
		}
		jm.wg.Go(func() {
			select {
			case <-jm.cfg.Env.Clock.After(finalRetry):
				jm.post(func() {
					if jm.exec.attempt == attempt && jm.exec.failing == nil && !jm.ending.decided {
						jm.finalCheckpoint()
					}
				})
			case <-jm.ctx.Done():
			}
		})
	})
}

// finishTasks lets every task end: the final checkpoint is complete. No other one
// begins from here on. It would be without the state of the tasks that have finished
// before it, and newer than the one that has everything: after a crash before the
// log says FINISHED it would be restored.
func (jm *JobMaster) finishTasks(id ident.CheckpointID) {
	jm.step(checkpoint.JobNotRunning{At: jm.now()})
	for _, s := range jm.exec.order {
		jm.tm.Finish(rpc.Finish{Token: jm.token, Attempt: jm.exec.tasks[s].attempt, Checkpoint: id})
	}
}

func (jm *JobMaster) checkpoints() bool { return jm.cfg.Checkpoints.Interval > 0 }
