package transform

import (
	"fmt"
	"slices"

	"github.com/cutwater-io/cutwater/internal/backend/memory"
	"github.com/cutwater-io/cutwater/internal/batch"
	"github.com/cutwater-io/cutwater/internal/ident"
	"github.com/cutwater-io/cutwater/internal/operator"
	"github.com/cutwater-io/cutwater/internal/segment"
	"github.com/cutwater-io/cutwater/internal/timer"
	"github.com/cutwater-io/cutwater/internal/watermark"
	"github.com/cutwater-io/cutwater/window"
)

const sessionsState = "sessions"

// Sessions are the sessions of one key that are not finished, ascending and apart
// by at least the gap. There is seldom more than one.
type Sessions[A any] struct {
	List []SessionOf[A]
	// Queued is the time of the key's one entry in the queue of deadlines; an
	// entry with another time is out of date. The deadlines themselves are in
	// List, so the queue is no state: it is made anew after a restore.
	Queued Deadline
}

// SessionOf is one session: it spans [Start, Last+gap).
type SessionOf[A any] struct {
	Start, Last int64
	// Fired says that all its records have been emitted; it is only kept to
	// take late ones.
	Fired bool
	Acc   A
}

// sessionOp is windows that belong to a key and grow with its records.
//
// A session is marked in the state when it fires, so a snapshot taken at any
// moment, restored at any parallelism, fires each exactly once.
type sessionOp[K comparable, T, A any] struct {
	operator.Base
	ctx    *operator.Context
	win    Windowing[T]
	fold   Folding[K, T, A]
	st     *StateType[K, Sessions[A]]
	table  *memory.Table[K, Sessions[A]]
	queue  timer.Queue[K]
	firing firing
	fire   func(k *K, w window.Window, acc *A)
	late   operator.In[T]
	gap    int64
	now    int64
	slots  []*Sessions[A] // scratch, one batch long
	one    [1]*A          // scratch

	// Processing time: when the next timer is set, 0 for none; and at the end of
	// the input the time before it.
	alarm  int64
	ending bool
	before int64
}

// SessionWindows makes the factory of session windows.
func SessionWindows[K comparable, T, A any](win Windowing[T], fold Folding[K, T, A], kt *KeyType[K]) (func(*operator.Context) (operator.Operator, []any, error), error) {
	st, err := NewStateType[K, Sessions[A]](sessionsState, kt)
	if err != nil {
		return nil, err
	}
	return func(ctx *operator.Context) (operator.Operator, []any, error) {
		op := &sessionOp[K, T, A]{
			ctx: ctx, win: win, fold: fold, st: st, fire: fold.Fire(ctx), late: sideOutput(ctx, win.Late),
			gap: win.Assigner.GapMillis, now: watermark.None, slots: make([]*Sessions[A], batch.Limit[T]()),
		}
		op.firing = firing{task: ctx.Task, out: operator.Controls(ctx), due: op.reach, step: op.step}
		return op, []any{operator.KeyedIn[K, T]{Batch: op.batch, Control: op}}, nil
	}, nil
}

func (s *sessionOp[K, T, A]) Open() error {
	now, err := restoreTime(s.ctx)
	if err != nil {
		return err
	}
	s.now = now
	s.table = s.st.table(s.ctx, 0)
	if err := s.st.restore(s.ctx, func(int64) *memory.Table[K, Sessions[A]] { return s.table }); err != nil {
		return fmt.Errorf("operator %q: %w", s.ctx.Name, err)
	}
	s.table.Scan(memory.Cursor{}, func(k *K, ss *Sessions[A]) bool {
		if ss.Queued.Set {
			s.queue.Add(ss.Queued.At, *k, s.st.key.hasher.Hash(k))
		}
		return true
	})
	if s.win.Assigner.Processing {
		s.setAlarm()
	}
	return nil
}

