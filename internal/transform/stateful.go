package transform

import (
	"fmt"

	"github.com/cutwater-io/cutwater/internal/backend/memory"
	"github.com/cutwater-io/cutwater/internal/batch"
	"github.com/cutwater-io/cutwater/internal/ident"
	"github.com/cutwater-io/cutwater/internal/operator"
	"github.com/cutwater-io/cutwater/internal/segment"
	"github.com/cutwater-io/cutwater/internal/watermark"
	"github.com/cutwater-io/cutwater/window"
)

const keyState = "state"

// Handler is the functions of a keyed operator.
type Handler[K comparable, S, T, U any] struct {
	// OnRecord is called for each record with the state of its key.
	OnRecord func(c *Ctx[K], s *S, v T, out *Emitter[U]) error
	// OnRecordRef is OnRecord for large records; one of both is set. *v may be
	// read during the call only.
	OnRecordRef func(c *Ctx[K], s *S, v *T, out *Emitter[U]) error
	// OnTimer is called for each timer that is due; nil for operators that set
	// none.
	OnTimer func(c *Ctx[K], s *S, t Timer, out *Emitter[U]) error
}

// Stateful makes the factory of an operator with a plain struct per key.
func Stateful[K comparable, S, T, U any](h Handler[K, S, T, U], kt *KeyType[K]) (func(*operator.Context) (operator.Operator, []any, error), error) {
	st, err := NewStateType[K, S](keyState, kt)
	if err != nil {
		return nil, err
	}
	var timers *StateType[K, KeyTimers]
	if h.OnTimer != nil {
		if timers, err = NewStateType[K, KeyTimers](timersState, kt); err != nil {
			return nil, err
		}
	}
	return func(ctx *operator.Context) (operator.Operator, []any, error) {
		op := &statefulOp[K, S, T, U]{ctx: ctx, h: h, st: st, out: newEmitter[U](ctx), slots: make([]*S, batch.Limit[T]())}
		op.c.ops = keyedTimers[K]{ctx: ctx, st: timers, now: watermark.None}
		op.firing = firing{task: ctx.Task, out: operator.Controls(ctx), due: op.reach, step: op.step}
		return op, []any{operator.KeyedIn[K, T]{Batch: op.batch, Control: op}}, nil
	}, nil
}

type statefulOp[K comparable, S, T, U any] struct {
	operator.Base
	ctx    *operator.Context
	h      Handler[K, S, T, U]
	st     *StateType[K, S]
	table  *memory.Table[K, S]
	out    *Emitter[U]
	c      Ctx[K]
	slots  []*S // scratch, one batch long
	firing firing
	// Wall clock: when the next alarm of the task is set, valid with alarmed; and
	// until when timers are due since one rang, valid with ringing.
	alarm, until     int64
	alarmed, ringing bool
}

func (o *statefulOp[K, S, T, U]) Open() error {
	now, err := restoreTime(o.ctx)
	if err != nil {
		return err
	}
	o.c.ops.now = now
	o.table = o.st.table(o.ctx, 0)
	err = o.st.restore(o.ctx, func(int64) *memory.Table[K, S] { return o.table })
	if err == nil {
		err = o.c.ops.open()
	}
	if err != nil {
		return fmt.Errorf("operator %q: %w", o.ctx.Name, err)
	}
	o.setAlarm()
	return nil
}

// batch resolves the keys of all records at once and then calls the user's
// function for each. A function that clears its state takes an entry out of the
// table, and one that sets a timer for the past makes OnTimer run, so the rest is
// resolved again.
func (o *statefulOp[K, S, T, U]) batch(b *batch.Batch[K, T], from, to int) {
	o.firing.finish()
	for from < to {
		n := to - from
		o.table.Resolve(b.K[from:to], b.H[from:to], o.slots[:n])
		i := 0
		for i < n {
			at := from + i
			o.c.key, o.c.ts, o.c.ops.hash = b.K[at], b.Ts[at], b.H[at]
			o.out.ts = b.Ts[at]
			var err error
			if o.h.OnRecordRef != nil {
				err = o.h.OnRecordRef(&o.c, o.slots[i], &b.V[at], o.out)
			} else {
				err = o.h.OnRecord(&o.c, o.slots[i], b.V[at], o.out)
			}
			if err != nil {
				o.ctx.Fail(keyText(&o.c.key), err)
			}
			i++
			if o.c.clear || o.c.ops.overdue {
				o.after(b.H[at])
				break
			}
		}
		from += i
	}
	o.setAlarm()
}

