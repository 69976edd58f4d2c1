package transform

import (
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cutwater-io/cutwater/internal/manifest"
	"github.com/cutwater-io/cutwater/internal/operator"
	"github.com/cutwater-io/cutwater/internal/watermark"
)

// clockwork is an event-time operator alone. What it sends on is told in log.
type clockwork struct {
	t      *testing.T
	ctx    *operator.Context
	op     *eventTime
	in     operator.In[event]
	alarms []alarm
	log    []string
}

const interval = 200

func newClockwork(t *testing.T, c Clocking, restored *manifest.OperatorState) *clockwork {
	t.Helper()
	w := &clockwork{t: t}
	task := &operator.Task{NowMillis: 1000, NowNanos: 1, Mail: new(atomic.Bool)}
	task.At = func(millis int64, f func() error) { w.alarms = append(w.alarms, alarm{millis, f}) }
	w.ctx = &operator.Context{Name: "time", Parallelism: 1, MaxParallelism: rigMax, Task: task, Outputs: [][]any{
		{operator.In[event]{Record: func(v *event, ts int64) { w.log = append(w.log, fmt.Sprint("record ", v.ID, " at ", ts)) }, Control: spoken(func(s string) { w.log = append(w.log, s) })}},
	}}
	if restored != nil {
		r, _, err := manifest.Assign(restored, 1, rigMax, true)
		if err != nil {
			t.Fatal(err)
		}
		w.ctx.Restored = restoredOf(t, &r[0])
	}
	op, ins, err := EventTime(func(e *event) int64 { return e.ID }, c)(w.ctx)
	if err != nil {
		t.Fatal(err)
	}
	w.op, w.in = op.(*eventTime), ins[0].(operator.In[event])
	if err := op.Open(); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *clockwork) records(times ...int64) {
	for _, ts := range times {
		w.in.Record(&event{ID: ts}, 77)
	}
}

// tick lets millis pass on both clocks and fires what is due.
func (w *clockwork) tick(millis int64) {
	w.t.Helper()
	w.ctx.Task.NowMillis += millis
	w.ctx.Task.NowNanos += millis * int64(time.Millisecond)
	for {
		i := slices.IndexFunc(w.alarms, func(a alarm) bool { return a.millis <= w.ctx.Task.NowMillis })
		if i < 0 {
			return
		}
		f := w.alarms[i].f
		w.alarms = slices.Delete(w.alarms, i, i+1)
		if err := f(); err != nil {
			w.t.Fatal(err)
		}
	}
}

// want compares what was sent on since it was asked last.
func (w *clockwork) want(lines ...string) {
	w.t.Helper()
	if d := cmp.Diff(append([]string{}, lines...), append([]string{}, w.log...)); d != "" {
		w.t.Fatalf("(-want +got):\n%s", d)
	}
	w.log = nil
}

func (w *clockwork) snapshot() *manifest.OperatorState {
	w.t.Helper()
	s := &operator.Snapshot{}
	if err := w.op.Snapshot(1, s); err != nil {
		w.t.Fatal(err)
	}
	return &manifest.OperatorState{Name: "time", Parallelism: 1, MaxParallelism: rigMax, Subtasks: []manifest.SubtaskState{subtaskState(w.t, 0, manifest.Range{}, s)}}
}

func ascending() Clocking { return Clocking{Strategy: watermark.Ascending()} }

func TestWatermarksComeByIntervalAndOnlyWhenTimeAdvances(t *testing.T) {
	w := newClockwork(t, ascending(), nil)
	w.records(10, 12)
	w.want("record 10 at 10", "record 12 at 12")
	w.tick(interval - 1)
	w.want()
	w.tick(1)
	w.want("watermark 11")
	w.tick(interval)
	w.want()
	w.records(5)
	w.tick(interval)
	w.want("record 5 at 5")
}

func TestAWatermarkAfterEveryRecordDependsOnTheInputAlone(t *testing.T) {
	c := ascending()
	c.Every = -1
	w := newClockwork(t, c, nil)
	w.records(10, 9, 12)
	w.want("record 10 at 10", "watermark 9", "record 9 at 9", "record 12 at 12", "watermark 11")
	if len(w.alarms) > 0 {
		t.Error("a timer is set and none is needed")
	}
}

func TestTheSlowestSplitHoldsBackTimeFromItsAssignmentOn(t *testing.T) {
	w := newClockwork(t, ascending(), nil)
	w.op.AddSplit("a")
	w.op.AddSplit("b")
	w.op.StartSplit("a")
	w.records(1000)
	w.tick(interval)
	w.want("record 1000 at 1000") // b was not read yet
	w.op.StartSplit("b")
	w.records(100)
	w.tick(interval)
	w.want("record 100 at 100", "watermark 99")
	w.op.FinishSplit("b")
	w.tick(interval)
	w.want("watermark 999")
}

