package run_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/connector/file"
	"github.com/cutwater-io/cutwater/internal/blob"
	"github.com/cutwater-io/cutwater/internal/host"
	"github.com/cutwater-io/cutwater/internal/host/crashfs"
	"github.com/cutwater-io/cutwater/internal/joblog"
	"github.com/cutwater-io/cutwater/run"
	"github.com/cutwater-io/cutwater/stream"
	"github.com/cutwater-io/cutwater/window"
)

// fastClock is a clock on which a second takes 50 ms.
type fastClock struct{ began time.Time }

const faster = 20

func (c fastClock) Now() time.Time { return c.began.Add(faster * time.Since(c.began)) }
func (c fastClock) After(d time.Duration) <-chan time.Time {
	return time.After(d / faster)
}

// world is the environment of a job whose state is in /state and whose output is
// in /out of a file system.
func world(disk blob.FS) connector.Env {
	env := host.Env(quiet)
	env.Files, env.Clock = disk, fastClock{time.Now()}
	return env
}

const crashNumbers = 800

// crashJob has everything that is committed, stored or moved: a source of six
// splits, state per key with timers, windows, and an exactly-once sink. The counts
// of state are lines "state <sensor> <count> 1"; those of windows "window <sensor>
// <start> <count>".
func crashJob(source *held[reading]) *stream.Pipeline {
	p := stream.New("crash")
	timed := p.From(source, stream.Name("readings")).SourceTime(stream.Ascending().Every(time.Millisecond), stream.Name("time"))
	byKey := timed.KeyBy(func(v reading) string { return v.Sensor })
	lines := file.LinesSink("/out")
	byKey.Handle(stream.Handler[string, tally, reading, string]{
		OnRecord: func(c *stream.Ctx[string], s *tally, v reading, out *stream.Emitter[string]) error {
			s.add(v)
			c.EventTimer(window.Millis(v.N*10 + 1500))
			out.Emit(fmt.Sprintf("state %s %d 1", v.Sensor, s.Count))
			return nil
		},
		OnTimer: func(c *stream.Ctx[string], _ *tally, tm stream.Timer, out *stream.Emitter[string]) error {
			out.Emit(fmt.Sprintf("timer %s %d 1", c.Key(), tm.At))
			return nil
		},
	}, stream.Name("count")).
		To(lines.Prefix("state"), stream.Name("state-lines"))
	byKey.Window(window.Tumbling(time.Second)).Count(stream.Name("windows")).
		Map(func(r window.Result[string, int64]) string {
			return fmt.Sprintf("window %s %d %d", r.Key, r.Window.Start, r.Value)
		}).
		To(lines.Prefix("window"), stream.Name("window-lines"))
	return p
}

// crashAnswer is what crashJob writes, by a loop of its own.
func crashAnswer() map[string]int {
	want, counts := map[string]int{}, map[string]int{}
	for i := range int64(crashNumbers) {
		r, ts := readingOf(i)
		counts[r.Sensor]++
		want[fmt.Sprintf("state %s %d", r.Sensor, counts[r.Sensor])] = 1
		want[fmt.Sprintf("timer %s %d", r.Sensor, ts+1500)] = 1
		want[fmt.Sprintf("window %s %d", r.Sensor, ts/1000*1000)]++
	}
	return want
}

// life runs crashJob on a disk until it ends or is killed. The input comes in four
// parts, one after each checkpoint.
func life(t *testing.T, disk *crashfs.FS, parallelism int, events *[]run.Event) error {
	t.Helper()
	source := hold(crashNumbers, readingOf).upTo(crashNumbers / 4)
	ctx, stop := context.WithTimeoutCause(context.Background(), patience, errors.New("the test ran out of patience"))
	defer stop()
	store := blob.Dir("/state", disk)
	defer store.Close()
	// A process that was killed does nothing any more; without this it would go on
	// trying to find out what became of its last write.
	ctx, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	var reaper sync.WaitGroup
	defer reaper.Wait()
	defer close(ended)
	reaper.Go(func() {
		for {
			select {
			case <-ended:
				return
			case <-time.After(time.Millisecond):
				if disk.Killed() {
					cancel(crashfs.ErrKilled)
					return
				}
			}
		}
	})
	return run.RunOn(ctx, crashJob(source), run.Config{
		Parallelism: parallelism, Checkpoints: run.Checkpoints{Interval: 20 * time.Millisecond}, Log: quiet,
		OnEvent: func(e run.Event) {
			if events != nil {
				*events = append(*events, e)
			}
			if _, ok := e.(run.CheckpointCompleted); ok {
				source.upTo(source.limit.Load() + crashNumbers/4)
			}
		},
	}, world(disk), store)
}

