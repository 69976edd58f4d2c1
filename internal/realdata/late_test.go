package realdata

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/cutwater-io/cutwater/agg"
	"github.com/cutwater-io/cutwater/run"
	"github.com/cutwater-io/cutwater/stream"
	"github.com/cutwater-io/cutwater/window"
)

// arrival is a record of which only the order and the time matter.
type arrival struct{ Seq, Time int64 }

// arrivalOf reads any of the files: the event time always follows seq.
func arrivalOf(f *fields, v *arrival) { v.Seq, v.Time = f.number(), f.number() }

func (v *arrival) time() int64 { return v.Time }

// lateCase is a line of late.csv.
type lateCase struct {
	file                    string
	window, bound, lateness time.Duration
	dropped, late, windows  int
}

func lateCases(t *testing.T) (cases []lateCase) {
	for _, r := range answerFields(t, "late") {
		n := make([]int, len(r))
		for i := 2; i < len(r); i++ {
			var err error
			if n[i], err = strconv.Atoi(r[i]); err != nil {
				t.Fatal(err)
			}
		}
		cases = append(cases, lateCase{
			r[0], time.Duration(n[2]) * time.Millisecond, time.Duration(n[3]) * time.Millisecond, time.Duration(n[4]) * time.Millisecond,
			n[5], n[6], n[7],
		})
	}
	return cases
}

// seqs collects the numbers of the records of a window.
func seqs() agg.Agg[arrival, []int64, []int64] {
	return agg.Agg[arrival, []int64, []int64]{
		Name:  "seqs",
		Add:   func(acc *[]int64, v *arrival) { *acc = append(*acc, v.Seq) },
		Merge: func(acc, other *[]int64) { *acc = append(*acc, *other...) },
		Get:   func(acc *[]int64) []int64 { return slices.Clone(*acc) },
	}
}

// outcome is what became of the records of a file.
type outcome struct {
	arrived []arrival
	dropped []arrival
	fired   int                       // results, those that were updated included
	windows map[window.Window][]int64 // the last result of each
}

func (c lateCase) run(t *testing.T) outcome {
	tooLate := stream.NewTag[arrival]("too-late")
	in := &input{t: t, p: stream.New("late-" + c.file), readers: 1}
	records := in.csv(c.file, arrivalOf)
	arrived := collected(records, "arrived")
	results := records.
		EventTimeMillis((*arrival).time, stream.BoundedOutOfOrderness(c.bound).PerRecord()).
		KeyBy(one[arrival]).
		Window(window.Tumbling(c.window)).
		AllowedLateness(c.lateness).
		LateTo(tooLate).
		Aggregate(seqs(), stream.Name("seqs"))
	fired := collected(results, "fired")
	dropped := collected(results.SideOutput(tooLate), "dropped")
	execute(t, in.p, run.Config{Parallelism: 1})

	o := outcome{arrived: arrived.Values(), dropped: dropped.Values(), windows: map[window.Window][]int64{}}
	for _, r := range fired.Values() {
		o.fired++
		if before := o.windows[r.Window]; len(r.Value) <= len(before) {
			t.Errorf("window %s fired with %d records after it had fired with %d", r.Window, len(r.Value), len(before))
		}
		o.windows[r.Window] = r.Value
	}
	return o
}

// onTime is the number of windows that a record reached before they were due:
// they fire once for these records, and once more for each late one. The other
// windows exist through late records alone.
func (o outcome) onTime(c lateCase) int {
	starts := map[int64]bool{}
	newest := int64(math.MinInt64)
	for _, v := range o.arrived {
		start := v.Time - v.Time%c.window.Milliseconds()
		if due := start + c.window.Milliseconds() - 1; newest == math.MinInt64 || due > newest-c.bound.Milliseconds()-1 {
			starts[start] = true
		}
		newest = max(newest, v.Time)
	}
	return len(starts)
}

// checkLaws holds an outcome against the two laws of the data: every record is
// counted or dropped, and both together are the batch answer.
func (o outcome) checkLaws(t *testing.T, size time.Duration) {
	t.Helper()
	counted := 0
	union := map[int64][]int64{} // start of a window → its records
	for w, members := range o.windows {
		counted += len(members)
		union[int64(w.Start)] = append(union[int64(w.Start)], members...)
	}
	if len(o.dropped)+counted != len(o.arrived) {
		t.Errorf("%d dropped and %d counted, of %d records", len(o.dropped), counted, len(o.arrived))
	}
	start := func(v arrival) int64 { return v.Time - v.Time%size.Milliseconds() }
	for _, v := range o.dropped {
		union[start(v)] = append(union[start(v)], v.Seq)
	}
	batch := map[int64][]int64{}
	for _, v := range o.arrived {
		batch[start(v)] = append(batch[start(v)], v.Seq)
	}
	if len(union) != len(batch) {
		t.Errorf("the windows and the dropped records are in %d windows, the batch answer in %d", len(union), len(batch))
	}
	for s, want := range batch {
		got := union[s]
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("window from %s: %d records counted or dropped, want %d", window.Millis(s), len(got), len(want))
		}
	}
}

func TestLateRecordsAreDroppedCountedAndKeptAsideExactly(t *testing.T) {
	for _, c := range lateCases(t) {
		t.Run(fmt.Sprintf("%s bound %s lateness %s", c.file, c.bound, c.lateness), func(t *testing.T) {
			o := c.run(t)
			if late := o.fired - o.onTime(c); len(o.dropped) != c.dropped || late != c.late || len(o.windows) != c.windows {
				t.Errorf("%d dropped, %d late but counted, %d windows; want %d, %d, %d",
					len(o.dropped), late, len(o.windows), c.dropped, c.late, c.windows)
			}
			o.checkLaws(t, c.window)
		})
	}
}

// Without a side output late records are dropped all the same, and Count is
// another path through the engine than Aggregate.
func TestWindowsWithoutTheirLateRecordsHaveTheExactCounts(t *testing.T) {
	for _, c := range []lateCase{
		{file: "web_access", window: 10 * time.Second, bound: 10 * time.Second},
		{file: "taxi_trips", window: 15 * time.Minute, bound: 5 * time.Minute},
		{file: "machine_temperature", window: 15 * time.Minute},
	} {
		t.Run(c.file, func(t *testing.T) {
			in := &input{t: t, p: stream.New("late-" + c.file), readers: 1}
			counts := rows(in.csv(c.file, arrivalOf).
				EventTimeMillis((*arrival).time, stream.BoundedOutOfOrderness(c.bound).PerRecord()).
				KeyBy(one[arrival]).
				Window(window.Tumbling(c.window)).
				Count(stream.Name("count")),
				func(w window.Window, _ int, n int64) string { return row(w.Start, n) })
			got := collected(counts, "rows")
			execute(t, in.p, run.Config{Parallelism: 1})
			same(t, got.Values(), answer(t, "late_"+c.file+"_counts"))
		})
	}
}
