package jobmaster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/internal/blob"
	"github.com/cutwater-io/cutwater/internal/checkpoint"
	"github.com/cutwater-io/cutwater/internal/ident"
	"github.com/cutwater-io/cutwater/internal/joblog"
	"github.com/cutwater-io/cutwater/internal/operator"
	"github.com/cutwater-io/cutwater/internal/plan"
	"github.com/cutwater-io/cutwater/internal/rpc"
	"github.com/cutwater-io/cutwater/internal/schedule"
)

// Config of a JobMaster.
type Config struct {
	Program     *operator.Program
	Plan        *plan.Plan
	Checkpoints checkpoint.Config
	Env         connector.Env
	Store       blob.Store
	// Log is the job's log, claimed by this process, and Recovered what it said.
	Log       *joblog.Log
	Recovered joblog.Recovered
	// Restore is the checkpoint to start from; nil: a fresh start.
	Restore *Restore
	// Restart says whether and when a failed job starts again.
	Restart schedule.Strategy
	// Observer is told what happens, in the JobMaster's goroutine. It may be
	// nil.
	Observer func(Event)
}

// JobMaster runs one job. Its exported methods, except Run, are the messages of
// TaskManagers and may be called from any goroutine.
type JobMaster struct {
	cfg   Config
	token ident.FencingToken
	start time.Time
	ctx   context.Context
	wg    sync.WaitGroup // goroutines beside the loop

	mu    sync.Mutex // guards queue and closed
	queue []func()
	wakeC chan struct{}
	shut  bool

	// Everything below belongs to the loop.
	tm        rpc.TaskManager
	coord     *checkpoint.Coordinator
	events    []checkpoint.Event // waiting for the coordinator
	actions   []checkpoint.Action
	stepping  bool
	lastAck   *rpc.AcknowledgeCheckpoint // being decided on
	exec      execution
	gateways  []*gateway
	postponed ident.CheckpointID // its snapshot of the enumerators waits for gateways; 0: none
	held      map[ident.CheckpointID]*heldCheckpoint
	complete  map[ident.CheckpointID]string // manifest objects by retained checkpoint
	orphans   []string                      // objects of aborted ones that could not be deleted yet
	undeleted []*deletion                   // superseded checkpoints that could not be deleted yet
	logQueue  []func()                      // operations of the log, one at a time
	logBusy   bool
	timers    map[checkpoint.TimerID]context.CancelFunc
	requests  map[checkpoint.RequestID]func(ident.CheckpointID, error)
	lastReq   checkpoint.RequestID
	restore   *Restore // what the present attempts were started from
	restarts  *schedule.Restarts
	counters  rpc.Counters // of all attempts that have ended
	ending    ending
}

// ending is how the job ends, once that is decided.
type ending struct {
	decided bool
	status  checkpoint.JobStatus
	err     error
	closed  bool // the coordinator has closed
	deposed bool
	logging bool // the last entry is being written
	logged  bool
}

var _ rpc.JobMaster = (*JobMaster)(nil)

// New makes a JobMaster. Call Attach before Run.
func New(cfg Config) *JobMaster {
	if cfg.Observer == nil {
		cfg.Observer = func(Event) {}
	}
	return &JobMaster{
		cfg: cfg, token: cfg.Log.Token(), wakeC: make(chan struct{}, 1),
		coord: checkpoint.New(cfg.Checkpoints), held: map[ident.CheckpointID]*heldCheckpoint{},
		restarts: schedule.New(cfg.Restart),
		complete: map[ident.CheckpointID]string{}, timers: map[checkpoint.TimerID]context.CancelFunc{},
		requests: map[checkpoint.RequestID]func(ident.CheckpointID, error){}, restore: cfg.Restore,
	}
}

// Attach gives the TaskManager that hosts the tasks.
func (jm *JobMaster) Attach(tm rpc.TaskManager) { jm.tm = tm }

// post queues an action of the loop.
func (jm *JobMaster) post(f func()) {
	jm.mu.Lock()
	if !jm.shut {
		jm.queue = append(jm.queue, f)
	}
	jm.mu.Unlock()
	select {
	case jm.wakeC <- struct{}{}:
	default:
	}
}

