package run_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cutwater-io/cutwater/agg"
	"github.com/cutwater-io/cutwater/connector/collect"
	"github.com/cutwater-io/cutwater/run"
	"github.com/cutwater-io/cutwater/stream"
	"github.com/cutwater-io/cutwater/window"
)

// reading is the record of these tests: number n belongs to one of keys sensors
// and is n*10 ms old in event time.
type reading struct {
	Sensor string
	N      int64
}

const sensors = 50

func readingOf(i int64) (reading, int64) {
	return reading{Sensor: fmt.Sprintf("sensor-%d", i%sensors), N: i}, i * 10
}

// lives are the parallelisms of the runs of one job, each restored from the
// checkpoint at which the one before was canceled.
var lives = []int{1, 2, 3, 1}

// rescaled runs a job in several lives over n numbers: each lets more of them come
// and is canceled at the first event that stopAt wants after the life has seen its
// greatest number, except the last, which finishes. What the checkpoint holds of
// the others, and what comes again, is as it happens.
func rescaled[T any](t *testing.T, n int64, build func() (*stream.Pipeline, *held[T]), stopAt func(e run.Event) bool) {
	t.Helper()
	dir := t.TempDir()
	for life, parallelism := range lives {
		p, source := build()
		limit := n * int64(life+1) / int64(len(lives))
		source.upTo(limit)
		last := life == len(lives)-1
		j := start(t, p, run.Config{StateDir: dir, Parallelism: parallelism, Checkpoints: every(10 * time.Millisecond)}, func(j *job, e run.Event) {
			if !last && source.highest.Load() == limit-1 && stopAt(e) {
				j.stop()
			}
		})
		if last {
			j.finished()
		} else {
			j.stopped()
		}
		restored := eventsOf[run.Restoring](j)[0].Checkpoint
		if (restored > 0) != (life > 0) {
			t.Fatalf("life %d restored checkpoint %d", life, restored)
		}
	}
}

func atCompletion(e run.Event) bool  { _, ok := e.(run.CheckpointCompleted); return ok }
func atPublication(e run.Event) bool { _, ok := e.(run.CheckpointPublished); return ok }

// tally is state with everything that a struct per key may hold.
type tally struct {
	Count    int64
	ByDigit  map[int64]int64
	Numbers  []int64
	Position struct{ First, Last int64 }
}

type tallied struct {
	Sensor                      string
	Count, MapSum, Len, Sum     int64
	FirstIsLeast, LastIsPresent bool
}

func (s *tally) add(v reading) tallied {
	s.Count++
	if s.ByDigit == nil {
		s.ByDigit = map[int64]int64{}
	}
	s.ByDigit[v.N%10]++
	s.Numbers = append(s.Numbers, v.N)
	if s.Count == 1 || v.N < s.Position.First {
		s.Position.First = v.N
	}
	s.Position.Last = v.N
	out := tallied{Sensor: v.Sensor, Count: s.Count, Len: int64(len(s.Numbers)), FirstIsLeast: s.Position.First == slices.Min(s.Numbers)}
	for _, n := range s.ByDigit {
		out.MapSum += n
	}
	for _, n := range s.Numbers {
		out.Sum += n
		out.LastIsPresent = out.LastIsPresent || n == s.Position.Last
	}
	return out
}

func checkTallies(t *testing.T, n int64, got []tallied) {
	t.Helper()
	counts := map[string][]int64{}
	sums := map[string]int64{}
	for _, v := range got {
		if v.MapSum != v.Count || v.Len != v.Count || !v.FirstIsLeast || !v.LastIsPresent {
			t.Fatalf("the parts of a state do not belong together: %+v", v)
		}
		counts[v.Sensor] = append(counts[v.Sensor], v.Count)
		sums[v.Sensor] = max(sums[v.Sensor], v.Sum)
	}
	wantCounts, wantSums := map[string][]int64{}, map[string]int64{}
	for i := range n {
		r, _ := readingOf(i)
		wantCounts[r.Sensor] = append(wantCounts[r.Sensor], int64(len(wantCounts[r.Sensor])+1))
		wantSums[r.Sensor] += i
	}
	for k := range counts {
		slices.Sort(counts[k])
	}
	if d := cmp.Diff(wantCounts, counts); d != "" {
		t.Errorf("each record of a key must be counted once, in one state:\n%s", d)
	}
	if d := cmp.Diff(wantSums, sums); d != "" {
		t.Errorf("sums by key:\n%s", d)
	}
}

func TestS273S274S355StateOfStructsIsExactOverParallelisms1231(t *testing.T) {
	for name, stopAt := range map[string]func(run.Event) bool{"canceled when everybody knows": atCompletion, "canceled when only the log knows": atPublication} {
		t.Run(name, func(t *testing.T) {
			const n = 6000
			out := collect.New[tallied]()
			rescaled(t, n, func() (*stream.Pipeline, *held[reading]) {
				source := hold(n, readingOf)
				p := stream.New("tallies")
				p.From(source, stream.Name("readings")).
					KeyBy(func(v reading) string { return v.Sensor }).
					Stateful(func(_ *stream.Ctx[string], s *tally, v reading, out *stream.Emitter[tallied]) error {
						out.Emit(s.add(v))
						return nil
					}, stream.Name("tally")).
					To(out.Sink(), stream.Name("out"))
				return p, source
			}, stopAt)
			checkTallies(t, n, out.Values())
		})
	}
}

type fired struct {
	Sensor string
	At     int64
}

