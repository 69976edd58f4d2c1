package stream_test

import (
	"strings"
	"time"

	"github.com/cutwater-io/cutwater/connector/console"
	"github.com/cutwater-io/cutwater/connector/gen"
	"github.com/cutwater-io/cutwater/stream"
)

func ExampleOption() {
	p := stream.New("options")
	p.From(gen.Values("a", "b"), stream.Name("letters"), stream.Parallelism(1)).
		Map(strings.ToUpper, stream.Name("upper")).
		To(console.Sink[string](), stream.Name("print"))
	finish(p)
	// Output:
	// A
	// B
}

// Operators with state need a name; it stays when the program around it changes.
func ExampleName() {
	p := stream.New("name")
	p.From(gen.Values(1, 2, 3), stream.Name("numbers")).
		KeyBy(func(int) int { return 0 }).
		Reduce(func(a, b int) int { return a + b }, stream.Name("running-sum")).
		To(console.Sink[int](), stream.Name("print"))
	finish(p)
	// Output:
	// 1
	// 3
	// 6
}

// One slow operator on two subtasks, in a job of one.
func ExampleParallelism() {
	p := stream.New("parallelism")
	p.From(gen.Values("slow", "work"), stream.Name("tasks")).
		Map(strings.ToUpper, stream.Parallelism(2)).
		To(console.Sink[string](), stream.Name("print"))
	finish(p)
	// Unordered output:
	// SLOW
	// WORK
}

// The sums can be kept by up to 1024 subtasks, now or in a later run.
func ExampleMaxParallelism() {
	p := stream.New("max-parallelism")
	p.From(gen.Values(1, 2), stream.Name("numbers")).
		KeyBy(func(int) int { return 0 }).
		Reduce(func(a, b int) int { return a + b }, stream.Name("sum"), stream.MaxParallelism(1024)).
		To(console.Sink[int](), stream.Name("print"))
	finish(p)
	// Output:
	// 1
	// 3
}

// An operator that is slow may be given a goroutine of its own, so that its
// neighbours work meanwhile.
func ExampleChain() {
	p := stream.New("chain")
	p.From(gen.Values("a", "b"), stream.Name("letters")).
		Map(strings.ToUpper, stream.Chain(false)).
		To(console.Sink[string](), stream.Name("print"))
	finish(p)
	// Output:
	// A
	// B
}

// A record waits at most one millisecond for others, also while the operator is busy.
func ExampleBufferTimeout() {
	p := stream.New("buffer-timeout")
	p.From(gen.Values("a", "b"), stream.Name("letters"), stream.BufferTimeout(time.Millisecond)).
		Rebalance().
		Map(strings.ToUpper).
		To(console.Sink[string](), stream.Name("print"))
	finish(p)
	// Output:
	// A
	// B
}
