package timer

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// times draws times that meet all levels of the wheel, the ends of time included,
// and often the same one twice.
func times(origin int64) *rapid.Generator[int64] {
	return rapid.Custom(func(t *rapid.T) int64 {
		d := rapid.Int64Range(-5, 5).Draw(t, "units") << rapid.SampledFrom([]int{0, 0, 0, 8, 9, 16, 24, 33}).Draw(t, "of")
		switch {
		case d > 0 && origin > math.MaxInt64-d:
			return math.MaxInt64
		case d < 0 && origin < math.MinInt64-d:
			return math.MinInt64
		}
		return origin + d
	})
}

func TestEntriesComeOutByTimeAndThenInTheOrderTheyWentIn(t *testing.T) {
	type entry struct {
		at   int64
		key  int
		hash uint64
	}
	rapid.Check(t, func(t *rapid.T) {
		var q Queue[int]
		var model []entry // sorted, stable
		any := times(rapid.SampledFrom([]int64{0, -300, 1_700_000_000_000, math.MaxInt64 - 3, math.MinInt64 + 3}).Draw(t, "origin"))
		n := 0
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				e := entry{any.Draw(t, "at"), n, uint64(n) * 7}
				n++
				q.Add(e.at, e.key, e.hash)
				i, _ := slices.BinarySearchFunc(model, e.at, func(m entry, at int64) int {
					if m.at <= at {
						return -1
					}
					return 1
				})
				model = slices.Insert(model, i, e)
			},
			"pop": func(t *rapid.T) {
				until := any.Draw(t, "until")
				at, key, hash, ok := q.Pop(until)
				want := len(model) > 0 && model[0].at <= until
				if ok != want {
					t.Fatalf("Pop(%d) = %t with %v", until, ok, model)
				}
				if ok {
					if got := (entry{at, key, hash}); got != model[0] {
						t.Fatalf("Pop(%d) = %v, want %v", until, got, model[0])
					}
					model = model[1:]
				}
			},
			"drain": func(t *rapid.T) {
				until := any.Draw(t, "until")
				for len(model) > 0 && model[0].at <= until {
					at, key, hash, ok := q.Pop(until)
					if got := (entry{at, key, hash}); !ok || got != model[0] {
						t.Fatalf("Pop(%d) = %v, %t, want %v", until, got, ok, model[0])
					}
					model = model[1:]
				}
				if _, _, _, ok := q.Pop(until); ok {
					t.Fatalf("Pop(%d) has one more than %v", until, model)
				}
			},
			"": func(t *rapid.T) {
				if q.Len() != len(model) {
					t.Fatalf("Len() = %d, want %d", q.Len(), len(model))
				}
				if rapid.IntRange(0, 2).Draw(t, "look") > 0 {
					return // what Next finds out must not be needed
				}
				at, ok := q.Next()
				if ok != (len(model) > 0) || ok && at != model[0].at {
					t.Fatalf("Next() = %d, %t with %v", at, ok, model)
				}
			},
		})
	})
}

func TestAPoppedEntryKeepsNothingAlive(t *testing.T) {
	var q Queue[*int]
	q.Add(1, new(int), 0)
	q.Add(2, new(int), 0)
	q.Pop(5)
	q.Pop(5)
	q.Add(-1, new(int), 0) // before what was popped
	q.Add(1<<40, new(int), 0)
	q.Pop(1 << 41)
	q.Pop(1 << 41)
	if q.Len() != 0 {
		t.Fatalf("%d entries are left", q.Len())
	}
	for _, e := range q.early.entries[:cap(q.early.entries)] {
		if e.key != nil {
			t.Error("the heap still refers to a key that was popped")
		}
	}
	chunks := 0
	for c := q.free; c != nil; c = c.next {
		chunks++
		for _, e := range c.entries {
			if e.key != nil {
				t.Error("a free chunk still refers to a key that was popped")
			}
		}
	}
	if chunks == 0 {
		t.Error("no chunk is kept to be used again: the test has looked at nothing")
	}
}
