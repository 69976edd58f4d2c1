package transform

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cutwater-io/cutwater/internal/backend/memory"
	"github.com/cutwater-io/cutwater/internal/batch"
	"github.com/cutwater-io/cutwater/internal/ident"
	"github.com/cutwater-io/cutwater/internal/operator"
	"github.com/cutwater-io/cutwater/internal/segment"
	"github.com/cutwater-io/cutwater/internal/watermark"
	"github.com/cutwater-io/cutwater/window"
)

// panesState is the keyed state of a windowed operator: one table per pane, the
// pane's start as namespace.
const panesState = "panes"

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
//   - every window whose last millisecond is <= fired has fired; fired is now,
//     except while a firing is under way;
//   - running, if in use, holds exactly the panes within [runFrom, runTo).
type paneOp[K comparable, T, A any] struct {
	operator.Base
	ctx  *operator.Context
	win  Windowing[T]
	fold Folding[K, T, A]
	st   *StateType[K, A]
	fire func(k *K, w window.Window, acc *A)
	late operator.In[T]

	paneMillis int64
	single     bool // a window is one pane
	gaps       bool // some times belong to no window
	panes      []*pane[K, A]
	cur        *pane[K, A] // the one the last record went to
	now        int64       // watermark, or the wall clock for processing time
	lastSize   int         // entries of the last pane, to size the next
	accs       []*A        // scratch, one batch long
	windows    []window.Window

	// Processing time: when the next timer is set, 0 for none; and at the end of
	// the input the time before it.
	alarm  int64
	ending bool
	before int64

	// The firing: what is left of the window that is being fired, as passes over
	// tables, in order.
	firing firing
	fired  int64
	passes []func() bool
	merged *memory.Table[K, A] // of the window that is being fired
	atEnd  []window.Window     // windows that end with time itself, see endOfTime

	running        *memory.Table[K, share[A]]
	runType        *StateType[K, share[A]]
	runFrom, runTo int64
}

// pane is a table of accumulators. Its span is [start, last]; oldest and youngest
// are the last milliseconds of the first and the last window that have it.
type pane[K comparable, A any] struct {
	start, last      int64
	oldest, youngest int64
	table            *memory.Table[K, A]
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
		a := win.Assigner
		op := &paneOp[K, T, A]{
			ctx: ctx, win: win, fold: fold, st: st, fire: fold.Fire(ctx), late: sideOutput(ctx, win.Late),
			paneMillis: a.PaneMillis(), single: a.PanesPerWindow() <= 1, gaps: a.SlideMillis > a.SizeMillis,
			now: watermark.None, fired: watermark.None, accs: make([]*A, batch.Limit[T]()),
		}
		if !op.single && fold.Sub != nil {
			op.runType = runType
		}
		op.firing = firing{task: ctx.Task, out: operator.Controls(ctx), due: op.due, step: op.step}
		return op, []any{operator.KeyedIn[K, T]{Batch: op.batch, Control: op}}, nil
	}, nil
}

func (w *paneOp[K, T, A]) Open() error {
	now, err := restoreTime(w.ctx)
	if err != nil {
		return err
	}
	w.now, w.fired = now, now
	if err := w.st.restore(w.ctx, func(start int64) *memory.Table[K, A] { return w.pane(start).table }); err != nil {
		return fmt.Errorf("operator %q: %w", w.ctx.Name, err)
	}
	if w.win.Assigner.Processing {
		w.setAlarm()
	}
	return nil
}

// batch takes records in runs of the same pane: their keys are resolved at once,
// then folded.
func (w *paneOp[K, T, A]) batch(b *batch.Batch[K, T], from, to int) {
	w.firing.finish()
	if w.win.Assigner.Processing {
		w.processingTime(b, from, to)
		return
	}
	for from < to {
		p := w.cur
		ts := b.Ts[from]
		if p == nil || ts < p.start || ts > p.last {
			if p = w.paneAt(b, from); p == nil {
				from++
				continue
			}
			w.cur = p
		}
		if p.oldest <= w.now {
			w.addLate(p, b, from)
			from++
			continue
		}
		end := from + 1
		for end < to && b.Ts[end] >= p.start && b.Ts[end] <= p.last {
			end++
		}
		w.add(p, b, from, end)
		from = end
	}
}

// add folds records into a pane.
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
	w.fold.Fold(accs, values(b, from, to))
}

// values are the records of a run; nil on edges that carry keys only.
func values[K, T any](b *batch.Batch[K, T], from, to int) []T {
	if b.V == nil {
		return nil
	}
	return b.V[from:to]
}

