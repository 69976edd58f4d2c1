package transform

import (
	"fmt"

	"github.com/cutwater-io/cutwater/codec"
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
// Windows of several panes are combined when they fire; a table goes along that
// holds the panes of the last window. With an aggregate that has an inverse (see
// running.go) each firing merges the panes that came and subtracts those that
// left. Without one, accumulators without pointers are kept in two stacks (see
// stacks.go), and for others the panes of the window are merged anew.
//
// Invariants:
//   - panes ascend by start, and each holds at least one window that is not
//     finished (watermark < last + lateness);
//   - every window whose last millisecond is <= fired has fired; fired is now,
//     except while a firing is under way;
//   - running, if in use, holds exactly the panes within [runFrom, runTo); what
//     stacks holds is said there.
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

	// The table that goes along holds [runFrom, runTo): running with an inverse,
	// stacks without.
	runFrom, runTo int64
	running        *memory.Table[K, share[A]]
	runType        *StateType[K, share[A]] // nil: not in use
	stacks         *memory.Table[K, twoStacks[A]]
	stackType      *StateType[K, twoStacks[A]] // nil: not in use
	mid            int64                       // where the front of the stacks ends
	stale          bool                        // the stacks hold nothing

	// Scratch of the passes.
	block  block[K, A]
	shares []*share[A]
	both   []*twoStacks[A]
}

// pane is a table of accumulators. Its span is [start, last]; oldest and youngest
// are the last milliseconds of the first and the last window that have it.
type pane[K comparable, A any] struct {
	start, last      int64
	oldest, youngest int64
	table            *memory.Table[K, A]
	saved            []savedFront[A] // of panes in the front, see twoStacks
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
	stackType, err := NewStateType[K, twoStacks[A]]("stacks", kt)
	if err != nil {
		return nil, err
	}
	return func(ctx *operator.Context) (operator.Operator, []any, error) {
		a := win.Assigner
		op := &paneOp[K, T, A]{
			ctx: ctx, win: win, fold: fold, st: st, fire: fold.Fire(ctx), late: sideOutput(ctx, win.Late),
			paneMillis: a.PaneMillis(), single: a.PanesPerWindow() <= 1, gaps: a.SlideMillis > a.SizeMillis,
			now: watermark.None, fired: watermark.None, accs: make([]*A, max(batch.Limit[T](), blockSize)),
		}
		switch {
		case op.single:
		case fold.Sub != nil:
			op.runType = runType
		case codec.PointerFree[A]():
			op.stackType = stackType
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
	if p.start >= w.runFrom && p.start < w.runTo {
		switch {
		case w.running != nil:
			w.addRunning(p, b, i)
		case w.stacks != nil:
			w.addStacks(p, b, i)
		}
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
	if w.stacks != nil {
		w.stacks.Close()
	}
	if w.merged != nil {
		w.merged.Close()
	}
	return nil
}
