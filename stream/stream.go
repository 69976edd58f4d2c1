package stream

import (
	"iter"
	"reflect"

	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/internal/plan"
	"github.com/cutwater-io/cutwater/internal/transform"
)

// Stream is a sequence of records of type T, bounded or endless, in as many parts
// as the operator that makes it has subtasks. Records of one part keep their order
// from operator to operator.
//
// A Stream is a description and a value: using it twice sends every record both
// ways. It is made by [Pipeline.From] and by the methods of other streams; the zero
// value is of no use.
type Stream[T any] struct {
	p    *Pipeline
	from []output
	// timed: event times are assigned and watermarks flow.
	timed bool
}

// Emitter is where a function puts its results. It is valid only during the call
// it was handed to, in that goroutine. Its methods:
//
//	Emit(v T)                                with the event time of the record or timer
//	                                         that is being processed
//	EmitRef(v *T)                            the same without copying a large value; *v is
//	                                         read before it returns
//	EmitAt(v T, timestampMillis int64)       with an event time of its own, in milliseconds
//	                                         since 1970; one behind the watermark makes the
//	                                         value late for windows behind it
//	SideOutput[U](tag Tag[U], v U)           to the side output of that tag; dropped when
//	                                         nothing reads it
//
// What was emitted is given away: maps and slices in it must not be written to any
// more. Emit hands the value to the next operator and may take as long as that does.
type Emitter[T any] = transform.Emitter[T]

// Tag names a side output and its type; Name returns the name. Two operators may use
// the same tag: each has a side output of its own. Make one with [NewTag].
type Tag[U any] = transform.Tag[U]

// NewTag makes a tag. Make it once, usually as a package variable, and use it
// where values are sent (Emitter.SideOutput) and where they are read
// ([Stream.SideOutput]). The name must not be empty, and no other tag with it may
// be used at the same operator.
func NewTag[U any](name string) Tag[U] { return transform.NewTag[U](name) }

// then adds an operator behind s and returns its main output.
func then[T, U any](s Stream[T], kind string, opts []Option) (*node, Stream[U]) {
	n := s.p.add(kind, opts)
	connect[T](s.p, s.from, n, 0)
	return n, Stream[U]{p: s.p, from: []output{{node: n}}, timed: s.timed}
}

// Map turns each record into one other, with the same event time. f must not fail;
// where it can, use [Stream.Process].
func (s Stream[T]) Map[U any](f func(T) U, opts ...Option) Stream[U] {
	n, out := then[T, U](s, "map", opts)
	n.factory.Build = transform.Map(f)
	s.p.calls(n, f)
	return out
}

// MapInto is Map for large records: f reads the record and writes the result in
// place, without a copy. *out begins as the zero value. f must not change *in and
// must keep neither pointer.
func (s Stream[T]) MapInto[U any](f func(in *T, out *U), opts ...Option) Stream[U] {
	n, out := then[T, U](s, "map", opts)
	n.factory.Build = transform.MapInto(f)
	s.p.calls(n, f)
	return out
}

// Filter keeps the records for which keep is true.
func (s Stream[T]) Filter(keep func(T) bool, opts ...Option) Stream[T] {
	n, out := then[T, T](s, "filter", opts)
	n.factory.Build = transform.Filter(keep)
	s.p.calls(n, keep)
	return out
}

// FilterRef is Filter for large records. keep must not change the record nor
// keep the pointer.
func (s Stream[T]) FilterRef(keep func(*T) bool, opts ...Option) Stream[T] {
	n, out := then[T, T](s, "filter", opts)
	n.factory.Build = transform.FilterRef(keep)
	s.p.calls(n, keep)
	return out
}

// FlatMap turns each record into a sequence of others, with its event time: none,
// one or many. strings.FieldsSeq, slices.Values and maps.Keys make such sequences.
// The loop over the sequence never stops early. A function that makes a closure for
// each record pays for its allocation; [Stream.FlatMapInto] does not.
func (s Stream[T]) FlatMap[U any](f func(T) iter.Seq[U], opts ...Option) Stream[U] {
	n, out := then[T, U](s, "flatmap", opts)
	n.factory.Build = transform.FlatMap(f)
	s.p.calls(n, f)
	return out
}

