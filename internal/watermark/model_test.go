package watermark

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// naiveInputs is the rule of a combined watermark, computed anew each time.
type naiveInputs struct {
	watermark   []int64
	idle, ended []bool
	out         int64
	policy      Policy
}

func (n *naiveInputs) combine() {
	least, most, active, open := EndOfTime, None, 0, 0
	for i, w := range n.watermark {
		if n.ended[i] {
			continue
		}
		open++
		most = max(most, w)
		if !n.idle[i] {
			active++
			least = min(least, w)
		}
	}
	switch {
	case active > 0:
		n.out = max(n.out, least)
	case open > 0 && n.policy == AdvanceToMax:
		n.out = max(n.out, most)
	}
}

func TestCombinerAgreesWithTheNaiveModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		inputs := rapid.IntRange(1, 9).Draw(t, "inputs")
		n := &naiveInputs{
			watermark: make([]int64, inputs), idle: make([]bool, inputs), ended: make([]bool, inputs),
			out:    rapid.SampledFrom([]int64{None, 20}).Draw(t, "restored"),
			policy: rapid.SampledFrom([]Policy{Keep, AdvanceToMax}).Draw(t, "all idle"),
		}
		for i := range n.watermark {
			n.watermark[i] = None
		}
		c := NewCombiner(Config{Inputs: inputs, Restored: n.out, AllIdle: n.policy})
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			i := rapid.IntRange(0, inputs-1).Draw(t, "input")
			if n.ended[i] {
				continue
			}
			before, advanced := c.Watermark(), false
			switch what := rapid.IntRange(0, 9).Draw(t, "what"); {
			case what < 6:
				w := rapid.SampledFrom([]int64{1, 10, 15, 20, 25, 30, 40, 60, EndOfTime}).Draw(t, "watermark")
				n.watermark[i] = max(n.watermark[i], w)
				advanced = c.Update(i, w)
			case what < 9:
				n.idle[i] = !n.idle[i]
				advanced = c.SetIdle(i, n.idle[i])
			default:
				n.ended[i] = true
				advanced = c.End(i)
			}
			n.combine()
			if c.Watermark() != n.out || advanced != (n.out > before) {
				t.Fatalf("watermark %s, want %s; advanced %v from %s", word(c.Watermark()), word(n.out), advanced, word(before))
			}
		}
	})
}

func TestSplitsAgreeWithTheNaiveModel(t *testing.T) {
	names := []string{"a", "b", "c"}
	rapid.Check(t, func(t *rapid.T) {
		bound := rapid.Int64Range(0, 20).Draw(t, "bound")
		g := BoundedOutOfOrderness(time.Duration(bound) * time.Millisecond)
		g.IdleAfter = time.Second
		s := NewSplits(g, None)
		n := &naiveInputs{watermark: make([]int64, 3), idle: make([]bool, 3), ended: []bool{false, false, false}, out: None}
		emptySince := []int{-1, -1, -1} // seconds
		for i, id := range names {
			n.watermark[i] = None
			s.AddSplit(SplitTime{ID: id, Watermark: None})
		}
		for now := range rapid.IntRange(1, 80).Draw(t, "steps") {
			i := rapid.IntRange(0, 2).Draw(t, "split")
			if n.ended[i] {
				continue
			}
			each := false
			var w int64
			switch what := rapid.IntRange(0, 19).Draw(t, "what"); {
			case what < 12:
				s.StartSplit(names[i])
				ts := rapid.Int64Range(0, 100).Draw(t, "time")
				if each = what < 6; each {
					w, _ = s.ObserveEach(ts)
				} else {
					s.Observe(ts)
				}
				n.watermark[i] = max(n.watermark[i], ts-bound-1)
				n.idle[i], emptySince[i] = false, -1
			case what < 19:
				s.EmptySplit(names[i], time.Duration(now)*time.Second)
				if emptySince[i] < 0 {
					emptySince[i] = now
				}
				n.idle[i] = n.idle[i] || now > emptySince[i]
			default:
				s.FinishSplit(names[i])
				n.ended[i] = true
			}
			n.combine()
			if !each {
				w, _ = s.Advance()
			}
			if w != n.out {
				t.Fatalf("watermark %s, want %s", word(w), word(n.out))
			}
		}
	})
}

// The rule by which late records are counted in tests of whole jobs: after each
// record, the newest time less the bound less one.
func TestABoundedWatermarkAfterEachRecordIsTheNewestTimeLessBoundLessOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bound := rapid.Int64Range(0, 1000).Draw(t, "bound")
		times := rapid.SliceOf(rapid.Int64Range(-5000, 5000)).Draw(t, "times")
		s := NewSplits(BoundedOutOfOrderness(time.Duration(bound)*time.Millisecond), None)
		g := NewGenerator(bound)
		want := None
		for _, ts := range times {
			want = max(want, ts-bound-1)
			g.Observe(ts)
			if got, _ := s.ObserveEach(ts); got != want || g.Watermark() != want {
				t.Fatalf("after %d: %s and %s, want %s", ts, word(got), word(g.Watermark()), word(want))
			}
		}
	})
}

func TestTheRestoredBoundIsTheLeastOfAllSubtasks(t *testing.T) {
	for _, c := range []struct {
		saved []int64
		want  int64
	}{
		{nil, None},
		{[]int64{7}, 7},
		{[]int64{9, 7, 8}, 7},
		{[]int64{9, None}, None},
		{[]int64{EndOfTime, EndOfTime}, EndOfTime},
	} {
		if got := RestoredBound(c.saved); got != c.want {
			t.Errorf("bound of %v is %s, want %s", c.saved, word(got), word(c.want))
		}
	}
}

func TestNothingAllocatesForARecordOrAWatermark(t *testing.T) {
	s := NewSplits(BoundedOutOfOrderness(time.Second), None)
	for _, id := range []string{"a", "b", "c", "d"} {
		s.AddSplit(SplitTime{ID: id, Watermark: None})
	}
	c := NewCombiner(Config{Inputs: 100, Restored: None})
	ts := int64(0)
	if n := testing.AllocsPerRun(100, func() {
		ts++
		s.StartSplit("a")
		s.Observe(ts)
		s.StartSplit("b")
		s.ObserveEach(ts)
		s.EmptySplit("c", time.Duration(ts))
		s.Advance()
		c.Update(int(ts%100), ts)
		c.SetIdle(int(ts%100), ts%2 == 0)
	}); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

func BenchmarkSplitsObserve(b *testing.B) {
	s := NewSplits(BoundedOutOfOrderness(time.Second), None)
	s.AddSplit(SplitTime{ID: "a", Watermark: None})
	ts := make([]int64, 512)
	for i := range ts {
		ts[i] = int64(i * 7 % 512)
	}
	b.Run("interval", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for _, t := range ts {
				s.Observe(t)
			}
			s.Advance()
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(ts)), "ns/record")
	})
	b.Run("batch", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s.ObserveAll(ts)
			s.Advance()
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(ts)), "ns/record")
	})
	b.Run("record", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for _, t := range ts {
				s.ObserveEach(t)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(ts)), "ns/record")
	})
}

func BenchmarkCombinerUpdate(b *testing.B) {
	for _, inputs := range []int{1, 4, 100} {
		b.Run(fmt.Sprint("inputs=", inputs), func(b *testing.B) {
			c := NewCombiner(Config{Inputs: inputs, Restored: None})
			b.ReportAllocs()
			i, w := 0, int64(0)
			for b.Loop() {
				c.Update(i, w)
				if i++; i == inputs {
					i, w = 0, w+1
				}
			}
		})
	}
}
