package stream

import (
	"math"
	"time"

	"github.com/cutwater-io/cutwater/internal/transform"
	"github.com/cutwater-io/cutwater/internal/watermark"
)

// Watermarks says how time is known from the records: when a record with a given
// event time has passed, how much older the following ones may be. Make one with
// [BoundedOutOfOrderness], [Ascending] or [CustomWatermarks]; the methods change
// it and return the changed value. The zero value is [Ascending].
//
// Behind a source time is kept per split, and the slowest split counts, so that
// one file or partition read faster than another makes no record late.
type Watermarks struct {
	c transform.Clocking
}

// BoundedOutOfOrderness expects a record to be at most bound older than the
// newest one of its split. Records that come later than that may be late for
// their windows. The larger the bound, the later windows fire.
func BoundedOutOfOrderness(bound time.Duration) Watermarks {
	return Watermarks{transform.Clocking{Strategy: watermark.BoundedOutOfOrderness(bound)}}
}

// Ascending expects the event times of each split never to fall; equal times are
// fine. It is BoundedOutOfOrderness(0).
func Ascending() Watermarks {
	return Watermarks{transform.Clocking{Strategy: watermark.Ascending()}}
}

// WatermarkGenerator is a rule of the user's own; see [CustomWatermarks]. One is made
// for each split and called by one goroutine. It is not part of checkpoints: after a
// restore a new one begins, and time goes on from where it was.
type WatermarkGenerator interface {
	// Observe sees the event time of each record, in milliseconds since 1970.
	Observe(timestampMillis int64)
	// Watermark returns how far time has come: no record as old as that is
	// expected any more. window.MinMillis means that it is not known yet. An
	// answer below an earlier one is ignored.
	Watermark() int64
}

// CustomWatermarks uses a rule of the user's own. newGenerator is called for each
// split, in the goroutine of its subtask.
func CustomWatermarks(newGenerator func() WatermarkGenerator) Watermarks {
	return Watermarks{transform.Clocking{Strategy: watermark.CustomGenerator(func() watermark.Custom { return newGenerator() })}}
}

// PerRecord advances time after every record instead of every 200 milliseconds.
// Then which records are late depends on the input alone, not on how fast it is
// read; it costs throughput.
func (w Watermarks) PerRecord() Watermarks {
	w.c.Every = -1
	return w
}

// Every sets the interval, by the wall clock, in which time advances. The default
// is 200 milliseconds, the least one millisecond.
func (w Watermarks) Every(d time.Duration) Watermarks {
	w.c.Every = max(d, time.Millisecond)
	return w
}

// IdleAfter lets time go on without a split that was looked at and found empty
// for that long. Time during which the job could not read, because what is behind
// it had no room or much to fire, does not count. A record makes its split active
// again before it is passed on. Without IdleAfter, or with 0, a silent split holds
// back time for ever, also one that is assigned and not read yet.
func (w Watermarks) IdleAfter(d time.Duration) Watermarks {
	w.c.Strategy.IdleAfter = d
	return w
}

// WhenAllIdle says what happens when every split of a subtask is idle: by default
// time stays where it is; with advance it goes to the time of the most advanced
// split, so that its windows fire.
func (w Watermarks) WhenAllIdle(advance bool) Watermarks {
	w.c.Strategy.AllIdle = watermark.Keep
	if advance {
		w.c.Strategy.AllIdle = watermark.AdvanceToMax
	}
	return w
}

// EventTime gives each record its event time and starts time flowing. Put it as
// near to the source as possible: chained behind it, time is kept per split.
//
// Times are cut to milliseconds. Watermarks that come from before this operator are
// dropped, but for the end of time, with which every window fires when the input has
// ended. How far each split has come is in every checkpoint: after a restore time
// goes on from there and never back.
//
// timestamp is called once for each record. A time that is nonsense (far in the
// future) moves watermarks like any other, so filter such records before.
func (s Stream[T]) EventTime(timestamp func(T) time.Time, w Watermarks, opts ...Option) Stream[T] {
	n, out := then[T, T](s, "event-time", opts)
	n.factory.Build = transform.EventTime(func(v *T) int64 { return millisOf(timestamp(*v)) }, w.c)
	s.p.calls(n, timestamp)
	out.timed = true
	return out
}

// EventTimeMillis is EventTime for records that hold milliseconds since 1970, and
// for large records: the function gets a pointer, which it must not keep.
func (s Stream[T]) EventTimeMillis(timestamp func(*T) int64, w Watermarks, opts ...Option) Stream[T] {
	n, out := then[T, T](s, "event-time", opts)
	n.factory.Build = transform.EventTime(timestamp, w.c)
	s.p.calls(n, timestamp)
	out.timed = true
	return out
}

// SourceTime starts time flowing from the event times that the source gave its
// records: gen.Timed and nexmark do, files do not.
func (s Stream[T]) SourceTime(w Watermarks, opts ...Option) Stream[T] {
	n, out := then[T, T](s, "event-time", opts)
	n.factory.Build = transform.EventTime[T](nil, w.c)
	out.timed = true
	return out
}

// millisOf is t.UnixMilli for times that milliseconds can hold; others, more than
// 292 million years away, become the first or the last such time instead of
// wrapping round.
func millisOf(t time.Time) int64 {
	const last = math.MaxInt64 - 1 // MaxInt64 is the end of time
	switch sec := t.Unix(); {
	case sec >= last/1000:
		return last
	case sec <= -last/1000:
		return -last
	}
	return t.UnixMilli()
}
