package stream

import (
	"reflect"

	"github.com/cutwater-io/cutwater/codec"
	"github.com/cutwater-io/cutwater/internal/plan"
	"github.com/cutwater-io/cutwater/internal/transform"
)

// KeyedStream is a stream in which all records of a key go to the same subtask,
// in their order, so that state can be kept per key. It is made by [Stream.KeyBy];
// its methods add the operators that keep state.
type KeyedStream[K comparable, T any] struct {
	s Stream[T]
	// One of both is set.
	key    func(T) K
	keyRef func(*T) K
	fn     any // the one that is set
}

// Ctx is what a keyed function may ask and do beside its state and its output. It is
// valid only during the call it was handed to, in that goroutine. Its methods:
//
//	Key() K                              the key of the record or timer
//	Time() window.Millis                 the event time of the record, window.MinMillis if it
//	                                     has none; of a timer, the time it was set for
//	Watermark() window.Millis            how far event time has come; window.MinMillis
//	                                     while that is not known
//	Now() window.Millis                  the wall clock, as coarse as a batch of records
//	Clear()                              the key's state becomes the zero value after the
//	                                     call, and takes no memory; timers stay
//	EventTimer(at window.Millis)         OnTimer is called for this key when the watermark
//	                                     has reached at
//	ProcessingTimer(at window.Millis)    the same by the wall clock
//	DeleteEventTimer(at)                 take a timer back; there need not be one
//	DeleteProcessingTimer(at)
//
// Asking twice for a timer at the same time is asking once. An event timer for a time
// that has passed fires right after the call. A processing timer whose
// time passed while the job was down fires when it is up again. Timers belong to
// functions of [KeyedStream.Handle] with OnTimer set; elsewhere asking for one is a
// panic, which fails the attempt.
type Ctx[K comparable] = transform.Ctx[K]

// Timer tells [Handler].OnTimer which timer fired: At is the time it was set for,
// and Processing says that it was set by the wall clock. Timers of all keys of a
// subtask fire in the order of their times.
type Timer = transform.Timer

// Handler is the functions of a keyed operator with timers; see
// [KeyedStream.Handle]. Its fields:
//
//	OnRecord    func(c *Ctx[K], s *S, v T, out *Emitter[U]) error
//	OnRecordRef func(c *Ctx[K], s *S, v *T, out *Emitter[U]) error
//	OnTimer     func(c *Ctx[K], s *S, t Timer, out *Emitter[U]) error
//
// One of OnRecord and OnRecordRef is set; the second is for large records and must
// not keep v. OnTimer is called for each timer that is due, with the state of its
// key; nil for operators that set none. What is emitted there has the timer's time.
type Handler[K comparable, S, T, U any] = transform.Handler[K, S, T, U]

// Self is the key function of a stream whose records are their own keys.
func Self[T any](v T) T { return v }

// KeyBy groups the stream by a key. Keys are integers, strings, booleans, floats
// (NaN fails the job), and arrays and structs of these; another type is an error of
// building. key must be pure: the same for the same record, always. One key for all,
// func(T) int { return 0 }, is possible, and is the work of one subtask.
func (s Stream[T]) KeyBy[K comparable](key func(T) K) KeyedStream[K, T] {
	return KeyedStream[K, T]{s: s, key: key, fn: key}
}

// KeyByRef is KeyBy for large records. key must not change the record nor keep the
// pointer.
func (s Stream[T]) KeyByRef[K comparable](key func(*T) K) KeyedStream[K, T] {
	return KeyedStream[K, T]{s: s, keyRef: key, fn: key}
}

// keyed adds an operator behind a keyed edge. values is false when it needs keys
// and times only. kt is nil when the key type is refused; the error is collected.
func keyed[K comparable, T, U any](ks KeyedStream[K, T], kind string, values bool, opts []Option) (n *node, out Stream[U], kt *transform.KeyType[K]) {
	p := ks.s.p
	n = p.add(kind, opts)
	n.Stateful = true
	out = Stream[U]{p: p, from: []output{{node: n}}, timed: ks.s.timed}
	read(ks.s.from)
	p.calls(n, ks.fn)
	kt, err := transform.NewKeyType[K]()
	if err != nil {
		p.errorf(n, "keys of type %v are not possible: %w", reflect.TypeFor[K](), err)
		return n, out, nil
	}
	if err := checkType[T](); err != nil {
		p.errorf(n, "records of type %v cannot travel to it: %w", reflect.TypeFor[T](), err)
		return n, out, nil
	}
	pointers := !codec.PointerFree[K]() || values && !codec.PointerFree[T]()
	link := transform.Keyed(transform.Keying(kt, ks.key, ks.keyRef), pointers, values)
	for _, o := range ks.s.from {
		if o.partition == plan.Broadcast {
			p.errorf(n, "Broadcast before KeyBy has no effect: every record goes to the subtask of its key; leave Broadcast out")
		}
		p.edges = append(p.edges, edge{
			Edge: plan.Edge{From: o.node.index, FromPort: o.port, To: n.index, Partition: plan.Hash},
			link: link,
		})
	}
	return n, out, kt
}

