package window

import (
	"fmt"
	"math"
	"time"
)

// Millis is a point in event time: milliseconds since 1970-01-01 00:00 UTC,
// negative before. Zero is 1970, not "none".
type Millis int64

const (
	// MinMillis is the beginning of time: nothing is older.
	MinMillis Millis = math.MinInt64
	// MaxMillis is the end of time: a watermark of MaxMillis says that the input
	// has ended.
	MaxMillis Millis = math.MaxInt64
)

// MillisOf returns t as event time. Fractions of a millisecond are cut towards
// the past, so that equal milliseconds stay equal on both sides of 1970.
func MillisOf(t time.Time) Millis { return Millis(t.UnixMilli()) }

// Time returns the point in time as time.Time in UTC.
func (m Millis) Time() time.Time { return time.UnixMilli(int64(m)).UTC() }

// String returns the time in RFC 3339 form with milliseconds, and the bare
// number where the year has not four digits.
func (m Millis) String() string {
	switch m {
	case MinMillis:
		return "beginning of time"
	case MaxMillis:
		return "end of time"
	}
	// Years 0 to 9999 only: elsewhere time.Format writes what nobody can parse.
	if t := m.Time(); m > -62_167_219_200_001 && m < 253_402_300_800_000 {
		return t.Format("2006-01-02T15:04:05.000Z")
	}
	return fmt.Sprintf("%dms", int64(m))
}

// Add returns m moved by d milliseconds. It saturates at [MinMillis] and
// [MaxMillis] instead of wrapping round.
func (m Millis) Add(dMillis int64) Millis {
	s := m + Millis(dMillis)
	if dMillis > 0 && s < m {
		return MaxMillis
	}
	if dMillis < 0 && s > m {
		return MinMillis
	}
	return s
}

// Window is a stretch of event time with its Start and without its End.
//
// Times saturate, so near the ends of time two sliding windows can share their
// Start or their End, but never both: compare windows whole.
type Window struct {
	Start, End Millis
}

// String returns the window as [start, end).
func (w Window) String() string { return fmt.Sprintf("[%s, %s)", w.Start, w.End) }

// Last returns the last millisecond of the window: the event time of its
// results. The window is complete when the watermark has reached Last. A window
// that reaches to [MaxMillis] includes it, because nothing comes after.
func (w Window) Last() Millis {
	if w.End == MaxMillis {
		return MaxMillis
	}
	return w.End - 1
}

// Contains reports whether a record of time t belongs to the window.
func (w Window) Contains(t Millis) bool { return w.Start <= t && t <= w.Last() }

// Overlaps reports whether a millisecond belongs to both windows. Sessions that
// overlap are one session; sessions that only touch (a record exactly one gap
// after the last) stay two.
func (w Window) Overlaps(v Window) bool { return w.Start <= v.Last() && v.Start <= w.Last() }

// Cover returns the smallest window that contains both: the session that two
// overlapping sessions become.
func (w Window) Cover(v Window) Window {
	return Window{Start: min(w.Start, v.Start), End: max(w.End, v.End)}
}

// Result is what a window computed for one key. Its event time is the last
// millisecond of the window, [Window.Last].
type Result[K, V any] struct {
	// Key is the key whose records these were.
	Key K
	// Window is the window they were in; for sessions, from the first record to
	// the gap after the last.
	Window Window
	// Value is the result of the aggregate.
	Value V
}
