package timer

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestEntriesComeOutByTimeAndThenInTheOrderTheyWentIn(t *testing.T) {
	type entry struct {
		at   int64
		key  int
		hash uint64
	}
	rapid.Check(t, func(t *rapid.T) {
		var q Queue[int]
		var model []entry // sorted, stable
		n := 0
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				e := entry{rapid.Int64Range(-5, 5).Draw(t, "at"), n, uint64(n) * 7}
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
				until := rapid.Int64Range(-6, 6).Draw(t, "until")
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
			"": func(t *rapid.T) {
				if q.Len() != len(model) {
					t.Fatalf("Len() = %d, want %d", q.Len(), len(model))
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
	for _, e := range q.heap[:cap(q.heap)] {
		if e.key != nil {
			t.Error("the queue still refers to a key that was popped")
		}
	}
}
