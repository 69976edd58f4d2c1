package stream

import (
	"reflect"
	"time"

	"github.com/cutwater-io/cutwater/agg"
	"github.com/cutwater-io/cutwater/internal/transform"
	"github.com/cutwater-io/cutwater/window"
)

// WindowedStream is a keyed stream cut into windows. What is done with the records
// of a window is said by [WindowedStream.Count], [WindowedStream.Aggregate],
// [WindowedStream.Reduce] or [WindowedStream.Process], which add the operator and need
// a [Name]. A window fires when the watermark reaches its last millisecond.
type WindowedStream[K comparable, T any] struct {
	ks  KeyedStream[K, T]
	win transform.Windowing[T]
}

// Window cuts each key's records into windows. A window fires when the watermark
// reaches its last millisecond: it then emits a result for each key that has records
// in it, with that millisecond as event time. Windows fire in the order of their
// ends, the keys of a window in no particular order; windows without records do not
// fire, and holes in time cost nothing.
//
// A record belongs to the windows that its event time says, however late it comes,
// as long as one of them still takes records: a record behind the watermark counts
// in sliding windows that are still open and in the session it touches. A record
// in a gap between windows (slide larger than size) belongs to none and is left out.
//
// By the wall clock (window.ProcessingTime) a record belongs to the window of the
// moment it is processed in; windows whose end passes while the job is down fire
// when it is up again, and those that are open at the end of the input fire then.
//
// After a restore time goes on from where it was at the checkpoint, so no window
// fires twice. A change of parallelism in a job whose inputs go idle may let a
// record count that would have been late.
//
// Assigners are window.Tumbling, Sliding, Session and EndOfStream. Windows of event
// time need [Stream.EventTime] or [Stream.SourceTime] before KeyBy; a wrong size is
// reported with the other errors of building.
func (ks KeyedStream[K, T]) Window(a window.Assigner) WindowedStream[K, T] {
	return WindowedStream[K, T]{ks: ks, win: transform.Windowing[T]{Assigner: a}}
}

// AllowedLateness keeps a window for that long, in event time, after it fired. A
// record that comes meanwhile counts and makes the window emit its key's result
// once more, with all records so far; each such record does. The default is 0: a
// window that fired is gone. By the wall clock nothing is late and it has no
// effect.
//
// Receivers take a later result of a key and window as a correction. Fractions of a
// millisecond are cut off; a negative duration is an error of building.
func (w WindowedStream[K, T]) AllowedLateness(d time.Duration) WindowedStream[K, T] {
	w.win.LatenessMillis = d.Milliseconds()
	return w
}

// LateTo sends records that come too late for all their windows to a side output
// of the windowed operator, with the event time they have: read them by SideOutput of
// its result. Without it they are dropped.
func (w WindowedStream[K, T]) LateTo(tag Tag[T]) WindowedStream[K, T] {
	w.win.Late = tag
	return w
}

// Count counts the records of each key and window. Keys without records have no
// result. It is the cheapest: records do not travel, only their keys.
func (w WindowedStream[K, T]) Count(opts ...Option) Stream[window.Result[K, int64]] {
	return windowed[K, T, int64, window.Result[K, int64]](w, transform.Counting[K, T](), w.win.Late.Name() != "", opts)
}

// Aggregate folds the records of each key and window with an aggregate of package
// agg or of your own: one accumulator per key and window (per pane, if windows
// slide), one result when the window fires. An aggregate that is not complete is an
// error of building.
func (w WindowedStream[K, T]) Aggregate[A, V any](a agg.Agg[T, A, V], opts ...Option) Stream[window.Result[K, V]] {
	if err := a.Validate(); err != nil {
		n, out, _ := keyed[K, T, window.Result[K, V]](w.ks, "window", true, opts)
		w.ks.s.p.errorf(n, "%w", err)
		return out
	}
	return windowed[K, T, A, window.Result[K, V]](w, transform.Aggregating[K](a), true, opts)
}

// Reduce combines the records of each key and window pairwise, in the order they
// came (of sliding windows: pane by pane), and emits the last value. reduce must
// be associative, and not change what its arguments point to: they may be in other
// windows too. The result comes with the window's last millisecond as event time. (A stream of
// window.Result would be built from T, which Go's generic methods do not allow;
// use Aggregate where the window is needed.)
func (w WindowedStream[K, T]) Reduce[F ~func(T, T) T](reduce F, opts ...Option) Stream[T] {
	// A type parameter for the reason given at KeyedStream.Reduce.
	return windowed[K, T, transform.Reduced[T], T](w, transform.Reducing[K, T](reduce), true, opts, reduce)
}

// Process keeps all records of a window and calls f when it fires, with the records
// in the order they came (of sliding windows: pane by pane). The slice is f's: it
// may be sorted and kept; what the records point to must not be changed. Aggregate
// is much cheaper where it is enough.
// An error ends the attempt. Memory grows with the records, where Aggregate holds one
// accumulator.
func (w WindowedStream[K, T]) Process[U any](f func(key K, w window.Window, records []T, out *Emitter[U]) error, opts ...Option) Stream[U] {
	return windowed[K, T, transform.Collected[T], U](w, transform.Collecting[K](f), true, opts, f)
}

func windowed[K comparable, T, A, U any](w WindowedStream[K, T], f transform.Folding[K, T, A], values bool, opts []Option, fns ...any) Stream[U] {
	n, out, kt := keyed[K, T, U](w.ks, "window", values, opts)
	p, a := w.ks.s.p, w.win.Assigner
	p.calls(n, fns...)
	valid := kt != nil
	if err := a.Validate(); err != nil {
		p.errorf(n, "%w", err)
		valid = false
	} else if !w.ks.s.timed && !a.Processing && a.Kind != window.KindEndOfStream {
		p.errorf(n, "it has event-time windows and no event time: add EventTime (or SourceTime) behind the source, or use window.ProcessingTime()")
	}
	if w.win.LatenessMillis < 0 {
		p.errorf(n, "the allowed lateness is negative: give a positive duration, or leave AllowedLateness out")
	}
	if err := checkType[A](); err != nil {
		p.errorf(n, "its state of type %v cannot be kept: %w", reflect.TypeFor[A](), err)
		valid = false
	}
	if !valid {
		return out
	}
	make := transform.Panes[K, T, A]
	if a.Kind == window.KindSession {
		make = transform.SessionWindows[K, T, A]
	}
	build, err := make(w.win, f, kt)
	if err != nil {
		p.errorf(n, "its state of type %v cannot be kept: %w", reflect.TypeFor[A](), err)
		return out
	}
	n.factory.Build = build
	return out
}
