package stream_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/cutwater-io/cutwater/connector/console"
	"github.com/cutwater-io/cutwater/connector/gen"
	"github.com/cutwater-io/cutwater/run"
	"github.com/cutwater-io/cutwater/stream"
	"github.com/cutwater-io/cutwater/window"
)

// finish runs a pipeline to its end, in memory. A program calls run.Main instead.
func finish(p *stream.Pipeline) {
	if err := run.Run(context.Background(), p, run.Config{Ephemeral: true, Parallelism: 1}); err != nil {
		fmt.Println(err)
	}
}

// The word count: a program would end in run.Main(p) and read file.Lines("books/*.txt").
func Example() {
	p := stream.New("word-count")
	p.From(gen.Values("to be", "or not to be"), stream.Name("lines")).
		FlatMap(strings.FieldsSeq).   // Stream[string]
		KeyBy(stream.Self).           // KeyedStream[string, string]
		Window(window.EndOfStream()). // WindowedStream[string, string]
		Count(stream.Name("count")).  // Stream[window.Result[string, int64]]
		Map(func(r window.Result[string, int64]) string { return fmt.Sprint(r.Key, " ", r.Value) }).
		To(console.Sink[string](), stream.Name("print"))
	finish(p)
	// Unordered output:
	// to 2
	// be 2
	// or 1
	// not 1
}

func ExampleNew() {
	p := stream.New("hello")
	p.From(gen.Values("hello", "world"), stream.Name("words")).
		To(console.Sink[string](), stream.Name("print"))
	finish(p)
	// Output:
	// hello
	// world
}

func ExamplePipeline_From() {
	p := stream.New("squares")
	p.From(gen.Sequence(4, func(i uint64) uint64 { return i * i }), stream.Name("squares")).
		To(console.Sink[uint64](), stream.Name("print"))
	finish(p)
	// Output:
	// 0
	// 1
	// 4
	// 9
}

func ExamplePipeline_Name() {
	fmt.Println(stream.New("word-count").Name())
	// Output: word-count
}
