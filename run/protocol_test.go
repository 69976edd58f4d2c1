package run_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cutwater-io/cutwater/connector/collect"
	"github.com/cutwater-io/cutwater/connector/console"
	"github.com/cutwater-io/cutwater/internal/blob"
	"github.com/cutwater-io/cutwater/internal/blob/blobtest"
	"github.com/cutwater-io/cutwater/internal/checkpoint"
	"github.com/cutwater-io/cutwater/run"
	"github.com/cutwater-io/cutwater/stream"
)

func TestS126S127ABoundedJobCommitsItsLastRecordWithoutWaitingForTheInterval(t *testing.T) {
	for _, pause := range []time.Duration{0, time.Hour} {
		out := collect.New[int64]()
		j := start(t, exampleJob(hold(100, readingOf).upTo(100), out, spoilNothing),
			run.Config{Ephemeral: true, Parallelism: 2, Checkpoints: run.Checkpoints{Interval: time.Hour, MinPause: pause}}, nil).finished()
		checkNumbers(t, 100, out.Values())
		if n := len(eventsOf[run.CheckpointTriggered](j)); n != 1 {
			t.Errorf("%d checkpoints were taken, want the last one only:\n%s", n, j.story())
		}
	}
}

func TestS129WithoutCheckpointsABoundedJobEndsAndTakesNone(t *testing.T) {
	var seen atomic.Int64
	p := stream.New("plain")
	p.From(hold(100, readingOf).upTo(100), stream.Name("readings")).
		Map(func(v reading) string { seen.Add(1); return v.Sensor }).
		To(console.Sink[string]().To(&strings.Builder{}), stream.Name("out"))
	j := start(t, p, run.Config{Ephemeral: true, Parallelism: 2, Checkpoints: run.Checkpoints{Interval: -1}}, nil).finished()
	if n := len(eventsOf[run.CheckpointTriggered](j)); n != 0 || seen.Load() != 100 {
		t.Errorf("%d checkpoints, %d records", n, seen.Load())
	}
}

func TestS129ASinkOfTwoPhasesIsRefusedWithoutCheckpoints(t *testing.T) {
	err := start(t, exampleJob(hold(1, readingOf), collect.New[int64](), spoilNothing),
		run.Config{Ephemeral: true, Checkpoints: run.Checkpoints{Interval: -1}}, nil).wait()
	wantError(t, err, `sink "out"`, "checkpoints are switched off")
}

// failingCommits makes the first n checkpoints fail in their asynchronous part.
func failingCommits(n int64) blob.Store {
	var failed atomic.Int64
	return &blobtest.Faulty{Store: blob.Memory(), Fault: func(op, name string) blobtest.Fault {
		if op == "create" && strings.HasPrefix(name, "chk/") && strings.Count(name, "/") == 2 && failed.Add(1) <= n {
			return blobtest.Fail
		}
		return blobtest.None
	}}
}

func TestS085OneFailedCheckpointFailsTheJobWhenNoneIsTolerated(t *testing.T) {
	source := hold(paddedNumbers, readingOf).upTo(paddedNumbers / 2)
	j := startOn(t, paddedJob("count", source, toCollector(collect.New[tallied]())),
		run.Config{Parallelism: 1, Checkpoints: every(10 * time.Millisecond)}, failingCommits(1), nil)
	wantError(t, j.wait(), "1 checkpoints failed in a row", "CHECKPOINT_ASYNC_EXCEPTION", "injected fault")
}

func TestS087FailedCheckpointsInARowAreToleratedUpToTheLimit(t *testing.T) {
	cfg := run.Config{Parallelism: 1, Checkpoints: run.Checkpoints{Interval: 10 * time.Millisecond, TolerableFailures: 2}}
	out := collect.New[tallied]()
	source := hold(paddedNumbers, readingOf).upTo(paddedNumbers / 2)
	j := startOn(t, paddedJob("count", source, toCollector(out)), cfg, failingCommits(2), func(_ *job, e run.Event) {
		if _, ok := e.(run.CheckpointCompleted); ok {
			source.upTo(paddedNumbers)
		}
	}).finished()
	if n := len(eventsOf[run.CheckpointFailed](j)); n != 2 {
		t.Errorf("%d checkpoints failed, want 2:\n%s", n, j.story())
	}
	checkCounts(t, paddedNumbers, out.Values())

	source = hold(paddedNumbers, readingOf).upTo(paddedNumbers / 2)
	j = startOn(t, paddedJob("count", source, toCollector(collect.New[tallied]())), cfg, failingCommits(3), nil)
	wantError(t, j.wait(), "3 checkpoints failed in a row")
}

