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
	"github.com/cutwater-io/cutwater/internal/watermark"
	"github.com/cutwater-io/cutwater/window"
)

// panesState is the keyed state of a windowed operator: one table per pane, the
// pane's start as namespace. windowTime is the list state with its time.
const (
	panesState = "panes"
	windowTime = "window-time"
)

// Windows whose ends are the same for all keys. State is one table per pane, the
// longest stretch of time that every window has whole or not at all; a window
// fires by walking its panes' tables, which then go away page by page. So no key
// has a timer, which is 10 to 16 times cheaper than entries by key and window.
//
//	        pane   pane   pane   pane
//	time ──┼──────┼──────┼──────┼──────┼──▶
//	       └──── window ────────┘
//	              └──── window ────────┘
//
// Windows of several panes are combined when they fire. With an aggregate that
// has an inverse, running holds the accumulators of the panes of the last window:
// each firing merges the panes that came and subtracts those that left. Without
// one, the panes of the window are merged anew.
//
// Invariants:
//   - panes ascend by start, and each holds at least one window that is not
//     finished (watermark < last + lateness);
//   - every window whose last millisecond is <= now has fired;
//   - running, if in use, holds exactly the panes within [runFrom, runTo).
type paneOp[K comparable, T, A any] struct {
	operator.Base
	ctx  *operator.Context
	win  Windowing[T]
	fold Folding[K, T, A]
	st   *StateType[K, A]
	fire func(k *K, w window.Window, acc *A)
	out  operator.Control
	late operator.In[T]

	paneMillis int64
	single     bool // a window is one pane
	panes      []*pane[K, A]
	cur        *pane[K, A] // the one the last record went to
	now        int64       // watermark, or the wall clock for processing time
	lastSize   int         // entries of the last pane, to size the next
	accs       []*A        // scratch, one batch long
	alarm      int64       // processing time: when the next timer is set; 0: none

	running        *memory.Table[K, share[A]]
	runType        *StateType[K, share[A]]
	runFrom, runTo int64
}

// pane is a table of accumulators. Its span is [start, last].
type pane[K comparable, A any] struct {
	start, last int64
	table       *memory.Table[K, A]
}

// share is an accumulator over several panes, with the number of those that have
// the key: at zero the key leaves.
type share[A any] struct {
	Panes int64
	Acc   A
}

// Panes makes the factory of windows that are aligned for all keys.
func Panes[K comparable, T, A any](win Windowing[T], fold Folding[K, T, A], kt *KeyType[K]) (func(*operator.Context) (operator.Operator, []any, error), error) {
	st, err := NewStateType[K, A](panesState, kt)
	if err != nil {
		return nil, err
	}
	runType, err := NewStateType[K, share[A]]("running", kt)
	if err != nil {
		return nil, err
	}
	return func(ctx *operator.Context) (operator.Operator, []any, error) {
		op := &paneOp[K, T, A]{
			ctx: ctx, win: win, fold: fold, st: st, fire: fold.Fire(ctx), out: fold.Out(ctx),
			late:       sideOutput(ctx, win.Late),
			paneMillis: win.Assigner.PaneMillis(), single: win.Assigner.PanesPerWindow() <= 1,
			now: watermark.None, accs: make([]*A, batch.Limit[T]()),
		}
		if !op.single && fold.Sub != nil {
			op.runType = runType
		}
		return op, []any{operator.KeyedIn[K, T]{Batch: op.batch, Control: op}}, nil
	}, nil
}

func (w *paneOp[K, T, A]) Open() error {
	for _, b := range w.ctx.Restored.List(windowTime) {
		if len(b) != 8 {
			return fmt.Errorf("operator %q: restore: its time has %d bytes", w.ctx.Name, len(b))
		}
		ts := int64(binary.LittleEndian.Uint64(b))
		if w.now == watermark.None || ts < w.now {
			w.now = ts
		}
	}
	if err := w.st.restore(w.ctx, func(start int64) *memory.Table[K, A] { return w.pane(start).table }); err != nil {
		return fmt.Errorf("operator %q: %w", w.ctx.Name, err)
	}
	w.cur = nil
	if w.win.Assigner.Processing {
		w.setAlarm()
	}
	return nil
}

