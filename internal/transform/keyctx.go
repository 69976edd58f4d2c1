package transform

import (
	"slices"

	"github.com/cutwater-io/cutwater/internal/backend/memory"
	"github.com/cutwater-io/cutwater/internal/operator"
	"github.com/cutwater-io/cutwater/internal/timer"
	"github.com/cutwater-io/cutwater/window"
)

// Ctx is what a keyed function may ask and do beside its state and its output. It
// is valid during the call only.
type Ctx[K comparable] struct {
	key   K
	ts    int64
	clear bool
	ops   keyedTimers[K]
}

// Key returns the key of the record or timer being processed.
func (c *Ctx[K]) Key() K { return c.key }

// Time returns the event time of the record being processed, or the time of the
// timer.
func (c *Ctx[K]) Time() window.Millis { return window.Millis(c.ts) }

// Watermark returns how far event time has come: no record as old as that is
// expected any more. It is window.MinMillis while that is not known. While the
// timers of a watermark fire it is that watermark for all of them.
func (c *Ctx[K]) Watermark() window.Millis { return window.Millis(c.ops.now) }

// Clear forgets the key's state when the call returns: it becomes the zero value,
// and takes no memory until the key comes again. The key's timers stay; when one
// fires the key comes again.
func (c *Ctx[K]) Clear() { c.clear = true }

// EventTimer asks for a call of OnTimer for this key when the watermark has
// reached at; when it has already, right after this call. Asking twice for the
// same time is asking once. Timers fire in the order of their times over all keys
// of a subtask. Only functions of Handle have timers.
//
// At the end of the input the watermark is window.MaxMillis and every timer fires.
// A function that sets the next timer each time one fires must stop then, or it
// will go on for ever.
func (c *Ctx[K]) EventTimer(at window.Millis) { c.ops.set(c, byWatermark, int64(at)) }

// ProcessingTimer is EventTimer by the wall clock. A timer whose time passes
// while the job is down fires when it is up again. At the end of the input timers
// that are not due are dropped.
func (c *Ctx[K]) ProcessingTimer(at window.Millis) { c.ops.set(c, byWallClock, int64(at)) }

// DeleteEventTimer takes back a timer of this key. There need not be one.
func (c *Ctx[K]) DeleteEventTimer(at window.Millis) { c.ops.unset(c, byWatermark, int64(at)) }

// DeleteProcessingTimer takes back a timer of this key.
func (c *Ctx[K]) DeleteProcessingTimer(at window.Millis) { c.ops.unset(c, byWallClock, int64(at)) }

// Now returns the wall-clock time, as coarse as a batch of records.
func (c *Ctx[K]) Now() window.Millis { return window.Millis(c.ops.ctx.Task.NowMillis) }

// Timer tells OnTimer which timer fired.
type Timer struct {
	// At is the time it was set for.
	At window.Millis
	// Processing says that it was set by the wall clock.
	Processing bool
}

type domain uint8

const (
	byWatermark domain = iota
	byWallClock
)

const timersState = "timers"

// KeyTimers are the timers of one key: ascending times, by domain. Queued is the
// time of the key's one entry in the queue of each domain.
type KeyTimers struct {
	Event, Processing             []int64
	EventQueued, ProcessingQueued Deadline
}

// Deadline is a time, or none.
type Deadline struct {
	Set bool
	At  int64
}

func (t *KeyTimers) of(d domain) (*[]int64, *Deadline) {
	if d == byWatermark {
		return &t.Event, &t.EventQueued
	}
	return &t.Processing, &t.ProcessingQueued
}

// keyedTimers are the timers of an operator instance. table is nil for operators
// without.
type keyedTimers[K comparable] struct {
	ctx    *operator.Context
	st     *StateType[K, KeyTimers]
	table  *memory.Table[K, KeyTimers]
	queues [2]timer.Queue[K]
	now    int64 // watermark
	hash   uint64
	// overdue: a timer was set for a time that the watermark has passed.
	overdue bool
}

func (t *keyedTimers[K]) open() error {
	if t.st == nil {
		return nil
	}
	t.table = t.st.table(t.ctx, 0)
	if err := t.st.restore(t.ctx, func(int64) *memory.Table[K, KeyTimers] { return t.table }); err != nil {
		return err
	}
	t.table.Scan(memory.Cursor{}, func(k *K, kt *KeyTimers) bool {
		for _, d := range []domain{byWatermark, byWallClock} {
			if _, q := kt.of(d); q.Set {
				t.queues[d].Add(q.At, *k, t.st.key.hasher.Hash(k))
			}
		}
		return true
	})
	return nil
}

func (t *keyedTimers[K]) set(c *Ctx[K], d domain, at int64) {
	if t.table == nil {
		panic("timers: only functions of Handle have timers; Stateful has none")
	}
	kt, _ := t.table.Upsert(&c.key, t.hash)
	times, queued := kt.of(d)
	i, found := slices.BinarySearch(*times, at)
	if found {
		return
	}
	*times = slices.Insert(*times, i, at)
	t.overdue = t.overdue || d == byWatermark && at <= t.now
	if !queued.Set || at < queued.At {
		*queued = Deadline{true, at}
		t.queues[d].Add(at, c.key, t.hash)
	}
}

func (t *keyedTimers[K]) unset(c *Ctx[K], d domain, at int64) {
	if t.table == nil || t.table.Get(&c.key, t.hash) == nil {
		return
	}
	kt, _ := t.table.Upsert(&c.key, t.hash)
	times, _ := kt.of(d)
	if i, found := slices.BinarySearch(*times, at); found {
		*times = slices.Delete(*times, i, i+1)
		t.forget(c.key, kt)
	}
}

// forget drops a key without timers. Its entries in the queues are out of date
// and are ignored.
func (t *keyedTimers[K]) forget(k K, kt *KeyTimers) {
	if len(kt.Event)+len(kt.Processing) == 0 {
		t.table.Delete(&k, t.hash)
	}
}

// due takes the first timer that is due at until out of the state; ok is false
// when none is. Timers come in the order of their times over all keys.
func (t *keyedTimers[K]) due(d domain, until int64) (k K, hash uint64, at int64, ok bool) {
	for {
		at, k, hash, ok := t.queues[d].Pop(until)
		if !ok {
			return k, 0, 0, false
		}
		kt := t.table.Get(&k, hash)
		if kt == nil {
			continue
		}
		if _, q := kt.of(d); !q.Set || q.At != at {
			continue
		}
		t.hash = hash
		kt, _ = t.table.Upsert(&k, hash)
		times, queued := kt.of(d)
		*queued = Deadline{}
		fires := len(*times) > 0 && (*times)[0] == at
		if fires {
			*times = slices.Delete(*times, 0, 1)
		}
		if len(*times) > 0 {
			*queued = Deadline{true, (*times)[0]}
			t.queues[d].Add((*times)[0], k, hash)
		}
		t.forget(k, kt)
		if fires {
			return k, hash, at, true
		}
	}
}
