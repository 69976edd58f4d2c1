package transform

import (
	"iter"

	"github.com/cutwater-io/cutwater/internal/operator"
)

// stateless is an operator that lives in its closures alone.
type stateless struct{ operator.Base }

// Map makes an operator that turns each record into one other.
func Map[T, U any](f func(T) U) func(*operator.Context) (operator.Operator, []any, error) {
	return func(ctx *operator.Context) (operator.Operator, []any, error) {
		out := operator.OutputOf[U](ctx, 0)
		next := out.Record
		u := new(U) // one for all records: a local would be allocated for each
		return stateless{}, []any{operator.In[T]{Control: out.Control, Record: func(v *T, ts int64) {
			*u = f(*v)
			next(u, ts)
		}}}, nil
	}
}

// MapInto is Map for large records: f reads the record in place and writes the
// result in place. The result begins as the zero value.
func MapInto[T, U any](f func(*T, *U)) func(*operator.Context) (operator.Operator, []any, error) {
	return func(ctx *operator.Context) (operator.Operator, []any, error) {
		out := operator.OutputOf[U](ctx, 0)
		next := out.Record
		u := new(U)
		var zero U
		return stateless{}, []any{operator.In[T]{Control: out.Control, Record: func(v *T, ts int64) {
			*u = zero
			f(v, u)
			next(u, ts)
		}}}, nil
	}
}

// Filter makes an operator that keeps the records for which keep is true.
func Filter[T any](keep func(T) bool) func(*operator.Context) (operator.Operator, []any, error) {
	return func(ctx *operator.Context) (operator.Operator, []any, error) {
		out := operator.OutputOf[T](ctx, 0)
		next := out.Record
		return stateless{}, []any{operator.In[T]{Control: out.Control, Record: func(v *T, ts int64) {
			if keep(*v) {
				next(v, ts)
			}
		}}}, nil
	}
}

// FilterRef is Filter for large records.
func FilterRef[T any](keep func(*T) bool) func(*operator.Context) (operator.Operator, []any, error) {
	return func(ctx *operator.Context) (operator.Operator, []any, error) {
		out := operator.OutputOf[T](ctx, 0)
		next := out.Record
		return stateless{}, []any{operator.In[T]{Control: out.Control, Record: func(v *T, ts int64) {
			if keep(v) {
				next(v, ts)
			}
		}}}, nil
	}
}

// FlatMap makes an operator that turns each record into a sequence.
func FlatMap[T, U any](f func(T) iter.Seq[U]) func(*operator.Context) (operator.Operator, []any, error) {
	return func(ctx *operator.Context) (operator.Operator, []any, error) {
		out := operator.OutputOf[U](ctx, 0)
		next := out.Record
		u := new(U)
		var ts int64
		// One yield for all records: a closure made for each costs 60 ns.
		yield := func(v U) bool {
			*u = v
			next(u, ts)
			return true
		}
		return stateless{}, []any{operator.In[T]{Control: out.Control, Record: func(v *T, at int64) {
			ts = at
			f(*v)(yield)
		}}}, nil
	}
}

// FlatMapInto is FlatMap without allocations: f emits what it wants.
func FlatMapInto[T, U any](f func(*T, *Emitter[U])) func(*operator.Context) (operator.Operator, []any, error) {
	return func(ctx *operator.Context) (operator.Operator, []any, error) {
		e := newEmitter[U](ctx)
		return stateless{}, []any{operator.In[T]{Control: e.control, Record: func(v *T, ts int64) {
			e.ts = ts
			f(v, e)
		}}}, nil
	}
}

// Process makes an operator whose function may fail.
func Process[T, U any](f func(T, *Emitter[U]) error) func(*operator.Context) (operator.Operator, []any, error) {
	return func(ctx *operator.Context) (operator.Operator, []any, error) {
		e := newEmitter[U](ctx)
		return stateless{}, []any{operator.In[T]{Control: e.control, Record: func(v *T, ts int64) {
			e.ts = ts
			if err := f(*v, e); err != nil {
				ctx.Fail("", err)
			}
		}}}, nil
	}
}
