package run_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/cutwater-io/cutwater/connector/collect"
	"github.com/cutwater-io/cutwater/internal/checkpoint"
	"github.com/cutwater-io/cutwater/run"
	"github.com/cutwater-io/cutwater/stream"
)

// exampleJob is a source, a keyed operator behind an exchange, and a sink of two
// phases. spoil is called with each record of the keyed operator.
func exampleJob(source *held[reading], out *collect.Collector[int64], spoil func(v reading) error) *stream.Pipeline {
	p := stream.New("example")
	p.From(source, stream.Name("readings")).
		KeyBy(func(v reading) string { return v.Sensor }).
		Stateful(func(_ *stream.Ctx[string], n *int64, v reading, out *stream.Emitter[int64]) error {
			*n++
			out.Emit(v.N)
			return spoil(v)
		}, stream.Name("count")).
		To(out.Sink(), stream.Name("out"))
	return p
}

func spoilNothing(reading) error { return nil }

// However a job ends, its goroutines are gone when Run returns, and the last event
// says how it ended.
func TestEveryEndingLeavesNoGoroutineAndSaysHowItWas(t *testing.T) {
	boom := errors.New("boom")
	for name, ending := range map[string]struct {
		limit  int64
		spoil  func(v reading) error
		hook   func(*job, run.Event)
		status checkpoint.JobStatus
		err    string
	}{
		"finished": {limit: 100, spoil: spoilNothing, status: checkpoint.Finished},
		"error of user code": {limit: 100, status: checkpoint.JobFailed, err: "boom", spoil: func(v reading) error {
			if v.N == 70 {
				return boom
			}
			return nil
		}},
		"panic of user code": {limit: 100, status: checkpoint.JobFailed, err: "panic: boom", spoil: func(v reading) error {
			if v.N == 70 {
				panic("boom")
			}
			return nil
		}},
		"canceled at a checkpoint": {limit: 50, spoil: spoilNothing, status: checkpoint.Canceled, err: errStopped.Error(), hook: func(j *job, e run.Event) {
			if _, ok := e.(run.CheckpointCompleted); ok {
				j.stop()
			}
		}},
		"canceled before the tasks ran": {limit: 50, spoil: spoilNothing, status: checkpoint.Canceled, err: errStopped.Error(), hook: func(j *job, e run.Event) {
			if _, ok := e.(run.Restoring); ok {
				j.stop()
			}
		}},
		"canceled while a checkpoint was pending": {limit: 50, spoil: spoilNothing, status: checkpoint.Canceled, err: errStopped.Error(), hook: func(j *job, e run.Event) {
			if _, ok := e.(run.CheckpointTriggered); ok {
				j.stop()
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			j := start(t, exampleJob(hold(100, readingOf).upTo(ending.limit), collect.New[int64](), ending.spoil),
				run.Config{Ephemeral: true, Parallelism: 2, Checkpoints: every(10 * time.Millisecond)}, ending.hook)
			err := j.wait()
			if (err == nil) != (ending.err == "") || err != nil && !strings.Contains(err.Error(), ending.err) {
				t.Errorf("the job ended with %v, want %q", err, ending.err)
			}
			events := j.all()
			if e, ok := events[len(events)-1].(run.JobEnded); !ok || e.Status != ending.status {
				t.Errorf("the last event is %v, want that the job ended with status %v", events[len(events)-1], ending.status)
			}
			if canceled := run.IsCanceled(err); canceled {
				t.Errorf("a cause of the user's is not context.Canceled: %v", err)
			}
			j.cancel(nil)
		})
	}
}

func TestAJobThatCannotBeBuiltStartsNothing(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	p := stream.New("unbuilt")
	p.From(hold(1, readingOf)).KeyBy(func(v reading) string { return v.Sensor })
	j := start(t, p, run.Config{StateDir: t.TempDir()}, nil)
	wantError(t, j.wait(), `pipeline "unbuilt" cannot be built`, "ending_test.go:")
	if len(j.all()) > 0 {
		t.Errorf("there were events:\n%s", j.story())
	}
	j.cancel(nil)
}

func TestAnEndedContextEndsAJobAtOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := run.Run(ctx, exampleJob(hold(100, readingOf).upTo(50), collect.New[int64](), spoilNothing), run.Config{Ephemeral: true, Log: quiet})
	if !run.IsCanceled(err) {
		t.Errorf("the job ended with %v, want that it was canceled", err)
	}
}

// The decision to restart and the restart are two steps; a cancellation between
// them must not leave tasks that nobody stops.
func TestAJobCanceledWhileItRestartsEnds(t *testing.T) {
	for range 100 {
		j := start(t, exampleJob(hold(100, readingOf).upTo(50), collect.New[int64](), func(reading) error { return errors.New("boom") }),
			run.Config{Ephemeral: true, Parallelism: 1, Restart: run.FixedDelay(1000, 1), Checkpoints: every(10 * time.Millisecond)}, func(j *job, e run.Event) {
				if _, ok := e.(run.Restarting); ok {
					j.stop()
				}
			})
		j.stopped()
	}
}

func TestUserFailuresThatHealAreRestartedFromTheLatestCheckpoint(t *testing.T) {
	const n = 600
	source, out := hold(n, readingOf).upTo(n/2), collect.New[int64]()
	failures := make(chan struct{}, 1) // a token for the failure of each life
	j := start(t, exampleJob(source, out, func(v reading) error {
		if v.N >= n/2 {
			select {
			case <-failures:
				return errors.New("it heals")
			default:
			}
		}
		return nil
	}), run.Config{Ephemeral: true, Parallelism: 2, Restart: run.FixedDelay(2, time.Millisecond), Checkpoints: every(10 * time.Millisecond)}, func(_ *job, e run.Event) {
		switch e := e.(type) {
		case run.CheckpointCompleted:
			if source.highest.Load() == n/2-1 && source.limit.Load() < n {
				failures <- struct{}{}
				source.upTo(n)
			}
		case run.Restoring:
			if e.Restart == 1 {
				failures <- struct{}{}
			}
		}
	}).finished()
	restores := eventsOf[run.Restoring](j)
	if len(restores) != 3 || restores[1].Checkpoint == 0 || restores[2].Checkpoint < restores[1].Checkpoint {
		t.Errorf("want a start and two restores from a checkpoint:\n%s", j.story())
	}
	checkNumbers(t, n, out.Values())
}

func TestMoreFailuresThanRestartsFailTheJobWithTheLastOne(t *testing.T) {
	j := start(t, exampleJob(hold(10, readingOf).upTo(10), collect.New[int64](), func(reading) error { return errors.New("it stays broken") }),
		run.Config{Ephemeral: true, Parallelism: 1, Restart: run.FixedDelay(2, time.Millisecond)}, nil)
	wantError(t, j.wait(), "it stays broken", `operator "count"`)
	if n := len(eventsOf[run.TaskFailed](j)); n != 3 {
		t.Errorf("%d attempts failed, want 3", n)
	}
}

// checkNumbers checks that each number came once.
func checkNumbers(t *testing.T, n int64, got []int64) {
	t.Helper()
	seen := map[int64]int{}
	for _, v := range got {
		seen[v]++
	}
	lost, doubled := 0, 0
	for i := range n {
		switch c := seen[i]; {
		case c == 0:
			lost++
		case c > 1:
			doubled++
		}
	}
	if lost+doubled > 0 || int64(len(seen)) > n {
		t.Errorf("of %d numbers %d are lost and %d came more than once; %d different ones came", n, lost, doubled, len(seen))
	}
}
