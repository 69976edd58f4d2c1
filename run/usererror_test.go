package run_test

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cutwater-io/cutwater/connector/collect"
	"github.com/cutwater-io/cutwater/connector/file"
	"github.com/cutwater-io/cutwater/run"
	"github.com/cutwater-io/cutwater/stream"
	"github.com/cutwater-io/cutwater/window"
)

// ephemeral is a job in memory that ends when its input does.
func ephemeral(parallelism int) run.Config {
	return run.Config{Ephemeral: true, Parallelism: parallelism, Checkpoints: run.Checkpoints{Interval: time.Hour}}
}

// Each failure of user code names the operator, the key if there is one, and the
// position of the record in the source, or its channel behind an exchange.
func TestErrorsAndPanicsOfUserCodeSayWhere(t *testing.T) {
	boom := errors.New("boom")
	source := func(p *stream.Pipeline) stream.Stream[reading] {
		return p.From(hold(100, readingOf).upTo(100), stream.Name("readings"))
	}
	sensor := func(v reading) string { return v.Sensor }
	panicAt70 := func(v reading) {
		if v.N == 70 {
			panic("boom")
		}
	}
	for name, c := range map[string]struct {
		build       func(p *stream.Pipeline)
		parallelism int
		words       []string
	}{
		"panic in Map": {parallelism: 1, words: []string{`operator "broken"`, "record from number 70", "panic: boom", "usererror_test.go"}, build: func(p *stream.Pipeline) {
			source(p).Map(func(v reading) reading { panicAt70(v); return v }, stream.Name("broken")).To(collect.New[reading]().Sink(), stream.Name("out"))
		}},
		"panic in Filter": {parallelism: 1, words: []string{`operator "broken"`, "record from number 70", "panic: boom"}, build: func(p *stream.Pipeline) {
			source(p).Filter(func(v reading) bool { panicAt70(v); return true }, stream.Name("broken")).To(collect.New[reading]().Sink(), stream.Name("out"))
		}},
		"runtime error in FlatMap": {parallelism: 1, words: []string{`operator "broken"`, "record from number 70", "index out of range"}, build: func(p *stream.Pipeline) {
			source(p).FlatMap(func(v reading) iter.Seq[int64] {
				return func(yield func(int64) bool) {
					if v.N == 70 {
						yield(make([]int64, 70)[v.N])
					}
				}
			}, stream.Name("broken")).To(collect.New[int64]().Sink(), stream.Name("out"))
		}},
		"panic in EventTime": {parallelism: 1, words: []string{`operator "broken"`, "record from number 70", "panic: boom"}, build: func(p *stream.Pipeline) {
			source(p).EventTime(func(v reading) time.Time { panicAt70(v); return time.UnixMilli(v.N) }, stream.Ascending(), stream.Name("broken")).To(collect.New[reading]().Sink(), stream.Name("out"))
		}},
		"error of Process": {parallelism: 1, words: []string{`operator "broken"`, "record from number 70", "boom"}, build: func(p *stream.Pipeline) {
			source(p).Process(func(v reading, out *stream.Emitter[reading]) error {
				if v.N == 70 {
					return boom
				}
				return nil
			}, stream.Name("broken")).To(collect.New[reading]().Sink(), stream.Name("out"))
		}},
		"error of Stateful in a chain": {parallelism: 1, words: []string{`operator "broken"`, `key "sensor-20"`, "boom"}, build: func(p *stream.Pipeline) {
			source(p).KeyBy(sensor).Stateful(func(_ *stream.Ctx[string], _ *int64, v reading, _ *stream.Emitter[reading]) error {
				if v.N == 70 {
					return boom
				}
				return nil
			}, stream.Name("broken")).To(collect.New[reading]().Sink(), stream.Name("out"))
		}},
		"panic in Stateful behind an exchange": {parallelism: 2, words: []string{`operator "broken"`, `key "sensor-20"`, "record from readings (", "panic: boom"}, build: func(p *stream.Pipeline) {
			source(p).KeyBy(sensor).Stateful(func(_ *stream.Ctx[string], _ *int64, v reading, _ *stream.Emitter[reading]) error {
				panicAt70(v)
				return nil
			}, stream.Name("broken")).To(collect.New[reading]().Sink(), stream.Name("out"))
		}},
		"panic in a key function": {parallelism: 2, words: []string{`operator "broken"`, "panic: boom"}, build: func(p *stream.Pipeline) {
			source(p).KeyBy(func(v reading) string { panicAt70(v); return v.Sensor }).
				Stateful(func(_ *stream.Ctx[string], _ *int64, v reading, _ *stream.Emitter[reading]) error { return nil }, stream.Name("broken")).
				To(collect.New[reading]().Sink(), stream.Name("out"))
		}},
		"error of a window's function": {parallelism: 2, words: []string{`operator "broken"`, `key "sensor-20"`, "boom"}, build: func(p *stream.Pipeline) {
			source(p).SourceTime(stream.Ascending(), stream.Name("time")).KeyBy(sensor).Window(window.Tumbling(time.Second)).
				Process(func(key string, _ window.Window, _ []reading, _ *stream.Emitter[reading]) error {
					if key == "sensor-20" {
						return boom
					}
					return nil
				}, stream.Name("broken")).To(collect.New[reading]().Sink(), stream.Name("out"))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := stream.New("broken")
			c.build(p)
			j := start(t, p, ephemeral(c.parallelism), nil)
			err := j.wait()
			wantError(t, err, append([]string{`run "broken": task `}, c.words...)...)
			failed := eventsOf[run.TaskFailed](j)
			if len(failed) != 1 {
				t.Errorf("%d tasks failed, want 1:\n%s", len(failed), j.story())
			}
		})
	}
}