// batch takes records in runs of the same pane: their keys are resolved at once,
// then folded.
func (w *paneOp[K, T, A]) batch(b *batch.Batch[K, T], from, to int) {
	if w.win.Assigner.Processing {
		w.processingTime(b, from, to)
		return
	}
	for from < to {
		p := w.cur
		ts := b.Ts[from]
		if p == nil || ts < p.start || ts > p.last {
			if p = w.paneAt(ts); p == nil {
				w.dropLate(b, from)
				from++
				continue
			}
			w.cur = p
		}
		end := from + 1
		for end < to && b.Ts[end] >= p.start && b.Ts[end] <= p.last {
			end++
		}
		w.add(p, b, from, end)
		from = end
	}
}

func (w *paneOp[K, T, A]) add(p *pane[K, A], b *batch.Batch[K, T], from, to int) {
	if p.last <= w.now && to-from > 1 {
		// Records behind the watermark make their window fire again, each with
		// the value it has led to: they are taken one by one.
		for i := from; i < to; i++ {
			w.add(p, b, i, i+1)
		}
		return
	}
	accs := w.accs[:to-from]
	p.table.Resolve(b.K[from:to], b.H[from:to], accs)
	if b.V != nil {
		w.fold.Fold(accs, b.V[from:to])
	} else {
		w.fold.Fold(accs, nil)
	}
	if p.start < w.runTo && p.start >= w.runFrom && w.running != nil {
		w.invalidateRunning()
	}
	if p.last <= w.now || !w.single {
		w.refire(p, b, from, to)
	}
}

// paneAt returns the pane of a time, or nil when every window that has the pane
// is finished.
func (w *paneOp[K, T, A]) paneAt(ts int64) *pane[K, A] {
	span := w.win.Assigner.Pane(window.Millis(ts))
	if w.finished(int64(span.Start), int64(span.Last())) {
		return nil
	}
	return w.pane(int64(span.Start))
}

// pane returns the pane that starts at start, made if need be.
func (w *paneOp[K, T, A]) pane(start int64) *pane[K, A] {
	i, ok := slices.BinarySearchFunc(w.panes, start, func(p *pane[K, A], start int64) int {
		switch {
		case p.start < start:
			return -1
		case p.start > start:
			return 1
		}
		return 0
	})
	if ok {
		return w.panes[i]
	}
	span := w.win.Assigner.Pane(window.Millis(start))
	p := &pane[K, A]{start: start, last: int64(span.Last()), table: w.st.table(w.ctx, w.lastSize)}
	w.panes = slices.Insert(w.panes, i, p)
	return p
}

// finished reports whether no window with the pane takes records any more.
func (w *paneOp[K, T, A]) finished(start, last int64) bool {
	if w.now == watermark.None {
		return false
	}
	return addSat(w.lastOfYoungest(start, last), w.win.LatenessMillis) <= w.now
}

// lastOfYoungest is the last millisecond of the last window that has a pane; for
// a pane in a gap between windows the beginning of time.
func (w *paneOp[K, T, A]) lastOfYoungest(start, last int64) int64 {
	if w.single && w.win.Assigner.Kind != window.KindSliding {
		return last
	}
	ws := w.win.Assigner.Windows(nil, window.Millis(start))
	if len(ws) == 0 {
		return watermark.None
	}
	return int64(ws[len(ws)-1].Last())
}

func (w *paneOp[K, T, A]) dropLate(b *batch.Batch[K, T], i int) {
	w.ctx.Task.Late++
	if w.win.Late.Name() != "" && b.V != nil {
		w.late.Record(&b.V[i], b.Ts[i])
	}
}

