package window

import (
	"errors"
	"fmt"
	"time"
)

// Kind is the family of an assigner.
type Kind int

const (
	// KindNone is the kind of the zero Assigner, which is not valid.
	KindNone Kind = iota
	// KindTumbling windows follow each other without gap or overlap.
	KindTumbling
	// KindSliding windows start at every slide and may overlap or leave gaps.
	KindSliding
	// KindSession windows grow, per key, as long as records keep coming.
	KindSession
	// KindEndOfStream is one window that holds everything.
	KindEndOfStream
)

// String returns the kind in lower case.
func (k Kind) String() string {
	names := [...]string{"none", "tumbling", "sliding", "session", "end of stream"}
	if k < 0 || int(k) >= len(names) {
		return fmt.Sprintf("Kind(%d)", int(k))
	}
	return names[k]
}

// Assigner says to which windows a record belongs. Make one with [Tumbling],
// [Sliding], [Session] or [EndOfStream]; the zero value is not valid. The fields
// are for the engine and for tools; they are zero where they do not apply.
type Assigner struct {
	// Kind is the family.
	Kind Kind
	// SizeMillis is the length of a window (tumbling, sliding).
	SizeMillis int64
	// SlideMillis is the distance between window starts; equal to SizeMillis
	// for tumbling windows.
	SlideMillis int64
	// GapMillis is the silence that ends a session.
	GapMillis int64
	// OffsetMillis moves all starts. It is normalised: 0 <= OffsetMillis <
	// SlideMillis, so two spellings of the same windows are equal.
	OffsetMillis int64
	// Processing says that time is the wall clock of the operator. Such
	// results depend on when the job runs.
	Processing bool

	// err is the first thing that was wrong with the arguments.
	err error
}

// Option changes an assigner; see [Offset] and [ProcessingTime].
type Option func(*Assigner)

// Offset moves the starts of all windows by d, which may be negative: with a
// size of one day, Offset(-8*time.Hour) gives days of UTC+8. Whole slides make
// no difference.
func Offset(d time.Duration) Option {
	return func(a *Assigner) {
		if a.Kind == KindSession {
			a.fail(errors.New("window: session windows start at their first record, so Offset has no meaning; leave it out"))
			return
		}
		// Kept as given: finish normalises it, once the slide is known to be valid.
		a.OffsetMillis = a.millis("offset", d)
	}
}

// ProcessingTime makes the windows follow the wall clock of the operator instead
// of event time. Watermarks then play no part, nothing is late, and a second run
// over the same input may give another answer.
func ProcessingTime() Option {
	return func(a *Assigner) { a.Processing = true }
}

// Tumbling returns windows of the given size that follow each other: each record
// is in exactly one. size is at least 1ms and whole milliseconds.
func Tumbling(size time.Duration, opts ...Option) Assigner {
	a := Assigner{Kind: KindTumbling}
	a.SizeMillis = a.positive("size", size)
	a.SlideMillis = a.SizeMillis
	return a.finish(opts)
}

// Sliding returns windows of the given size that start at every slide: each
// record is in size/slide of them. A slide that does not divide the size is
// allowed; work is then shared in panes of their greatest common divisor, so
// 1h every 7m works in panes of one minute. A slide larger than the size leaves
// gaps: records there belong to no window.
func Sliding(size, slide time.Duration, opts ...Option) Assigner {
	a := Assigner{Kind: KindSliding}
	a.SizeMillis = a.positive("size", size)
	a.SlideMillis = a.positive("slide", slide)
	return a.finish(opts)
}

// Session returns windows that end, per key, when no record came for gap. A
// record exactly gap after the last one begins a new session.
func Session(gap time.Duration, opts ...Option) Assigner {
	a := Assigner{Kind: KindSession}
	a.GapMillis = a.positive("gap", gap)
	return a.finish(opts)
}

// EndOfStream returns one window that holds everything and fires when the input
// ends. With endless input it never fires.
func EndOfStream() Assigner { return Assigner{Kind: KindEndOfStream} }

// Validate returns what is wrong with the assigner in one sentence, or nil. No
// other method may be relied on before it returned nil.
func (a Assigner) Validate() error {
	if a.err != nil {
		return a.err
	}
	switch {
	case a.Kind == KindNone:
		return errors.New("window: no windows were given; use window.Tumbling, Sliding, Session or EndOfStream")
	case a.Kind == KindTumbling && a.SlideMillis != a.SizeMillis:
		return fmt.Errorf("window: tumbling windows of %dms cannot slide by %dms; use window.Sliding", a.SizeMillis, a.SlideMillis)
	case (a.Kind == KindTumbling || a.Kind == KindSliding) && (a.SizeMillis <= 0 || a.SlideMillis <= 0):
		return fmt.Errorf("window: %s windows need a positive size and slide, got %dms and %dms", a.Kind, a.SizeMillis, a.SlideMillis)
	case a.Kind == KindSession && a.GapMillis <= 0:
		return fmt.Errorf("window: session windows need a positive gap, got %dms", a.GapMillis)
	case a.Kind < KindNone || a.Kind > KindEndOfStream:
		return fmt.Errorf("window: unknown kind of windows %d; use window.Tumbling, Sliding, Session or EndOfStream", int(a.Kind))
	}
	return nil
}

// String returns the assigner as a reader would say it. Equal windows have equal
// strings, so it may stand in the fingerprint of a job.
func (a Assigner) String() string {
	var s string
	switch a.Kind {
	case KindTumbling:
		s = "tumbling " + show(a.SizeMillis)
	case KindSliding:
		s = "sliding " + show(a.SizeMillis) + " every " + show(a.SlideMillis)
	case KindSession:
		s = "session gap " + show(a.GapMillis)
	default:
		s = a.Kind.String()
	}
	if a.OffsetMillis != 0 {
		s += " offset " + show(a.OffsetMillis)
	}
	if a.Processing {
		s += " in processing time"
	}
	return s
}

func show(millis int64) string { return (time.Duration(millis) * time.Millisecond).String() }

// finish applies the options and normalises the offset.
func (a Assigner) finish(opts []Option) Assigner {
	for _, o := range opts {
		o(&a)
	}
	if a.err == nil && a.SlideMillis > 0 {
		a.OffsetMillis = floorMod(a.OffsetMillis, a.SlideMillis)
	}
	return a
}

// fail keeps the first error: later ones are often its consequence.
func (a *Assigner) fail(err error) {
	if a.err == nil {
		a.err = err
	}
}

// positive converts a length and refuses zero, negative ones and fractions.
func (a *Assigner) positive(what string, d time.Duration) int64 {
	if d <= 0 {
		a.fail(fmt.Errorf("window: %s windows with a %s of %s are empty; give a %s of at least 1ms", a.Kind, what, d, what))
		return 0
	}
	return a.millis(what, d)
}

// millis converts a duration and refuses fractions of a millisecond: to round
// them silently would shift every window.
func (a *Assigner) millis(what string, d time.Duration) int64 {
	if d%time.Millisecond != 0 {
		a.fail(fmt.Errorf("window: the %s %s of %s windows is not a whole number of milliseconds, the unit of event time; round it", what, d, a.Kind))
		return 0
	}
	return d.Milliseconds()
}
