package run_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cutwater-io/cutwater/connector/collect"
	"github.com/cutwater-io/cutwater/internal/blob"
	"github.com/cutwater-io/cutwater/internal/blob/blobtest"
	"github.com/cutwater-io/cutwater/internal/host"
	"github.com/cutwater-io/cutwater/internal/host/crashfs"
	"github.com/cutwater-io/cutwater/run"
	"github.com/cutwater-io/cutwater/stream"
)

// startOn runs a pipeline on a store of the test's own.
func startOn(t *testing.T, p *stream.Pipeline, cfg run.Config, store blob.Store, hook func(*job, run.Event)) *job {
	t.Helper()
	return startWith(t, cfg, hook, func(ctx context.Context, cfg run.Config) error {
		return run.RunOn(ctx, p, cfg, host.Env(quiet), store)
	})
}

// S416: nearly every third write fails, in each of the three ways: it did not
// happen, nobody knows and it did not, nobody knows and it did.
func TestS416AJobGoesOnWhileStorageFails30PercentOfWrites(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var mu sync.Mutex // guards rng
	rng := rand.New(rand.NewPCG(seed, 1))
	inner := blob.Memory()
	var failing atomic.Bool
	failing.Store(true)
	injected := 0
	store := &blobtest.Faulty{Store: inner, Fault: func(op, _ string) blobtest.Fault {
		if op == "get" || op == "open" || op == "list" || !failing.Load() {
			return blobtest.None
		}
		mu.Lock()
		defer mu.Unlock()
		if rng.Float64() >= 0.3 {
			return blobtest.None
		}
		injected++
		return blobtest.Fault(1 + rng.IntN(3))
	}}
	// The job is claimed and its first checkpoints are asked for while storage is
	// well; what follows is the run.
	failing.Store(false)
	out := collect.New[tallied]()
	source := hold(paddedNumbers, readingOf).upTo(paddedNumbers / 6)
	cfg := run.Config{Parallelism: 2, Checkpoints: run.Checkpoints{Interval: 10 * time.Millisecond, TolerableFailures: -1}}
	j := startOn(t, paddedJob("count", source, toCollector(out)), cfg, store, func(_ *job, e run.Event) {
		switch e.(type) {
		case run.AllRunning:
			failing.Store(true)
		case run.CheckpointCompleted:
			source.upTo(source.limit.Load() + paddedNumbers/6)
			if source.limit.Load() > 2*paddedNumbers {
				failing.Store(false) // its end need not be lucky too
			}
		}
	})
	if err := j.wait(); err != nil {
		if !strings.Contains(err.Error(), "job log: write how the job ended") {
			t.Fatalf("the job failed: %v\n%s", err, j.story())
		}
		failing.Store(false)
		startOn(t, paddedJob("count", hold(paddedNumbers, readingOf).upTo(paddedNumbers), toCollector(out)), cfg, store, nil).finished()
	}
	checkCounts(t, paddedNumbers, out.Values())
	if injected == 0 || len(eventsOf[run.CheckpointFailed](j)) == 0 {
		t.Errorf("%d faults were injected and %d checkpoints failed: the test tests nothing", injected, len(eventsOf[run.CheckpointFailed](j)))
	}
	// Nothing is left but the log, once a start has swept what could not be deleted.
	failing.Store(false)
	startOn(t, paddedJob("count", hold(paddedNumbers, readingOf).upTo(paddedNumbers), toCollector(collect.New[tallied]())), cfg, store, nil).finished()
	if left, err := inner.List(context.Background(), "chk/"); err != nil || len(left) > 0 {
		t.Errorf("left in the store: %v, %v", left, err)
	}
}

// gatedStore holds back the creation of objects until it is opened.
type gatedStore struct {
	blob.Store
	opened  chan struct{}
	waiting atomic.Int64
}

