package transform

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cutwater-io/cutwater/agg"
	"github.com/cutwater-io/cutwater/internal/batch"
	"github.com/cutwater-io/cutwater/internal/operator"
	"github.com/cutwater-io/cutwater/window"
)

// bursts are the operators that can have a million things to do at one moment.
func bursts(t *testing.T) map[string]func(*operator.Context) (operator.Operator, []any, error) {
	t.Helper()
	panes := func(a window.Assigner, ag agg.Agg[event, idSum, string]) func(*operator.Context) (operator.Operator, []any, error) {
		build, err := Panes(Windowing[event]{Assigner: a}, Aggregating[int](ag), eventKeys)
		if err != nil {
			t.Fatal(err)
		}
		return build
	}
	sessions, err := SessionWindows(Windowing[event]{Assigner: window.Session(time.Second)}, Aggregating[int](summing), eventKeys)
	if err != nil {
		t.Fatal(err)
	}
	timers, err := Stateful(Handler[int, idSum, event, result]{
		OnRecord: func(c *Ctx[int], s *idSum, e event, _ *Emitter[result]) error {
			summing.Add(s, &e)
			c.EventTimer(c.Time() + 1000)
			return nil
		},
		OnTimer: func(c *Ctx[int], s *idSum, tm Timer, out *Emitter[result]) error {
			out.Emit(result{Key: c.Key(), Window: window.Window{End: tm.At}, Value: summing.Get(s)})
			return nil
		},
	}, eventKeys)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]func(*operator.Context) (operator.Operator, []any, error){
		"tumbling":                panes(window.Tumbling(time.Second), summing),
		"sliding":                 panes(window.Sliding(2*time.Second, time.Second), summing),
		"sliding without inverse": panes(window.Sliding(2*time.Second, time.Second), withoutInverse(summing)),
		"end of stream":           panes(window.EndOfStream(), summing),
		"sessions":                sessions,
		"timers":                  timers,
	}
}

// fill sends a record of each of n keys.
func fill[U any](r *rig[int, event, U], n int, ts int64) {
	b := batch.New[int, event](batch.Shape{Limit: batch.Limit[event](), Keyed: true, Values: true}, nil, nil)
	for k := range n {
		b.K, b.H, b.V, b.Ts = append(b.K, k), append(b.H, eventKeys.hasher.Hash(&k)), append(b.V, event{k, 1}), append(b.Ts, ts)
		if b.Len() == b.Limit || k == n-1 {
			r.subs[0].in.Batch(b, 0, b.Len())
			b.Reset()
		}
	}
}

func TestMailIsLookedAtAfterAFewRecordsWhileAMillionKeysFire(t *testing.T) {
	for name, build := range bursts(t) {
		t.Run(name, func(t *testing.T) {
			keys := 1_000_000
			if name != "tumbling" || testing.Short() {
				keys = 50_000
			}
			r := newRig[int, event, result](t, 1, eventKeys, keyOf, build)
			defer func() { r.close() }()
			fill(r, keys, 0)
			task, op := r.subs[0].ctx.Task, r.subs[0].op.(operator.Resumer)
			// The task looks at its mail whenever it has the thread, that is when
			// Watermark and Resume return.
			longest, total, looks := 0, 0, 0
			look := func() {
				longest, total, looks = max(longest, len(r.out)), total+len(r.out), looks+1
				r.out = r.out[:0]
				task.Mail.Store(looks%3 == 0)
			}
			r.subs[0].in.Watermark(math.MaxInt64)
			for look(); op.Resume(); look() {
				if task.Firing > 1 {
					t.Fatalf("one operator is counted as %d that fire", task.Firing)
				}
				if task.Mail.Load() && len(r.out) > 1 {
					t.Fatalf("%d records were emitted while mail waited", len(r.out))
				}
			}
			if task.Firing != 0 {
				t.Errorf("%d operators are counted as firing at the end", task.Firing)
			}
			if longest > fireStep {
				t.Errorf("%d records were emitted between two looks at the mail, want at most %d", longest, fireStep)
			}
			want := keys
			if name == "sliding" || name == "sliding without inverse" {
				want = 2 * keys
			}
			if total != want {
				t.Errorf("%d results, want %d", total, want)
			}
			if d := cmp.Diff([]int64{math.MaxInt64}, r.marks[0]); d != "" {
				t.Errorf("watermarks (-want +got):\n%s", d)
			}
			t.Logf("%d looks at the mail, at most %d records between two", looks, longest)
		})
	}
}

