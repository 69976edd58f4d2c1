package checkpoint

import (
	"fmt"
	"testing"
)

// Task sets are compared by a merge of two sorted lists; here by a loop in a loop.
func TestLostTasksAreThoseOfANaiveComparison(t *testing.T) {
	kinds := []string{"", "0", "0 not-running", "0 finished", "1", "1 not-running", "1 finished"}
	build := func(code int) []Task {
		args := eventArgs{}
		var list []Task
		for subtask := range 3 {
			kind := kinds[code%len(kinds)]
			code /= len(kinds)
			if kind == "" {
				continue
			}
			args.list = append(args.list[:0], cmdArg(fmt.Sprintf("%d.0#%s", subtask, kind)))
			list = append(list, args.tasks()...)
		}
		return list
	}
	for a := range 343 {
		for b := range 343 {
			old, next := build(a), build(b)
			want := false
			for _, o := range old {
				ok := o.Finished
				for _, n := range next {
					ok = ok || (n.Attempt == o.Attempt && (n.Running || n.Finished))
				}
				want = want || !ok
			}
			if _, got := newPlan(old, false).lost(newPlan(next, false)); got != want {
				t.Fatalf("from %v to %v: lost %v, want %v", old, next, got, want)
			}
		}
	}
}