// A checkpoint is stuck in storage when a task fails: it is given up for that
// reason, is not counted as a failure of checkpoints, and the job goes on.
func TestS391APendingCheckpointIsGivenUpAtAFailover(t *testing.T) {
	store := &gatedStore{Store: blob.Memory(), opened: make(chan struct{})}
	out := collect.New[tallied]()
	var failOnce atomic.Bool
	source := hold(paddedNumbers, func(i int64) (reading, int64) {
		if i >= paddedNumbers/2 && failOnce.CompareAndSwap(true, false) {
			panic("it heals")
		}
		return readingOf(i)
	}).upTo(paddedNumbers / 2)
	j := startOn(t, paddedJob("count", source, toCollector(out)), run.Config{Parallelism: 2, Restart: run.FixedDelay(1, time.Millisecond), Checkpoints: every(10 * time.Millisecond)}, store, func(j *job, e run.Event) {
		switch e := e.(type) {
		case run.CheckpointTriggered:
			if failOnce.CompareAndSwap(false, len(eventsOf[run.CheckpointTriggered](j)) == 1) {
				source.upTo(paddedNumbers)
			}
		case run.Restoring:
			if e.Restart > 0 {
				close(store.opened)
			}
		}
	}).finished()
	failed := eventsOf[run.CheckpointFailed](j)
	// It ends with the job's leaving its running state, before the failover itself.
	if len(failed) == 0 || failed[0].Reason != checkpoint.CheckpointCoordinatorSuspend && failed[0].Reason != checkpoint.JobFailoverRegion {
		t.Errorf("failed checkpoints: %v\n%s", failed, j.story())
	}
	checkCounts(t, paddedNumbers, out.Values())
}

func TestAnIdleSourceLetsCheckpointsComplete(t *testing.T) {
	source := hold(100, readingOf) // nothing comes
	start(t, exampleJob(source, collect.New[int64](), spoilNothing), run.Config{Ephemeral: true, Parallelism: 2, Checkpoints: every(10 * time.Millisecond)},
		func(j *job, e run.Event) {
			if _, ok := e.(run.CheckpointCompleted); ok && j.completed() == 3 {
				j.stop()
			}
		}).stopped()
}

func TestMoreReadersThanSplitsLetCheckpointsComplete(t *testing.T) {
	source := hold(100, readingOf).upTo(50)
	source.splits = 1
	out := collect.New[int64]()
	start(t, exampleJob(source, out, spoilNothing), run.Config{Ephemeral: true, Parallelism: 3, Checkpoints: every(10 * time.Millisecond)},
		func(j *job, e run.Event) {
			if _, ok := e.(run.CheckpointCompleted); ok && j.completed() == 2 {
				source.upTo(100)
			}
		}).finished()
	checkNumbers(t, 100, out.Values())
}

// The keyed operator takes one record for each token. All batches of the channels
// are full when the checkpoint is triggered; its barrier passes as room comes.
func TestABarrierPassesABackpressuredOperatorWhenRoomComes(t *testing.T) {
	const n = 60_000
	tokens := make(chan struct{})
	var open atomic.Bool
	source, out := hold(n, readingOf).upTo(n), collect.New[int64]()
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		for {
			select {
			case tokens <- struct{}{}:
			case <-ended:
				return
			}
		}
	}()
	j := start(t, exampleJob(source, out, func(reading) error {
		if !open.Load() {
			select {
			case <-tokens:
			case <-time.After(patience):
				return errors.New("no token came")
			}
		}
		return nil
	}), run.Config{Ephemeral: true, Parallelism: 1, Checkpoints: every(10 * time.Millisecond)}, func(j *job, e run.Event) {
		if _, ok := e.(run.CheckpointCompleted); ok {
			open.Store(true)
		}
	})
	j.finished()
	checkNumbers(t, n, out.Values())
}
