package stream_test

import (
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cutwater-io/cutwater/agg"
	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/connector/collect"
	"github.com/cutwater-io/cutwater/connector/file"
	"github.com/cutwater-io/cutwater/connector/gen"
	"github.com/cutwater-io/cutwater/stream"
	"github.com/cutwater-io/cutwater/window"
	"github.com/google/go-cmp/cmp"
)

func number(i uint64) uint64 { return i }

func numbers() connector.Source[uint64] { return gen.Sequence(10, number) }

func ignore[T any]() connector.Sink[T] { return collect.New[T]().Sink() }

var lineNumber = regexp.MustCompile(`errors_test\.go:\d+`)

// buildErrors returns what is wrong with a pipeline, a line each. Numbers of source
// lines are left out: they change with each line that is added above.
func buildErrors(t *testing.T, p *stream.Pipeline) []string {
	t.Helper()
	_, err := p.Program()
	if err == nil {
		t.Fatal("the pipeline was built")
	}
	return strings.Split(lineNumber.ReplaceAllString(err.Error(), "errors_test.go"), "\n")
}

func expect(t *testing.T, p *stream.Pipeline, want ...string) {
	t.Helper()
	if d := cmp.Diff(want, buildErrors(t, p)); d != "" {
		t.Errorf("errors of building (-want +got):\n%s", d)
	}
}

type withChannel struct {
	Done chan int
}

type withInterface struct {
	Any any
}

func TestAllMistakesAreReportedTogetherInTheOrderOfTheProgram(t *testing.T) {
	p := stream.New("mistakes")
	s := p.From(numbers(), stream.Name("numbers"))
	// No name.
	s.KeyBy(stream.Self).
		Stateful(func(*stream.Ctx[uint64], *int, uint64, *stream.Emitter[int]) error { return nil }).
		To(ignore[int](), stream.Name("one"))
	// A name twice.
	s.To(ignore[uint64](), stream.Name("one"))
	// Windows of event time without event time.
	s.KeyBy(stream.Self).Window(window.Tumbling(time.Hour)).Count(stream.Name("hourly")).
		To(ignore[window.Result[uint64, int64]](), stream.Name("two"))
	// A state with a channel, and a key with an interface.
	s.KeyBy(func(uint64) withInterface { return withInterface{} }).
		Stateful(func(*stream.Ctx[withInterface], *withChannel, uint64, *stream.Emitter[int]) error { return nil }, stream.Name("odd")).
		To(ignore[int](), stream.Name("three"))
	// Windows that are empty.
	s.KeyBy(stream.Self).Window(window.Session(-1)).Count(stream.Name("sessions")).
		To(ignore[window.Result[uint64, int64]](), stream.Name("four"))
	// A source that nothing reads, and one that is misconfigured.
	p.From(numbers(), stream.Name("unread"))
	p.From(gen.Sequence(10, number, gen.Splits(-1)), stream.Name("splits")).To(ignore[uint64](), stream.Name("five"))
	// The same for files.
	p.From(file.Lines(), stream.Name("files")).To(file.LinesSink(""), stream.Name("six"))

	expect(t, p,
		`pipeline "mistakes" cannot be built:`,
		`operator "hourly" (stream/errors_test.go): it has event-time windows and no event time: add EventTime (or SourceTime) behind the source, or use window.ProcessingTime()`,
		`operator "odd" (stream/errors_test.go): keys of type stream_test.withInterface are not possible: keygroup: stream_test.withInterface.Any of type interface {} cannot be part of a key: an interface does not say which types it may hold; use a concrete type`,
		`operator "odd" (stream/errors_test.go): its state of type stream_test.withChannel cannot be kept: codec: stream_test.withChannel.Done of type chan int cannot be encoded: a channel carries no data of its own; use a concrete type, leave the field out with the tag `+"`cutwater:\"-\"`"+`, or bring a codec with codec.Use`,
		`operator "sessions" (stream/errors_test.go): window: session windows with a gap of -1ns are empty; give a gap of at least 1ms`,
		`operator "unread" (stream/errors_test.go): nothing reads this source: end it with To`,
		`operator "splits" (stream/errors_test.go): gen: -1 splits are impossible; give 1 to 65536, or leave Splits out for one per reader`,
		`operator "files" (stream/errors_test.go): file source: no pattern: name the files to read, for example "data/*.txt"`,
		`operator "six" (stream/errors_test.go): file sink: the directory is empty: name one, "." for the current one`,
		`operator "stateful-1" (stream/errors_test.go): it keeps state and has no name: add stream.Name(...), by which its state is found after a restart`,
		`operator "one" (stream/errors_test.go): the operator at stream/errors_test.go has this name already: state is found by name, so names must differ; give one of them another stream.Name`,
	)
}