func (s *sessionOp[K, T, A]) batch(b *batch.Batch[K, T], from, to int) {
	s.firing.finish()
	if s.win.Assigner.Processing {
		moment := wallMoment(s.ctx.Task.NowMillis, s.now)
		s.now = moment - 1
		s.firing.start()
		s.firing.finish() // before records of the next moment
		for i := from; i < to; i++ {
			b.Ts[i] = moment
		}
		defer s.setAlarm()
	}
	n := to - from
	s.table.Resolve(b.K[from:to], b.H[from:to], s.slots[:n])
	empty := false
	for i, ss := range s.slots[:n] {
		s.add(ss, b, from+i)
		empty = empty || len(ss.List) == 0
	}
	if empty {
		s.removeEmpty(b, from, to)
	}
}

// removeEmpty removes the entries that late records of new keys have made.
func (s *sessionOp[K, T, A]) removeEmpty(b *batch.Batch[K, T], from, to int) {
	for i := from; i < to; i++ {
		k, h := &b.K[i], b.H[i]
		if ss := s.table.Get(k, h); ss != nil && len(ss.List) == 0 {
			s.table.Delete(k, h)
		}
	}
}

// add puts a record into the session it belongs to: its own, or the one it
// touches, or the one that two become through it.
func (s *sessionOp[K, T, A]) add(ss *Sessions[A], b *batch.Batch[K, T], i int) {
	ts := b.Ts[i]
	// The record alone would be the session [ts, ts+gap). A record exactly one
	// gap away is another session.
	first := 0
	for first < len(ss.List) && s.due(ss.List[first].Last) < ts {
		first++
	}
	after := first
	for after < len(ss.List) && ss.List[after].Start <= s.due(ts) {
		after++
	}
	start, last := ts, ts
	if first < after {
		start, last = min(ts, ss.List[first].Start), max(ts, ss.List[after-1].Last)
	}
	if s.finished(last) {
		s.ctx.Task.Late++
		if s.win.Late.Name() != "" && b.V != nil {
			s.late.Record(&b.V[i], ts)
		}
		return
	}
	if first == after {
		ss.List = slices.Insert(ss.List, first, SessionOf[A]{})
		after++
	}
	x := &ss.List[first]
	for j := first + 1; j < after; j++ {
		s.fold.Merge(&x.Acc, &ss.List[j].Acc)
	}
	ss.List = slices.Delete(ss.List, first+1, after)
	x.Start, x.Last, x.Fired = start, last, false
	s.one[0] = &x.Acc
	s.fold.Fold(s.one[:], values(b, i, i+1))
	if s.due(last) <= s.now {
		// Late within the allowed lateness: it counts, and its session fires
		// once more.
		s.ctx.Task.LateCounted++
		s.emit(&b.K[i], x)
	}
	s.enqueue(ss, &b.K[i], b.H[i])
}

// due is the watermark at which a session with that last record fires.
func (s *sessionOp[K, T, A]) due(last int64) int64 {
	return int64(window.Window{End: window.Millis(last).Add(s.gap)}.Last())
}

// finished: the session takes no records any more.
func (s *sessionOp[K, T, A]) finished(last int64) bool {
	return s.now != watermark.None && s.forgotten(last) <= s.now
}

// forgotten is the watermark at which a session goes away.
func (s *sessionOp[K, T, A]) forgotten(last int64) int64 {
	return addSat(s.due(last), s.win.LatenessMillis)
}

func (s *sessionOp[K, T, A]) emit(k *K, x *SessionOf[A]) {
	x.Fired = true
	s.fire(k, window.Window{Start: window.Millis(x.Start), End: window.Millis(x.Last).Add(s.gap)}, &x.Acc)
}

