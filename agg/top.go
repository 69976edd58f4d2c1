package agg

import (
	"cmp"
	"fmt"
	"slices"
)

// TopAcc is the accumulator of [TopN]: in Best are at most n records, best first.
type TopAcc[T any] struct {
	Best []T
}

// TopN returns the n records with the highest score, highest first. Of equal
// scores the record that came first wins; across subtasks "first" is the order in
// which they are merged. A NaN score is lower than every number. It has no Sub.
func TopN[T any, S cmp.Ordered](n int, score func(T) S) Agg[T, TopAcc[T], []T] {
	return TopNFunc(n, func(a, b *T) bool { return cmp.Less(score(*b), score(*a)) })
}

// TopNFunc returns the n best records, best first. better reports whether a must
// stand before b; it is a strict weak order: never both ways, and false for equal
// ones. Of equal records the one that came first wins.
func TopNFunc[T any](n int, better func(a, b *T) bool) Agg[T, TopAcc[T], []T] {
	a := Agg[T, TopAcc[T], []T]{Name: fmt.Sprintf("top %d", n)}
	if n < 1 {
		a.err = fmt.Errorf("agg: TopN of %d records keeps nothing; give n of at least 1", n)
		return a
	}
	if better == nil {
		a.err = fmt.Errorf("agg: TopNFunc(%d) has no order; give a function that reports whether a is better than b", n)
		return a
	}
	a.Add = func(acc *TopAcc[T], v *T) {
		// More than n come from a checkpoint of a program with a larger n.
		best := acc.Best[:min(len(acc.Best), n)]
		acc.Best = best
		if len(best) == n {
			if !better(v, &best[n-1]) {
				return // most records end here
			}
			best = best[:n-1]
		}
		// Search from the end: a record that equals others goes behind them.
		at := len(best)
		for at > 0 && better(v, &best[at-1]) {
			at--
		}
		acc.Best = slices.Insert(best, at, *v)
	}
	a.Merge = func(acc, other *TopAcc[T]) {
		for i := range other.Best {
			a.Add(acc, &other.Best[i])
		}
	}
	a.Get = func(acc *TopAcc[T]) []T { return slices.Clone(acc.Best[:min(len(acc.Best), n)]) }
	return a
}