// Each reading asks for a timer 7 s later, so that at each restore hundreds wait.
func TestS274EachEventTimerFiresOnceOverParallelisms1231(t *testing.T) {
	const n = 6000
	out := collect.New[fired]()
	rescaled(t, n, func() (*stream.Pipeline, *held[reading]) {
		source := hold(n, readingOf)
		p := stream.New("timers")
		p.From(source, stream.Name("readings")).
			SourceTime(stream.Ascending().Every(time.Millisecond), stream.Name("time")).
			KeyBy(func(v reading) string { return v.Sensor }).
			Handle(stream.Handler[string, int64, reading, fired]{
				OnRecord: func(c *stream.Ctx[string], count *int64, v reading, _ *stream.Emitter[fired]) error {
					*count++
					c.EventTimer(window.Millis(v.N*10 + 7000))
					if *count%3 == 0 {
						c.DeleteEventTimer(window.Millis(v.N*10 + 7000))
					}
					return nil
				},
				OnTimer: func(c *stream.Ctx[string], _ *int64, tm stream.Timer, out *stream.Emitter[fired]) error {
					out.Emit(fired{c.Key(), int64(tm.At)})
					return nil
				},
			}, stream.Name("timers")).
			To(out.Sink(), stream.Name("out"))
		return p, source
	}, atCompletion)
	// Which third of a key's timers is taken back depends on the order of its
	// records, and that each key's records of one split are in order, on nothing
	// else: readings of a key are in splits i%6, so only the number is certain.
	got := map[string]map[int64]bool{}
	for _, f := range out.Values() {
		if got[f.Sensor] == nil {
			got[f.Sensor] = map[int64]bool{}
		}
		if got[f.Sensor][f.At] {
			t.Fatalf("the timer of %s at %d fired twice", f.Sensor, f.At)
		}
		got[f.Sensor][f.At] = true
	}
	for s := range int64(sensors) {
		name := fmt.Sprintf("sensor-%d", s)
		if len(got[name]) != n/sensors-n/sensors/3 {
			t.Errorf("%s: %d timers fired, want %d", name, len(got[name]), n/sensors-n/sensors/3)
		}
		for at := range got[name] {
			if i := (at - 7000) / 10; i%sensors != s || i >= n {
				t.Errorf("%s: nobody set a timer at %d", name, at)
			}
		}
	}
}

// windowed runs a job of windows in its lives and returns all results.
func windowed(t *testing.T, n int64, make func(i int64) (reading, int64), a window.Assigner) []window.Result[string, int64] {
	t.Helper()
	out := collect.New[window.Result[string, int64]]()
	rescaled(t, n, func() (*stream.Pipeline, *held[reading]) {
		source := hold(n, make)
		p := stream.New("windows")
		p.From(source, stream.Name("readings")).
			SourceTime(stream.Ascending().Every(time.Millisecond), stream.Name("time")).
			KeyBy(func(v reading) string { return v.Sensor }).
			Window(a).
			Aggregate(agg.Sum(func(v reading) int64 { return v.N }), stream.Name("sum")).
			To(out.Sink(), stream.Name("out"))
		return p, source
	}, atCompletion)
	return out.Values()
}

// cell names a window of a key.
type cell struct {
	Key        string
	Start, End int64
}

func checkWindows(t *testing.T, want map[cell]int64, got []window.Result[string, int64]) {
	t.Helper()
	m := map[cell]int64{}
	for _, r := range got {
		c := cell{r.Key, int64(r.Window.Start), int64(r.Window.End)}
		if _, twice := m[c]; twice {
			t.Errorf("%v fired twice", c)
		}
		m[c] = r.Value
	}
	if d := cmp.Diff(want, m); d != "" {
		t.Errorf("windows (-want +got):\n%.3000s", d)
	}
}

func TestS273TumblingWindowsAreExactOverParallelisms1231(t *testing.T) {
	const n = 6000
	got := windowed(t, n, readingOf, window.Tumbling(3*time.Second))
	want := map[cell]int64{}
	for i := range int64(n) {
		r, ts := readingOf(i)
		want[cell{r.Sensor, ts / 3000 * 3000, ts/3000*3000 + 3000}] += i
	}
	checkWindows(t, want, got)
}

func TestS273SlidingWindowsAreExactOverParallelisms1231(t *testing.T) {
	const n = 6000
	got := windowed(t, n, readingOf, window.Sliding(3*time.Second, time.Second))
	want := map[cell]int64{}
	for i := range int64(n) {
		r, ts := readingOf(i)
		for end := ts/1000*1000 + 1000; end <= ts/1000*1000+3000; end += 1000 {
			want[cell{r.Sensor, end - 3000, end}] += i
		}
	}
	checkWindows(t, want, got)
}

// Readings of a sensor come in bursts with pauses of 5 s between.
func TestS273SessionsAreExactOverParallelisms1231(t *testing.T) {
	const n = 6000
	burst := func(i int64) (reading, int64) {
		r, ts := readingOf(i)
		return r, ts + ts/4000*5000
	}
	got := windowed(t, n, burst, window.Session(2*time.Second))
	times := map[string][]int64{} // of the readings of each sensor, ascending
	numbers := map[string][]int64{}
	for i := range int64(n) {
		r, ts := burst(i)
		times[r.Sensor] = append(times[r.Sensor], ts)
		numbers[r.Sensor] = append(numbers[r.Sensor], i)
	}
	want := map[cell]int64{}
	for _, k := range slices.Sorted(maps.Keys(times)) {
		first, sum := 0, int64(0)
		for i, ts := range times[k] {
			sum += numbers[k][i]
			if i+1 == len(times[k]) || times[k][i+1]-ts >= 2000 {
				want[cell{k, times[k][first], ts + 2000}] = sum
				first, sum = i+1, 0
			}
		}
	}
	checkWindows(t, want, got)
}
