package transform

import (
	"encoding/binary"
	"fmt"

	"github.com/cutwater-io/cutwater/internal/backend/memory"
	"github.com/cutwater-io/cutwater/internal/batch"
	"github.com/cutwater-io/cutwater/internal/ident"
	"github.com/cutwater-io/cutwater/internal/manifest"
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
		return op, []any{operator.KeyedIn[K, T]{Batch: op.batch, Control: op}}, nil
	}, nil
}

type statefulOp[K comparable, S, T, U any] struct {
	operator.Base
	ctx   *operator.Context
	h     Handler[K, S, T, U]
	st    *StateType[K, S]
	table *memory.Table[K, S]
	out   *Emitter[U]
	c     Ctx[K]
	slots []*S // scratch, one batch long
	alarm int64
}

func (o *statefulOp[K, S, T, U]) Open() error {
	o.table = o.st.table(o.ctx, 0)
	for _, b := range o.ctx.Restored.List(windowTime) {
		if len(b) != 8 {
			return fmt.Errorf("operator %q: restore: its time has %d bytes", o.ctx.Name, len(b))
		}
		if ts := int64(binary.LittleEndian.Uint64(b)); o.c.ops.now == watermark.None || ts < o.c.ops.now {
			o.c.ops.now = ts
		}
	}
	err := o.st.restore(o.ctx, func(int64) *memory.Table[K, S] { return o.table })
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
// table, so the rest is resolved again.
func (o *statefulOp[K, S, T, U]) batch(b *batch.Batch[K, T], from, to int) {
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
			if o.c.clear {
				o.cleared(b.H[at])
				break
			}
		}
		from += i
	}
	o.setAlarm()
}

func (o *statefulOp[K, S, T, U]) cleared(h uint64) {
	o.c.clear = false
	o.table.Delete(&o.c.key, h)
}

// CurrentKey is the key of the user's call that is under way, for error messages.
func (o *statefulOp[K, S, T, U]) CurrentKey() string { return keyText(&o.c.key) }

func (o *statefulOp[K, S, T, U]) Watermark(ts int64) {
	if ts > o.c.ops.now {
		// Time first: a timer set meanwhile for a time that has passed is due
		// at once.
		o.c.ops.now = ts
		o.fire(byWatermark, ts)
	}
	o.out.out.Watermark(ts)
}

func (o *statefulOp[K, S, T, U]) Status(idle bool) { o.out.out.Status(idle) }

func (o *statefulOp[K, S, T, U]) fire(d domain, until int64) {
	if o.h.OnTimer == nil {
		return
	}
	for {
		k, h, at, ok := o.c.ops.due(d, until)
		if !ok {
			return
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
	}
}

// setAlarm sets the task's timer for the first processing-time timer.
func (o *statefulOp[K, S, T, U]) setAlarm() {
	if o.h.OnTimer == nil {
		return
	}
	next, ok := o.c.ops.queues[byWallClock].Next()
	if !ok || o.alarm != 0 && o.alarm <= next {
		return
	}
	o.alarm = next
	o.ctx.Task.At(next, func() error {
		if o.alarm == next {
			o.alarm = 0
			o.fire(byWallClock, o.ctx.Task.NowMillis)
			o.setAlarm()
		}
		return nil
	})
}

func (o *statefulOp[K, S, T, U]) Snapshot(_ ident.CheckpointID, s *operator.Snapshot) error {
	if o.table.Len() > 0 {
		s.AddKeyed(o.table.Snapshot(segment.StateID{Name: keyState}))
	}
	if t := o.c.ops.table; t != nil && t.Len() > 0 {
		s.AddKeyed(t.Snapshot(segment.StateID{Name: timersState}))
	}
	s.AddList(windowTime, manifest.Union, [][]byte{binary.LittleEndian.AppendUint64(nil, uint64(o.c.ops.now))})
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