// Watermark fires every window that is complete.
func (w *paneOp[K, T, A]) Watermark(ts int64) {
	if !w.win.Assigner.Processing && ts > w.now {
		w.advance(ts)
	}
	w.out.Watermark(ts)
}

func (w *paneOp[K, T, A]) Status(idle bool) { w.out.Status(idle) }

// advance moves time to ts: windows that end until then fire in the order of
// their ends, panes that no window needs go away.
func (w *paneOp[K, T, A]) advance(ts int64) {
	before := w.now
	w.now = ts
	if w.single && w.win.Assigner.Kind != window.KindSliding {
		for _, p := range w.panes {
			if p.last > ts {
				break
			}
			if p.last > before || before == watermark.None {
				w.fireSingle(p)
			}
		}
	} else {
		w.fireSliding(before, ts)
	}
	w.dropFinished()
}

func (w *paneOp[K, T, A]) fireSingle(p *pane[K, A]) {
	win := w.win.Assigner.Pane(window.Millis(p.start))
	w.lastSize = p.table.Len()
	p.table.Scan(memory.Cursor{}, func(k *K, acc *A) bool {
		w.fire(k, win, acc)
		return true
	})
}

func (w *paneOp[K, T, A]) dropFinished() {
	kept := w.panes[:0]
	for _, p := range w.panes {
		if w.finished(p.start, p.last) {
			if w.cur == p {
				w.cur = nil
			}
			if w.running != nil && p.start >= w.runFrom && p.start < w.runTo {
				// The next window could not subtract what is gone.
				w.subtract(p.table)
			}
			p.table.Close()
			continue
		}
		kept = append(kept, p)
	}
	clear(w.panes[len(kept):])
	w.panes = kept
}

// refire emits anew the results of keys whose window has fired already: a record
// that is late but within the allowed lateness counts and makes its window fire
// once more.
func (w *paneOp[K, T, A]) refire(p *pane[K, A], b *batch.Batch[K, T], from, to int) {
	if w.single && w.win.Assigner.Kind != window.KindSliding {
		win := w.win.Assigner.Pane(window.Millis(p.start))
		for i := from; i < to; i++ {
			w.ctx.Task.LateCounted++
			w.fire(&b.K[i], win, p.table.Get(&b.K[i], b.H[i]))
		}
		return
	}
	if w.now == watermark.None {
		return
	}
	for _, win := range w.win.Assigner.Windows(nil, window.Millis(p.start)) {
		if int64(win.Last()) > w.now || addSat(int64(win.Last()), w.win.LatenessMillis) <= w.now {
			continue
		}
		for i := from; i < to; i++ {
			w.ctx.Task.LateCounted++
			w.fireKey(&b.K[i], b.H[i], win)
		}
	}
}

func (w *paneOp[K, T, A]) Finish() error {
	if w.win.Assigner.Processing {
		w.advance(watermark.EndOfTime)
	}
	return nil
}

func (w *paneOp[K, T, A]) Snapshot(_ ident.CheckpointID, s *operator.Snapshot) error {
	for _, p := range w.panes {
		s.AddKeyed(p.table.Snapshot(segment.StateID{Name: panesState, Namespace: p.start}))
	}
	// As a union: barriers are aligned, so all subtasks have seen the same
	// watermarks before it, and time is the same in each.
	s.AddList(windowTime, manifest.Union, [][]byte{binary.LittleEndian.AppendUint64(nil, uint64(w.now))})
	return nil
}

func (w *paneOp[K, T, A]) Close() error {
	for _, p := range w.panes {
		p.table.Close()
	}
	w.panes = nil
	if w.running != nil {
		w.running.Close()
	}
	return nil
}

// addSat adds and stays at the end of time instead of wrapping round.
func addSat(a, b int64) int64 {
	if s := a + b; s >= a {
		return s
	}
	return watermark.EndOfTime
}
