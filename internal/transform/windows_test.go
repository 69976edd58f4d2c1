package transform

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cutwater-io/cutwater/internal/operator"
	"github.com/cutwater-io/cutwater/window"
)

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	slices.Sort(want)
	if d := cmp.Diff(append([]string{}, want...), got); d != "" {
		t.Fatalf("(-want +got):\n%s", d)
	}
}

func span(start, end int64) window.Window {
	return window.Window{Start: window.Millis(start), End: window.Millis(end)}
}

func rec(key int, id, ts int64) record[event] { return record[event]{event{key, id}, ts} }

func TestALateRecordWithinTheLatenessCountsAndItsWindowFiresOnceMoreForItsKey(t *testing.T) {
	r := windowRig(t, 1, window.Tumbling(10*time.Millisecond), 5, summing)
	defer func() { r.close() }()
	r.send(rec(1, 1, 3), rec(2, 10, 4))
	r.watermark(9)
	expect(t, r.took(), got(span(0, 10), 1, idSum{1, 1}), got(span(0, 10), 2, idSum{1, 10}))
	r.watermark(13)
	// Two records in one batch: one firing each, as if they had come alone.
	r.send(rec(1, 100, 5), rec(1, 1000, 9))
	expect(t, r.took(), got(span(0, 10), 1, idSum{2, 101}), got(span(0, 10), 1, idSum{3, 1101}))
	r.watermark(14)
	r.send(rec(1, 10000, 9))
	expect(t, r.took())
	if d := cmp.Diff([]event{{1, 10000}}, r.late); d != "" {
		t.Errorf("late side output (-want +got):\n%s", d)
	}
	if dropped, counted := r.counts(); dropped != 1 || counted != 2 {
		t.Errorf("%d dropped and %d counted, want 1 and 2", dropped, counted)
	}
}

func TestALateRecordCountsInTheSlidingWindowsThatAreStillOpen(t *testing.T) {
	for name, ag := range map[string]any{"with inverse": nil, "without": 1} {
		t.Run(name, func(t *testing.T) {
			s := summing
			if ag != nil {
				s = withoutInverse(s)
			}
			r := windowRig(t, 1, window.Sliding(10*time.Millisecond, 2*time.Millisecond), 0, s)
			defer func() { r.close() }()
			r.send(rec(1, 1, 0), rec(1, 2, 8))
			r.watermark(9)
			took := r.took()
			if !slices.Contains(took, got(span(0, 10), 1, idSum{2, 3})) {
				t.Fatalf("the window [0, 10) is not among %v", took)
			}
			r.send(rec(1, 10, 5), rec(2, 100, 5)) // behind the watermark; also a new key
			r.watermark(11)
			expect(t, r.took(), got(span(2, 12), 1, idSum{2, 12}), got(span(2, 12), 2, idSum{1, 100}))
			r.watermark(100)
			expect(t, r.took(),
				got(span(4, 14), 1, idSum{2, 12}), got(span(4, 14), 2, idSum{1, 100}),
				got(span(6, 16), 1, idSum{1, 2}), got(span(8, 18), 1, idSum{1, 2}))
			if dropped, counted := r.counts(); dropped != 0 || counted != 0 {
				t.Errorf("%d dropped and %d counted, want none: no window had fired", dropped, counted)
			}
		})
	}
}

func TestRecordsInGapsBetweenWindowsAreNotLateAndTakeNoRoom(t *testing.T) {
	r := windowRig(t, 1, window.Sliding(3*time.Millisecond, 10*time.Millisecond), 0, summing)
	defer func() { r.close() }()
	r.send(rec(1, 1, 2), rec(1, 2, 3), rec(1, 4, 9))
	if n := entries(r, paneEntries); n != 1 {
		t.Errorf("%d entries are kept, want 1", n)
	}
	r.watermark(50)
	expect(t, r.took(), got(span(0, 3), 1, idSum{1, 1}))
	r.send(rec(1, 8, 5), rec(1, 16, 12)) // in a gap long ago; late
	if dropped, _ := r.counts(); dropped != 1 {
		t.Errorf("%d records are counted as late, want 1", dropped)
	}
}

func TestHolesOfDaysProduceNoWindowsAndCostNothing(t *testing.T) {
	// A slide of 1 ms: walking through the holes would take 10^12 steps.
	const century = int64(100 * 365 * 24 * 3600 * 1000)
	for _, s := range []struct {
		name string
		a    window.Assigner
		per  int
	}{
		{"tumbling", window.Tumbling(time.Millisecond), 1},
		{"sliding", window.Sliding(5*time.Millisecond, time.Millisecond), 5},
		{"slide does not divide the size", window.Sliding(5*time.Millisecond, 2*time.Millisecond), 2},
		{"gaps", window.Sliding(2*time.Millisecond, 5*time.Millisecond), 1},
		{"sessions", window.Session(time.Millisecond), 1},
	} {
		t.Run(s.name, func(t *testing.T) {
			r := windowRig(t, 1, s.a, 0, summing)
			defer func() { r.close() }()
			want := 0
			for i := range int64(4) {
				r.send(rec(1, 1, i*century/10*10+1))
				want += s.per
			}
			r.watermark(math.MaxInt64 - 1000)
			if n := len(r.took()); n != want {
				t.Errorf("%d windows fired, want %d", n, want)
			}
		})
	}
}