func TestErrorsKeepWhatTheyWrap(t *testing.T) {
	boom := errors.New("boom")
	p := stream.New("broken")
	p.From(hold(1, readingOf).upTo(1), stream.Name("readings")).
		Process(func(reading, *stream.Emitter[reading]) error { return fmt.Errorf("outer: %w", boom) }, stream.Name("broken")).
		To(collect.New[reading]().Sink(), stream.Name("out"))
	if err := start(t, p, ephemeral(1), nil).wait(); !errors.Is(err, boom) {
		t.Errorf("%v does not wrap the user's error", err)
	}
}

// countBy counts the records of a source by key and returns what came out.
func countBy[K comparable](t *testing.T, parallelism int, keys []K) map[K]int64 {
	t.Helper()
	out := collect.New[window.Result[K, int64]]()
	p := stream.New("count")
	p.From(hold(int64(len(keys)), func(i int64) (K, int64) { return keys[i], 0 }).upTo(int64(len(keys))), stream.Name("keys")).
		KeyBy(stream.Self).
		Window(window.EndOfStream()).
		Count(stream.Name("count")).
		To(out.Sink(), stream.Name("out"))
	start(t, p, ephemeral(parallelism), nil).finished()
	counts := map[K]int64{}
	for _, r := range out.Values() {
		counts[r.Key] += r.Value
	}
	return counts
}

func TestKeysOfInvalidUTF8AreKeysLikeOthers(t *testing.T) {
	keys := []string{"", "\xff\xfe", "a\x00b", "\xc3\x28", "ok", "\xff\xfe", "\xc3\x28", "\xc3\x28"}
	for _, parallelism := range []int{1, 3} {
		got := countBy(t, parallelism, keys)
		want := map[string]int64{"": 1, "\xff\xfe": 2, "a\x00b": 1, "\xc3\x28": 3, "ok": 1}
		if !maps.Equal(want, got) {
			t.Errorf("parallelism %d: counted %#v, want %#v", parallelism, got, want)
		}
	}
}

func TestMinusZeroAndZeroAreOneKey(t *testing.T) {
	got := countBy(t, 2, []float64{0, math.Copysign(0, -1), math.Inf(1), 0})
	if len(got) != 2 || got[0] != 3 || got[math.Inf(1)] != 1 {
		t.Errorf("counted %v", got)
	}
}

func TestANaNKeyIsOneClearError(t *testing.T) {
	for _, parallelism := range []int{1, 2} {
		p := stream.New("nan")
		p.From(hold(10, func(i int64) (float64, int64) {
			if i == 7 {
				return math.NaN(), 0
			}
			return float64(i), 0
		}).upTo(10), stream.Name("floats")).
			KeyBy(stream.Self).
			Stateful(func(_ *stream.Ctx[float64], _ *int64, _ float64, _ *stream.Emitter[int64]) error { return nil }, stream.Name("count")).
			To(collect.New[int64]().Sink(), stream.Name("out"))
		j := start(t, p, ephemeral(parallelism), nil)
		wantError(t, j.wait(), "NaN", "number 7")
	}
}

// Times of every kind: each record is in the window that holds its time, and a
// record at the end of time fires nothing that is not over.
func TestNegativeAndFarFutureTimesNeitherWrapNorFireWrongly(t *testing.T) {
	const day = 24 * 3600 * 1000
	for name, times := range map[string][]int64{
		"negative":          {-5 * day, -5*day + 1, -1, 0, 1, day},
		"begin of time":     {math.MinInt64 + 1, math.MinInt64 + 2, -day, 0},
		"year 292277024":    {0, day, 9_223_371_955_200_000_000, math.MaxInt64 - 5*day},
		"the last of times": {0, math.MaxInt64 - 3, math.MaxInt64 - 1},
	} {
		for _, parallelism := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s/parallelism %d", name, parallelism), func(t *testing.T) {
				out := collect.New[window.Result[string, int64]]()
				late := collect.New[int64]()
				tag := stream.NewTag[int64]("late")
				p := stream.New("times")
				// One split, so that its records come in the order of the slice.
				source := hold(int64(len(times)), func(i int64) (int64, int64) { return times[i], 0 }).upTo(int64(len(times)))
				source.splits = 1
				counts := p.From(source, stream.Name("times")).
					EventTimeMillis(func(v *int64) int64 { return *v }, stream.BoundedOutOfOrderness(time.Hour).PerRecord(), stream.Name("time")).
					KeyBy(func(int64) string { return "all" }).
					Window(window.Tumbling(24 * time.Hour)).LateTo(tag).
					Count(stream.Name("count"))
				counts.To(out.Sink(), stream.Name("out"))
				counts.SideOutput(tag).To(late.Sink(), stream.Name("late"))
				start(t, p, ephemeral(parallelism), nil).finished()
				var total int64
				for _, r := range out.Values() {
					if r.Window.End <= r.Window.Start {
						t.Errorf("window %v wraps around", r.Window)
					}
					in := int64(0)
					for _, ts := range times {
						if ts >= int64(r.Window.Start) && ts <= int64(r.Window.Last()) {
							in++
						}
					}
					if in != r.Value {
						t.Errorf("window %v has %d records, want %d", r.Window, r.Value, in)
					}
					total += r.Value
				}
				if total != int64(len(times)) || late.Len() > 0 {
					t.Errorf("%d records of %d are in windows, late: %v", total, len(times), late.Values())
				}
			})
		}
	}
}

