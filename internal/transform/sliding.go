package transform

import (
	"slices"

	"github.com/cutwater-io/cutwater/internal/backend/memory"
	"github.com/cutwater-io/cutwater/internal/batch"
	"github.com/cutwater-io/cutwater/internal/watermark"
	"github.com/cutwater-io/cutwater/window"
)

// Firing of windows that are made of several panes, or with gaps between them.

// nextSliding is nextWindow for them.
func (w *paneOp[K, T, A]) nextSliding() (window.Window, bool) {
	a := w.win.Assigner
	first := slices.IndexFunc(w.panes, func(p *pane[K, A]) bool { return p.youngest > w.fired })
	if first < 0 {
		return w.endOfTime()
	}
	from := w.panes[first].start
	if w.fired != watermark.None {
		from = max(from, addSat(w.fired, 1))
	}
	end := a.NextEnd(window.Millis(from))
	if end == window.MaxMillis {
		if w.now == watermark.EndOfTime && w.atEnd == nil {
			w.listEndOfTime()
		}
		return w.endOfTime()
	}
	win := window.Window{Start: end.Add(-a.SizeMillis), End: end}
	return win, int64(win.Last()) <= w.now
}

// listEndOfTime lists the windows that reach to the end of time, beyond which
// there is no number for their ends. They all fire with the last watermark, and
// are told apart by their starts.
func (w *paneOp[K, T, A]) listEndOfTime() {
	w.atEnd = []window.Window{}
	for _, p := range w.panes {
		for _, win := range w.windowsOf(p.start) {
			if n := len(w.atEnd); win.End == window.MaxMillis && (n == 0 || win.Start > w.atEnd[n-1].Start) {
				w.atEnd = append(w.atEnd, win)
			}
		}
	}
}

func (w *paneOp[K, T, A]) endOfTime() (window.Window, bool) {
	if len(w.atEnd) == 0 {
		return window.Window{}, false
	}
	win := w.atEnd[0]
	w.atEnd = w.atEnd[1:]
	return win, true
}

// fireWindow adds the passes that emit the results of one window.
func (w *paneOp[K, T, A]) fireWindow(win window.Window) {
	panes := w.panesOf(win)
	switch {
	case len(panes) == 0:
	case w.runType != nil:
		w.moveRunning(win)
		w.emitRunning(win)
	case len(panes) == 1:
		w.lastSize = panes[0].table.Len()
		w.emit(panes[0].table, win)
	default:
		w.merged = w.st.table(w.ctx, w.lastSize)
		for _, p := range panes {
			w.mergePane(p)
		}
		w.emit(w.merged, win)
		w.then(func() {
			w.lastSize = w.merged.Len()
			w.merged.Close()
			w.merged = nil
		})
	}
}

// panesOf returns the panes of a window.
func (w *paneOp[K, T, A]) panesOf(win window.Window) []*pane[K, A] {
	_, first := w.find(int64(win.Start))
	last := first
	for last < len(w.panes) && w.panes[last].start <= int64(win.Last()) {
		last++
	}
	return w.panes[first:last]
}

// mergePane adds a pass that merges a pane into the window that is being fired.
func (w *paneOp[K, T, A]) mergePane(p *pane[K, A]) {
	var at memory.Cursor
	w.passes = append(w.passes, func() bool {
		at = p.table.Scan(at, func(k *K, acc *A) bool {
			into, _ := w.merged.Upsert(k, w.hash(k))
			w.fold.Merge(into, acc)
			return w.firing.more()
		})
		return at.Done()
	})
}

func (w *paneOp[K, T, A]) hash(k *K) uint64 { return w.st.key.hasher.Hash(k) }

// fireKey emits one key's result of a window that has fired before.
func (w *paneOp[K, T, A]) fireKey(k *K, h uint64, win window.Window) {
	acc := new(A)
	for _, p := range w.panesOf(win) {
		if part := p.table.Get(k, h); part != nil {
			w.fold.Merge(acc, part)
		}
	}
	w.fire(k, win, acc)
}

// moveRunning adds the passes that make running hold exactly the panes of a
// window: those that left are subtracted, those that came are merged.
func (w *paneOp[K, T, A]) moveRunning(win window.Window) {
	from, to := int64(win.Start), int64(win.End)
	if w.running == nil {
		w.running = w.runType.table(w.ctx, w.lastSize)
		w.runFrom, w.runTo = from, from
	}
	if from >= w.runTo || from < w.runFrom {
		w.running.Clear() // a jump: begin anew
		w.runFrom, w.runTo = from, from
	}
	for _, p := range w.panes {
		switch {
		case p.start >= w.runFrom && p.start < from:
			w.subtract(p)
		case p.start >= w.runTo && p.start < to:
			w.mergeRunning(p)
		}
	}
	w.runFrom, w.runTo = from, to
}

// leaveRunning takes a pane that goes away out of running.
func (w *paneOp[K, T, A]) leaveRunning(p *pane[K, A]) {
	if w.running == nil || p.start < w.runFrom || p.start >= w.runTo {
		return
	}
	if len(w.panes) == 0 || w.panes[0].start >= w.runTo {
		w.running.Clear() // nothing is left that running holds
		w.runFrom = w.runTo
		return
	}
	w.subtract(p)
	w.runFrom = addSat(p.last, 1)
}

func (w *paneOp[K, T, A]) mergeRunning(p *pane[K, A]) {
	var at memory.Cursor
	w.passes = append(w.passes, func() bool {
		at = p.table.Scan(at, func(k *K, acc *A) bool {
			s, _ := w.running.Upsert(k, w.hash(k))
			s.Panes++
			w.fold.Merge(&s.Acc, acc)
			return w.firing.more()
		})
		return at.Done()
	})
}

func (w *paneOp[K, T, A]) subtract(p *pane[K, A]) {
	var at memory.Cursor
	w.passes = append(w.passes, func() bool {
		at = p.table.Scan(at, func(k *K, acc *A) bool {
			h := w.hash(k)
			s, _ := w.running.Upsert(k, h)
			if s.Panes--; s.Panes == 0 {
				w.running.Delete(k, h)
			} else {
				w.fold.Sub(&s.Acc, acc)
			}
			return w.firing.more()
		})
		return at.Done()
	})
}

func (w *paneOp[K, T, A]) emitRunning(win window.Window) {
	var at memory.Cursor
	w.passes = append(w.passes, func() bool {
		at = w.running.Scan(at, func(k *K, s *share[A]) bool {
			w.fire(k, win, &s.Acc)
			return w.firing.more()
		})
		return at.Done()
	})
	w.then(func() { w.lastSize = w.running.Len() })
}

// addRunning folds a record into running, which holds its pane already: the record
// is behind the watermark, and other windows with the pane are still open.
func (w *paneOp[K, T, A]) addRunning(p *pane[K, A], b *batch.Batch[K, T], i int) {
	s, _ := w.running.Upsert(&b.K[i], b.H[i])
	if p.table.Get(&b.K[i], b.H[i]) == nil {
		s.Panes++
	}
	w.accs[0] = &s.Acc
	w.fold.Fold(w.accs[:1], values(b, i, i+1))
}
