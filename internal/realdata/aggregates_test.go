package realdata

import "github.com/cutwater-io/cutwater/agg"

// tally is the number of records and two sums.
type tally struct {
	N, A, B int64
}

// tallied counts records and sums two numbers of each.
func tallied[T any](f func(v *T) (a, b int64)) agg.Agg[T, tally, tally] {
	return agg.Agg[T, tally, tally]{
		Name: "tally",
		Add: func(acc *tally, v *T) {
			a, b := f(v)
			acc.N, acc.A, acc.B = acc.N+1, acc.A+a, acc.B+b
		},
		Merge: func(acc, other *tally) { acc.N, acc.A, acc.B = acc.N+other.N, acc.A+other.A, acc.B+other.B },
		Sub:   func(acc, other *tally) { acc.N, acc.A, acc.B = acc.N-other.N, acc.A-other.A, acc.B-other.B },
		Get:   func(acc *tally) tally { return *acc },
	}
}

// spread is the number of records, and of a value the least, the greatest, and
// those of the first and the last record in an order of their own.
type spread[N int64 | float64] struct {
	Count, FirstAt, LastAt   int64
	Least, Most, First, Last N
}

// spreadOf takes a value of each record and what orders the records, which must
// differ between any two.
func spreadOf[T any, N int64 | float64](f func(v *T) (at int64, value N)) agg.Agg[T, spread[N], spread[N]] {
	merge := func(acc, o *spread[N]) {
		if o.Count == 0 {
			return
		}
		if acc.Count == 0 {
			*acc = *o
			return
		}
		acc.Count += o.Count
		acc.Least, acc.Most = min(acc.Least, o.Least), max(acc.Most, o.Most)
		if o.FirstAt < acc.FirstAt {
			acc.FirstAt, acc.First = o.FirstAt, o.First
		}
		if o.LastAt > acc.LastAt {
			acc.LastAt, acc.Last = o.LastAt, o.Last
		}
	}
	return agg.Agg[T, spread[N], spread[N]]{
		Name: "spread",
		Add: func(acc *spread[N], v *T) {
			at, x := f(v)
			merge(acc, &spread[N]{1, at, at, x, x, x, x})
		},
		Merge: merge,
		Get:   func(acc *spread[N]) spread[N] { return *acc },
	}
}
