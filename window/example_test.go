package window_test

import (
	"fmt"
	"time"

	"github.com/cutwater-io/cutwater/window"
)

func ExampleTumbling() {
	w := window.Tumbling(10 * time.Second)
	fmt.Println(w)
	fmt.Println(w.Windows(nil, 12_345))
	// Output:
	// tumbling 10s
	// [[1970-01-01T00:00:10.000Z, 1970-01-01T00:00:20.000Z)]
}

func ExampleSliding() {
	w := window.Sliding(10*time.Second, 4*time.Second)
	fmt.Println(w)
	for _, x := range w.Windows(nil, 12_345) {
		fmt.Println(int64(x.Start), int64(x.End))
	}
	fmt.Println(w.PanesPerWindow(), "panes of", w.PaneMillis(), "ms")
	// Output:
	// sliding 10s every 4s
	// 4000 14000
	// 8000 18000
	// 12000 22000
	// 5 panes of 2000 ms
}

func ExampleSession() {
	s := window.Session(30 * time.Second)
	first, second := s.Pane(1_000), s.Pane(21_000)
	if first.Overlaps(second) {
		fmt.Println(first.Cover(second))
	}
	// Output: [1970-01-01T00:00:01.000Z, 1970-01-01T00:00:51.000Z)
}

func ExampleEndOfStream() {
	fmt.Println(window.EndOfStream().Windows(nil, 42))
	// Output: [[beginning of time, end of time)]
}

func ExampleOffset() {
	day := window.Tumbling(24*time.Hour, window.Offset(-8*time.Hour)) // days of UTC+8
	fmt.Println(day.Windows(nil, 0)[0])
	// Output: [1969-12-31T16:00:00.000Z, 1970-01-01T16:00:00.000Z)
}

func ExampleProcessingTime() {
	fmt.Println(window.Tumbling(time.Minute, window.ProcessingTime()))
	// Output: tumbling 1m0s in processing time
}

func ExampleAssigner_Validate() {
	fmt.Println(window.Tumbling(0).Validate())
	// Output: window: tumbling windows with a size of 0s are empty; give a size of at least 1ms
}

func ExampleAssigner_NextEnd() {
	w := window.Sliding(10*time.Second, 4*time.Second)
	fmt.Println(int64(w.NextEnd(13_999)), int64(w.NextEnd(14_000)))
	// Output: 14000 18000
}

func ExampleAssigner_Pane() {
	w := window.Sliding(10*time.Second, 4*time.Second)
	p := w.Pane(5_001)
	fmt.Println(int64(p.Start), int64(p.End))
	// Output: 4000 6000
}

func ExampleStart() {
	fmt.Println(int64(window.Start(12_345, 1000, 0)), int64(window.Start(-1, 1000, 0)))
	// Output: 12000 -1000
}

func ExampleKind() {
	fmt.Println(window.Session(time.Second).Kind)
	// Output: session
}

func ExampleMillis() {
	m := window.MillisOf(time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC))
	fmt.Println(int64(m), m, m.Time())
	fmt.Println(window.MaxMillis.Add(1))
	// Output:
	// 1770091506000 2026-02-03T04:05:06.000Z 2026-02-03 04:05:06 +0000 UTC
	// end of time
}

func ExampleWindow() {
	w := window.Window{Start: 0, End: 1000}
	fmt.Println(w.Contains(0), w.Contains(999), w.Contains(1000), int64(w.Last()))
	// Output: true true false 999
}

func ExampleResult() {
	r := window.Result[string, int64]{Key: "paris", Window: window.Window{Start: 0, End: 1000}, Value: 7}
	fmt.Println(r.Key, r.Window.Start, r.Value)
	// Output: paris 1970-01-01T00:00:00.000Z 7
}

func ExampleAssigner() {
	w := window.Tumbling(time.Minute, window.Offset(15*time.Second))
	fmt.Println(w.Kind, w.SizeMillis, w.SlideMillis, w.GapMillis, w.OffsetMillis, w.Processing)
	// Output: tumbling 60000 60000 0 15000 false
}

func ExampleAssigner_Windows() {
	// Two seconds every five: most records belong to no window.
	w := window.Sliding(2*time.Second, 5*time.Second)
	fmt.Println(len(w.Windows(nil, 6_000)), len(w.Windows(nil, 8_000)))
	// Output: 1 0
}

func ExampleAssigner_String() {
	fmt.Println(window.Session(30 * time.Minute))
	// Output: session gap 30m0s
}

func ExampleAssigner_PanesPerWindow() {
	w := window.Sliding(time.Hour, 7*time.Minute)
	fmt.Println(w.PanesPerWindow(), "of", w.PaneMillis())
	// Output: 60 of 60000
}

func ExampleOption() {
	opts := []window.Option{window.Offset(time.Hour), window.ProcessingTime()}
	fmt.Println(window.Tumbling(2*time.Hour, opts...))
	// Output: tumbling 2h0m0s offset 1h0m0s in processing time
}

func ExampleMillisOf() {
	fmt.Println(int64(window.MillisOf(time.Unix(0, -1)))) // the past, not zero
	// Output: -1
}

func ExampleWindow_Overlaps() {
	a, b := window.Window{Start: 0, End: 10}, window.Window{Start: 10, End: 20}
	fmt.Println(a.Overlaps(b), a.Overlaps(window.Window{Start: 9, End: 19}))
	// Output: false true
}

func ExampleWindow_Cover() {
	c := window.Window{Start: 0, End: 10}.Cover(window.Window{Start: 9, End: 19})
	fmt.Println(int64(c.Start), int64(c.End))
	// Output: 0 19
}

func ExampleWindow_Last() {
	fmt.Println(window.EndOfStream().Pane(0).Last() == window.MaxMillis)
	// Output: true
}
