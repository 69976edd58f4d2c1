package demo

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cutwater-io/cutwater/connector/file"
	"github.com/cutwater-io/cutwater/connector/gen"
	"github.com/cutwater-io/cutwater/connector/nexmark"
	"github.com/cutwater-io/cutwater/internal/oracle"
	"github.com/cutwater-io/cutwater/run"
	"github.com/cutwater-io/cutwater/stream"
	"github.com/cutwater-io/cutwater/window"
)

const (
	windowSize  = 10 * time.Second
	parallelism = 2
)

// Job describes the job that the child runs.
type Job struct {
	State, Output string
	Events        uint64        // of all kinds; 46 in 50 are bids
	Rate          float64       // events a second; 0: as fast as it can
	Interval      time.Duration // between checkpoints
	// Hold names the moment at which the child stops moving until it is
	// killed: triggered, published, or restoring for the restore after a
	// failure inside the child.
	Hold string
}

func (j *Job) config() nexmark.Config {
	return nexmark.Config{Events: j.Events, NoPadding: true}
}

// args spells the job for the child's command line.
func (j *Job) args() []string {
	return []string{
		"-state", j.State, "-output", j.Output, "-hold", j.Hold,
		"-events", strconv.FormatUint(j.Events, 10), "-rate", strconv.FormatFloat(j.Rate, 'f', -1, 64), "-interval", j.Interval.String(),
	}
}

// fail makes the job's map function panic once: a failure inside the child, from
// which it restores without a new process.
var fail atomic.Bool

// pipeline is the job. report is told where each source subtask starts.
func (j *Job) pipeline(report func(event uint64)) *stream.Pipeline {
	p := stream.New("demo")
	p.From(j.source(report), stream.Name("bids")).
		SourceTime(stream.Ascending(), stream.Name("time")).
		Map(func(b nexmark.Bid) int64 {
			if fail.CompareAndSwap(true, false) {
				panic("the demo asked for a failure")
			}
			return b.Auction
		}).
		KeyBy(stream.Self).
		Window(window.Tumbling(windowSize)).
		Count(stream.Name("bids-per-auction")).
		To(file.Sink(j.Output, line), stream.Name("results"))
	return p
}

func line(dst []byte, r window.Result[int64, int64]) []byte {
	dst = strconv.AppendInt(dst, r.Key, 10)
	dst = append(dst, ',')
	dst = strconv.AppendInt(dst, int64(r.Window.Start), 10)
	dst = append(dst, ',')
	dst = strconv.AppendInt(dst, r.Value, 10)
	return append(dst, '\n')
}

// source is nexmark.Bids that also tells with which event it starts.
func (j *Job) source(report func(event uint64)) *gen.Source[nexmark.Bid] {
	options := []gen.Option{gen.Splits(parallelism)}
	if j.Rate > 0 {
		options = append(options, gen.Rate(j.Rate))
	}
	return gen.PerReader(j.Events, func() (func(uint64, *nexmark.Bid) int64, error) {
		g, err := nexmark.New(j.config())
		started := false
		return func(k uint64, b *nexmark.Bid) int64 {
			if !started {
				started = true
				report(k)
			}
			if !g.Bid(k, b) {
				return gen.Skip
			}
			return b.DateTimeMillis
		}, err
	}, options...)
}

// RunJob is the child: it runs the job and tells the parent, one line an event,
// what happens. It returns the process's exit status.
func RunJob(args []string, in io.Reader, out, errs io.Writer) int {
	var j Job
	flags := flag.NewFlagSet("demo-job", flag.ContinueOnError)
	flags.StringVar(&j.State, "state", "", "state directory")
	flags.StringVar(&j.Output, "output", "", "output directory")
	flags.StringVar(&j.Hold, "hold", "", "where to stop moving")
	flags.Uint64Var(&j.Events, "events", 0, "events of all kinds")
	flags.Float64Var(&j.Rate, "rate", 0, "events a second")
	flags.DurationVar(&j.Interval, "interval", 0, "between checkpoints")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	var hold atomic.Bool
	// The owner of this goroutine is the process: it ends with standard input.
	go commands(in, &hold)
	say := func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) }
	stop := func(at string) {
		if j.Hold == at && hold.Load() {
			say("holding %s", at)
			select {} // until SIGKILL
		}
	}
	err := run.Run(context.Background(), j.pipeline(func(event uint64) { say("source-at %d", event) }), run.Config{
		StateDir: j.State, Parallelism: parallelism, Restart: run.FixedDelay(1, time.Millisecond),
		Checkpoints: run.Checkpoints{Interval: j.Interval},
		OnEvent: func(e run.Event) {
			switch e := e.(type) {
			case run.Restoring:
				say("restoring %d", e.Checkpoint)
				if e.Restart > 0 {
					stop("restoring")
				}
			case run.AllRunning:
				say("running")
			case run.CheckpointTriggered:
				stop("triggered")
			case run.CheckpointPublished:
				stop("published")
			case run.CheckpointCompleted:
				say("completed %d", e.Checkpoint)
			case run.CheckpointFailed:
				say("failed %d %v", e.Checkpoint, e.Reason)
			}
		},
	})
	if err != nil {
		fmt.Fprintln(errs, err)
		return 1
	}
	say("finished")
	return 0
}

// commands obeys the parent: "hold" arms the moment to hold at, "fail" makes the
// job fail inside.
func commands(in io.Reader, hold *atomic.Bool) {
	s := bufio.NewScanner(in)
	for s.Scan() {
		switch strings.TrimSpace(s.Text()) {
		case "hold":
			hold.Store(true)
		case "fail":
			hold.Store(true)
			fail.Store(true)
		}
	}
	if errors.Is(s.Err(), io.EOF) || s.Err() == nil {
		os.Exit(3) // the parent is gone: nobody waits for this job any more
	}
}

// answer is what the job should have written.
func (j *Job) answer() (map[oracle.Cell]int64, error) {
	return oracle.BidsPerAuction(j.config(), j.Events, windowSize.Milliseconds())
}