func TestWindowsFireInTheOrderOfTheirEnds(t *testing.T) {
	for _, a := range []window.Assigner{window.Tumbling(5 * time.Millisecond), window.Sliding(10*time.Millisecond, 3*time.Millisecond), window.Session(4 * time.Millisecond)} {
		r := windowRig(t, 1, a, 0, summing)
		for _, ts := range []int64{70, 3, 41, 22, 90, 57} {
			r.send(rec(int(ts), 1, ts))
		}
		r.watermark(200)
		if len(r.out) < 6 || !slices.IsSortedFunc(r.out, func(a, b emitted[result]) int { return int(a.ts - b.ts) }) {
			t.Errorf("%s: %v", a, r.out)
		}
		r.close()
	}
}

func TestProcessingTimeWindowsFollowTheWallClock(t *testing.T) {
	r := windowRig(t, 1, window.Tumbling(10*time.Millisecond, window.ProcessingTime()), 0, summing)
	defer func() { r.close() }()
	r.clock(1003)
	r.send(rec(1, 1, 5_000_000), rec(2, 10, -7))
	r.watermark(math.MaxInt64 - 5) // event time plays no part
	expect(t, r.took())
	r.clock(1009)
	expect(t, r.took())
	r.clock(1010)
	expect(t, r.took(), got(span(1000, 1010), 1, idSum{1, 1}), got(span(1000, 1010), 2, idSum{1, 10}))
	r.send(rec(1, 2, 0))
	// The process was away while the window ended: it fires when it is back.
	o := r.snapshot()
	r.now = 5000
	r.restore(o, 3)
	expect(t, r.took(), got(span(1010, 1020), 1, idSum{1, 2}))
	r.send(rec(1, 4, 0))
	r.finish()
	expect(t, r.took(), got(span(5000, 5010), 1, idSum{1, 4}))
	if dropped, _ := r.counts(); dropped != 0 {
		t.Errorf("%d records were late; by the wall clock none is", dropped)
	}
}

func TestAClockThatIsSetBackMakesNoRecordLate(t *testing.T) {
	for _, a := range []window.Assigner{
		window.Tumbling(10*time.Millisecond, window.ProcessingTime()),
		window.Sliding(10*time.Millisecond, 5*time.Millisecond, window.ProcessingTime()),
		window.Session(10*time.Millisecond, window.ProcessingTime()),
	} {
		t.Run(a.String(), func(t *testing.T) {
			r := windowRig(t, 1, a, 0, summing)
			defer func() { r.close() }()
			r.clock(2000)
			r.send(rec(1, 1, 0))
			r.clock(2100)
			fired := len(r.took())
			if fired == 0 {
				t.Fatal("the window did not fire")
			}
			r.clock(1000)
			r.send(rec(1, 2, 0))
			r.clock(2200)
			if n := len(r.took()); n != fired {
				t.Errorf("%d windows fired for the record after the clock was set back, want %d", n, fired)
			}
			if dropped, _ := r.counts(); dropped != 0 {
				t.Errorf("%d records were late", dropped)
			}
		})
	}
}

func TestAfterTheEndOfProcessingTimeInputTheWallClockIsStillTheTime(t *testing.T) {
	// The final checkpoint must not say that time has ended, or the records of a
	// job restored from it would be in a window at the end of time.
	for _, a := range []window.Assigner{
		window.Tumbling(10*time.Millisecond, window.ProcessingTime()),
		window.Session(10*time.Millisecond, window.ProcessingTime()),
	} {
		t.Run(a.String(), func(t *testing.T) {
			r := windowRig(t, 1, a, 0, summing)
			defer func() { r.close() }()
			r.clock(1000)
			r.send(rec(1, 1, 0))
			r.mail = true
			r.finish()
			if n := len(r.took()); n != 1 {
				t.Fatalf("%d windows fired at the end, want 1", n)
			}
			r.now = 2000
			r.restore(r.snapshot(), 1)
			r.send(rec(1, 2, 0))
			r.clock(2010)
			expect(t, r.took(), got(span(2000, 2010), 1, idSum{1, 2}))
		})
	}
}