func TestAWatermarkIsForwardedAfterEverythingItMadeDue(t *testing.T) {
	for name, build := range bursts(t) {
		t.Run(name, func(t *testing.T) {
			r := newRig[int, event, result](t, 1, eventKeys, keyOf, build)
			defer func() { r.close() }()
			fill(r, 100, 0)
			r.mail = true
			r.pushWatermark(math.MaxInt64 - 1)
			r.pushWatermark(math.MaxInt64) // while the first one is being worked on
			r.subs[0].in.Status(true)
			for r.subs[0].op.(operator.Resumer).Resume() {
				if len(r.marks[0]) > 0 && len(r.out) < 100 && name != "end of stream" {
					t.Fatalf("the watermark was forwarded after %d results", len(r.out))
				}
			}
			want := []string{fmt.Sprint("watermark ", math.MaxInt64-1), fmt.Sprint("watermark ", math.MaxInt64), "idle true"}
			if d := cmp.Diff(want, r.inBand[0]); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestABarrierInTheMiddleOfAFiringComesBehindAllOfIt(t *testing.T) {
	for name, build := range bursts(t) {
		t.Run(name, func(t *testing.T) {
			r := newRig[int, event, result](t, 1, eventKeys, keyOf, build)
			defer func() { r.close() }()
			fill(r, 100, 0)
			r.mail = true
			r.pushWatermark(math.MaxInt64)
			if len(r.out) >= 100 || len(r.marks[0]) > 0 {
				t.Fatal("the firing was not interrupted: the test shows nothing")
			}
			o := r.snapshot()
			all := len(r.took())
			if d := cmp.Diff([]int64{math.MaxInt64}, r.marks[0]); d != "" {
				t.Errorf("watermarks before the barrier (-want +got):\n%s", d)
			}
			r.mail = false
			r.restore(o, 2)
			r.finish()
			if again := r.took(); len(again) > 0 {
				t.Errorf("%d results before the barrier, and after the restore %v", all, again)
			}
		})
	}
}

func TestRecordsInTheMiddleOfAFiringComeBehindAllOfIt(t *testing.T) {
	for name, build := range bursts(t) {
		t.Run(name, func(t *testing.T) {
			r := newRig[int, event, result](t, 1, eventKeys, keyOf, build)
			defer func() { r.close() }()
			fill(r, 100, 0)
			r.mail = true
			r.pushWatermark(5000)
			r.subs[0].in.Batch(oneRecord(event{1, 2}, 7000))
			if name == "end of stream" {
				return // its window takes the record too
			}
			if n := len(r.took()); n < 100 {
				t.Errorf("a record was taken after %d results", n)
			}
			if d := cmp.Diff([]int64{5000}, r.marks[0]); d != "" {
				t.Errorf("watermarks (-want +got):\n%s", d)
			}
		})
	}
}

func oneRecord(e event, ts int64) (*batch.Batch[int, event], int, int) {
	b := batch.New[int, event](batch.Shape{Limit: 1, Keyed: true, Values: true}, nil, nil)
	b.K, b.H, b.V, b.Ts = append(b.K, e.Key), append(b.H, eventKeys.hasher.Hash(&e.Key)), append(b.V, e), append(b.Ts, ts)
	return b, 0, 1
}