func TestAnErrorOfBuildingNamesTheLineOfTheCall(t *testing.T) {
	p := stream.New("line")
	_, _, line, _ := runtime.Caller(0)
	p.From(numbers(), stream.Name("numbers")).
		Filter(nil).
		To(ignore[uint64](), stream.Name("ignore"))
	_, err := p.Program()
	if want := fmt.Sprintf(`operator "filter-1" (stream/errors_test.go:%d): its function is nil: give it one`, line+2); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the error is %v, want one with %q", err, want)
	}
}

func TestAMissingFunctionSourceOrSinkIsAnErrorOfBuildingAndNotAPanic(t *testing.T) {
	p := stream.New(" ")
	p.From[int](nil, stream.Name("nothing")).To(nil, stream.Name("nowhere"))
	s := p.From(numbers(), stream.Name("numbers"))
	s.KeyBy[string](nil).Handle(stream.Handler[string, int, uint64, int]{}, stream.Name("handle"))
	s.KeyBy(stream.Self).Window(window.EndOfStream()).AllowedLateness(-time.Second).Reduce[func(uint64, uint64) uint64](nil, stream.Name("reduce"))
	s.KeyBy(stream.Self).Window(window.EndOfStream()).
		Aggregate(agg.Agg[uint64, int, int]{Name: "half"}, stream.Name("half"))
	expect(t, p,
		`pipeline " " cannot be built:`,
		`stream/errors_test.go: stream.New: the job needs a name, by which its state is found`,
		`operator "nothing" (stream/errors_test.go): the source is nil: give From one, for example file.Lines`,
		`operator "nowhere" (stream/errors_test.go): the sink is nil: give To one, for example console.Sink`,
		`operator "handle" (stream/errors_test.go): its function is nil: give it one`,
		`operator "handle" (stream/errors_test.go): its Handler needs one of OnRecord and OnRecordRef`,
		`operator "reduce" (stream/errors_test.go): its function is nil: give it one`,
		`operator "reduce" (stream/errors_test.go): the allowed lateness is negative: give a positive duration, or leave AllowedLateness out`,
		`operator "half" (stream/errors_test.go): agg: aggregate half has no Add function; only Sub may be left out`,
	)
}

func TestASideOutputReadWithTwoTypesIsAnErrorOfBuilding(t *testing.T) {
	p := stream.New("sides")
	s := p.From(numbers(), stream.Name("numbers"))
	s.SideOutput(stream.NewTag[int]("odd")).To(ignore[int](), stream.Name("ints"))
	s.SideOutput(stream.NewTag[string]("odd")).To(ignore[string](), stream.Name("strings"))
	expect(t, p,
		`pipeline "sides" cannot be built:`,
		`operator "numbers" (stream/errors_test.go): its side output "odd" is read as int and as string: make one tag and use it everywhere`,
	)
}

func TestParallelismBelowOneIsSaidOncePerOperator(t *testing.T) {
	p := stream.New("parallelism")
	p.From(numbers(), stream.Name("numbers")).To(ignore[uint64](), stream.Name("sink"), stream.Parallelism(0))
	expect(t, p,
		`pipeline "parallelism" cannot be built:`,
		`operator "sink" (stream/errors_test.go): parallelism must be at least 1 and max parallelism between 1 and 32768`,
	)
}

func TestStreamsOfTwoPipelinesCannotBeUnited(t *testing.T) {
	p, q := stream.New("p"), stream.New("q")
	a := p.From(numbers(), stream.Name("a"))
	b := q.From(numbers(), stream.Name("b"))
	a.Union(b).To(ignore[uint64](), stream.Name("sink"))
	expect(t, p,
		`pipeline "p" cannot be built:`,
		`stream/errors_test.go: Union joins streams of two pipelines: build both from the same stream.New`,
	)
}