func TestOnlyTimeInWhichASplitWasPolledAndEmptyIsIdleness(t *testing.T) {
	c := ascending()
	c.Strategy.IdleAfter = 10 * time.Second
	w := newClockwork(t, c, nil)
	w.op.AddSplit("a")
	w.op.AddSplit("b")
	w.op.StartSplit("b")
	w.records(100)
	w.op.StartSplit("a")
	w.records(500)
	w.log = nil
	w.tick(60_000) // a long time in which nobody looked
	w.want("watermark 99")
	w.op.EmptySplit("b")
	w.tick(9_000)
	w.op.EmptySplit("b")
	w.want()
	w.op.Held(true) // outputs are full
	w.tick(60_000)
	w.op.Held(false)
	w.op.EmptySplit("b")
	w.tick(interval)
	w.want()
	w.tick(1000)
	w.op.EmptySplit("b")
	w.tick(interval)
	w.want("watermark 499")
	// A record makes it active again; time does not go back.
	w.op.StartSplit("b")
	w.records(150, 700)
	w.op.StartSplit("a")
	w.records(800)
	w.tick(interval)
	w.want("record 150 at 150", "record 700 at 700", "record 800 at 800", "watermark 699")
}

func TestWhenAllSplitsAreIdleThePolicyDecides(t *testing.T) {
	for _, policy := range []watermark.Policy{watermark.Keep, watermark.AdvanceToMax} {
		c := ascending()
		c.Strategy.IdleAfter = time.Second
		c.Strategy.AllIdle = policy
		w := newClockwork(t, c, nil)
		for i, s := range []string{"a", "b"} {
			w.op.AddSplit(s)
			w.op.StartSplit(s)
			w.records(int64(100 * (i + 1)))
		}
		w.tick(interval)
		w.log = nil
		for range 2 {
			w.op.EmptySplit("b")
			w.op.EmptySplit("a")
			w.tick(1000)
		}
		if policy == watermark.Keep {
			w.want("idle true")
		} else {
			w.want("watermark 199", "idle true")
		}
		w.op.StartSplit("b")
		w.records(250)
		w.want("idle false", "record 250 at 250")
	}
}

func TestD58ARestoredTimeIsKeptPerSplitAndNeverGoesBack(t *testing.T) {
	w := newClockwork(t, ascending(), nil)
	w.op.AddSplit("a")
	w.op.AddSplit("b")
	w.op.StartSplit("a")
	w.records(500)
	w.op.StartSplit("b")
	w.records(100)
	w.tick(interval)
	w.records(300) // not told downstream yet
	o := w.snapshot()
	r := newClockwork(t, ascending(), o)
	r.want("watermark 99") // at once: those behind must not wait for a record
	r.op.AddSplit("a")
	r.op.AddSplit("b")
	r.tick(interval)
	r.want("watermark 299") // b had reached it, though nobody had been told
	r.op.StartSplit("b")
	r.records(50) // replayed
	r.tick(interval)
	r.want("record 50 at 50")
	r.op.StartSplit("b")
	r.records(900)
	r.tick(interval)
	r.want("record 900 at 900", "watermark 499") // a holds back as before
}

func TestOnlyTheEndOfTimePassesFromBefore(t *testing.T) {
	w := newClockwork(t, ascending(), nil)
	w.in.Watermark(5000)
	w.in.Status(true)
	w.want()
	w.in.Watermark(math.MaxInt64)
	w.want(fmt.Sprint("watermark ", int64(math.MaxInt64)))
	w.tick(interval)
	if len(w.alarms) > 0 {
		t.Error("it goes on making watermarks after the end of time")
	}
}

func TestARecordWithoutATimeIsTheOldestThereIs(t *testing.T) {
	w := newClockwork(t, ascending(), nil)
	w.records(math.MinInt64)
	w.want(fmt.Sprint("record ", int64(math.MinInt64), " at ", int64(math.MinInt64+1)))
}

type everySecond struct{ n, newest int64 }

func (g *everySecond) Observe(ts int64) { g.n++; g.newest = ts }
func (g *everySecond) Watermark() int64 {
	if g.n%2 == 1 {
		return watermark.None
	}
	return g.newest
}

func TestAGeneratorOfTheUserSeesEveryRecord(t *testing.T) {
	c := Clocking{Strategy: watermark.CustomGenerator(func() watermark.Custom { return &everySecond{} })}
	w := newClockwork(t, c, nil)
	w.records(10)
	w.tick(interval)
	w.want("record 10 at 10")
	w.records(20)
	w.tick(interval)
	w.want("record 20 at 20", "watermark 20")
}