// hasFinished asks the log of a disk whether the job has said that it read all
// its input: then its next run would do everything again, as it should.
func hasFinished(t *testing.T, disk *crashfs.FS) bool {
	t.Helper()
	store := blob.Dir("/state", disk)
	defer store.Close()
	r, err := joblog.Read(context.Background(), store)
	if err != nil && !errors.Is(err, joblog.ErrNoLog) {
		t.Fatalf("the log of the killed job: %v", err)
	}
	return r.Finished
}

// published is the content of all files of /out that are not staged.
func published(t *testing.T, disk *crashfs.FS) string {
	t.Helper()
	entries, err := disk.ReadDir("/out")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, e := range entries {
		if e.IsDir() {
			if staged, err := disk.ReadDir(path.Join("/out", e.Name())); err == nil && len(staged) > 0 {
				t.Errorf("%d staged files are left, the first is %s", len(staged), staged[0].Name())
			}
			continue
		}
		f, err := disk.Open(path.Join("/out", e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(f)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		all.Write(b)
	}
	return all.String()
}

// crash is what is left of a machine after its process was killed, or after it
// lost power.
type crash struct {
	name  string
	after func(disk *crashfs.FS) *crashfs.FS
}

func crashes(seed uint64) []crash {
	return []crash{
		{"killed", func(d *crashfs.FS) *crashfs.FS { return d.Restart() }},
		{"power lost with all that was not synced", func(d *crashfs.FS) *crashfs.FS { return d.PowerLoss(0) }},
		{"power lost with some that was not synced", func(d *crashfs.FS) *crashfs.FS { return d.PowerLoss(seed | 1) }},
	}
}

// S357 to S374 and S414 end to end: a process dies at one file operation after the
// other, of state and of output, with the operation done or not; what remains is
// restored, at another parallelism, and every result is published once.
func TestS414AJobKilledAtAnyFileOperationLosesAndDoublesNothing(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	whole := crashfs.New()
	if err := life(t, whole, 2, nil); err != nil {
		t.Fatal(err)
	}
	checkLines(t, crashAnswer(), published(t, whole))
	total := len(whole.Ops())
	lives := crashLives
	if testing.Short() {
		lives = 20
	}
	rng := rand.New(rand.NewPCG(seed, 2))
	step := max(1, total/lives)
	for k := 1 + rng.IntN(step); k <= total+total/5; k += step {
		effect, c := rng.IntN(2) == 0, crashes(rng.Uint64())[rng.IntN(3)]
		disk := crashfs.New()
		disk.KillAt(k, effect)
		first := life(t, disk, 2, nil)
		if !disk.Killed() && first != nil {
			t.Fatalf("operation %d: the job failed without being killed: %v", k, first)
		}
		at := disk.Ops()[len(disk.Ops())-1]
		disk = c.after(disk)
		// The next process dies as well, at an operation of its restore or later.
		if !hasFinished(t, disk) && rng.IntN(2) == 0 {
			disk.KillAt(1+rng.IntN(total/2), effect)
			life(t, disk, 1, nil)
			disk = c.after(disk)
		}
		if !hasFinished(t, disk) {
			if err := life(t, disk, 1+rng.IntN(3), nil); err != nil {
				t.Errorf("%s at %v (done: %t): the next run failed: %v", c.name, at, effect, err)
				continue
			}
		}
		checkLines(t, crashAnswer(), published(t, disk))
		if t.Failed() {
			t.Fatalf("%s at %v (done: %t)", c.name, at, effect)
		}
	}
}

// crashLives bounds the number of kills, so that the test takes seconds.
const crashLives = 60
