package run_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/cutwater-io/cutwater/run"
	"github.com/cutwater-io/cutwater/stream"
)

// TestMain fails when a test leaves a goroutine behind: whatever happens, all
// goroutines of a job are gone when Run returns.
func TestMain(m *testing.M) {
	if job := os.Getenv(childVariable); job != "" {
		os.Exit(childMain(job))
	}
	goleak.VerifyTestMain(m)
}

// quiet is a log that nobody reads.
var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// patience ends a test that hangs; nothing is decided by it.
const patience = 50 * time.Second

// job is one run under way or over.
type job struct {
	t      *testing.T
	cancel context.CancelCauseFunc
	done   chan struct{}
	err    error

	mu     sync.Mutex
	events []run.Event
	grewC  chan struct{}
}

// errStopped is the cause with which tests cancel a job.
var errStopped = errors.New("stopped by the test")

// start runs a pipeline as a user would. hook, if not nil, is called with each
// event in the JobMaster's goroutine.
func start(t *testing.T, p *stream.Pipeline, cfg run.Config, hook func(j *job, e run.Event)) *job {
	t.Helper()
	return startWith(t, cfg, hook, func(ctx context.Context, cfg run.Config) error { return run.Run(ctx, p, cfg) })
}

func startWith(t *testing.T, cfg run.Config, hook func(j *job, e run.Event), runIt func(context.Context, run.Config) error) *job {
	ctx, stop := context.WithTimeoutCause(context.Background(), patience, errors.New("the test ran out of patience"))
	ctx, cancel := context.WithCancelCause(ctx)
	j := &job{t: t, cancel: cancel, done: make(chan struct{}), grewC: make(chan struct{})}
	if cfg.Log == nil {
		cfg.Log = quiet
	}
	cfg.OnEvent = func(e run.Event) {
		j.mu.Lock()
		j.events = append(j.events, e)
		close(j.grewC)
		j.grewC = make(chan struct{})
		j.mu.Unlock()
		if hook != nil {
			hook(j, e)
		}
	}
	go func() {
		defer close(j.done)
		defer stop()
		defer cancel(nil)
		j.err = runIt(ctx, cfg)
	}()
	t.Cleanup(func() { cancel(errStopped); <-j.done })
	return j
}

// stop cancels the job; it may be called in an event hook.
func (j *job) stop() { j.cancel(errStopped) }

// wait waits for the end of the job and returns its error.
func (j *job) wait() error {
	<-j.done
	return j.err
}

// finished waits for the end of a job that must not fail.
func (j *job) finished() *job {
	j.t.Helper()
	if err := j.wait(); err != nil {
		j.t.Fatalf("the job failed: %v\n%s", err, j.story())
	}
	return j
}

// stopped waits for the end of a job that the test has canceled.
func (j *job) stopped() *job {
	j.t.Helper()
	if err := j.wait(); !errors.Is(err, errStopped) {
		j.t.Fatalf("the job ended with %v, want that the test stopped it\n%s", err, j.story())
	}
	return j
}

// story is what happened, one event a line.
func (j *job) story() string {
	var b strings.Builder
	for _, e := range j.all() {
		b.WriteString(e.String() + "\n")
	}
	return b.String()
}

func (j *job) all() []run.Event {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.events)
}

// until waits for an event that satisfies ok, from the first event on.
func (j *job) until(ok func(run.Event) bool) {
	j.t.Helper()
	for seen := 0; ; {
		j.mu.Lock()
		events, grewC := j.events[seen:], j.grewC
		j.mu.Unlock()
		if slices.ContainsFunc(events, ok) {
			return
		}
		seen += len(events)
		select {
		case <-grewC:
		case <-j.done:
			if !slices.ContainsFunc(j.all(), ok) {
				j.t.Fatalf("the job ended (%v) before the event that the test waits for\n%s", j.err, j.story())
			}
			return
		}
	}
}

// eventsOf are the events of one type.
func eventsOf[E run.Event](j *job) []E {
	var of []E
	for _, e := range j.all() {
		if e, ok := e.(E); ok {
			of = append(of, e)
		}
	}
	return of
}

// completed is the number of checkpoints that completed.
func (j *job) completed() int { return len(eventsOf[run.CheckpointCompleted](j)) }

// wantError checks that a job failed, that its error holds all words, and that it
// reads as one message.
func wantError(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("the job ended without an error, want one with %q", words)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the error is\n  %v\nand does not contain %q", err, w)
		}
	}
}

// every takes checkpoints as often as it goes.
func every(interval time.Duration) run.Checkpoints { return run.Checkpoints{Interval: interval} }
