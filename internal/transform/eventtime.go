package transform

import (
	"encoding/binary"
	"time"

	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/internal/ident"
	"github.com/cutwater-io/cutwater/internal/manifest"
	"github.com/cutwater-io/cutwater/internal/operator"
	"github.com/cutwater-io/cutwater/internal/watermark"
)

// Clocking says how an operator makes watermarks.
type Clocking struct {
	Strategy watermark.Strategy
	// Every is the interval of watermarks, by the wall clock; 0 is 200 ms,
	// negative a watermark after every record.
	Every time.Duration
}

const defaultWatermarkEvery = 200 * time.Millisecond

const (
	splitTimesState = "split-times"
	boundState      = "bound"
)

// EventTime makes an operator that gives records their event time and makes
// watermarks, per split when a source stands before it in its chain. timestamp
// returns milliseconds since 1970; nil keeps the time the source gave.
func EventTime[T any](timestamp func(*T) int64, c Clocking) func(*operator.Context) (operator.Operator, []any, error) {
	return func(ctx *operator.Context) (operator.Operator, []any, error) {
		out := operator.OutputOf[T](ctx, 0)
		op := &eventTime{ctx: ctx, clocking: c, control: out.Control, newest: watermark.None}
		op.restore()
		ctx.Task.Splits = append(ctx.Task.Splits, op)
		record := observeNewest(op, timestamp, out.Record)
		if c.Every < 0 || c.Strategy.New != nil {
			record = observeEach(op, timestamp, out.Record, c.Every < 0)
		}
		return op, []any{operator.In[T]{Control: eventTimeControl{op}, Record: record}}, nil
	}
}

// observeNewest is the input for watermarks by interval: only the newest time
// counts, so it alone is kept until somebody asks.
func observeNewest[T any](op *eventTime, timestamp func(*T) int64, next func(*T, int64)) func(*T, int64) {
	// Two closures that differ in a line: a branch less for each record.
	if timestamp == nil {
		return func(v *T, ts int64) {
			ts = max(ts, oldest)
			if op.idle {
				op.wake()
			}
			op.newest = max(op.newest, ts)
			next(v, ts)
		}
	}
	return func(v *T, _ int64) {
		ts := max(timestamp(v), oldest)
		if op.idle {
			op.wake()
		}
		op.newest = max(op.newest, ts)
		next(v, ts)
	}
}

// observeEach is the input for watermarks after every record, and for generators
// of the user, which see each time.
func observeEach[T any](op *eventTime, timestamp func(*T) int64, next func(*T, int64), advance bool) func(*T, int64) {
	return func(v *T, ts int64) {
		if timestamp != nil {
			ts = timestamp(v)
		}
		ts = max(ts, oldest)
		if op.idle {
			op.wake()
		}
		next(v, ts)
		op.splits.Observe(ts)
		if advance {
			op.advance()
		}
	}
}

// oldest is the oldest time there is: "none" has no meaning behind here.
const oldest = connector.NoTimestamp + 1

// eventTime is the part of the operator that does not depend on the record type.
type eventTime struct {
	operator.Base
	ctx      *operator.Context
	clocking Clocking
	control  operator.Control
	splits   *watermark.Splits
	restored map[string]watermark.SplitTime
	idle     bool
	ended    bool
	// newest is the newest time of the records of the current split that splits
	// has not been told of; None: there are none. settle tells it before anything
	// else that it is told or asked.
	newest int64
}

func (e *eventTime) settle() {
	if e.newest != watermark.None {
		e.splits.Observe(e.newest)
		e.newest = watermark.None
	}
}

func (e *eventTime) restore() {
	bounds := e.ctx.Restored.List(boundState)
	saved := make([]int64, 0, len(bounds))
	for _, b := range bounds {
		if len(b) == 8 {
			saved = append(saved, int64(binary.LittleEndian.Uint64(b)))
		}
	}
	e.splits = watermark.NewSplits(e.clocking.Strategy, watermark.RestoredBound(saved))
	e.restored = map[string]watermark.SplitTime{}
	for _, b := range e.ctx.Restored.List(splitTimesState) {
		if len(b) >= 9 {
			id := string(b[9:])
			e.restored[id] = watermark.SplitTime{ID: id, Watermark: int64(binary.LittleEndian.Uint64(b)), Idle: b[8] == 1}
		}
	}
}

func (e *eventTime) Open() error {
	if e.splits.Watermark() != watermark.None {
		e.control.Watermark(e.splits.Watermark())
	}
	if e.clocking.Every >= 0 {
		e.schedule()
	}
	return nil
}

// schedule sets the next watermark by interval.
func (e *eventTime) schedule() {
	every := e.clocking.Every
	if every == 0 {
		every = defaultWatermarkEvery
	}
	e.ctx.Task.At(e.ctx.Task.NowMillis+max(1, every.Milliseconds()), func() error {
		if !e.ended {
			e.advance()
			e.schedule()
		}
		return nil
	})
}

// advance sends what is new: first time, then idleness.
func (e *eventTime) advance() {
	e.settle()
	if wm, ok := e.splits.Advance(); ok {
		e.control.Watermark(wm)
	}
	if idle := e.splits.Idle(); idle != e.idle {
		e.idle = idle
		e.control.Status(idle)
	}
}

// wake makes the channel active again before the record that ended the idleness.
func (e *eventTime) wake() {
	e.idle = false
	e.control.Status(false)
}

func (e *eventTime) AddSplit(id string) {
	e.settle()
	t, ok := e.restored[id]
	if !ok {
		t = watermark.SplitTime{ID: id, Watermark: watermark.None}
	}
	e.splits.AddSplit(t)
}

func (e *eventTime) StartSplit(id string) {
	e.settle()
	e.splits.StartSplit(id)
}

func (e *eventTime) EmptySplit(id string) {
	e.settle()
	e.splits.EmptySplit(id, time.Duration(e.ctx.Task.NowNanos))
}

func (e *eventTime) FinishSplit(id string) {
	e.settle()
	e.splits.FinishSplit(id)
}

func (e *eventTime) Held(held bool) {
	e.settle()
	if now := time.Duration(e.ctx.Task.NowNanos); held {
		e.splits.Pause(now)
	} else {
		e.splits.Resume(now)
	}
}

func (e *eventTime) Snapshot(_ ident.CheckpointID, s *operator.Snapshot) error {
	e.settle()
	var times [][]byte
	for _, t := range e.splits.Snapshot(nil) {
		b := binary.LittleEndian.AppendUint64(nil, uint64(t.Watermark))
		idle := byte(0)
		if t.Idle {
			idle = 1
		}
		times = append(times, append(append(b, idle), t.ID...))
	}
	s.AddList(splitTimesState, manifest.Union, times)
	s.AddList(boundState, manifest.Union, [][]byte{binary.LittleEndian.AppendUint64(nil, uint64(e.splits.Watermark()))})
	return nil
}

// eventTimeControl takes what comes from upstream: only the end of time passes,
// everything else about time is decided here.
type eventTimeControl struct{ e *eventTime }

func (c eventTimeControl) Watermark(ts int64) {
	if ts == watermark.EndOfTime {
		c.e.ended = true
		c.e.control.Watermark(ts)
	}
}

func (c eventTimeControl) Status(bool) {}
