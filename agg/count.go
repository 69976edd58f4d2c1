package agg

// CountAcc is the accumulator of [Count].
type CountAcc struct {
	// N is the number of records.
	N int64
}

// Count counts records. The count is exact up to 2^63-1.
func Count[T any]() Agg[T, CountAcc, int64] {
	return Agg[T, CountAcc, int64]{
		Name:  "count",
		Add:   func(acc *CountAcc, _ *T) { acc.N++ },
		Merge: func(acc, other *CountAcc) { acc.N += other.N },
		Sub:   func(acc, other *CountAcc) { acc.N -= other.N },
		Get:   func(acc *CountAcc) int64 { return acc.N },
	}
}

// DistinctAcc is the accumulator of [Distinct]: Times is how often each value came. It
// grows with the number of different values.
type DistinctAcc[C comparable] struct {
	Times map[C]int64
}

// Distinct counts different values of f, exactly. It remembers every value of
// the window with the number of times it came, so that panes can be taken out
// again: memory grows with the number of different values.
//
// C is written into checkpoints, so it must not contain interfaces. A
// floating-point NaN equals nothing, not even itself: each one counts as a new
// value and, in sliding windows, never leaves again; replace NaN in f.
func Distinct[T any, C comparable](f func(T) C) Agg[T, DistinctAcc[C], int64] {
	return DistinctRef(func(v *T) C { return f(*v) })
}

// DistinctRef is [Distinct] without the copy of each record.
func DistinctRef[T any, C comparable](f func(*T) C) Agg[T, DistinctAcc[C], int64] {
	return Agg[T, DistinctAcc[C], int64]{
		Name: "distinct",
		Add: func(acc *DistinctAcc[C], v *T) {
			if acc.Times == nil {
				acc.Times = make(map[C]int64)
			}
			acc.Times[f(v)]++
		},
		Merge: func(acc, other *DistinctAcc[C]) {
			if acc.Times == nil && len(other.Times) > 0 {
				acc.Times = make(map[C]int64, len(other.Times))
			}
			for c, n := range other.Times {
				acc.Times[c] += n
			}
		},
		Sub: func(acc, other *DistinctAcc[C]) {
			for c, n := range other.Times {
				if left := acc.Times[c] - n; left != 0 {
					acc.Times[c] = left
				} else {
					delete(acc.Times, c)
				}
			}
		},
		Get: func(acc *DistinctAcc[C]) int64 { return int64(len(acc.Times)) },
	}
}
