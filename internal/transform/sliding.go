package transform

import (
	"github.com/cutwater-io/cutwater/internal/backend/memory"
	"github.com/cutwater-io/cutwater/internal/watermark"
	"github.com/cutwater-io/cutwater/window"
)

// Firing of windows that are made of several panes, or with gaps between them.

// fireSliding fires the windows with before < last <= ts that have a pane, oldest
// first. Holes in the data are skipped, not walked through.
func (w *paneOp[K, T, A]) fireSliding(before, ts int64) {
	a := w.win.Assigner
	ended := watermark.None // the end of the last window that fired
	if before != watermark.None {
		ended = addSat(before, 1)
	}
	for len(w.panes) > 0 {
		from := max(ended, w.firstUseful(ended))
		end := a.NextEnd(window.Millis(from))
		win := window.Window{Start: end.Add(-a.SizeMillis), End: end}
		if int64(win.Last()) > ts || from == watermark.EndOfTime {
			return
		}
		w.fireWindow(win)
		ended = int64(end)
	}
}

// firstUseful returns the start of the oldest pane that can be in a window which
// ends after ended: until then no window has anything.
func (w *paneOp[K, T, A]) firstUseful(ended int64) int64 {
	for _, p := range w.panes {
		if addSat(p.start, w.win.Assigner.SizeMillis) > ended {
			return p.start
		}
	}
	return watermark.EndOfTime
}

// fireWindow emits the results of one window.
func (w *paneOp[K, T, A]) fireWindow(win window.Window) {
	panes := w.panesOf(win)
	switch {
	case len(panes) == 0:
	case len(panes) == 1 && w.runType == nil:
		w.emit(panes[0].table, win)
	case w.runType != nil:
		w.moveRunning(win)
		w.running.Scan(memory.Cursor{}, func(k *K, s *share[A]) bool {
			w.fire(k, win, &s.Acc)
			return true
		})
	default:
		merged := w.st.table(w.ctx, w.lastSize)
		for _, p := range panes {
			w.mergeInto(merged, p.table)
		}
		w.lastSize = merged.Len()
		w.emit(merged, win)
		merged.Close()
	}
}

func (w *paneOp[K, T, A]) emit(t *memory.Table[K, A], win window.Window) {
	t.Scan(memory.Cursor{}, func(k *K, acc *A) bool {
		w.fire(k, win, acc)
		return true
	})
}

func (w *paneOp[K, T, A]) panesOf(win window.Window) []*pane[K, A] {
	first, last := len(w.panes), len(w.panes)
	for i, p := range w.panes {
		if p.start >= int64(win.Start) && i < first {
			first = i
		}
		if p.start > int64(win.Last()) {
			last = i
			break
		}
	}
	return w.panes[min(first, last):last]
}

func (w *paneOp[K, T, A]) mergeInto(dst, src *memory.Table[K, A]) {
	src.Scan(memory.Cursor{}, func(k *K, acc *A) bool {
		into, _ := dst.Upsert(k, w.hash(k))
		w.fold.Merge(into, acc)
		return true
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

// moveRunning makes running hold exactly the panes of a window: those that left
// are subtracted, those that came are merged.
func (w *paneOp[K, T, A]) moveRunning(win window.Window) {
	from, to := int64(win.Start), int64(win.End)
	if w.running == nil || from >= w.runTo || from < w.runFrom {
		// The first window, or a jump: begin anew.
		if w.running != nil {
			w.running.Clear()
		} else {
			w.running = w.runType.table(w.ctx, w.lastSize)
		}
		w.runFrom, w.runTo = from, from
	}
	for _, p := range w.panes {
		switch {
		case p.start >= w.runFrom && p.start < from:
			w.subtract(p.table)
		case p.start >= w.runTo && p.start < to:
			w.mergeRunning(p.table)
		}
	}
	w.runFrom, w.runTo = from, to
}

func (w *paneOp[K, T, A]) mergeRunning(src *memory.Table[K, A]) {
	src.Scan(memory.Cursor{}, func(k *K, acc *A) bool {
		s, _ := w.running.Upsert(k, w.hash(k))
		s.Panes++
		w.fold.Merge(&s.Acc, acc)
		return true
	})
}

func (w *paneOp[K, T, A]) subtract(src *memory.Table[K, A]) {
	src.Scan(memory.Cursor{}, func(k *K, acc *A) bool {
		h := w.hash(k)
		s, _ := w.running.Upsert(k, h)
		s.Panes--
		if s.Panes == 0 {
			w.running.Delete(k, h)
			return true
		}
		w.fold.Sub(&s.Acc, acc)
		return true
	})
}

// invalidateRunning is called when a pane that running holds was written: by a
// record behind the watermark whose other windows are still open. That is rare,
// so running is simply made anew when the next window fires.
func (w *paneOp[K, T, A]) invalidateRunning() {
	w.running.Clear()
	w.runFrom, w.runTo = watermark.EndOfTime, watermark.EndOfTime
}
