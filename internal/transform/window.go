package transform

import (
	"slices"

	"github.com/cutwater-io/cutwater/agg"
	"github.com/cutwater-io/cutwater/internal/operator"
	"github.com/cutwater-io/cutwater/window"
)

// Windowing is a windowed operator as it was described: which windows, and what
// is done with late records.
type Windowing[T any] struct {
	Assigner window.Assigner
	// LatenessMillis is how long after its end a window still takes records.
	LatenessMillis int64
	// Late, if it has a name, is the side output of records that come later.
	Late Tag[T]
}

// Folding is how the records of a window become an accumulator and results.
type Folding[K comparable, T, A any] struct {
	// Fold adds values to accumulators pairwise; values is empty for edges
	// that carry keys only.
	Fold  func(accs []*A, values []T)
	Merge func(acc, other *A)
	Sub   func(acc, other *A) // nil: no inverse
	// Fire makes what emits the results of a window: called once when the
	// operator is built, and then for each key.
	Fire func(ctx *operator.Context) func(k *K, w window.Window, acc *A)
}

// Aggregating folds with an aggregate and emits a Result per key and window.
func Aggregating[K comparable, T, A, V any](a agg.Agg[T, A, V]) Folding[K, T, A] {
	f := resulting[K, T, A](a.Get)
	f.Merge, f.Sub = a.Merge, a.Sub
	add := a.Add
	f.Fold = func(accs []*A, values []T) {
		for i, acc := range accs {
			add(acc, &values[i])
		}
	}
	return f
}

// Counting counts records. It needs keys only, and adds without a call.
func Counting[K comparable, T any]() Folding[K, T, int64] {
	f := resulting[K, T](func(n *int64) int64 { return *n })
	f.Merge = func(n, other *int64) { *n += *other }
	f.Sub = func(n, other *int64) { *n -= *other }
	f.Fold = func(accs []*int64, _ []T) {
		for _, n := range accs {
			*n++
		}
	}
	return f
}

// Reduced is the accumulator of Reducing.
type Reduced[T any] struct {
	Any   bool
	Value T
}

// Reducing combines records pairwise.
func Reducing[K comparable, T any](reduce func(T, T) T) Folding[K, T, Reduced[T]] {
	join := func(r *Reduced[T], v *T) {
		if r.Any {
			r.Value = reduce(r.Value, *v)
			return
		}
		r.Any, r.Value = true, *v
	}
	return Folding[K, T, Reduced[T]]{
		Merge: func(r, other *Reduced[T]) {
			if other.Any {
				join(r, &other.Value)
			}
		},
		Fold: func(accs []*Reduced[T], values []T) {
			for i, r := range accs {
				join(r, &values[i])
			}
		},
		Fire: func(ctx *operator.Context) func(*K, window.Window, *Reduced[T]) {
			next := operator.OutputOf[T](ctx, 0).Record
			v := new(T) // the accumulator must not be handed out: it may be kept
			return func(_ *K, w window.Window, r *Reduced[T]) {
				*v = r.Value
				next(v, int64(w.Last()))
			}
		},
	}
}

// Collected is the accumulator of Collecting: all records of the window.
type Collected[T any] struct{ Records []T }

// Collecting keeps all records of a window for a function of the user.
func Collecting[K comparable, T, U any](process func(key K, w window.Window, records []T, out *Emitter[U]) error) Folding[K, T, Collected[T]] {
	return Folding[K, T, Collected[T]]{
		Fold: func(accs []*Collected[T], values []T) {
			for i, c := range accs {
				c.Records = append(c.Records, values[i])
			}
		},
		Merge: func(c, other *Collected[T]) { c.Records = append(c.Records, other.Records...) },
		Fire: func(ctx *operator.Context) func(*K, window.Window, *Collected[T]) {
			e := newEmitter[U](ctx)
			return func(k *K, w window.Window, c *Collected[T]) {
				e.ts = int64(w.Last())
				// A copy: f may sort its records or keep them, and the ones in
				// the state may be being written to a checkpoint.
				if err := process(*k, w, slices.Clone(c.Records), e); err != nil {
					ctx.Fail(keyText(k), err)
				}
			}
		},
	}
}

// resulting emits what get makes of an accumulator.
func resulting[K comparable, T, A, V any](get func(*A) V) Folding[K, T, A] {
	return Folding[K, T, A]{
		Fire: func(ctx *operator.Context) func(*K, window.Window, *A) {
			next := operator.OutputOf[window.Result[K, V]](ctx, 0).Record
			r := new(window.Result[K, V])
			return func(k *K, w window.Window, acc *A) {
				r.Key, r.Window, r.Value = *k, w, get(acc)
				next(r, int64(w.Last()))
			}
		},
	}
}
