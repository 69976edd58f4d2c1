package stream_test

import (
	"fmt"
	"time"

	"github.com/cutwater-io/cutwater/connector/console"
	"github.com/cutwater-io/cutwater/connector/gen"
	"github.com/cutwater-io/cutwater/stream"
	"github.com/cutwater-io/cutwater/window"
)

type Order struct {
	Customer string
	Cents    int64
	Minute   int // of the day
}

func (o Order) Time() time.Time {
	return time.Date(2026, 2, 3, 0, o.Minute, 0, 0, time.UTC)
}

var orders = []Order{
	{Customer: "ada", Cents: 300, Minute: 1},
	{Customer: "bob", Cents: 120, Minute: 2},
	{Customer: "ada", Cents: 450, Minute: 3},
	{Customer: "ada", Cents: 500, Minute: 14},
}

func ExampleStream_KeyBy() {
	p := stream.New("key-by")
	p.From(gen.Values(orders...), stream.Name("orders")).
		KeyBy(func(o Order) string { return o.Customer }).
		Stateful(func(c *stream.Ctx[string], total *int64, o Order, out *stream.Emitter[string]) error {
			*total += o.Cents
			out.Emit(fmt.Sprint(c.Key(), " has ordered for ", *total))
			return nil
		}, stream.Name("totals")).
		To(console.Sink[string](), stream.Name("print"))
	finish(p)
	// Output:
	// ada has ordered for 300
	// bob has ordered for 120
	// ada has ordered for 750
	// ada has ordered for 1250
}

// A key of several fields is a struct.
func ExampleStream_KeyByRef() {
	type key struct {
		Customer string
		Large    bool
	}
	p := stream.New("key-by-ref")
	p.From(gen.Values(orders...), stream.Name("orders")).
		KeyByRef(func(o *Order) key { return key{o.Customer, o.Cents >= 400} }).
		StatefulRef(func(c *stream.Ctx[key], n *int, o *Order, out *stream.Emitter[string]) error {
			*n++
			out.Emit(fmt.Sprint(c.Key(), " ", *n))
			return nil
		}, stream.Name("orders-by-size")).
		To(console.Sink[string](), stream.Name("print"))
	finish(p)
	// Output:
	// {ada false} 1
	// {bob false} 1
	// {ada true} 1
	// {ada true} 2
}

func ExampleSelf() {
	p := stream.New("self")
	p.From(gen.Values("a", "b", "a"), stream.Name("letters")).
		KeyBy(stream.Self).
		Stateful(func(c *stream.Ctx[string], seen *bool, v string, out *stream.Emitter[string]) error {
			if !*seen {
				*seen = true
				out.Emit(v)
			}
			return nil
		}, stream.Name("distinct")).
		To(console.Sink[string](), stream.Name("print"))
	finish(p)
	// Output:
	// a
	// b
}

// Account is the state of one customer. It may hold slices, maps and structs, and
// may be changed in place: what is in a checkpoint are the values at its barrier.
type Account struct {
	Orders []int64
	Total  int64
}

func ExampleKeyedStream_Stateful() {
	p := stream.New("stateful")
	p.From(gen.Values(orders...), stream.Name("orders")).
		KeyBy(func(o Order) string { return o.Customer }).
		Stateful(func(c *stream.Ctx[string], a *Account, o Order, out *stream.Emitter[string]) error {
			a.Orders = append(a.Orders, o.Cents)
			a.Total += o.Cents
			if a.Total > 1000 {
				out.Emit(fmt.Sprint(c.Key(), " spent ", a.Total, " in ", len(a.Orders), " orders"))
				c.Clear() // begin again
			}
			return nil
		}, stream.Name("accounts")).
		To(console.Sink[string](), stream.Name("print"))
	finish(p)
	// Output: ada spent 1250 in 3 orders
}

