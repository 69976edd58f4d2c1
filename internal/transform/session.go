package transform

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/cutwater-io/cutwater/internal/backend/memory"
	"github.com/cutwater-io/cutwater/internal/batch"
	"github.com/cutwater-io/cutwater/internal/ident"
	"github.com/cutwater-io/cutwater/internal/manifest"
	"github.com/cutwater-io/cutwater/internal/operator"
	"github.com/cutwater-io/cutwater/internal/segment"
	"github.com/cutwater-io/cutwater/internal/timer"
	"github.com/cutwater-io/cutwater/internal/watermark"
	"github.com/cutwater-io/cutwater/window"
)

const sessionsState = "sessions"

// Sessions are the sessions of one key that are not finished, ascending and apart
// by more than the gap. There is seldom more than one.
type Sessions[A any] struct {
	List []SessionOf[A]
	// Queued is the time of the key's one entry in the queue of deadlines; an
	// entry with another time is out of date. The deadlines themselves are in
	// List, so the queue is no state: it is made anew after a restore.
	Queued int64
}

// SessionOf is one session: it spans [Start, Last+gap).
type SessionOf[A any] struct {
	Start, Last int64
	Acc         A
}

// sessionOp is windows that belong to a key and grow with its records.
type sessionOp[K comparable, T, A any] struct {
	operator.Base
	ctx   *operator.Context
	win   Windowing[T]
	fold  Folding[K, T, A]
	st    *StateType[K, Sessions[A]]
	table *memory.Table[K, Sessions[A]]
	queue timer.Queue[K]
	fire  func(k *K, w window.Window, acc *A)
	out   operator.Control
	late  operator.In[T]
	gap   int64
	now   int64
	slots []*Sessions[A] // scratch, one batch long
	alarm int64          // processing time: when the next timer is set; 0: none
}

// SessionWindows makes the factory of session windows.
func SessionWindows[K comparable, T, A any](win Windowing[T], fold Folding[K, T, A], kt *KeyType[K]) (func(*operator.Context) (operator.Operator, []any, error), error) {
	st, err := NewStateType[K, Sessions[A]](sessionsState, kt)
	if err != nil {
		return nil, err
	}
	return func(ctx *operator.Context) (operator.Operator, []any, error) {
		op := &sessionOp[K, T, A]{
			ctx: ctx, win: win, fold: fold, st: st, fire: fold.Fire(ctx), out: fold.Out(ctx), late: sideOutput(ctx, win.Late),
			gap: win.Assigner.GapMillis, now: watermark.None, slots: make([]*Sessions[A], batch.Limit[T]()),
		}
		return op, []any{operator.KeyedIn[K, T]{Batch: op.batch, Control: op}}, nil
	}, nil
}

func (s *sessionOp[K, T, A]) Open() error {
	s.table = s.st.table(s.ctx, 0)
	for _, b := range s.ctx.Restored.List(windowTime) {
		if len(b) != 8 {
			return fmt.Errorf("operator %q: restore: its time has %d bytes", s.ctx.Name, len(b))
		}
		if ts := int64(binary.LittleEndian.Uint64(b)); s.now == watermark.None || ts < s.now {
			s.now = ts
		}
	}
	if err := s.st.restore(s.ctx, func(int64) *memory.Table[K, Sessions[A]] { return s.table }); err != nil {
		return fmt.Errorf("operator %q: %w", s.ctx.Name, err)
	}
	s.table.Scan(memory.Cursor{}, func(k *K, ss *Sessions[A]) bool {
		if ss.Queued != 0 {
			s.queue.Add(ss.Queued, *k, s.st.key.hasher.Hash(k))
		}
		return true
	})
	if s.win.Assigner.Processing {
		s.setAlarm()
	}
	return nil
}

func (s *sessionOp[K, T, A]) batch(b *batch.Batch[K, T], from, to int) {
	if s.win.Assigner.Processing {
		s.advance(s.ctx.Task.NowMillis - 1)
		for i := from; i < to; i++ {
			b.Ts[i] = s.ctx.Task.NowMillis
		}
		defer s.setAlarm()
	}
	n := to - from
	s.table.Resolve(b.K[from:to], b.H[from:to], s.slots[:n])
	for i, ss := range s.slots[:n] {
		s.add(ss, b, from+i)
	}
	// A late record of a new key made an empty entry.
	for i, ss := range s.slots[:n] {
		if len(ss.List) == 0 {
			s.removeEmpty(b, from, i)
			break
		}
	}
}

func (s *sessionOp[K, T, A]) removeEmpty(b *batch.Batch[K, T], from, i int) {
	for ; i < len(s.slots) && from+i < len(b.K); i++ {
		k, h := &b.K[from+i], b.H[from+i]
		if ss := s.table.Get(k, h); ss != nil && len(ss.List) == 0 {
			s.table.Delete(k, h)
		}
	}
}