// Run runs the job to its end: nil when all input was read and everything is
// committed. When ctx ends the job is canceled: tasks stop, the latest checkpoint
// stays, and Run returns the cause. It returns when all its goroutines are gone.
func (jm *JobMaster) Run(ctx context.Context) error {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	jm.ctx = work
	jm.start = jm.cfg.Env.Clock.Now()
	stop := context.AfterFunc(ctx, func() { jm.post(func() { jm.end(checkpoint.Canceled, context.Cause(ctx)) }) })
	defer stop()

	if err := jm.begin(); err != nil {
		jm.end(checkpoint.JobFailed, err)
	}
	for !jm.over() {
		jm.mu.Lock()
		queue := jm.queue
		jm.queue = nil
		jm.mu.Unlock()
		for _, f := range queue {
			f()
		}
		if len(queue) == 0 {
			<-jm.wakeC
		}
	}
	jm.mu.Lock()
	jm.shut, jm.queue = true, nil
	jm.mu.Unlock()
	cancel()
	for _, g := range jm.gateways {
		jm.ending.err = errors.Join(jm.ending.err, g.close())
	}
	jm.wg.Wait()
	jm.cfg.Observer(JobEnded{Status: jm.ending.status, Err: jm.ending.err, Counters: jm.counters})
	return jm.ending.err
}

// begin starts the coordinator, the enumerators and the first attempts.
func (jm *JobMaster) begin() error {
	r := jm.cfg.Recovered
	var retained []checkpoint.Retained
	for _, c := range r.Completed {
		jm.complete[c.Checkpoint] = c.Manifest
		retained = append(retained, checkpoint.Retained{ID: c.Checkpoint, Foreign: c.Kind != joblog.Periodic})
	}
	reserved := r.NextID
	if reserved > 0 {
		reserved--
	}
	jm.step(checkpoint.Restored{At: jm.now(), Reserved: reserved, Retained: retained})
	jm.exec.init(jm.cfg.Plan)
	if err := jm.startEnumerators(); err != nil {
		return err
	}
	jm.sweepFormer()
	return jm.deploy()
}

// over reports whether nothing is left to wait for.
func (jm *JobMaster) over() bool {
	return jm.ending.decided && jm.exec.allEnded() && jm.ending.closed && jm.ending.logged
}

// end decides how the job ends, if that is not decided yet, and stops what still
// runs.
func (jm *JobMaster) end(status checkpoint.JobStatus, err error) {
	if jm.ending.decided {
		return
	}
	jm.ending.decided, jm.ending.status, jm.ending.err = true, status, err
	jm.cancelTasks()
	jm.maybeClose()
}

// endRetries is how often the last entry of the log is tried again.
const endRetries = 5

// maybeClose ends the job when all its tasks have: first the log says how it
// ended, then the coordinator closes and deletes what need not be kept. In the
// other order a crash in between would leave a finished job without checkpoints,
// and its next run would do everything again.
func (jm *JobMaster) maybeClose() {
	e := &jm.ending
	if !e.decided || !jm.exec.allEnded() || e.logging {
		return
	}
	e.logging = true
	if e.deposed {
		e.logged = true
		return
	}
	stopped := joblog.Stopped{Status: joblog.Finished}
	switch e.status {
	case checkpoint.Canceled:
		stopped.Status = joblog.Canceled
	case checkpoint.JobFailed:
		stopped.Status, stopped.Message = joblog.Failed, fmt.Sprint(e.err)
	}
	jm.log(func(l *joblog.Log) error {
		// A job that has done everything does not fail for one bad write.
		err := l.Append(jm.ctx, stopped)
		for try := 0; try < endRetries && err != nil && !errors.Is(err, joblog.ErrDeposed); try++ {
			select {
			case <-jm.cfg.Env.Clock.After(finalRetry):
				err = l.Append(jm.ctx, stopped)
			case <-jm.ctx.Done():
				return err
			}
		}
		return err
	}, func(err error) {
		e.logged = true
		if err != nil {
			e.err = errors.Join(e.err, fmt.Errorf("job log: write how the job ended: %w", err))
			jm.step(checkpoint.Suspend{At: jm.now()}) // keeps everything
		} else {
			jm.step(checkpoint.Shutdown{At: jm.now(), Status: e.status})
		}
	})
}

// now is the time of an event for the coordinator.
func (jm *JobMaster) now() checkpoint.At {
	t := jm.cfg.Env.Clock.Now()
	return checkpoint.At{Now: t.Sub(jm.start), WallMillis: t.UnixMilli()}
}
