package transform

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cutwater-io/cutwater/internal/operator"
	"github.com/cutwater-io/cutwater/internal/watermark"
	"github.com/cutwater-io/cutwater/window"
)

// order is a record of the timer tests: what its function is to do.
type order struct {
	Key int
	Op  string // "event", "processing", "delete event", "delete processing", "clear", "add"
	At  int64
}

// memo is the state of the timer tests: a list, so that it is copied by the
// engine.
type memo struct {
	Seen  []int64
	Again bool // the next timer sets another
}

func orderKey(o order) int { return o.Key }

// obey is the functions of the timer tests.
func obey(onTimer func(c *Ctx[int], s *memo, tm Timer, out *Emitter[string]) error) Handler[int, memo, order, string] {
	return Handler[int, memo, order, string]{
		OnRecord: func(c *Ctx[int], s *memo, o order, _ *Emitter[string]) error {
			switch o.Op {
			case "event":
				c.EventTimer(window.Millis(o.At))
			case "processing":
				c.ProcessingTimer(window.Millis(o.At))
			case "delete event":
				c.DeleteEventTimer(window.Millis(o.At))
			case "delete processing":
				c.DeleteProcessingTimer(window.Millis(o.At))
			case "clear":
				c.Clear()
			case "add":
				s.Seen = append(s.Seen, o.At)
			case "again":
				s.Again = true
			}
			return nil
		},
		OnTimer: func(c *Ctx[int], s *memo, tm Timer, out *Emitter[string]) error {
			out.Emit(timerText(c.Key(), tm.Processing, int64(tm.At), s.Seen))
			if onTimer != nil {
				return onTimer(c, s, tm, out)
			}
			return nil
		},
	}
}

func timerText(key int, processing bool, at int64, seen []int64) string {
	return fmt.Sprintf("key=%d processing=%t at=%d seen=%v", key, processing, at, seen)
}

func timerRig(t failer, parallelism int, onTimer func(c *Ctx[int], s *memo, tm Timer, out *Emitter[string]) error) *rig[int, order, string] {
	t.Helper()
	build, err := Stateful(obey(onTimer), eventKeys)
	if err != nil {
		t.Fatalf("build: %v", err)
	}
	return newRig[int, order, string](t, parallelism, eventKeys, orderKey, build)
}

func (r *rig[K, T, U]) values() []string {
	s := []string{}
	for _, e := range r.out {
		s = append(s, fmt.Sprint(e.value))
	}
	r.out = nil
	return s
}

func do(key int, op string, at int64) record[order] { return record[order]{order{key, op, at}, 0} }