// after does what a call of the user's function has left to do.
func (o *statefulOp[K, S, T, U]) after(h uint64) {
	if o.c.clear {
		o.cleared(h)
	}
	for o.c.ops.overdue {
		o.c.ops.overdue = false
		for o.fireOne(byWatermark, o.c.ops.now) {
		}
	}
}

func (o *statefulOp[K, S, T, U]) cleared(h uint64) {
	o.c.clear = false
	o.table.Delete(&o.c.key, h)
}

// CurrentKey is the key of the user's call that is under way, for error messages.
func (o *statefulOp[K, S, T, U]) CurrentKey() string { return keyText(&o.c.key) }

// Watermark fires every timer that is due.
func (o *statefulOp[K, S, T, U]) Watermark(ts int64) { o.firing.watermark(ts) }

func (o *statefulOp[K, S, T, U]) Status(idle bool) { o.firing.idle(idle) }

// Resume goes on with a firing.
func (o *statefulOp[K, S, T, U]) Resume() bool { return o.firing.resume() }

// reach takes a watermark. Time comes first: a timer set by one of the timers that
// fire for a time that has passed is one of them.
func (o *statefulOp[K, S, T, U]) reach(ts int64) { o.c.ops.now = max(o.c.ops.now, ts) }

// step fires timers, those of event time first.
func (o *statefulOp[K, S, T, U]) step() bool {
	if o.h.OnTimer == nil {
		return true
	}
	for o.fireOne(byWatermark, o.c.ops.now) || o.ringing && o.fireOne(byWallClock, o.until) {
		if !o.firing.more() {
			return false
		}
	}
	o.c.ops.overdue = false
	o.ringing = false
	o.setAlarm()
	return true
}

// fireOne fires the first timer that is due; false: none is.
func (o *statefulOp[K, S, T, U]) fireOne(d domain, until int64) bool {
	k, h, at, ok := o.c.ops.due(d, until)
	if !ok {
		return false
	}
	s, _ := o.table.Upsert(&k, h)
	o.c.key, o.c.ts, o.c.ops.hash = k, at, h
	o.out.ts = at
	if err := o.h.OnTimer(&o.c, s, Timer{At: window.Millis(at), Processing: d == byWallClock}, o.out); err != nil {
		o.ctx.Fail(keyText(&o.c.key), err)
	}
	if o.c.clear {
		o.cleared(h)
	}
	return true
}

// setAlarm sets the task's timer for the first timer by the wall clock.
func (o *statefulOp[K, S, T, U]) setAlarm() {
	if o.h.OnTimer == nil || o.ringing {
		return
	}
	next, ok := o.c.ops.queues[byWallClock].Next()
	if !ok || o.alarmed && o.alarm <= next {
		return
	}
	o.alarmed, o.alarm = true, next
	o.ctx.Task.At(next, func() error {
		if o.alarmed && o.alarm == next {
			o.alarmed = false
			o.ringing, o.until = true, o.ctx.Task.NowMillis
			o.firing.start() // at its end it sets the next alarm
		}
		return nil
	})
}

// PrepareBarrier finishes a firing.
func (o *statefulOp[K, S, T, U]) PrepareBarrier(ident.CheckpointID) error {
	o.firing.finish()
	return nil
}

func (o *statefulOp[K, S, T, U]) Snapshot(_ ident.CheckpointID, s *operator.Snapshot) error {
	if o.table.Len() > 0 {
		s.AddKeyed(o.table.Snapshot(segment.StateID{Name: keyState}))
	}
	if t := o.c.ops.table; t != nil && t.Len() > 0 {
		s.AddKeyed(t.Snapshot(segment.StateID{Name: timersState}))
	}
	snapshotTime(o.ctx, s, o.c.ops.now)
	return nil
}

func (o *statefulOp[K, S, T, U]) Close() error {
	if o.table != nil {
		o.table.Close()
	}
	if o.c.ops.table != nil {
		o.c.ops.table.Close()
	}
	return nil
}
