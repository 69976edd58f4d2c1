package stream

import (
	"errors"

	"github.com/cutwater-io/cutwater/codec"
	"github.com/cutwater-io/cutwater/internal/plan"
	"github.com/cutwater-io/cutwater/internal/transform"
)

// KeyedStream is a stream in which all records of a key go to the same subtask,
// in their order, so that state can be kept per key.
type KeyedStream[K comparable, T any] struct {
	s Stream[T]
	// One of both is set.
	key    func(T) K
	keyRef func(*T) K
	fn     uintptr
}

// Ctx is what a keyed function may ask and do beside its state and its output.
type Ctx[K comparable] = transform.Ctx[K]

// Timer tells [Handler].OnTimer which timer fired.
type Timer = transform.Timer

// Handler is the functions of a keyed operator with timers; see
// [KeyedStream.Handle].
type Handler[K comparable, S, T, U any] = transform.Handler[K, S, T, U]

// Self is the key function of a stream whose records are their own keys.
func Self[T any](v T) T { return v }

// KeyBy groups the stream by a key. Keys are integers, strings, booleans, floats
// (NaN is refused), and arrays and structs of these.
func (s Stream[T]) KeyBy[K comparable](key func(T) K) KeyedStream[K, T] {
	return KeyedStream[K, T]{s: s, key: key, fn: function(key)}
}

// KeyByRef is KeyBy for large records. key must not keep the pointer.
func (s Stream[T]) KeyByRef[K comparable](key func(*T) K) KeyedStream[K, T] {
	return KeyedStream[K, T]{s: s, keyRef: key, fn: function(key)}
}

// keyed adds an operator behind a keyed edge. values is false when it needs keys
// and times only. kt is nil when the key type is refused; the error is collected.
func keyed[K comparable, T, U any](ks KeyedStream[K, T], kind string, values bool, opts []Option) (n *node, out Stream[U], kt *transform.KeyType[K]) {
	p := ks.s.p
	n = p.add(kind, opts)
	n.Stateful = true
	out = Stream[U]{p: p, from: []output{{node: n}}, timed: ks.s.timed}
	kt, err := transform.NewKeyType[K]()
	if err != nil {
		p.errorf(n, "keys of type %T are not possible: %w", *new(K), err)
		return n, out, nil
	}
	if err := checkType[T](); err != nil {
		p.errorf(n, "records of type %T cannot travel to it: %w", *new(T), err)
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

// Stateful calls f for each record with the state of its key: a plain struct that
// f reads and changes in place, and that begins as the zero value. The state is
// in every checkpoint. S may hold anything but functions, channels, interfaces
// and unexported fields; the pointer is valid during the call only.
//
// Records of a key come in the order their sender sent them. c.Clear forgets the
// state of the key.
func (ks KeyedStream[K, T]) Stateful[S, U any](f func(c *Ctx[K], s *S, v T, out *Emitter[U]) error, opts ...Option) Stream[U] {
	return stateful(ks, Handler[K, S, T, U]{OnRecord: f}, opts, function(f))
}

// StatefulRef is Stateful for large records. f may change *v but not keep it.
func (ks KeyedStream[K, T]) StatefulRef[S, U any](f func(c *Ctx[K], s *S, v *T, out *Emitter[U]) error, opts ...Option) Stream[U] {
	return stateful(ks, Handler[K, S, T, U]{OnRecordRef: f}, opts, function(f))
}

// Handle is Stateful with timers. c.EventTimer and c.ProcessingTimer ask for a call
// of h.OnTimer for the same key, with its state and the time asked for as event
// time of what it emits. Timers are in every checkpoint, and each fires once,
// whatever is restored at whatever parallelism. They fire in the order of their
// times over all keys of a subtask; a watermark is passed on behind the timers it
// makes due. A timer may set timers.
func (ks KeyedStream[K, T]) Handle[S, U any](h Handler[K, S, T, U], opts ...Option) Stream[U] {
	var fns []uintptr
	for _, f := range []any{h.OnRecord, h.OnRecordRef, h.OnTimer} {
		fns = append(fns, functionOrNone(f))
	}
	return stateful(ks, h, opts, fns...)
}

func stateful[K comparable, S, T, U any](ks KeyedStream[K, T], h Handler[K, S, T, U], opts []Option, fns ...uintptr) Stream[U] {
	n, out, kt := keyed[K, T, U](ks, "stateful", true, opts)
	if (h.OnRecord == nil) == (h.OnRecordRef == nil) {
		ks.s.p.errorf(n, "%w", errors.New("its Handler needs one of OnRecord and OnRecordRef"))
		return out
	}
	if kt == nil {
		return out
	}
	build, err := transform.Stateful(h, kt)
	if err != nil {
		ks.s.p.errorf(n, "its state of type %T cannot be kept: %w", *new(S), err)
		return out
	}
	n.factory.Build = build
	n.factory.Functions = append(known(fns), ks.fn)
	return out
}

// Reduce combines the records of each key, one after the other, and emits what
// they have become after each record. What is emitted is also the state, so reduce
// must not change what its arguments point to.
func (ks KeyedStream[K, T]) Reduce(reduce func(T, T) T, opts ...Option) Stream[T] {
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
	}, opts, function(reduce))
}
