package stream_test

import (
	"fmt"
	"time"

	"github.com/cutwater-io/cutwater/connector/collect"
	"github.com/cutwater-io/cutwater/connector/console"
	"github.com/cutwater-io/cutwater/connector/gen"
	"github.com/cutwater-io/cutwater/stream"
	"github.com/cutwater-io/cutwater/window"
)

func ExampleStream_EventTime() {
	p := stream.New("event-time")
	p.From(gen.Values(orders...), stream.Name("orders")).
		EventTime(Order.Time, stream.BoundedOutOfOrderness(time.Minute)).
		KeyBy(func(o Order) string { return o.Customer }).
		Window(window.Tumbling(10*time.Minute)).
		Count(stream.Name("per-10-minutes")).
		Map(line).
		To(console.Sink[string](), stream.Name("print"))
	finish(p)
	// Unordered output:
	// 00:00 ada 2
	// 00:00 bob 1
	// 00:10 ada 1
}

// line is a result as a line: start of the window, key, value.
func line(r window.Result[string, int64]) string {
	return fmt.Sprint(r.Window.Start.Time().Format("15:04"), " ", r.Key, " ", r.Value)
}

// Sample holds its time as a number.
type Sample struct {
	AtMillis int64
	Value    float64
}

func ExampleStream_EventTimeMillis() {
	p := stream.New("event-time-millis")
	p.From(gen.Values(Sample{1000, 1.5}, Sample{1500, 2.5}, Sample{2100, 3}), stream.Name("samples")).
		EventTimeMillis(func(s *Sample) int64 { return s.AtMillis }, stream.Ascending()).
		KeyBy(func(Sample) int { return 0 }). // one key for all
		Window(window.Tumbling(time.Second)).
		Count(stream.Name("per-second")).
		Map(func(r window.Result[int, int64]) int64 { return r.Value }).
		To(console.Sink[int64](), stream.Name("print"))
	finish(p)
	// Output:
	// 2
	// 1
}

// The source gives the times: here number i is from second i.
func ExampleStream_SourceTime() {
	p := stream.New("source-time")
	seconds := gen.Timed(120, func(i uint64, v *uint64) int64 {
		*v = i
		return int64(i) * 1000
	})
	p.From(seconds, stream.Name("seconds")).
		SourceTime(stream.Ascending()).
		KeyBy(func(i uint64) string { return "all" }).
		Window(window.Tumbling(time.Minute)).
		Count(stream.Name("per-minute")).
		Map(line).
		To(console.Sink[string](), stream.Name("print"))
	finish(p)
	// Output:
	// 00:00 all 60
	// 00:01 all 60
}

// Orders may be up to five minutes older than the newest one that was seen.
func ExampleBoundedOutOfOrderness() {
	p := stream.New("out-of-order")
	p.From(gen.Values(
		Order{"ada", 300, 8},
		Order{"ada", 120, 12}, // time is 00:07: the window of 00:00 is open
		Order{"ada", 450, 9},  // in time
		Order{"ada", 500, 15}, // time is 00:10: the window of 00:00 is complete
		Order{"ada", 700, 7},  // late
	), stream.Name("orders")).
		EventTime(Order.Time, stream.BoundedOutOfOrderness(5*time.Minute).PerRecord()).
		KeyBy(func(o Order) string { return o.Customer }).
		Window(window.Tumbling(10*time.Minute)).
		Count(stream.Name("per-10-minutes")).
		Map(line).
		To(console.Sink[string](), stream.Name("print"))
	finish(p)
	// Output:
	// 00:00 ada 2
	// 00:10 ada 2
}

func ExampleAscending() {
	p := stream.New("ascending")
	p.From(gen.Values(orders...), stream.Name("orders")).
		EventTime(Order.Time, stream.Ascending()).
		KeyBy(func(Order) string { return "all" }).
		Window(window.Tumbling(5*time.Minute)).
		Count(stream.Name("per-5-minutes")).
		Map(line).
		To(console.Sink[string](), stream.Name("print"))
	finish(p)
	// Output:
	// 00:00 all 3
	// 00:10 all 1
}

// hourly lets time advance in whole hours only.
type hourly struct{ newest int64 }

func (h *hourly) Observe(timestampMillis int64) { h.newest = max(h.newest, timestampMillis) }

func (h *hourly) Watermark() int64 { return h.newest/3_600_000*3_600_000 - 1 }

func ExampleCustomWatermarks() {
	var w stream.Watermarks = stream.CustomWatermarks(func() stream.WatermarkGenerator { return &hourly{} })

	p := stream.New("custom")
	p.From(gen.Values(orders...), stream.Name("orders")).
		EventTime(Order.Time, w).
		KeyBy(func(o Order) string { return o.Customer }).
		Window(window.Tumbling(time.Hour)).
		Count(stream.Name("per-hour")).
		Map(line).
		To(console.Sink[string](), stream.Name("print"))
	finish(p)
	// Unordered output:
	// 00:00 ada 3
	// 00:00 bob 1
}

// In a stream that pauses at night, or reads a partition that nobody writes, time
// goes on without the silent part after a minute.
func ExampleWatermarks_IdleAfter() {
	w := stream.BoundedOutOfOrderness(5 * time.Second).
		Every(time.Second).
		IdleAfter(time.Minute).
		WhenAllIdle(true) // and when all are silent, their open windows fire

	p := stream.New("idle")
	c := collect.New[Order]()
	p.From(gen.Values(orders...), stream.Name("orders")).
		EventTime(Order.Time, w).
		To(c.Sink(), stream.Name("orders-in-memory"))
	finish(p)
	fmt.Println(c.Len())
	// Output: 4
}
