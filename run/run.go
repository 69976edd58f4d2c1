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
	"github.com/cutwater-io/cutwater/internal/operator"
	"github.com/cutwater-io/cutwater/internal/plan"
	"github.com/cutwater-io/cutwater/internal/statedir"
	"github.com/cutwater-io/cutwater/internal/taskmanager"
	"github.com/cutwater-io/cutwater/stream"
)

// Event is something a person watching the job wants to know; its String says it
// in one line. Config.OnEvent receives them, and tells the types apart by a type
// switch: [Restoring], [AllRunning], [CheckpointTriggered], [CheckpointPublished],
// [CheckpointCompleted], [CheckpointFailed], [TaskFailed], [Restarting] and
// [JobEnded]. More may be added, so a switch needs no case for each.
type Event = jobmaster.Event

// The events of a job. In a run without failures they come in this order, those of
// checkpoints as often as there are any.
type (
	// Restoring: the tasks are about to start. Checkpoint is the checkpoint they
	// start from, 0 for the beginning; Finished says that it is the beginning
	// because the last run had read all its input; Restart counts the restarts
	// of this run, 0 for its first start.
	Restoring = jobmaster.Restoring
	// AllRunning: every task runs. Tasks is their number.
	AllRunning = jobmaster.AllRunning
	// CheckpointTriggered: the sources were told to begin the checkpoint whose
	// id is Checkpoint. Ids grow; after a restart they jump, because an id is
	// never used twice.
	CheckpointTriggered = jobmaster.CheckpointTriggered
	// CheckpointPublished: Checkpoint is durable, and nobody has been told yet.
	// A process killed now is restored from it.
	CheckpointPublished = jobmaster.CheckpointPublished
	// CheckpointCompleted: everybody was told, and sinks commit what Checkpoint
	// contains. Stats has the size in Bytes and the DurationMillis.
	CheckpointCompleted = jobmaster.CheckpointCompleted
	// CheckpointFailed: Checkpoint will never be complete; Reason and Err say
	// why. The job goes on if Checkpoints.TolerableFailures allows it.
	CheckpointFailed = jobmaster.CheckpointFailed
	// TaskFailed: an attempt of the task named Task failed with Err.
	TaskFailed = jobmaster.TaskFailed
	// Restarting: after Delay the job starts again from its latest checkpoint,
	// for the time Restart of Of.
	Restarting = jobmaster.Restarting
	// JobEnded: nothing runs any more. Status says how it ended, Err why if it
	// failed. It is the last event.
	JobEnded = jobmaster.JobEnded
)

// Run runs a pipeline in this process and returns when it has ended: nil when
// all input was read and all output committed. It reads no flags, handles no
// signals and never exits the process.
//
// When ctx ends the job is canceled: the tasks stop, the latest checkpoint stays
// for the next run, and Run returns the cause of ctx. Whatever happens, all
// goroutines of the job are gone when Run returns.
//
// The pipeline is only read: it may be run again, and by several calls at a time
// if their state directories differ. An error names the job; mistakes of building
// are reported together before anything starts (see [stream.Pipeline.Program]),
// failures of the user's code with operator, key and the place of the record in
// the source.
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
			return nil, cfg, fmt.Errorf("run %q: sink %q shows its output when a checkpoint completes, and checkpoints are switched off: set Checkpoints.Interval (flag -checkpoint-interval) to a positive duration, or to 0 for ten seconds", p.Name(), name)
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
		Restore: restore, Restart: cfg.Restart, Observer: cfg.OnEvent,
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
			return strings.TrimSuffix(g.Nodes[i].Name, "/committer") // the user's name of the sink
		}
	}
	return ""
}

// IsCanceled reports whether the error of [Run] says that its context ended, by
// cancellation or deadline. It is false for nil. Everything is well then: the next
// run continues from the latest checkpoint.
func IsCanceled(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