// FlatMapInto is FlatMap without allocations: f emits what it wants, also to
// side outputs. It must not change *in and must keep neither pointer.
func (s Stream[T]) FlatMapInto[U any](f func(in *T, out *Emitter[U]), opts ...Option) Stream[U] {
	n, out := then[T, U](s, "flatmap", opts)
	n.factory.Build = transform.FlatMapInto(f)
	s.p.calls(n, f)
	return out
}

// Process is the general operator without state: f emits what it wants, also to
// side outputs, and may fail. An error ends the attempt and is reported with the
// operator and the source position of the record; a record that is itself the
// problem is better sent to a side output.
func (s Stream[T]) Process[U any](f func(in T, out *Emitter[U]) error, opts ...Option) Stream[U] {
	n, out := then[T, U](s, "process", opts)
	n.factory.Build = transform.Process(f)
	s.p.calls(n, f)
	return out
}

// Union joins streams of the same type and pipeline into one. Records of one input
// keep their order; event time is that of the slowest. It is no operator of its own
// and costs nothing. Its SideOutput is that of all of them.
func (s Stream[T]) Union(others ...Stream[T]) Stream[T] {
	from := append([]output(nil), s.from...)
	for _, o := range others {
		if o.p != s.p {
			s.p.errorAt("Union joins streams of two pipelines: build both from the same stream.New")
			continue
		}
		from = append(from, o.from...)
		s.timed = s.timed && o.timed
	}
	return Stream[T]{p: s.p, from: from, timed: s.timed}
}

// Rebalance deals the records out in turn to the subtasks of the next operator,
// also when it could run in the same task. Use it when the subtasks of a source have
// unequal work. The order of records is lost.
func (s Stream[T]) Rebalance() Stream[T] { return s.partitioned(plan.Rebalance) }

// Broadcast sends every record to every subtask of the next operator, so that all of
// them know of it. Before KeyBy it is an error of building.
func (s Stream[T]) Broadcast() Stream[T] { return s.partitioned(plan.Broadcast) }

func (s Stream[T]) partitioned(how plan.Partition) Stream[T] {
	from := append([]output(nil), s.from...)
	for i := range from {
		from[i].partition = how
	}
	return Stream[T]{p: s.p, from: from, timed: s.timed}
}

// SideOutput returns what the operator that makes s sends to a side output: by
// Emitter.SideOutput, by [WindowedStream.LateTo], or a source by [BadRecords]. It is
// called on the result of that operator, not of a later one. A tag that the operator
// never uses gives an empty stream.
func (s Stream[T]) SideOutput[U any](tag Tag[U]) Stream[U] {
	out := Stream[U]{p: s.p, timed: s.timed}
	for _, o := range s.from {
		if o.node.sides == nil {
			o.node.sides = map[string]int{}
		}
		port, ok := o.node.sides[tag.Name()]
		if !ok {
			port = 1 + len(o.node.sides)
			o.node.sides[tag.Name()] = port
			o.node.types[port] = reflect.TypeFor[U]()
		}
		if t := o.node.types[port]; t != reflect.TypeFor[U]() {
			s.p.errorf(o.node, "its side output %q is read as %v and as %v: make one tag and use it everywhere", tag.Name(), t, reflect.TypeFor[U]())
		}
		out.from = append(out.from, output{node: o.node, port: port})
	}
	return out
}

// To ends the stream in a sink, which needs a [Name]. A sink with a second phase
// ([connector.CommittingSink]) makes its output visible exactly once: when the
// checkpoint that holds it is complete. Other sinks get the records since the last
// checkpoint again after a failure.
func (s Stream[T]) To(sink connector.Sink[T], opts ...Option) {
	n, _ := then[T, T](s, "sink", opts)
	n.Stateful = true
	if sink == nil {
		s.p.errorf(n, "the sink is nil: give To one, for example console.Sink")
		return
	}
	s.p.validate(n, sink)
	n.factory = transform.Sink(sink)
	two, ok := sink.(connector.CommittingSink[T])
	if !ok {
		return
	}
	c := s.p.add("committer", []Option{Name(n.Name + "/committer")})
	// Its name follows from the sink's; that the sink has none is said once.
	c.Where, c.Stateful, c.Committer = n.Where, true, true
	c.Parallelism, c.MaxParallelism = max(n.Parallelism, 0), max(n.MaxParallelism, 0)
	c.factory = transform.Committer(two, n.Name)
	connect[transform.Committables](s.p, []output{{node: n}}, c, 0)
}
