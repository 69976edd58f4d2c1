package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/internal/blob"
	"github.com/cutwater-io/cutwater/internal/host"
	"github.com/cutwater-io/cutwater/internal/joblog"
	"github.com/cutwater-io/cutwater/internal/jobmaster"
	"github.com/cutwater-io/cutwater/internal/operator"
	"github.com/cutwater-io/cutwater/internal/plan"
	"github.com/cutwater-io/cutwater/internal/statedir"
	"github.com/cutwater-io/cutwater/internal/taskmanager"
	"github.com/cutwater-io/cutwater/stream"
)

// Event is something a person watching the job wants to know; its String says it
// in one line. The types are [Restoring], [AllRunning], [CheckpointTriggered],
// [CheckpointPublished], [CheckpointCompleted], [CheckpointFailed], [TaskFailed],
// [Restarting] and [JobEnded].
type Event = jobmaster.Event

// The events of a job.
type (
	// Restoring: the tasks are about to start from a checkpoint, or from the
	// beginning when Checkpoint is 0.
	Restoring = jobmaster.Restoring
	// AllRunning: every task runs.
	AllRunning = jobmaster.AllRunning
	// CheckpointTriggered: the sources were told to begin a checkpoint.
	CheckpointTriggered = jobmaster.CheckpointTriggered
	// CheckpointPublished: it is durable, and nobody has been told yet.
	CheckpointPublished = jobmaster.CheckpointPublished
	// CheckpointCompleted: everybody was told, and sinks commit.
	CheckpointCompleted = jobmaster.CheckpointCompleted
	// CheckpointFailed: it will never be complete.
	CheckpointFailed = jobmaster.CheckpointFailed
	// TaskFailed: an attempt of a task failed.
	TaskFailed = jobmaster.TaskFailed
	// Restarting: the job starts again after a failure.
	Restarting = jobmaster.Restarting
	// JobEnded: nothing runs any more.
	JobEnded = jobmaster.JobEnded
)

// Run runs a pipeline in this process and returns when it has ended: nil when
// all input was read and all output committed. It reads no flags, handles no
// signals and never exits the process.
//
// When ctx ends the job is canceled: the tasks stop, the latest checkpoint stays
// for the next run, and Run returns the cause of ctx. Whatever happens, all
// goroutines of the job are gone when Run returns.
func Run(ctx context.Context, p *stream.Pipeline, cfg Config) error {
	prog, cfg, err := prepare(p, cfg)
	if err != nil {
		return err
	}
	var store blob.Store = blob.Memory()
	if !cfg.Ephemeral {
		lock, err := statedir.Acquire(cfg.StateDir)
		if err != nil {
			return fmt.Errorf("run %q: %w", p.Name(), err)
		}
		defer lock.Release()
		dir := blob.Dir(cfg.StateDir, nil)
		defer dir.Close()
		store = dir
	}
	if err := run(ctx, prog, cfg, host.Env(cfg.Log), store); err != nil {
		return fmt.Errorf("run %q: %w", p.Name(), err)
	}
	return nil
}

// prepare checks the pipeline and the configuration before anything is touched.
func prepare(p *stream.Pipeline, cfg Config) (*operator.Program, Config, error) {
	cfg = cfg.withDefaults(p.Name())
	if err := cfg.validate(); err != nil {
		return nil, cfg, fmt.Errorf("run %q: %w", p.Name(), err)
	}
	prog, err := p.Program()
	if err != nil {
		return nil, cfg, err
	}
	if cfg.Checkpoints.Interval < 0 {
		if name := firstCommitter(prog.Graph); name != "" {
			return nil, cfg, fmt.Errorf("run %q: sink %q shows its output when a checkpoint completes, and checkpoints are switched off: set Checkpoints.Interval", p.Name(), name)
		}
	}
	return prog, cfg, nil
}

// run runs a program on a store that nobody else writes.
func run(ctx context.Context, prog *operator.Program, cfg Config, env connector.Env, store blob.Store) error {
	log, recovered, err := joblog.Open(ctx, store, prog.Graph.Name, env.Random)
	if err != nil {
		return err
	}
	b := beginning{prog: prog, cfg: cfg, env: env, store: store, log: log, recovered: recovered}
	pl, restore, err := b.decide(ctx)
	if err != nil {
		return err
	}
	if restore != nil && len(restore.Dropped) > 0 {
		cfg.Log.Warn("the checkpoint holds state of operators that the program does not have; it is dropped with the next checkpoint", "operators", restore.Dropped)
	}
	jm := jobmaster.New(jobmaster.Config{
		Program: prog, Plan: pl, Checkpoints: cfg.coordinator(), Env: env, Store: store, Log: log, Recovered: b.recovered,
		Restore: restore, Restarts: cfg.Restarts, RestartDelay: cfg.RestartDelay, Observer: cfg.OnEvent,
	})
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	tm := taskmanager.New(work, taskmanager.Config{
		Program: prog, Plan: pl, Job: log.Job(), Env: env, Store: store,
		Checkpoints: cfg.Checkpoints.Interval > 0, JobMaster: jm,
	})
	jm.Attach(tm)
	err = jm.Run(ctx)
	cancel()
	tm.Wait()
	return err
}

func firstCommitter(g *plan.Graph) string {
	for i := range g.Nodes {
		if g.Nodes[i].Committer {
			return g.Nodes[i].Name
		}
	}
	return ""
}

// IsCanceled reports whether the error of Run says that its context ended.
func IsCanceled(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
