package stream_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/connector/collect"
	"github.com/cutwater-io/cutwater/connector/console"
	"github.com/cutwater-io/cutwater/connector/file"
	"github.com/cutwater-io/cutwater/connector/gen"
	"github.com/cutwater-io/cutwater/stream"
)

func ExampleStream() {
	p := stream.New("both-ways")
	words := p.From(gen.Values("river", "sea"), stream.Name("words"))

	// A stream that is used twice sends every record both ways.
	upper, lengths := collect.New[string](), collect.New[int]()
	words.Map(strings.ToUpper).To(upper.Sink(), stream.Name("upper"))
	words.Map(func(w string) int { return len(w) }).To(lengths.Sink(), stream.Name("lengths"))
	finish(p)
	fmt.Println(upper.Values(), lengths.Values())
	// Output: [RIVER SEA] [5 3]
}

func ExampleStream_Map() {
	p := stream.New("map")
	p.From(gen.Values("to", "be"), stream.Name("words")).
		Map(strings.ToUpper).
		To(console.Sink[string](), stream.Name("print"))
	finish(p)
	// Output:
	// TO
	// BE
}

// Reading is large: by value it would be copied twice for each record.
type Reading struct {
	Sensor  string
	Celsius float64
	Raw     [512]byte
}

type Summary struct {
	Sensor string
	Frost  bool
}

func ExampleStream_MapInto() {
	p := stream.New("map-into")
	p.From(gen.Values(Reading{Sensor: "roof", Celsius: -3}, Reading{Sensor: "cellar", Celsius: 11}), stream.Name("readings")).
		MapInto(func(in *Reading, out *Summary) {
			out.Sensor = in.Sensor
			out.Frost = in.Celsius < 0
		}).
		To(console.Sink[Summary](), stream.Name("print"))
	finish(p)
	// Output:
	// {roof true}
	// {cellar false}
}

func ExampleStream_Filter() {
	p := stream.New("filter")
	p.From(gen.Values(1, 2, 3, 4), stream.Name("numbers")).
		Filter(func(n int) bool { return n%2 == 0 }).
		To(console.Sink[int](), stream.Name("print"))
	finish(p)
	// Output:
	// 2
	// 4
}

func ExampleStream_FilterRef() {
	p := stream.New("filter-ref")
	p.From(gen.Values(Reading{Sensor: "roof", Celsius: -3}, Reading{Sensor: "cellar", Celsius: 11}), stream.Name("readings")).
		FilterRef(func(r *Reading) bool { return r.Celsius < 0 }).
		Map(func(r Reading) string { return r.Sensor }).
		To(console.Sink[string](), stream.Name("print"))
	finish(p)
	// Output: roof
}

func ExampleStream_FlatMap() {
	p := stream.New("flat-map")
	p.From(gen.Values("to be", "or not"), stream.Name("lines")).
		FlatMap(strings.FieldsSeq). // any func(T) iter.Seq[U]
		To(console.Sink[string](), stream.Name("print"))
	finish(p)
	// Output:
	// to
	// be
	// or
	// not
}

func ExampleStream_FlatMapInto() {
	p := stream.New("flat-map-into")
	p.From(gen.Values("a-b", "c"), stream.Name("lines")).
		FlatMapInto(func(in *string, out *stream.Emitter[string]) {
			for part := range strings.SplitSeq(*in, "-") {
				out.Emit(part)
			}
		}).
		To(console.Sink[string](), stream.Name("print"))
	finish(p)
	// Output:
	// a
	// b
	// c
}

func ExampleStream_Process() {
	p := stream.New("process")
	p.From(gen.Values("1", "2", "three"), stream.Name("texts")).
		Process(func(text string, out *stream.Emitter[int]) error {
			n, err := strconv.Atoi(text)
			if err != nil {
				return errors.New("not a number: " + text) // ends the attempt
			}
			out.Emit(n)
			return nil
		}, stream.Name("parse")).
		To(collect.New[int]().Sink(), stream.Name("numbers"))
	finish(p)
	// Output:
	// run "process": task texts → parse → numbers → numbers/committer (1/1): operator "parse", record from number 2 of split 0/1: not a number: three
}

func ExampleStream_Union() {
	p := stream.New("union")
	spring := p.From(gen.Values("march", "april"), stream.Name("spring"))
	summer := p.From(gen.Values("june"), stream.Name("summer"))
	spring.Union(summer).
		To(console.Sink[string](), stream.Name("print"))
	finish(p)
	// Unordered output:
	// march
	// april
	// june
}