// time.Time reaches further than milliseconds do.
func TestATimeThatMillisecondsCannotHoldIsClampedOrRefused(t *testing.T) {
	for _, at := range []time.Time{time.Unix(math.MaxInt64/1000+1, 0), time.Unix(1<<60, 0), time.Unix(-1<<60, 0), {}} {
		out := collect.New[window.Result[string, int64]]()
		p := stream.New("times")
		p.From(hold(1, func(int64) (int64, int64) { return 1, 0 }).upTo(1), stream.Name("times")).
			EventTime(func(int64) time.Time { return at }, stream.Ascending().PerRecord(), stream.Name("time")).
			KeyBy(func(int64) string { return "all" }).
			Window(window.Tumbling(24*time.Hour)).
			Count(stream.Name("count")).
			To(out.Sink(), stream.Name("out"))
		start(t, p, ephemeral(1), nil).finished()
		got := out.Values()
		if len(got) != 1 || got[0].Window.End <= got[0].Window.Start {
			t.Fatalf("time %v: windows %v", at, got)
		}
		if future := at.Unix() > 0; future != (got[0].Window.Start > 0) {
			t.Errorf("time %v is in window %v: it has wrapped around", at, got[0].Window)
		}
	}
}

func TestRecordsWithoutTimeHaveTheOldestTimeThereIs(t *testing.T) {
	out := collect.New[window.Result[string, int64]]()
	p := stream.New("timeless")
	p.From(hold(10, func(i int64) (int64, int64) { return i, math.MinInt64 }).upTo(10), stream.Name("numbers")).
		SourceTime(stream.Ascending(), stream.Name("time")).
		KeyBy(func(int64) string { return "all" }).
		Window(window.Tumbling(time.Hour)).
		Count(stream.Name("count")).
		To(out.Sink(), stream.Name("out"))
	start(t, p, ephemeral(2), nil).finished()
	if got := out.Values(); len(got) != 1 || got[0].Value != 10 {
		t.Errorf("windows %v, want one with all 10 records", got)
	}
}

// lines runs a job that reads lines of files and returns them.
func lines(t *testing.T, glob string) ([]string, error) {
	out := collect.New[string]()
	p := stream.New("lines")
	p.From(file.Lines(glob), stream.Name("lines")).To(out.Sink(), stream.Name("out"))
	err := start(t, p, ephemeral(2), nil).wait()
	return out.Values(), err
}

func TestEmptyFilesHaveNoLines(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"a": "", "b": "", "c": "one\ntwo"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := lines(t, filepath.Join(dir, "*"))
	if err != nil || len(got) != 2 {
		t.Errorf("read %q, %v", got, err)
	}
	if err := os.Truncate(filepath.Join(dir, "c"), 0); err != nil {
		t.Fatal(err)
	}
	if got, err = lines(t, filepath.Join(dir, "*")); err != nil || len(got) != 0 {
		t.Errorf("of empty files alone were read %q, %v", got, err)
	}
}

func TestAnUnreadableFileIsOneClearError(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "x.log"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "y.log"), []byte("y\n"), 0o000); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() != 0 {
		_, err := lines(t, filepath.Join(dir, "y.log"))
		wantError(t, err, "y.log", "permission denied")
	}
	_, err := lines(t, filepath.Join(dir, "x.log"))
	wantError(t, err, "no file matches", "x.log")
	_, err = lines(t, filepath.Join(dir, "none-*.log"))
	wantError(t, err, "none-*.log")
}

func TestAGiantLineIsOneClearErrorAndOneBelowTheLimitIsARecord(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "giant")
	if err := os.WriteFile(name, []byte("a\n"+strings.Repeat("x", 15<<20)+"\nb\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := lines(t, name)
	if err != nil || len(got) != 3 {
		t.Errorf("read %d lines, %v", len(got), err)
	}
	if err := os.WriteFile(name, []byte("a\n"+strings.Repeat("x", 17<<20)+"\nb\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = lines(t, name)
	wantError(t, err, name, "line 2")
	if len(err.Error()) > 4096 {
		t.Errorf("the error has %d bytes", len(err.Error()))
	}
}