// TestS274TimersEqualANaiveModelThroughRestoresAtAnyParallelism: each fires once,
// whatever is restored and when.
func TestS274TimersEqualANaiveModelThroughRestoresAtAnyParallelism(t *testing.T) {
	type due struct {
		processing bool
		at         int64
		key        int
	}
	rapid.Check(t, func(t *rapid.T) {
		r := timerRig(t, rapid.IntRange(1, 3).Draw(t, "parallelism"), nil)
		defer func() { r.close() }()
		r.clock(1000)
		timers := map[due]bool{}
		seen := map[int][]int64{}
		wm, wall := watermark.None, int64(1000)
		var want []string
		fire := func() {
			for d := range timers {
				if !d.processing && d.at <= wm || d.processing && d.at <= wall {
					delete(timers, d)
					want = append(want, timerText(d.key, d.processing, d.at, seen[d.key]))
				}
			}
		}
		step := func(what string) {
			t.Helper()
			fire()
			got := r.values()
			slices.Sort(got)
			slices.Sort(want)
			if d := cmp.Diff(append([]string{}, want...), got); d != "" {
				t.Fatalf("after %s (-model +operator):\n%s", what, d)
			}
			want = nil
		}
		t.Repeat(map[string]func(*rapid.T){
			"records": func(t *rapid.T) {
				// One by one in the model, a batch in the operator; a timer that
				// is due at once fires before the next record of its key.
				var batch []record[order]
				for range rapid.IntRange(1, 5).Draw(t, "n") {
					key, at := rapid.IntRange(0, 3).Draw(t, "key"), rapid.Int64Range(-3, 30).Draw(t, "at")
					op := rapid.SampledFrom([]string{"event", "event", "processing", "delete event", "delete processing", "clear", "add"}).Draw(t, "op")
					if strings.Contains(op, "processing") {
						at += 1000
					}
					batch = append(batch, do(key, op, at))
					switch op {
					case "event":
						timers[due{false, at, key}] = true
						if at <= wm {
							fireEvent := due{false, at, key}
							delete(timers, fireEvent)
							want = append(want, timerText(key, false, at, seen[key]))
						}
					case "processing":
						timers[due{true, at, key}] = true
					case "delete event":
						delete(timers, due{false, at, key})
					case "delete processing":
						delete(timers, due{true, at, key})
					case "clear":
						delete(seen, key)
					case "add":
						seen[key] = append(slices.Clone(seen[key]), at)
					}
				}
				r.send(batch...)
				step("records")
			},
			"watermark": func(t *rapid.T) {
				wm = max(wm, rapid.Int64Range(-2, 28).Draw(t, "watermark"))
				r.mail = rapid.Bool().Draw(t, "mail")
				r.watermark(wm)
				step("watermark")
			},
			"clock": func(t *rapid.T) {
				wall += rapid.Int64Range(0, 5).Draw(t, "millis")
				r.clock(wall)
				step("clock")
			},
			"restore": func(t *rapid.T) {
				r.restore(r.snapshot(), rapid.IntRange(1, 4).Draw(t, "parallelism"))
				step("restore")
			},
			"restore in the middle of a firing, after time has passed": func(t *rapid.T) {
				wm = max(wm, rapid.Int64Range(-2, 28).Draw(t, "watermark"))
				r.mail = true
				r.pushWatermark(wm)
				o := r.snapshot()
				r.mail = false
				wall += rapid.Int64Range(0, 5).Draw(t, "millis")
				r.now = wall
				r.restore(o, rapid.IntRange(1, 4).Draw(t, "parallelism"))
				step("restore")
			},
			"": func(t *rapid.T) {
				keys := map[int]bool{}
				for d := range timers {
					keys[d.key] = true
				}
				if n := entries(r, timerEntries); n != len(keys) {
					t.Fatalf("%d keys have timers in the state, the model has %d", n, len(keys))
				}
			},
		})
		wm = math.MaxInt64
		r.finish()
		step("the end of the input")
	})
}

func timerEntries(op operator.Operator) int {
	return op.(*statefulOp[int, memo, order, string]).c.ops.table.Len()
}