// addLate folds a record into a pane of which some windows have fired: those that
// have not will count it, those within the allowed lateness count it and fire once
// more for its key. One record at a time, so that how often a window fires does
// not depend on how records were batched.
func (w *paneOp[K, T, A]) addLate(p *pane[K, A], b *batch.Batch[K, T], i int) {
	k, h := &b.K[i], b.H[i]
	if p.start >= w.runFrom && p.start < w.runTo && w.running != nil {
		w.addRunning(p, b, i)
	}
	w.add(p, b, i, i+1)
	counted := false
	for _, win := range w.windowsOf(p.start) {
		last := int64(win.Last())
		if last > w.now || addSat(last, w.win.LatenessMillis) <= w.now {
			continue
		}
		counted = true
		if w.single {
			w.fire(k, win, p.table.Get(k, h))
		} else {
			w.fireKey(k, h, win)
		}
	}
	if counted {
		w.ctx.Task.LateCounted++
	}
}

// paneAt returns the pane of a record, or nil when no window takes it: because
// all that have the pane are finished, or because it is in a gap between windows.
func (w *paneOp[K, T, A]) paneAt(b *batch.Batch[K, T], i int) *pane[K, A] {
	start := int64(w.win.Assigner.Pane(window.Millis(b.Ts[i])).Start)
	if w.gaps && len(w.windowsOf(start)) == 0 {
		return nil
	}
	p, at := w.find(start)
	if p == nil {
		p = w.newPane(start)
		if w.finished(p) {
			w.dropLate(b, i)
			return nil
		}
		w.insert(p, at)
	}
	return p
}

// pane returns the pane that starts at start, made if need be.
func (w *paneOp[K, T, A]) pane(start int64) *pane[K, A] {
	p, at := w.find(start)
	if p == nil {
		p = w.newPane(start)
		w.insert(p, at)
	}
	return p
}

// find returns the pane that starts at start, or nil and where it would be.
func (w *paneOp[K, T, A]) find(start int64) (*pane[K, A], int) {
	i, ok := slices.BinarySearchFunc(w.panes, start, func(p *pane[K, A], start int64) int { return cmp.Compare(p.start, start) })
	if !ok {
		return nil, i
	}
	return w.panes[i], i
}

// newPane is a pane without a table yet.
//
// REQUIRES: some window has it.
func (w *paneOp[K, T, A]) newPane(start int64) *pane[K, A] {
	p := &pane[K, A]{start: start, last: int64(w.win.Assigner.Pane(window.Millis(start)).Last())}
	windows := w.windowsOf(start)
	p.oldest, p.youngest = int64(windows[0].Last()), int64(windows[len(windows)-1].Last())
	return p
}

func (w *paneOp[K, T, A]) insert(p *pane[K, A], at int) {
	p.table = w.st.table(w.ctx, w.lastSize)
	w.panes = slices.Insert(w.panes, at, p)
}

// windowsOf returns the windows that have the pane, oldest first, valid until the
// next call.
func (w *paneOp[K, T, A]) windowsOf(start int64) []window.Window {
	w.windows = w.win.Assigner.Windows(w.windows[:0], window.Millis(start))
	return w.windows
}

// finished reports whether no window with the pane takes records any more.
func (w *paneOp[K, T, A]) finished(p *pane[K, A]) bool {
	return w.now != watermark.None && addSat(p.youngest, w.win.LatenessMillis) <= w.now
}

func (w *paneOp[K, T, A]) dropLate(b *batch.Batch[K, T], i int) {
	w.ctx.Task.Late++
	if w.win.Late.Name() != "" && b.V != nil {
		w.late.Record(&b.V[i], b.Ts[i])
	}
}

func (w *paneOp[K, T, A]) Finish() error {
	if w.win.Assigner.Processing {
		w.finishProcessing()
	}
	return nil
}

// PrepareBarrier finishes a firing: a snapshot has no window that is fired in
// part.
func (w *paneOp[K, T, A]) PrepareBarrier(ident.CheckpointID) error {
	w.firing.finish()
	return nil
}

func (w *paneOp[K, T, A]) Snapshot(_ ident.CheckpointID, s *operator.Snapshot) error {
	for _, p := range w.panes {
		s.AddKeyed(p.table.Snapshot(segment.StateID{Name: panesState, Namespace: p.start}))
	}
	snapshotTime(w.ctx, s, w.now)
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
	if w.merged != nil {
		w.merged.Close()
	}
	return nil
}