// The form by pointer spares the copy of a large record.
func ExampleKeyedStream_StatefulRef() {
	p := stream.New("stateful-ref")
	p.From(gen.Values(Reading{Sensor: "roof", Celsius: 9}, Reading{Sensor: "roof", Celsius: 12}), stream.Name("readings")).
		KeyByRef(func(r *Reading) string { return r.Sensor }).
		StatefulRef(func(c *stream.Ctx[string], max *float64, r *Reading, out *stream.Emitter[string]) error {
			if r.Celsius > *max {
				*max = r.Celsius
				out.Emit(fmt.Sprint(c.Key(), " reached ", *max))
			}
			return nil
		}, stream.Name("records")).
		To(console.Sink[string](), stream.Name("print"))
	finish(p)
	// Output:
	// roof reached 9
	// roof reached 12
}

// Sale is an event of an order.
type Sale struct {
	Order  string
	Paid   bool
	Minute int
}

func (s Sale) Time() time.Time { return Order{Minute: s.Minute}.Time() }

// Orders that are not paid within ten minutes.
func ExampleKeyedStream_Handle() {
	type open struct {
		Deadline window.Millis
	}
	p := stream.New("unpaid")
	p.From(gen.Values(
		Sale{Order: "A", Minute: 1},
		Sale{Order: "B", Minute: 2},
		Sale{Order: "A", Minute: 5, Paid: true},
		Sale{Order: "C", Minute: 20},
	), stream.Name("sales")).
		EventTime(Sale.Time, stream.Ascending()).
		KeyBy(func(s Sale) string { return s.Order }).
		Handle(stream.Handler[string, open, Sale, string]{
			OnRecord: func(c *stream.Ctx[string], o *open, s Sale, _ *stream.Emitter[string]) error {
				if s.Paid {
					c.DeleteEventTimer(o.Deadline)
					c.Clear()
					return nil
				}
				o.Deadline = c.Time().Add((10 * time.Minute).Milliseconds())
				c.EventTimer(o.Deadline)
				return nil
			},
			OnTimer: func(c *stream.Ctx[string], _ *open, t stream.Timer, out *stream.Emitter[string]) error {
				out.Emit(fmt.Sprint(c.Key(), " was not paid at ", t.At.Time().Format("15:04")))
				c.Clear()
				return nil
			},
		}, stream.Name("unpaid")).
		To(console.Sink[string](), stream.Name("print"))
	finish(p)
	// Output:
	// B was not paid at 00:12
	// C was not paid at 00:30
}

// What a keyed function can ask its context.
func ExampleCtx() {
	p := stream.New("ctx")
	p.From(gen.Values(orders[:2]...), stream.Name("orders")).
		EventTime(Order.Time, stream.Ascending().PerRecord()).
		KeyBy(func(o Order) string { return o.Customer }).
		Stateful(func(c *stream.Ctx[string], n *int, _ Order, out *stream.Emitter[string]) error {
			*n++
			out.Emit(fmt.Sprint(c.Key(), " ordered at ", c.Time(), ", all is known up to ", c.Watermark()))
			return nil
		}, stream.Name("orders-seen")).
		To(console.Sink[string](), stream.Name("print"))
	finish(p)
	// Output:
	// ada ordered at 2026-02-03T00:01:00.000Z, all is known up to beginning of time
	// bob ordered at 2026-02-03T00:02:00.000Z, all is known up to 2026-02-03T00:00:59.999Z
}

func ExampleKeyedStream_Reduce() {
	p := stream.New("reduce")
	p.From(gen.Values(3, 5, 2, 8), stream.Name("numbers")).
		KeyBy(func(n int) bool { return n%2 == 0 }).
		Reduce(func(a, b int) int { return a + b }, stream.Name("sums")). // odd: 3 8, even: 2 10
		To(console.Sink[int](), stream.Name("print"))
	finish(p)
	// Output:
	// 3
	// 8
	// 2
	// 10
}
