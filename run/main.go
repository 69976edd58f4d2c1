package run

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/cutwater-io/cutwater/internal/host"
	"github.com/cutwater-io/cutwater/stream"
)

// Main runs a pipeline as a program: it reads flags, shows progress on standard
// error, stops on SIGINT and SIGTERM, and exits with status 0 when the job
// finished, 1 when it failed, 2 for wrong flags and 130 when it was stopped. It
// does not return.
//
// A program that has flags of its own calls [ParseFlags] between defining and
// using them.
//
// Main also makes garbage collection rarer: it sets the collector's percent (see
// runtime/debug.SetGCPercent) to 400 instead of Go's 100, so that a job with 64 MB of
// live heap collects once in 256 MB of allocation; state without pointers lies
// outside the heap and does not count. The heap may then grow to five times what
// is live. Setting GOGC or GOMEMLIMIT in the environment switches this off:
// GOGC=100 is what Go does by itself. A program that sets it by a call does so
// through [Run], which changes no setting of the process.
func Main(p *stream.Pipeline) {
	if !flag.Parsed() {
		ParseFlags()
	}
	host.SetCollector()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := mainStatus(ctx, p, &commandLine, os.Stderr)
	stop()
	os.Exit(status)
}

// ParseFlags adds the flags of [Main] to those that the program has defined with
// package flag, and parses the command line. A program whose pipeline depends on
// its flags needs it, because their values are known only then:
//
//	in := flag.String("in", "access.log", "file to read")
//	run.ParseFlags()
//	p := stream.New("access-log")
//	p.From(file.Lines(*in))...
//	run.Main(p)
//
// It is called once, before Main and instead of flag.Parse. Like that, it exits
// with status 2 when the flags are wrong.
func ParseFlags() {
	commandLine.define(flag.CommandLine)
	flag.Parse()
}

// mainFlags are the flags of Main.
type mainFlags struct {
	cfg      Config
	restore  string
	restarts int
	quiet    bool
}

// commandLine is what ParseFlags read. Its zero value is what no flags mean.
var commandLine mainFlags

func (f *mainFlags) define(flags *flag.FlagSet) {
	flags.StringVar(&f.cfg.StateDir, "state", "", "directory of the job's state; empty: "+defaultStateDir+" and the name of the job")
	flags.IntVar(&f.cfg.Parallelism, "parallelism", 0, "subtasks of each operator; 0: the number of CPUs")
	flags.StringVar(&f.restore, "restore", string(Latest), "where to start: latest (the latest checkpoint), none (fresh), or the path of another job's state directory, to start from a copy of its latest checkpoint")
	flags.DurationVar(&f.cfg.Checkpoints.Interval, "checkpoint-interval", defaultInterval, "time between checkpoints; negative: none")
	flags.BoolVar(&f.cfg.AllowNonRestored, "allow-non-restored", false, "start although the checkpoint holds state of operators that are gone")
	flags.IntVar(&f.restarts, "restarts", 0, "how often a failed job is restarted from its latest checkpoint, each time after a second; -1: always, after a second and longer each time")
	flags.BoolVar(&f.quiet, "quiet", false, "no progress on standard error")
}

func mainStatus(ctx context.Context, p *stream.Pipeline, f *mainFlags, out io.Writer) int {
	cfg := f.cfg
	cfg.Restore = Restore(f.restore)
	switch {
	case f.restarts > 0:
		cfg.Restart = FixedDelay(f.restarts, time.Second)
	case f.restarts < 0:
		cfg.Restart = ExponentialDelay(time.Second, time.Minute)
	}
	if !f.quiet {
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
