package run

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/cutwater-io/cutwater/stream"
)

// Main runs a pipeline as a program: it reads flags, shows progress on standard
// error, stops on SIGINT and SIGTERM, and exits with status 0 when the job
// finished, 1 when it failed, 2 for wrong flags and 130 when it was stopped. It
// does not return.
//
// A program with flags of its own defines them with package flag before it calls
// Main.
func Main(p *stream.Pipeline) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := mainStatus(ctx, p, flag.CommandLine, os.Args[1:], os.Stderr)
	stop()
	os.Exit(status)
}

func mainStatus(ctx context.Context, p *stream.Pipeline, flags *flag.FlagSet, args []string, out io.Writer) int {
	var cfg Config
	var quiet bool
	restore := string(Latest)
	flags.StringVar(&cfg.StateDir, "state", defaultStateDir, "directory of the job's state")
	flags.IntVar(&cfg.Parallelism, "parallelism", 0, "subtasks of each operator; 0: the number of CPUs")
	flags.StringVar(&restore, "restore", restore, "where to start: latest (the latest checkpoint) or none (fresh)")
	flags.DurationVar(&cfg.Checkpoints.Interval, "checkpoint-interval", defaultInterval, "time between checkpoints; negative: none")
	flags.BoolVar(&cfg.AllowNonRestored, "allow-non-restored", false, "start although the checkpoint holds state of operators that are gone")
	flags.IntVar(&cfg.Restarts, "restarts", 0, "how often a failed job is restarted from its latest checkpoint")
	flags.BoolVar(&quiet, "quiet", false, "no progress on standard error")
	if !flags.Parsed() {
		if err := flags.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return 0
			}
			return 2
		}
	}
	cfg.Restore = Restore(restore)
	if !quiet {
		cfg.OnEvent = progress(out)
	}
	err := Run(ctx, p, cfg)
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil && IsCanceled(err):
		fmt.Fprintf(out, "%s: stopped; the next run continues from the latest checkpoint\n", p.Name())
		return 130
	}
	fmt.Fprintln(out, err)
	return 1
}

// progress prints what a person wants to see. Checkpoints come often, so they are
// told at most every ten seconds.
func progress(out io.Writer) func(Event) {
	var told time.Time
	return func(e Event) {
		switch e := e.(type) {
		case CheckpointTriggered, CheckpointPublished:
			return
		case CheckpointCompleted:
			if time.Since(told) < 10*time.Second {
				return
			}
			told = time.Now()
		case JobEnded:
			if e.Err != nil {
				return // the caller prints it
			}
		}
		fmt.Fprintln(out, e)
	}
}
