package main

import (
	"time"

	"github.com/cutwater-io/cutwater/agg"
	"github.com/cutwater-io/cutwater/connector/gen"
	"github.com/cutwater-io/cutwater/stream"
	"github.com/cutwater-io/cutwater/window"
)

// How windows are kept: panes against a timer per key and window, and against one
// update per sliding window.

const (
	paneKeys    = 100_000
	paneRecords = 20_000_000 // ten windows: the first grows its table, and the job starts
)

func clickOfPane(e event) click { return click{User: below(e.Session, paneKeys), At: e.At} }

// timerState is the state of timerJob: the count of the window that is open.
type timerState struct{ Start, Count int64 }

// timerJob counts per user and second with a timer for each key and window. Time
// ascends, so a key has one window open at a time; the first record of the next
// one may come before the watermark that it leads to, and then closes the last.
func timerJob(n int, out *tally[window.Result[int64, int64]]) *stream.Pipeline {
	type emitter = stream.Emitter[window.Result[int64, int64]]
	emit := func(key int64, s *timerState, out *emitter) {
		w := window.Window{Start: window.Millis(s.Start), End: window.Millis(s.Start + windowMillis)}
		out.Emit(window.Result[int64, int64]{Key: key, Window: w, Value: s.Count})
		s.Count = 0
	}
	p := stream.New("bench-timers")
	p.From(gen.Into(uint64(n), makeEvent), stream.Name("events")).
		EventTimeMillis(eventTime, stream.Ascending().PerRecord()).
		Map(clickOfPane).
		KeyBy(userOf).
		Handle(stream.Handler[int64, timerState, click, window.Result[int64, int64]]{
			OnRecord: func(c *stream.Ctx[int64], s *timerState, v click, out *emitter) error {
				if s.Count > 0 && v.At >= s.Start+windowMillis {
					emit(c.Key(), s, out)
				}
				if s.Count == 0 {
					s.Start = v.At - (v.At-firstMillis)%windowMillis
					c.EventTimer(window.Millis(s.Start + windowMillis - 1))
				}
				s.Count++
				return nil
			},
			OnTimer: func(c *stream.Ctx[int64], s *timerState, t stream.Timer, out *emitter) error {
				if int64(t.At) == s.Start+windowMillis-1 {
					emit(c.Key(), s, out)
					c.Clear()
				}
				return nil
			},
		}, stream.Name("clicks")).
		To(out, stream.Name("tally"))
	return p
}

func tumblingContest() *contest {
	n := scaled(paneRecords)
	c := newCounter(paneKeys)
	return &contest{
		name: "TumblingPane",
		contestants: []contestant{
			{name: "loop", run: func() (int, uint64, error) { return floorWindow(n, paneKeys, c) }},
			{name: "panes", run: counting(n, clickOfPane, 1, 0)},
			{name: "timers", run: func() (int, uint64, error) {
				out := newCount()
				if err := execute(timerJob(n, out), 1, 0); err != nil {
					return 0, 0, err
				}
				_, sum := out.total()
				return n, sum, nil
			}},
		},
		rows: func(m measured) []row {
			return []row{
				versus(m, "TumblingPane", "panes", "loop", 1.5),
				versus(m, "TumblingPane to a timer per key", "panes", "timers", 0.15),
			}
		},
	}
}

const (
	slidingKeys     = 10_000
	slidingPerMilli = 200
	slidingSeconds  = 60
	slidingRecords  = 16_000_000
)

func makeSliding(i uint64, e *event) {
	e.Session = scramble(i)
	e.At = firstMillis + int64(i/slidingPerMilli)
	e.Amount = 1
}

func clickOfSliding(e event) click { return click{User: below(e.Session, slidingKeys), At: e.At} }

// slidingJob counts over 60 seconds, every second. With inverse false the count
// is an aggregate that cannot be taken out again.
func slidingJob(n int, inverse bool, out *tally[window.Result[int64, int64]]) *stream.Pipeline {
	p := stream.New("bench-sliding")
	w := p.From(gen.Into(uint64(n), makeSliding), stream.Name("events")).
		EventTimeMillis(eventTime, watermarks()).
		Map(clickOfSliding).
		KeyBy(userOf).
		Window(window.Sliding(slidingSeconds*time.Second, time.Second))
	if inverse {
		w.Count(stream.Name("clicks")).To(out, stream.Name("tally"))
		return p
	}
	a := agg.Count[click]()
	a.Sub = nil
	w.Aggregate(a, stream.Name("clicks")).To(out, stream.Name("tally"))
	return p
}

// naiveSliding updates each of the 60 windows of a record by hand: add counts a
// user in all that are open (as the number of windows that are open never changes,
// none needs to know which it is), drain emits and empties the one that ends at
// second end.
func naiveSliding(n int, add func(user int64), drain func(end int64, e *emitter)) (int, uint64, error) {
	e := newEmitter()
	fire := func(end int64) {
		e.end = end * 1000
		e.r.Window = window.Window{Start: window.Millis((end - slidingSeconds) * 1000), End: window.Millis(end * 1000)}
		drain(end, e)
	}
	second := int64(firstMillis / 1000)
	var v event
	for i := range uint64(n) {
		makeSliding(i, &v)
		k := clickOfSliding(v)
		for k.At/1000 > second {
			second++
			fire(second)
		}
		add(k.User)
	}
	for range slidingSeconds {
		second++
		fire(second)
	}
	return n, e.w.checksum, nil
}

// slidingTables does it with a table of open addressing for each open window.
func slidingTables(n int) (int, uint64, error) {
	var open [slidingSeconds]*counter
	for i := range open {
		open[i] = newCounter(slidingKeys)
	}
	return naiveSliding(n,
		func(user int64) {
			for _, c := range open {
				c.add(user)
			}
		},
		func(end int64, e *emitter) { open[end%slidingSeconds].drain(e) })
}

// slidingArrays does it with arrays indexed by user, which only a program can
// have that knows how many users there are. It is a record, not the rival.
func slidingArrays(n int) (int, uint64, error) {
	open := new([slidingSeconds][slidingKeys]int32)
	return naiveSliding(n,
		func(user int64) {
			for i := range open {
				open[i][user]++
			}
		},
		func(end int64, e *emitter) {
			counts := &open[end%slidingSeconds]
			for k, c := range counts {
				if c != 0 {
					e.emit(int64(k), int64(c))
				}
			}
			clear(counts[:])
		})
}

func slidingContest() *contest {
	n := scaled(slidingRecords)
	job := func(inverse bool) func() (int, uint64, error) {
		return func() (int, uint64, error) {
			out := newCount()
			if err := execute(slidingJob(n, inverse, out), 1, 0); err != nil {
				return 0, 0, err
			}
			_, sum := out.total()
			return n, sum, nil
		}
	}
	return &contest{
		name: "Sliding60",
		contestants: []contestant{
			{name: "job", run: job(true)},
			{name: "job without inverse", run: job(false)},
			{name: "one update per window", run: func() (int, uint64, error) { return slidingTables(n) }},
			{name: "arrays", run: func() (int, uint64, error) { return slidingArrays(n) }},
		},
		rows: func(m measured) []row {
			return []row{
				versus(m, "Sliding60", "job", "one update per window", 0.05),
				versus(m, "Sliding60 without inverse", "job without inverse", "one update per window", 0.05),
				versus(m, "Sliding60 to arrays by user", "job", "arrays", 0),
			}
		},
	}
}