// malformed is made once and used where values are sent and where they are read.
var malformed = stream.NewTag[string]("malformed")

func ExampleStream_SideOutput() {
	p := stream.New("side-output")
	numbers := p.From(gen.Values("1", "two", "3"), stream.Name("texts")).
		Process(func(text string, out *stream.Emitter[int]) error {
			if n, err := strconv.Atoi(text); err == nil {
				out.Emit(n)
			} else {
				out.SideOutput(malformed, text)
			}
			return nil
		})
	good, bad := collect.New[int](), collect.New[string]()
	numbers.To(good.Sink(), stream.Name("good"))
	numbers.SideOutput(malformed).To(bad.Sink(), stream.Name("bad"))
	finish(p)
	fmt.Println(good.Values(), bad.Values())
	// Output: [1 3] [two]
}

func ExampleNewTag() {
	late := stream.NewTag[Reading]("late")
	fmt.Println(late.Name())
	// Output: late
}

// A value that is sent to a side output that nothing reads is dropped.
func ExampleTag() {
	p := stream.New("tag")
	p.From(gen.Values(1, -2, 3), stream.Name("numbers")).
		Process(func(n int, out *stream.Emitter[int]) error {
			if n < 0 {
				out.SideOutput(negative, n)
				return nil
			}
			out.Emit(n)
			return nil
		}).
		To(console.Sink[int](), stream.Name("print"))
	finish(p)
	// Output:
	// 1
	// 3
}

var negative = stream.NewTag[int]("negative")

type Person struct{ Name string }

// The input that a source cannot decode is a side output of the source.
func Example_badRecords() {
	p := stream.New("bad-records")
	people := p.From(file.JSON[Person]("testdata/people.jsonl"), stream.Name("people"))
	people.SideOutput(stream.BadRecords).
		Map(func(r connector.BadRecord) string { return "bad: " + string(r.Raw) }).
		To(console.Sink[string](), stream.Name("dead-letters"))
	people.
		Map(func(p Person) string { return "good: " + p.Name }).
		To(console.Sink[string](), stream.Name("print"))
	finish(p)
	// Unordered output:
	// good: Ada
	// bad: {"Name":
	// good: Grace
}

// Rebalance spreads the records of one busy subtask, here over two.
func ExampleStream_Rebalance() {
	p := stream.New("rebalance")
	c := collect.New[int]()
	p.From(gen.Values(1, 2, 3, 4), stream.Name("numbers")).
		Rebalance().
		Map(func(n int) int { return n * n }, stream.Parallelism(2)).
		To(c.Sink(), stream.Name("squares"))
	finish(p)
	fmt.Println(c.Len())
	// Output: 4
}

// Broadcast sends each record to both subtasks of the next operator.
func ExampleStream_Broadcast() {
	p := stream.New("broadcast")
	p.From(gen.Values("reload"), stream.Name("commands")).
		Broadcast().
		Map(strings.ToUpper, stream.Parallelism(2)).
		To(console.Sink[string](), stream.Name("print"))
	finish(p)
	// Output:
	// RELOAD
	// RELOAD
}

func ExampleStream_To() {
	p := stream.New("to")
	c := collect.New[string]()
	p.From(gen.Values("a", "b"), stream.Name("letters")).
		To(c.Sink(), stream.Name("letters-in-memory"))
	finish(p)
	fmt.Println(c.Values())
	// Output: [a b]
}

func ExampleEmitter() {
	p := stream.New("emitter")
	p.From(gen.Values(3), stream.Name("counts")).
		Process(func(n int, out *stream.Emitter[string]) error {
			for i := range n {
				out.Emit(fmt.Sprint("part ", i+1, " of ", n))
			}
			return nil
		}).
		To(console.Sink[string](), stream.Name("print"))
	finish(p)
	// Output:
	// part 1 of 3
	// part 2 of 3
	// part 3 of 3
}

func ExampleEmitter_EmitRef() {
	p := stream.New("emit-ref")
	p.From(gen.Values(Reading{Sensor: "roof", Celsius: -3}, Reading{Sensor: "cellar", Celsius: 11}), stream.Name("readings")).
		FlatMapInto(func(in *Reading, out *stream.Emitter[Reading]) {
			if in.Celsius < 0 {
				out.EmitRef(in) // no copy of a large record
			}
		}).
		Map(func(r Reading) string { return r.Sensor }).
		To(console.Sink[string](), stream.Name("print"))
	finish(p)
	// Output: roof
}