// Stateful calls f for each record with the state of its key: a plain struct (or
// any other type) that f reads and changes in place, and that begins as the zero
// value. The state is in every checkpoint. S may hold anything but functions,
// channels, interfaces and unexported fields; the pointer is valid during the call
// only. State stays until c.Clear: clear what will not be needed again. Records of a
// key come in the order their sender sent them.
//
// An error ends the attempt and is reported with the operator and the key. The
// operator needs a [Name].
func (ks KeyedStream[K, T]) Stateful[S, U any](f func(c *Ctx[K], s *S, v T, out *Emitter[U]) error, opts ...Option) Stream[U] {
	return stateful(ks, Handler[K, S, T, U]{OnRecord: f}, opts)
}

// StatefulRef is Stateful for large records. f may change *v but not keep it.
func (ks KeyedStream[K, T]) StatefulRef[S, U any](f func(c *Ctx[K], s *S, v *T, out *Emitter[U]) error, opts ...Option) Stream[U] {
	return stateful(ks, Handler[K, S, T, U]{OnRecordRef: f}, opts)
}

// Handle is Stateful with timers. c.EventTimer and c.ProcessingTimer ask for a call
// of h.OnTimer for the same key, with its state and the time asked for as event
// time of what it emits. Timers are in every checkpoint, and each fires once,
// whatever is restored at whatever parallelism. They fire in the order of their
// times over all keys of a subtask; a watermark is passed on behind the timers it
// makes due. A timer may set timers.
//
// Event-time timers need event time to flow ([Stream.EventTime]); when the input ends
// all that are set fire. The operator needs a [Name].
func (ks KeyedStream[K, T]) Handle[S, U any](h Handler[K, S, T, U], opts ...Option) Stream[U] {
	return stateful(ks, h, opts)
}

// stateful adds a keyed operator. fns are further functions of the user, called
// by those of h.
func stateful[K comparable, S, T, U any](ks KeyedStream[K, T], h Handler[K, S, T, U], opts []Option, fns ...any) Stream[U] {
	n, out, kt := keyed[K, T, U](ks, "stateful", true, opts)
	p := ks.s.p
	if (h.OnRecord == nil) == (h.OnRecordRef == nil) {
		p.errorf(n, "its Handler needs one of OnRecord and OnRecordRef")
	}
	for _, f := range []any{h.OnRecord, h.OnRecordRef, h.OnTimer} {
		if entryOf(f) != 0 {
			fns = append(fns, f)
		}
	}
	p.calls(n, fns...)
	// The state is looked at also when the key is refused: one more round of
	// compiling is one too many.
	if err := checkType[S](); err != nil {
		p.errorf(n, "its state of type %v cannot be kept: %w", reflect.TypeFor[S](), err)
		return out
	}
	if kt == nil {
		return out
	}
	build, err := transform.Stateful(h, kt)
	if err != nil {
		p.errorf(n, "its state of type %v cannot be kept: %w", reflect.TypeFor[S](), err)
		return out
	}
	n.factory.Build = build
	return out
}

// Reduce combines the records of each key, one after the other, and emits what
// they have become after each record, with its event time. The first record of a key
// is emitted as it is. What is emitted is also the state, so reduce must not change
// what its arguments point to. The operator needs a [Name].
func (ks KeyedStream[K, T]) Reduce[F ~func(T, T) T](reduce F, opts ...Option) Stream[T] {
	// The type parameter keeps the compiler from compiling an operator and its
	// state table for every keyed stream of a program: that of a generic method
	// is compiled only where it is called.
	return stateful(ks, Handler[K, transform.Reduced[T], T, T]{
		OnRecord: func(_ *Ctx[K], s *transform.Reduced[T], v T, out *Emitter[T]) error {
			if s.Any {
				s.Value = reduce(s.Value, v)
			} else {
				s.Any, s.Value = true, v
			}
			out.Emit(s.Value)
			return nil
		},
	}, opts, reduce)
}