// add puts a record into the session it belongs to: its own, or the one it
// touches, or the one that two become through it.
func (s *sessionOp[K, T, A]) add(ss *Sessions[A], b *batch.Batch[K, T], i int) {
	ts := b.Ts[i]
	// Sessions overlapping [ts, ts+gap) are those with Last+gap > ts and
	// Start < ts+gap: a record exactly one gap away is another session.
	first := 0
	for first < len(ss.List) && addSat(ss.List[first].Last, s.gap) <= ts {
		first++
	}
	after := first
	for after < len(ss.List) && ss.List[after].Start < addSat(ts, s.gap) {
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
	merged := &ss.List[first]
	for j := first + 1; j < after; j++ {
		s.fold.Merge(&merged.Acc, &ss.List[j].Acc)
	}
	ss.List = slices.Delete(ss.List, first+1, after)
	merged = &ss.List[first]
	merged.Start, merged.Last = start, last
	var values []T
	if b.V != nil {
		values = b.V[i : i+1]
	}
	s.fold.Fold([]*A{&merged.Acc}, values)
	if s.due(last) <= s.now {
		// Late within the allowed lateness: it counts, and its session fires
		// once more.
		s.ctx.Task.LateCounted++
		s.emit(&b.K[i], merged)
	}
	s.enqueue(ss, &b.K[i], b.H[i])
}

// due is the watermark at which a session with that last record fires.
func (s *sessionOp[K, T, A]) due(last int64) int64 { return addSat(last, s.gap-1) }

// finished: the session takes no records any more.
func (s *sessionOp[K, T, A]) finished(last int64) bool {
	return s.now != watermark.None && addSat(s.due(last), s.win.LatenessMillis) <= s.now
}

func (s *sessionOp[K, T, A]) emit(k *K, x *SessionOf[A]) {
	s.fire(k, window.Window{Start: window.Millis(x.Start), End: window.Millis(x.Last).Add(s.gap)}, &x.Acc)
}

// enqueue makes sure that the key's entry in the queue is not later than the
// first thing that is to happen to its sessions.
func (s *sessionOp[K, T, A]) enqueue(ss *Sessions[A], k *K, h uint64) {
	next := watermark.EndOfTime
	for i := range ss.List {
		at := s.due(ss.List[i].Last)
		if at <= s.now {
			at = addSat(at, s.win.LatenessMillis) // fired: what is left is to forget it
		}
		next = min(next, at)
	}
	if len(ss.List) == 0 {
		ss.Queued = 0
		return
	}
	if ss.Queued == 0 || next < ss.Queued {
		ss.Queued = next
		s.queue.Add(next, *k, h)
	}
}

func (s *sessionOp[K, T, A]) Watermark(ts int64) {
	if !s.win.Assigner.Processing {
		s.advance(ts)
	}
	s.out.Watermark(ts)
}

func (s *sessionOp[K, T, A]) Status(idle bool) { s.out.Status(idle) }

// advance moves time to ts: sessions that end until then fire, in the order of
// their ends.
func (s *sessionOp[K, T, A]) advance(ts int64) {
	if s.now != watermark.None && ts <= s.now {
		return
	}
	for {
		at, k, h, ok := s.queue.Pop(ts)
		if !ok {
			break
		}
		ss := s.table.Get(&k, h)
		if ss == nil || ss.Queued != at {
			continue // out of date: the key has another entry, or none
		}
		s.expire(&k, h, at)
	}
	s.now = ts
}

// expire does what is due for a key at a time: fires sessions and forgets those
// that are finished.
func (s *sessionOp[K, T, A]) expire(k *K, h uint64, at int64) {
	ss, _ := s.table.Upsert(k, h)
	before := s.now
	kept := ss.List[:0]
	for i := range ss.List {
		x := &ss.List[i]
		due := s.due(x.Last)
		if due <= at && (before == watermark.None || due > before) {
			s.emit(k, x)
		}
		if addSat(due, s.win.LatenessMillis) > at {
			kept = append(kept, *x)
		}
	}
	clear(ss.List[len(kept):])
	ss.List = kept
	ss.Queued = 0
	if len(kept) == 0 {
		s.table.Delete(k, h)
		return
	}
	s.now = at // what fired just now only waits to be forgotten
	s.enqueue(ss, k, h)
	s.now = before
}

func (s *sessionOp[K, T, A]) Finish() error {
	if s.win.Assigner.Processing {
		s.advance(watermark.EndOfTime)
	}
	return nil
}

func (s *sessionOp[K, T, A]) Snapshot(_ ident.CheckpointID, snap *operator.Snapshot) error {
	if s.table.Len() > 0 {
		snap.AddKeyed(s.table.Snapshot(segment.StateID{Name: sessionsState}))
	}
	snap.AddList(windowTime, manifest.Union, [][]byte{binary.LittleEndian.AppendUint64(nil, uint64(s.now))})
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
			s.advance(s.ctx.Task.NowMillis - 1)
			s.setAlarm()
		}
		return nil
	})
}
