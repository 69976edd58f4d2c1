package stream_test

import (
	"fmt"

	"github.com/cutwater-io/cutwater/connector/gen"
	"github.com/cutwater-io/cutwater/stream"
)

// A test of a program can check that its pipeline is complete without running it.
func ExamplePipeline_Program() {
	p := stream.New("")
	p.From(gen.Values(1, 2, 3), stream.Name("numbers"))
	_, err := p.Program()
	fmt.Println(err)
	// Output:
	// pipeline "" cannot be built:
	// stream/example_errors_test.go:12: stream.New: the job needs a name, by which its state is found
	// operator "numbers" (stream/example_errors_test.go:13): nothing reads this source: end it with To
}
