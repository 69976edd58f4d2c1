// Package stream is the API in which jobs are written: typed streams of records,
// functions on them, state per key, windows, time. It describes a job and runs
// nothing; package run does.
//
//	p := stream.New("word-count")
//	p.From(file.Lines("books/*.txt"), stream.Name("lines")).
//		FlatMap(strings.FieldsSeq).      // Stream[string]
//		KeyBy(stream.Self).              // KeyedStream[string, string]
//		Window(window.EndOfStream()).    // WindowedStream[string, string]
//		Count(stream.Name("count")).     // Stream[window.Result[string, int64]]
//		Map(format).                     // Stream[string]
//		To(console.Sink[string](), stream.Name("print"))
//	run.Main(p)
//
// Types flow through: the compiler knows what each stream carries, nothing is
// registered, and no type is written that can be inferred.
//
//	                 From                 KeyBy                    Window
//	connector.Source ────▶ Stream[T] ─────────▶ KeyedStream[K,T] ────────▶ WindowedStream[K,T]
//	                        │  ▲  ▲                  │                        │
//	     Map Filter FlatMap │  │  │  Stateful        │  Count Aggregate       │
//	     Process EventTime  └──┘  └──Handle Reduce───┘  Reduce Process        │
//	     Union Rebalance ...   ▲                                              │
//	                           └──────────────────────────────────────────────┘
//	                        │ To
//	                        ▼
//	                 connector.Sink
//
// # Pipelines and streams
//
// A [Pipeline] is a job under construction. [Pipeline.From] adds a source and
// returns a [Stream]; methods of streams add operators and return further streams;
// [Stream.To] ends one in a sink. Every call only adds to the description, so the
// order of calls on different streams does not matter, and a stream that is used
// twice sends every record both ways. [Stream.Union] brings streams of one type
// together.
//
// An operator runs as one or more subtasks ([Parallelism], or the job's). Each
// subtask is called by one goroutine at a time, different subtasks at the same
// time: a function given to an operator must not write to variables that it shares
// with others. What it has to remember belongs into state.
//
// Operators with nothing but a function call between them form a chain: they run in
// one goroutine and a record costs a call each. A chain ends where records change
// hands: at [Stream.KeyBy] (with more than one subtask), [Stream.Rebalance],
// [Stream.Broadcast], [Stream.Union], another parallelism, and [Chain].
//
// # Keys and state
//
// [Stream.KeyBy] brings all records of a key to one subtask, in the order in which
// each sender sent them. Behind it state is kept per key. The state is a plain
// struct of yours (or a number, a string, a slice, a map): [KeyedStream.Stateful]
// calls your function with a pointer to the state of the record's key, and you
// read it and change it in place.
//
//	type Cart struct {
//		Items []string
//		Total int64
//	}
//
//	orders.KeyBy(func(o Order) string { return o.Customer }).
//		Stateful(func(c *stream.Ctx[string], s *Cart, o Order, out *stream.Emitter[Alert]) error {
//			s.Items = append(s.Items, o.Item)
//			if s.Total += o.Cents; s.Total > limit {
//				out.Emit(Alert{c.Key(), s.Total})
//			}
//			return nil
//		}, stream.Name("carts"))
//
// The state of a new key is the zero value; [Ctx].Clear makes it that again and
// frees its memory. It is in every checkpoint, with the values it had at the
// barrier, while your function goes on changing it. After a crash each key has the
// state of the last checkpoint, and the records since then come again.
//
// A key is an integer, a string, a bool, a float, or an array or struct of these.
// Equal keys have one state; a key that is or holds NaN fails the job, because it
// equals nothing. State and records may hold whatever package codec encodes: no
// functions, channels, interfaces, nor unexported fields. Both are checked when the
// pipeline is built.
//
// [KeyedStream.Handle] is Stateful with timers: a function that is called for a key
// when event time or the wall clock has come to a point ([Ctx].EventTimer,
// ProcessingTimer). Timers are state: they survive like it.
//
// # Time and watermarks
//
// Event time is when something happened, and it comes with the record:
// [Stream.EventTime] reads it by a function of yours, [Stream.SourceTime] takes what
// the source knows. Results that depend on event time alone are the same however
// fast, and however often, the input is read. Units are milliseconds since 1970
// (window.Millis).
//
// Records are rarely in order. A watermark is a statement that travels with them:
// no record as old as this is expected any more. It is what makes windows fire and
// event-time timers run. You say how it follows from the records:
//
//	stream.Ascending()                            // times never fall within a split
//	stream.BoundedOutOfOrderness(5*time.Second)   // up to 5 s behind the newest
//	stream.CustomWatermarks(newGenerator)         // a rule of your own
//
// Put EventTime directly behind the source: there time is kept for each split (file,
// partition), and the slowest counts, so that none is late because another was read
// faster. An operator with several inputs has the time of the slowest. A split that
// is silent holds time back; [Watermarks.IdleAfter] lets it go on. By default
// watermarks advance every 200 ms of wall-clock time, so which records are late may
// differ between runs; [Watermarks.PerRecord] makes that repeatable. When all input
// has ended time goes to its end, and everything open fires.
//
// # Windows
//
// [KeyedStream.Window] cuts each key's records into windows: window.Tumbling,
// Sliding, Session, EndOfStream, by event time or, with window.ProcessingTime, by
// the wall clock. What happens in them is said by
//
//   - [WindowedStream.Count], and [WindowedStream.Aggregate] with an aggregate of
//     package agg (sum, min, max, average, distinct, top n) or your own: one
//     accumulator per key and window, the cheap way;
//   - [WindowedStream.Reduce]: records are combined pairwise;
//   - [WindowedStream.Process]: all records are kept, and handed over together.
//
// A window fires once, when the watermark reaches its last millisecond; its results
// have that millisecond as event time. A record that comes later is late: it is
// dropped, unless [WindowedStream.LateTo] sends it to a side output, or
// [WindowedStream.AllowedLateness] keeps windows for corrections.
//
// # Side outputs and dead letters
//
// A function that gets an [Emitter] can send values of any type aside, under a
// [Tag]; [Stream.SideOutput] of the operator's result reads them. A side output that
// nothing reads is dropped.
//
//	var malformed = stream.NewTag[string]("malformed")
//
//	parsed := lines.Process(parse)                   // calls out.SideOutput(malformed, line)
//	parsed.SideOutput(malformed).To(file.LinesSink("malformed"), stream.Name("malformed"))
//
// Input that a source cannot decode is its side output [BadRecords]. While nothing
// reads it such input fails the job, so that nothing is lost silently:
//
//	src.SideOutput(stream.BadRecords).To(file.DeadLetters("dead-letters"), stream.Name("dead"))
//
// # Names and state
//
// State is found again by the [Name] of its operator, in the next run and in the
// next version of the program. So sources, sinks, keyed and windowed operators must
// have one, and names differ within a pipeline. As long as names stay, the pipeline
// around them may change. Renaming an operator is throwing its state away, which run
// refuses unless told to. The name of the pipeline is the job's.
//
// # Errors
//
// Building reports everything that is wrong at once, when the pipeline is run:
//
//	pipeline "shop" cannot be built:
//	operator "hourly" (shop/main.go:31): it has event-time windows and no event time: add EventTime ...
//	operator "carts" (shop/main.go:40): its state of type main.Cart cannot be kept: ... Cart.Done of type chan int ...
//	operator "sink-7" (shop/main.go:52): it keeps state and has no name: add stream.Name(...) ...
//
// While the job runs, an error that a function returns, and a panic in one, end the
// attempt: the job is restored from its latest checkpoint if run.Config allows
// restarts, else it fails with the operator, the key and the place of the record in
// its source. Functions without an error result (Map, Filter) are for what cannot
// fail; [Stream.Process] is Map, Filter and FlatMap that may. Retrying does not help
// against a bad record: send it to a side output instead.
//
// A function may be called again for a record after a restore. Its effects on state
// and on transactional sinks count once; others (a request to a server, a counter in
// a variable) happen again.
//
// # By value and by pointer
//
// Most operators come in two forms. The everyday one takes and returns values:
// nothing can go wrong. For large records there is a second, with Into or Ref in its
// name, that takes pointers and copies nothing:
//
//	by value                    by pointer
//	Map(func(T) U)              MapInto(func(in *T, out *U))
//	Filter(func(T) bool)        FilterRef(func(*T) bool)
//	FlatMap(func(T) iter.Seq)   FlatMapInto(func(in *T, out *Emitter[U]))
//	KeyBy(func(T) K)            KeyByRef(func(*T) K)
//	Stateful(... v T ...)       StatefulRef(... v *T ...)
//	agg.Sum(func(T) N)          agg.SumRef(func(*T) N)
//	out.Emit(v)                 out.EmitRef(&v)
//
// By pointer the size of a record plays no part. By value it is copied at each
// operator: from 48 bytes on, or with strings in it, a chain of five operators took
// four times as long (58 against 14 ns a record, where we measured). Small records of
// numbers cost about the same both ways.
// FlatMap pays about 60 ns for each record whose sequence is a new closure;
// FlatMapInto does not.
//
// # What may be kept, and when
//
//   - A value belongs to the function that got it. It may be kept, for example in
//     state, but the maps, slices and pointers in it must not be written to: another
//     consumer of the stream may hold the same.
//   - A pointer to a record is valid during the call. Keep a copy of what it points
//     to. Only StatefulRef and OnRecordRef may change the record.
//   - The pointer to state, a [Ctx] and an [Emitter] are valid during the call, and
//     in its goroutine only.
//   - What was emitted is given away: do not write to maps and slices in it. State
//     is changed in place, so emit a copy of a slice or map in it (slices.Clone).
//   - The result of MapInto begins as the zero value; it is read when the function
//     returns.
//
// # Where to start reading
//
// stream.go and keyed.go have the operators, windowed.go and watermarks.go windows
// and time, option.go the options; pipeline.go collects nodes, edges and errors.
// What runs is made by internal/transform, one file an operator. The package starts
// no goroutine; a pipeline is built by one.
package stream