func (s *gatedStore) Create(ctx context.Context, name string) (blob.Writer, error) {
	s.waiting.Add(1)
	select {
	case <-s.opened:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return s.Store.Create(ctx, name)
}

// S417: while a checkpoint is stuck in slow storage, records go on and no other
// checkpoint begins; what is stored in the end is the state of the barrier, though
// every key has been changed in place since.
func TestS417SlowStorageHoldsUpNoRecordAndOneCheckpointIsPendingAtMost(t *testing.T) {
	store := &gatedStore{Store: blob.Memory(), opened: make(chan struct{})}
	out := collect.New[tallied]()
	source := hold(paddedNumbers, readingOf).upTo(paddedNumbers / 3)
	cfg := run.Config{Parallelism: 2, Checkpoints: every(10 * time.Millisecond)}
	seen := make(chan struct{})
	go func() {
		defer close(seen)
		for store.waiting.Load() == 0 || source.emitted.Load() < paddedNumbers/3 {
			time.Sleep(time.Millisecond) // an event nobody tells of
		}
		source.upTo(2 * paddedNumbers / 3)
		for source.emitted.Load() < 2*paddedNumbers/3 {
			time.Sleep(time.Millisecond)
		}
		close(store.opened)
	}()
	j := startOn(t, paddedJob("count", source, toCollector(out)), cfg, store, func(j *job, e run.Event) {
		pending := len(eventsOf[run.CheckpointTriggered](j)) - len(eventsOf[run.CheckpointCompleted](j))
		if pending > 1 {
			t.Errorf("%d checkpoints are pending", pending)
		}
		if _, ok := e.(run.CheckpointCompleted); ok {
			j.stop() // at the one that was stuck
		}
	}).stopped()
	<-seen
	if n := len(eventsOf[run.CheckpointTriggered](j)); n > 2 {
		t.Errorf("%d checkpoints were triggered while one was stuck", n)
	}
	startOn(t, paddedJob("count", hold(paddedNumbers, readingOf).upTo(paddedNumbers), toCollector(out)), cfg, store, nil).finished()
	checkCounts(t, paddedNumbers, out.Values())
}

// full makes a disk that is full below a directory while on is set.
func full(dir string, on *atomic.Bool) *crashfs.FS {
	disk := crashfs.New()
	disk.Inject = func(op crashfs.Op) error {
		if on.Load() && strings.HasPrefix(op.Path, dir) && (op.Name == "write" || op.Name == "create" || op.Name == "mkdir") {
			return crashfs.DiskFull
		}
		return nil
	}
	return disk
}

// fullDiskJob runs crashJob on a disk that is full below dir from the first
// checkpoint on, until the hook clears full.
func fullDiskJob(t *testing.T, dir string, checkpoints run.Checkpoints, hook func(j *job, e run.Event, full *atomic.Bool)) (*job, *crashfs.FS) {
	t.Helper()
	var on atomic.Bool
	disk := full(dir, &on)
	store := blob.Dir("/state", disk)
	t.Cleanup(func() { store.Close() })
	source := hold(crashNumbers, readingOf).upTo(crashNumbers / 2)
	j := startWith(t, run.Config{Parallelism: 2, Checkpoints: checkpoints}, func(j *job, e run.Event) {
		if _, ok := e.(run.CheckpointCompleted); ok {
			if j.completed() == 1 {
				on.Store(true)
			}
			source.upTo(crashNumbers)
		}
		hook(j, e, &on)
	}, func(ctx context.Context, cfg run.Config) error {
		return run.RunOn(ctx, crashJob(source), cfg, world(disk), store)
	})
	return j, disk
}

func TestAFullDiskFailsCheckpointsThatAreToleratedAndLaterOnesComplete(t *testing.T) {
	j, disk := fullDiskJob(t, "/state", run.Checkpoints{Interval: 200 * time.Millisecond, TolerableFailures: -1}, func(j *job, e run.Event, full *atomic.Bool) {
		if _, ok := e.(run.CheckpointFailed); ok && len(eventsOf[run.CheckpointFailed](j)) == 3 {
			full.Store(false)
		}
	})
	j.finished()
	failed := eventsOf[run.CheckpointFailed](j)
	if len(failed) < 3 || !errors.Is(failed[0].Err, syscall.ENOSPC) && !strings.Contains(failed[0].String(), "space") {
		t.Errorf("the checkpoints on the full disk: %v", failed)
	}
	checkLines(t, crashAnswer(), published(t, disk))
}

func TestAFullDiskFailsTheJobWhenNoFailureIsToleratedAndNothingIsLost(t *testing.T) {
	j, disk := fullDiskJob(t, "/state", run.Checkpoints{Interval: 200 * time.Millisecond}, func(*job, run.Event, *atomic.Bool) {})
	wantError(t, j.wait(), "checkpoints failed in a row", "no space left on device")
	disk.Inject = nil
	if err := life(t, disk, 2, nil); err != nil {
		t.Fatal(err)
	}
	checkLines(t, crashAnswer(), published(t, disk))
}

func TestAFullDiskUnderTheOutputIsOneClearErrorAndNothingIsLost(t *testing.T) {
	j, disk := fullDiskJob(t, "/out", run.Checkpoints{Interval: 200 * time.Millisecond}, func(*job, run.Event, *atomic.Bool) {})
	wantError(t, j.wait(), "-lines", "/out", "no space left on device")
	disk.Inject = nil
	if err := life(t, disk, 3, nil); err != nil {
		t.Fatal(err)
	}
	checkLines(t, crashAnswer(), published(t, disk))
}
