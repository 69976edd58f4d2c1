package watermark

import "time"

// Custom is a watermark generator of the user's own. One is made for each split;
// the task loop alone calls it.
type Custom interface {
	// Observe sees the event time of each record, milliseconds since 1970.
	Observe(timestampMillis int64)
	// Watermark returns how far time has come, [None] if that is not known yet.
	// An answer less than an earlier one is ignored.
	Watermark() int64
}

// Strategy says how the watermark of a split comes from its records. The zero
// value expects ascending event times.
type Strategy struct {
	// Bound is how far a record may lie behind the newest one of its split and
	// still be on time, rounded up to milliseconds. Zero expects ascending times;
	// equal ones are in order.
	Bound time.Duration
	// New, if set, makes the generator of a split, and Bound is not used.
	New func() Custom
	// IdleAfter is how long a split must be polled and found empty to count as
	// idle. Zero: never.
	IdleAfter time.Duration
	// AllIdle is what time does when all splits of the subtask are idle.
	AllIdle Policy
}

// Ascending expects the event times of each split to ascend.
func Ascending() Strategy { return Strategy{} }

// BoundedOutOfOrderness expects a record to lie at most bound behind the newest
// one of its split. The watermark is the newest event time less bound less one
// millisecond, because records with the same time as the newest may follow.
func BoundedOutOfOrderness(bound time.Duration) Strategy { return Strategy{Bound: bound} }

// CustomGenerator uses the user's own generator.
func CustomGenerator(newGenerator func() Custom) Strategy { return Strategy{New: newGenerator} }

func (s Strategy) boundMillis() int64 {
	return int64((max(s.Bound, 0) + time.Millisecond - 1) / time.Millisecond)
}

// Generator is the built-in generator of one split: the newest event time seen,
// less a bound. Use [Splits] unless there is only one split and no idleness.
type Generator struct {
	newest int64
	lag    int64 // bound + 1
}

// NewGenerator makes a generator with a bound in milliseconds; zero expects
// ascending times.
func NewGenerator(boundMillis int64) Generator {
	return Generator{newest: None, lag: boundMillis + 1}
}

// Observe sees the event time of one record. A record without one is ignored,
// because its time is [None].
func (g *Generator) Observe(timestampMillis int64) { g.newest = max(g.newest, timestampMillis) }

// Watermark returns how far time has come, [None] before the first record.
func (g *Generator) Watermark() int64 {
	if g.newest < None+g.lag {
		return None
	}
	return g.newest - g.lag
}
