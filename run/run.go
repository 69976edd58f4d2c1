package run

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/internal/blob"
	"github.com/cutwater-io/cutwater/internal/host"
	"github.com/cutwater-io/cutwater/internal/joblog"
	"github.com/cutwater-io/cutwater/internal/jobmaster"
	"github.com/cutwater-io/cutwater/internal/manifest"
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
	cfg = cfg.withDefaults(p.Name())
	if err := cfg.validate(); err != nil {
		return fmt.Errorf("run %q: %w", p.Name(), err)
	}
	prog, err := p.Program()
	if err != nil {
		return err
	}
	if cfg.Checkpoints.Interval < 0 {
		if name := firstCommitter(prog.Graph); name != "" {
			return fmt.Errorf("run %q: sink %q shows its output when a checkpoint completes, and checkpoints are switched off: set Checkpoints.Interval (flag -checkpoint-interval) to a positive duration, or to 0 for ten seconds", p.Name(), name)
		}
	}
	env := host.Env(cfg.Log)
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
	if err := run(ctx, prog, cfg, env, store); err != nil {
		return fmt.Errorf("run %q: %w", p.Name(), err)
	}
	return nil
}

// run runs a program on a store that nobody else writes.
func run(ctx context.Context, prog *operator.Program, cfg Config, env connector.Env, store blob.Store) error {
	log, recovered, err := joblog.Open(ctx, store, prog.Graph.Name, env.Random)
	if err != nil {
		return err
	}
	pl, restore, err := restorePlan(ctx, prog, cfg, log, &recovered, store)
	if err != nil {
		return err
	}
	if restore != nil && len(restore.Dropped) > 0 {
		cfg.Log.Warn("the checkpoint holds state of operators that the program does not have; it is dropped with the next checkpoint", "operators", restore.Dropped)
	}
	jm := jobmaster.New(jobmaster.Config{
		Program: prog, Plan: pl, Checkpoints: cfg.coordinator(), Env: env, Store: store, Log: log, Recovered: recovered,
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

// restorePlan decides where to start and plans the job accordingly: a restored
// operator keeps its number of key groups.
func restorePlan(ctx context.Context, prog *operator.Program, cfg Config, log *joblog.Log, r *joblog.Recovered, store blob.Store) (*plan.Plan, *jobmaster.Restore, error) {
	options := plan.Options{Parallelism: cfg.Parallelism}
	latest, ok := r.Latest()
	if ok && cfg.Restore == None {
		if err := log.Append(ctx, joblog.Fresh{}); err != nil {
			return nil, nil, fmt.Errorf("start fresh: %w", err)
		}
		r.Former = append(r.Former, r.Completed...)
		r.Completed, ok = nil, false
	}
	var m *manifest.Manifest
	if ok {
		var err error
		m, err = manifest.Read(ctx, store, latest.Manifest)
		if err != nil {
			return nil, nil, fmt.Errorf("restore the latest checkpoint %d: %w; an older one is never used silently: repair the state directory, or start with -restore none", latest.Checkpoint, err)
		}
		adopt := jobmaster.AdoptMax(m)
		options.AdoptMax = adopt
	}
	pl, err := plan.Make(prog.Graph, options)
	if err != nil || m == nil {
		return pl, nil, err
	}
	restore, err := jobmaster.Deal(m, pl, cfg.AllowNonRestored)
	return pl, restore, err
}

func firstCommitter(g *plan.Graph) string {
	for i := range g.Nodes {
		if g.Nodes[i].Committer {
			return strings.TrimSuffix(g.Nodes[i].Name, "/committer") // the user's name of the sink
		}
	}
	return ""
}

// IsCanceled reports whether the error of Run says that its context ended.
func IsCanceled(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
