// Package stream is the API in which a job is written: sources, operators and
// sinks, joined into a pipeline. Building a pipeline only describes it; package
// run runs it.
//
//	From ─▶ Stream[T] ─▶ Map, Filter, FlatMap, Process, EventTime, Union … ─▶ To
//	            │ KeyBy                                              ▲
//	            ▼                                                    │
//	        KeyedStream[K, T] ─▶ Stateful, Handle, Reduce ───────────┤
//	            │ Window                                             │
//	            ▼                                                    │
//	        WindowedStream[K, T] ─▶ Count, Aggregate, Reduce, Process┘
//
// Types flow through the methods: nothing is any, and no type has to be written
// that the compiler can infer.
//
//	p := stream.New("word-count")
//	p.From(file.Lines("books/*.txt"), stream.Name("lines")).
//		FlatMap(strings.FieldsSeq).
//		KeyBy(stream.Self).
//		Window(window.EndOfStream()).
//		Count(stream.Name("count")).
//		To(console.Sink[window.Result[string, int64]](), stream.Name("print"))
//	run.Main(p)
//
// # Rules
//
//   - What keeps state needs a [Name] that is unique in the pipeline: state is found
//     by it after a restart. Sources and sinks keep state too.
//   - A user's function belongs to one subtask at a time and is called by one
//     goroutine; different subtasks call it at the same time, so it must not write
//     to anything that they share.
//   - A function gets values, and may keep them. The second forms (MapInto,
//     FilterRef, KeyByRef, StatefulRef …) get pointers, which are valid during the
//     call only.
//   - Mistakes in building are collected, and reported together with operator and
//     source line when the pipeline is run.
//
// A method of Stream[T] never returns a stream of a type built from T, which Go
// rejects as an instantiation cycle: the user's function makes the result.
//
// Start reading in stream.go; pipeline.go has what stands behind it.
package stream