func TestTimersFireInTheOrderOfTheirTimesOverAllKeys(t *testing.T) {
	r := timerRig(t, 1, nil)
	defer func() { r.close() }()
	r.send(do(1, "event", 30), do(2, "event", 10), do(3, "event", 20), do(1, "event", 5), do(2, "event", 25), do(2, "event", 10))
	r.restore(r.snapshot(), 1)
	r.watermark(29)
	if d := cmp.Diff([]string{
		timerText(1, false, 5, nil), timerText(2, false, 10, nil), timerText(3, false, 20, nil), timerText(2, false, 25, nil),
	}, r.values()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestATimerForThePastFiresRightAfterTheCall(t *testing.T) {
	r := timerRig(t, 1, nil)
	defer func() { r.close() }()
	r.watermark(100)
	r.send(do(1, "add", 1), do(1, "event", 50), do(1, "add", 2), do(1, "event", 100), do(1, "event", 101))
	if d := cmp.Diff([]string{timerText(1, false, 50, []int64{1}), timerText(1, false, 100, []int64{1, 2})}, r.values()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestATimerMaySetTimersAlsoForThePast(t *testing.T) {
	r := timerRig(t, 1, func(c *Ctx[int], s *memo, tm Timer, _ *Emitter[string]) error {
		switch {
		case tm.At == 10:
			c.EventTimer(3)  // past: it fires with this watermark
			c.EventTimer(10) // the one that is firing, once more
			c.EventTimer(40)
			c.Clear()
		case tm.At == 40 && c.Watermark() != 45:
			t.Errorf("the watermark is %d while the timers of 45 fire", c.Watermark())
		}
		return nil
	})
	defer func() { r.close() }()
	again := 0
	r.send(do(1, "add", 7), do(1, "event", 11))
	r.send(do(2, "event", 10))
	// The timer of key 2 for 10 sets itself again: it would do so for ever, so the
	// step ends it.
	r.mail = true
	r.pushWatermark(20)
	for range 4 {
		again++
		r.subs[0].op.(operator.Resumer).Resume()
	}
	got := r.values()
	if len(got) < 4 || got[0] != timerText(2, false, 10, nil) || got[1] != timerText(2, false, 3, nil) || got[2] != timerText(2, false, 10, nil) {
		t.Errorf("got %v", got)
	}
	if len(r.marks[0]) != 0 {
		t.Error("the watermark was forwarded although timers are due")
	}
}

func TestClearForgetsTheStateAndKeepsTheTimers(t *testing.T) {
	r := timerRig(t, 1, func(c *Ctx[int], _ *memo, _ Timer, _ *Emitter[string]) error { c.Clear(); return nil })
	defer func() { r.close() }()
	r.send(do(1, "add", 7), do(1, "event", 10), do(1, "clear", 0), do(1, "add", 8), do(2, "add", 9), do(2, "clear", 0))
	if n := r.subs[0].op.(*statefulOp[int, memo, order, string]).table.Len(); n != 1 {
		t.Errorf("%d keys have state, want 1", n)
	}
	r.watermark(10)
	if d := cmp.Diff([]string{timerText(1, false, 10, []int64{8})}, r.values()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if n := r.subs[0].op.(*statefulOp[int, memo, order, string]).table.Len(); n != 0 {
		t.Errorf("%d keys have state after OnTimer cleared it, want 0", n)
	}
}

func TestProcessingTimersSetByProcessingTimersYieldToTheTask(t *testing.T) {
	r := timerRig(t, 1, func(c *Ctx[int], _ *memo, tm Timer, _ *Emitter[string]) error {
		c.ProcessingTimer(tm.At + 100)
		return nil
	})
	defer func() { r.close() }()
	r.clock(1000)
	r.send(do(1, "processing", 1000))
	for range 5 {
		r.clock(r.now + 100)
	}
	if n := len(r.values()); n != 6 {
		t.Errorf("%d timers fired, want 6", n)
	}
}

func TestAProcessingTimerThatSetsAnEventTimerForThePastMakesItFire(t *testing.T) {
	r := timerRig(t, 1, func(c *Ctx[int], _ *memo, tm Timer, _ *Emitter[string]) error {
		if tm.Processing {
			c.EventTimer(4)
		}
		return nil
	})
	defer func() { r.close() }()
	r.watermark(5)
	r.send(do(1, "processing", 700), do(2, "processing", 701))
	r.clock(1000)
	if d := cmp.Diff([]string{timerText(1, true, 700, nil), timerText(1, false, 4, nil), timerText(2, true, 701, nil), timerText(2, false, 4, nil)}, r.values()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestAFailureOfTheUsersFunctionNamesOperatorAndKey(t *testing.T) {
	boom := errors.New("boom")
	r := timerRig(t, 1, func(*Ctx[int], *memo, Timer, *Emitter[string]) error { return boom })
	defer func() { r.close() }()
	r.send(do(42, "event", 1))
	defer func() {
		f, ok := recover().(*operator.Failure)
		if !ok || f.Operator != "op" || f.Key != "42" || !errors.Is(f, boom) {
			t.Errorf("got %v", f)
		}
	}()
	r.watermark(1)
}

func TestAStatefulFunctionWithoutTimersCannotSetOne(t *testing.T) {
	h := obey(nil)
	h.OnTimer = nil
	build, err := Stateful(h, eventKeys)
	if err != nil {
		t.Fatal(err)
	}
	r := newRig[int, order, string](t, 1, eventKeys, orderKey, build)
	defer func() { r.close() }()
	r.send(do(1, "delete event", 1)) // there is none, which is fine
	defer func() {
		if s, ok := recover().(string); !ok || !strings.Contains(s, "Handle") {
			t.Errorf("got %v", s)
		}
	}()
	r.send(do(1, "event", 1))
}

func TestS273StateOfManyKeysSurvivesAnyParallelism(t *testing.T) {
	r := timerRig(t, 2, nil)
	defer func() { r.close() }()
	for k := range 300 {
		r.send(do(k, "add", int64(k)), do(k, "event", int64(1000+k)))
	}
	for _, p := range []int{3, 16, 1, 7, 2} {
		r.restore(r.snapshot(), p)
	}
	r.watermark(5000)
	if n := len(r.values()); n != 300 {
		t.Errorf("%d timers fired, want 300", n)
	}
	for k := range 300 {
		r.send(do(k, "event", 0)) // past: it shows the state
	}
	got := r.values()
	for k := range 300 {
		if i := slices.Index(got, timerText(k, false, 0, []int64{int64(k)})); i < 0 {
			t.Fatalf("key %d lost its state", k)
		}
	}
}