func TestD58SubtasksGoOnFromTheTimesOfTheirOwnKeyGroups(t *testing.T) {
	// Channels that go idle in another order can make subtasks differ in time.
	r := windowRig(t, 2, window.Tumbling(10*time.Millisecond), 0, summing)
	defer func() { r.close() }()
	keys := [2][]int{}
	for k := range 40 {
		h := eventKeys.hasher.Hash(&k)
		i := 0
		if !r.subs[0].ctx.Groups.Contains(uint16(h >> 60)) {
			i = 1
		}
		keys[i] = append(keys[i], k)
	}
	r.send(rec(keys[0][0], 1, 5), rec(keys[1][0], 2, 5))
	r.subs[0].in.Watermark(9)
	expect(t, r.took(), got(span(0, 10), keys[0][0], idSum{1, 1}))
	r.restore(r.snapshot(), 2)
	r.send(rec(keys[0][0], 4, 6), rec(keys[1][0], 8, 6))
	r.watermark(20)
	expect(t, r.took(), got(span(0, 10), keys[1][0], idSum{2, 10}))
}

func TestReducedAndCollectedWindowsKeepTheOrderOfRecords(t *testing.T) {
	join, err := NewKeyType[string]()
	if err != nil {
		t.Fatal(err)
	}
	type row struct{ Key, Text string }
	key := func(r row) string { return r.Key }
	build, err := Panes(Windowing[row]{Assigner: window.Sliding(4*time.Millisecond, 2*time.Millisecond)},
		Reducing[string](func(a, b row) row { return row{a.Key, a.Text + b.Text} }), join)
	if err != nil {
		t.Fatal(err)
	}
	send := func(r *rig[string, row, row]) {
		for i, s := range []string{"a", "b", "c", "d"} {
			r.send(record[row]{row{"k", s}, int64(i)})
		}
	}
	reduced := newRig[string, row, row](t, 1, join, key, build)
	send(reduced)
	reduced.restore(reduced.snapshot(), 2)
	reduced.watermark(10)
	expect(t, reduced.took(), "{k ab} at 1", "{k abcd} at 3", "{k cd} at 5")
	reduced.close()

	var kept [][]row
	build, err = Panes(Windowing[row]{Assigner: window.Sliding(4*time.Millisecond, 2*time.Millisecond)},
		Collecting[string, row, row](func(k string, w window.Window, rows []row, out *Emitter[row]) error {
			text := ""
			for _, r := range rows {
				text += r.Text
			}
			out.Emit(row{k, text})
			slices.Reverse(rows) // the function may change and keep them
			kept = append(kept, rows)
			return nil
		}), join)
	if err != nil {
		t.Fatal(err)
	}
	collected := newRig[string, row, row](t, 1, join, key, build)
	send(collected)
	collected.watermark(10)
	expect(t, collected.took(), "{k ab} at 1", "{k abcd} at 3", "{k cd} at 5")
	collected.close()
	if d := cmp.Diff("[[{k b} {k a}] [{k d} {k c} {k b} {k a}] [{k d} {k c}]]", fmt.Sprint(kept)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestCountingNeedsKeysOnly(t *testing.T) {
	build, err := Panes(Windowing[event]{Assigner: window.Tumbling(10 * time.Millisecond)}, Counting[int, event](), eventKeys)
	if err != nil {
		t.Fatal(err)
	}
	r := newRig[int, event, window.Result[int, int64]](t, 1, eventKeys, keyOf, build)
	defer func() { r.close() }()
	b, from, to := oneRecord(event{1, 1}, 5)
	b.V = nil
	r.subs[0].in.Batch(b, from, to)
	r.subs[0].in.Batch(b, from, to)
	r.watermark(9)
	r.subs[0].in.Batch(b, from, to) // late, and no value that a side output could have
	expect(t, r.took(), fmt.Sprint(window.Result[int, int64]{Key: 1, Window: span(0, 10), Value: 2}, " at 9"))
	if dropped, _ := r.counts(); dropped != 1 {
		t.Errorf("%d dropped, want 1", dropped)
	}
}

func TestSideOutputsGetWatermarksAndStatuses(t *testing.T) {
	build, err := Panes(Windowing[event]{Assigner: window.Tumbling(10 * time.Millisecond), Late: NewTag[event]("late")}, Aggregating[int](summing), eventKeys)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	r := newRig[int, event, result](t, 1, eventKeys, keyOf, func(ctx *operator.Context) (operator.Operator, []any, error) {
		ctx.Outputs[1] = []any{operator.In[event]{Record: func(*event, int64) {}, Control: spoken(func(s string) { got = append(got, s) })}}
		return build(ctx)
	})
	defer func() { r.close() }()
	r.watermark(7)
	r.subs[0].in.Status(true)
	if d := cmp.Diff([]string{"watermark 7", "idle true"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// spoken is a control that tells what it hears.
type spoken func(string)

func (s spoken) Watermark(ts int64) { s(fmt.Sprint("watermark ", ts)) }
func (s spoken) Status(idle bool)   { s(fmt.Sprint("idle ", idle)) }
