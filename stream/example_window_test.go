package stream_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/cutwater-io/cutwater/agg"
	"github.com/cutwater-io/cutwater/connector/collect"
	"github.com/cutwater-io/cutwater/connector/console"
	"github.com/cutwater-io/cutwater/connector/gen"
	"github.com/cutwater-io/cutwater/stream"
	"github.com/cutwater-io/cutwater/window"
)

// timedOrders is the stream of orders with event time, by customer.
func timedOrders(p *stream.Pipeline) stream.KeyedStream[string, Order] {
	return p.From(gen.Values(orders...), stream.Name("orders")).
		EventTime(Order.Time, stream.Ascending().PerRecord()).
		KeyBy(func(o Order) string { return o.Customer })
}

func ExampleKeyedStream_Window() {
	p := stream.New("window")
	timedOrders(p).
		Window(window.Session(10*time.Minute)). // orders with less than ten minutes between them
		Count(stream.Name("sessions")).
		Map(line).
		To(console.Sink[string](), stream.Name("print"))
	finish(p)
	// Unordered output:
	// 00:01 ada 2
	// 00:02 bob 1
	// 00:14 ada 1
}

// Several results of the same windows.
func ExampleWindowedStream() {
	p := stream.New("windowed")
	perDay := timedOrders(p).Window(window.Tumbling(24 * time.Hour))
	largest := perDay.Aggregate(agg.Max(func(o Order) int64 { return o.Cents }), stream.Name("largest"))
	count := perDay.Count(stream.Name("count"))
	largest.Map(line).Map(func(s string) string { return "largest: " + s }).
		To(console.Sink[string](), stream.Name("print-largest"))
	count.Map(line).Map(func(s string) string { return "count: " + s }).
		To(console.Sink[string](), stream.Name("print-count"))
	finish(p)
	// Unordered output:
	// largest: 00:00 ada 500
	// largest: 00:00 bob 120
	// count: 00:00 ada 3
	// count: 00:00 bob 1
}

func ExampleWindowedStream_Count() {
	p := stream.New("count")
	timedOrders(p).
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

func ExampleWindowedStream_Aggregate() {
	p := stream.New("aggregate")
	timedOrders(p).
		Window(window.Tumbling(10*time.Minute)).
		Aggregate(agg.Sum(func(o Order) int64 { return o.Cents }), stream.Name("revenue")).
		Map(line).
		To(console.Sink[string](), stream.Name("print"))
	finish(p)
	// Unordered output:
	// 00:00 ada 750
	// 00:00 bob 120
	// 00:10 ada 500
}

// Of each customer and ten minutes, the largest order.
func ExampleWindowedStream_Reduce() {
	p := stream.New("reduce")
	timedOrders(p).
		Window(window.Tumbling(10*time.Minute)).
		Reduce(func(a, b Order) Order {
			if b.Cents > a.Cents {
				return b
			}
			return a
		}, stream.Name("largest")).
		To(console.Sink[Order](), stream.Name("print"))
	finish(p)
	// Unordered output:
	// {ada 450 3}
	// {bob 120 2}
	// {ada 500 14}
}

// All records of a window at once, in their order.
func ExampleWindowedStream_Process() {
	p := stream.New("process")
	timedOrders(p).
		Window(window.Tumbling(10*time.Minute)).
		Process(func(customer string, w window.Window, orders []Order, out *stream.Emitter[string]) error {
			var cents []string
			for _, o := range orders {
				cents = append(cents, fmt.Sprint(o.Cents))
			}
			out.Emit(customer + ": " + strings.Join(cents, " + "))
			return nil
		}, stream.Name("receipts")).
		To(console.Sink[string](), stream.Name("print"))
	finish(p)
	// Unordered output:
	// ada: 300 + 450
	// bob: 120
	// ada: 500
}

// The order of 00:04 comes when its window has fired: the result is corrected.
func ExampleWindowedStream_AllowedLateness() {
	p := stream.New("allowed-lateness")
	p.From(gen.Values(Order{"ada", 300, 1}, Order{"ada", 450, 12}, Order{"ada", 120, 4}), stream.Name("orders")).
		EventTime(Order.Time, stream.Ascending().PerRecord()).
		KeyBy(func(o Order) string { return o.Customer }).
		Window(window.Tumbling(10*time.Minute)).
		AllowedLateness(time.Hour).
		Count(stream.Name("per-10-minutes")).
		Map(line).
		To(console.Sink[string](), stream.Name("print"))
	finish(p)
	// Output:
	// 00:00 ada 1
	// 00:00 ada 2
	// 00:10 ada 1
}

// late is the side output for orders that came too late.
var late = stream.NewTag[Order]("late")

func ExampleWindowedStream_LateTo() {
	p := stream.New("late-to")
	counts := p.From(gen.Values(Order{"ada", 300, 1}, Order{"ada", 450, 12}, Order{"ada", 120, 4}), stream.Name("orders")).
		EventTime(Order.Time, stream.Ascending().PerRecord()).
		KeyBy(func(o Order) string { return o.Customer }).
		Window(window.Tumbling(10 * time.Minute)).
		LateTo(late).
		Count(stream.Name("per-10-minutes"))
	inTime, tooLate := collect.New[string](), collect.New[Order]()
	counts.Map(line).To(inTime.Sink(), stream.Name("in-time"))
	counts.SideOutput(late).To(tooLate.Sink(), stream.Name("too-late"))
	finish(p)
	fmt.Println(inTime.Values(), tooLate.Values())
	// Output: [00:00 ada 1 00:10 ada 1] [{ada 120 4}]
}
