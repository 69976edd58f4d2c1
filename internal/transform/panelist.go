package transform

import (
	"cmp"
	"slices"

	"github.com/cutwater-io/cutwater/internal/batch"
	"github.com/cutwater-io/cutwater/internal/watermark"
	"github.com/cutwater-io/cutwater/window"
)

// The panes of an operator: finding them, making them, and the records for which
// there is none.

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