// enqueue makes sure that the key's entry in the queue is not later than the
// first thing that is to happen to its sessions.
func (s *sessionOp[K, T, A]) enqueue(ss *Sessions[A], k *K, h uint64) {
	next := watermark.EndOfTime
	for i := range ss.List {
		x := &ss.List[i]
		if x.Fired {
			next = min(next, s.forgotten(x.Last))
		} else {
			next = min(next, s.due(x.Last))
		}
	}
	if !ss.Queued.Set || next < ss.Queued.At {
		ss.Queued = Deadline{true, next}
		s.queue.Add(next, *k, h)
	}
}

// Watermark fires every session that is complete.
func (s *sessionOp[K, T, A]) Watermark(ts int64) { s.firing.watermark(ts) }

func (s *sessionOp[K, T, A]) Status(idle bool) { s.firing.idle(idle) }

// Resume goes on with a firing.
func (s *sessionOp[K, T, A]) Resume() bool { return s.firing.resume() }

// reach takes a watermark.
func (s *sessionOp[K, T, A]) reach(ts int64) {
	if !s.win.Assigner.Processing {
		s.now = max(s.now, ts)
	}
}

// step fires the sessions that end until now, in the order of their ends.
func (s *sessionOp[K, T, A]) step() bool {
	for s.now != watermark.None {
		at, k, h, ok := s.queue.Pop(s.now)
		if !ok {
			break
		}
		ss := s.table.Get(&k, h)
		if ss == nil || ss.Queued != (Deadline{true, at}) {
			continue // out of date: the key has another entry, or none
		}
		s.expire(&k, h, at)
		if !s.firing.more() {
			return false
		}
	}
	if s.ending {
		s.ending, s.now = false, s.before
	}
	if s.win.Assigner.Processing {
		s.setAlarm()
	}
	return true
}

// expire does what is due for a key at a time: fires sessions and forgets those
// that are finished.
func (s *sessionOp[K, T, A]) expire(k *K, h uint64, at int64) {
	ss, _ := s.table.Upsert(k, h)
	kept := ss.List[:0]
	for i := range ss.List {
		x := &ss.List[i]
		if !x.Fired && s.due(x.Last) <= at {
			s.emit(k, x)
		}
		if !x.Fired || s.forgotten(x.Last) > at {
			kept = append(kept, *x)
		}
	}
	clear(ss.List[len(kept):])
	ss.List, ss.Queued = kept, Deadline{}
	if len(kept) == 0 {
		s.table.Delete(k, h)
		return
	}
	s.enqueue(ss, k, h)
}

// Finish fires everything that is open by the wall clock. Time itself stays where
// it was: a checkpoint taken afterwards must not say that it has ended.
func (s *sessionOp[K, T, A]) Finish() error {
	if s.win.Assigner.Processing {
		s.firing.finish()
		s.ending, s.before = true, s.now
		s.now = watermark.EndOfTime
		s.firing.start()
	}
	return nil
}

// PrepareBarrier finishes a firing.
func (s *sessionOp[K, T, A]) PrepareBarrier(ident.CheckpointID) error {
	s.firing.finish()
	return nil
}

func (s *sessionOp[K, T, A]) Snapshot(_ ident.CheckpointID, snap *operator.Snapshot) error {
	if s.table.Len() > 0 {
		snap.AddKeyed(s.table.Snapshot(segment.StateID{Name: sessionsState}))
	}
	snapshotTime(s.ctx, snap, s.now)
	return nil
}

func (s *sessionOp[K, T, A]) Close() error {
	if s.table != nil {
		s.table.Close()
	}
	return nil
}

// setAlarm sets the timer for the first deadline by the wall clock.
func (s *sessionOp[K, T, A]) setAlarm() {
	next, ok := s.queue.Next()
	if !ok || s.alarm != 0 && s.alarm <= next {
		return
	}
	s.alarm = next
	s.ctx.Task.At(addSat(next, 1), func() error {
		if s.alarm == next {
			s.alarm = 0
			s.now = max(s.now, s.ctx.Task.NowMillis-1)
			s.firing.start() // at its end it sets the next alarm
		}
		return nil
	})
}
