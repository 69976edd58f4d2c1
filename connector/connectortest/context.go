package connectortest

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/cutwater-io/cutwater/connector"
)

// NewEnv is a world for one connector under test: the given files, a clock that
// only the test moves, numbers that are the same in every run, no log.
func NewEnv(files connector.Files) connector.Env {
	var mu sync.Mutex
	next := uint64(0)
	return connector.Env{
		Clock: NewClock(), Files: files, Log: slog.New(slog.DiscardHandler),
		Random: func() uint64 {
			mu.Lock()
			defer mu.Unlock()
			next++
			return next * 0x9e3779b97f4a7c15 // odd: all values differ
		},
	}
}

// Clock is a clock that stands still until Advance. The zero value shows
// 2026-01-01. It may be used from any goroutine.
type Clock struct {
	mu     sync.Mutex
	passed time.Duration
	alarms []alarm
}

type alarm struct {
	at   time.Duration
	ring chan time.Time
}

// NewClock makes a clock.
func NewClock() *Clock { return &Clock{} }

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Now implements [connector.Clock].
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return epoch.Add(c.passed)
}

// After implements [connector.Clock].
func (c *Clock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	ring := make(chan time.Time, 1)
	c.alarms = append(c.alarms, alarm{c.passed + d, ring})
	c.ringLocked()
	return ring
}

// Advance moves the clock forward.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.passed += d
	c.ringLocked()
}

func (c *Clock) ringLocked() {
	rest := c.alarms[:0]
	for _, a := range c.alarms {
		if a.at <= c.passed {
			a.ring <- epoch.Add(c.passed) // has room for one
		} else {
			rest = append(rest, a)
		}
	}
	c.alarms = rest
}

// WriterContext is a [connector.WriterContext] of plain values.
type WriterContext struct {
	World             connector.Env
	JobID, OperatorID string
	Index, Count      int // subtask and parallelism
	AttemptNumber     uint64
	From              uint64 // the checkpoint restored from
}

// Env implements [connector.WriterContext].
func (c WriterContext) Env() connector.Env { return c.World }

// Job implements [connector.WriterContext].
func (c WriterContext) Job() string { return c.JobID }

// Operator implements [connector.WriterContext].
func (c WriterContext) Operator() string { return c.OperatorID }

// Subtask implements [connector.WriterContext].
func (c WriterContext) Subtask() int { return c.Index }

// Parallelism implements [connector.WriterContext].
func (c WriterContext) Parallelism() int { return c.Count }

// Attempt implements [connector.WriterContext].
func (c WriterContext) Attempt() uint64 { return c.AttemptNumber }

// RestoredFrom implements [connector.WriterContext].
func (c WriterContext) RestoredFrom() uint64 { return c.From }

// A WriterContext knows all that a committer is made with, too.
var (
	_ connector.WriterContext    = WriterContext{}
	_ connector.CommitterContext = WriterContext{}
)

// ReaderContext is a [connector.ReaderContext] that records what the reader
// does with it.
type ReaderContext struct {
	World        connector.Env
	Index, Count int
	Requests     int      // calls of RequestSplit
	Events       [][]byte // sent to the enumerator
	Wakes        int
	Bad          []connector.BadRecord
	// NoDeadLetter makes BadRecord return an error.
	NoDeadLetter bool
	// Request and Event, if set, are called besides.
	Request func()
	Event   func(event []byte)
	mu      sync.Mutex // guards Wakes
}

var _ connector.ReaderContext = (*ReaderContext)(nil)

// Env implements [connector.ReaderContext].
func (c *ReaderContext) Env() connector.Env { return c.World }

// Subtask implements [connector.ReaderContext].
func (c *ReaderContext) Subtask() int { return c.Index }

// Parallelism implements [connector.ReaderContext].
func (c *ReaderContext) Parallelism() int { return max(c.Count, 1) }

// RequestSplit implements [connector.ReaderContext].
func (c *ReaderContext) RequestSplit() {
	c.Requests++
	if c.Request != nil {
		c.Request()
	}
}

// Send implements [connector.ReaderContext].
func (c *ReaderContext) Send(event []byte) {
	c.Events = append(c.Events, event)
	if c.Event != nil {
		c.Event(event)
	}
}

// Wake implements [connector.ReaderContext].
func (c *ReaderContext) Wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Wakes++
}

// ErrBadRecord is what BadRecord returns without a dead letter output.
var ErrBadRecord = errors.New("bad record and no dead-letter output")

// BadRecord implements [connector.ReaderContext]: it keeps the record in Bad.
func (c *ReaderContext) BadRecord(r connector.BadRecord) error {
	if c.NoDeadLetter {
		return ErrBadRecord
	}
	c.Bad = append(c.Bad, r)
	return nil
}
