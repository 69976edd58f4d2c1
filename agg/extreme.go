package agg

import "cmp"

// ExtremeAcc is the accumulator of [Min] and [Max]. Any says whether there was a
// record; Value is its zero value before.
type ExtremeAcc[N cmp.Ordered] struct {
	Value N
	Any   bool
}

// Min returns the smallest of what f returns; the zero value of no records. A
// floating-point NaN is smaller than every number, as in [cmp.Compare]. It has no
// Sub: what was second smallest is not remembered.
func Min[T any, N cmp.Ordered](f func(T) N) Agg[T, ExtremeAcc[N], N] {
	return MinRef(func(v *T) N { return f(*v) })
}

// MinRef is [Min] without the copy of each record.
func MinRef[T any, N cmp.Ordered](f func(*T) N) Agg[T, ExtremeAcc[N], N] {
	return extreme("min", f, func(a, b N) bool { return cmp.Less(a, b) })
}

// Max returns the largest of what f returns; the zero value of no records. A
// floating-point NaN is smaller than every number, so it is the answer only when
// there was nothing else. It has no Sub.
func Max[T any, N cmp.Ordered](f func(T) N) Agg[T, ExtremeAcc[N], N] {
	return MaxRef(func(v *T) N { return f(*v) })
}

// MaxRef is [Max] without the copy of each record.
func MaxRef[T any, N cmp.Ordered](f func(*T) N) Agg[T, ExtremeAcc[N], N] {
	return extreme("max", f, func(a, b N) bool { return cmp.Less(b, a) })
}

// extreme keeps the first value that nothing beats.
func extreme[T any, N cmp.Ordered](name string, f func(*T) N, better func(a, b N) bool) Agg[T, ExtremeAcc[N], N] {
	take := func(acc *ExtremeAcc[N], n N) {
		if !acc.Any || better(n, acc.Value) {
			acc.Value, acc.Any = n, true
		}
	}
	return Agg[T, ExtremeAcc[N], N]{
		Name: name,
		Add:  func(acc *ExtremeAcc[N], v *T) { take(acc, f(v)) },
		Merge: func(acc, other *ExtremeAcc[N]) {
			if other.Any {
				take(acc, other.Value)
			}
		},
		Get: func(acc *ExtremeAcc[N]) N { return acc.Value },
	}
}
