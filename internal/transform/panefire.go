package transform

import (
	"slices"

	"github.com/cutwater-io/cutwater/internal/backend/memory"
	"github.com/cutwater-io/cutwater/window"
)

// How windows that are aligned for all keys fire: as passes over tables, each of
// which can stop behind any key.

// Watermark fires every window that is complete.
func (w *paneOp[K, T, A]) Watermark(ts int64) { w.firing.watermark(ts) }

func (w *paneOp[K, T, A]) Status(idle bool) { w.firing.idle(idle) }

// Resume goes on with a firing.
func (w *paneOp[K, T, A]) Resume() bool { return w.firing.resume() }

// due takes a watermark.
func (w *paneOp[K, T, A]) due(ts int64) {
	if !w.win.Assigner.Processing {
		w.now = max(w.now, ts)
	}
}

// step fires the windows that end until now, in the order of their ends, and lets
// go of panes that no window needs.
func (w *paneOp[K, T, A]) step() bool {
	for {
		for len(w.passes) > 0 {
			if !w.passes[0]() {
				return false
			}
			w.passes = slices.Delete(w.passes, 0, 1)
		}
		if w.dropFinished() || w.fireNext() {
			continue
		}
		if w.ending {
			w.ending, w.now, w.fired = false, w.before, w.before
		}
		return true
	}
}

// then adds something to be done when the passes before it are at their ends.
func (w *paneOp[K, T, A]) then(f func()) {
	w.passes = append(w.passes, func() bool { f(); return true })
}

// fireNext begins with the next window that is complete; false: there is none.
func (w *paneOp[K, T, A]) fireNext() bool {
	if w.fired == w.now && len(w.atEnd) == 0 {
		return false
	}
	win, ok := w.nextWindow()
	if !ok {
		w.fired = w.now
		return false
	}
	w.fired = int64(win.Last())
	w.fireWindow(win)
	return true
}

// nextWindow returns the complete window that ends first of those which have not
// fired and have a pane. Holes in the data are skipped, not walked through.
func (w *paneOp[K, T, A]) nextWindow() (window.Window, bool) {
	if w.single && !w.gaps {
		for _, p := range w.panes {
			if p.last > w.fired {
				return w.win.Assigner.Pane(window.Millis(p.start)), p.last <= w.now
			}
		}
		return window.Window{}, false
	}
	return w.nextSliding()
}

// dropFinished lets go of the first pane if no window needs it any more; false:
// one does.
func (w *paneOp[K, T, A]) dropFinished() bool {
	if len(w.panes) == 0 || len(w.atEnd) > 0 {
		return false
	}
	p := w.panes[0]
	if p.youngest > w.fired || !w.finished(p) {
		return false
	}
	if w.cur == p {
		w.cur = nil
	}
	w.panes = slices.Delete(w.panes, 0, 1)
	w.leaveRunning(p)
	w.leaveStacks(p)
	w.then(p.table.Close)
	return true
}

// emit adds a pass that fires a window from a table.
func (w *paneOp[K, T, A]) emit(t *memory.Table[K, A], win window.Window) {
	var at memory.Cursor
	w.passes = append(w.passes, func() bool {
		at = t.Scan(at, func(k *K, acc *A) bool {
			w.fire(k, win, acc)
			return w.firing.more()
		})
		return at.Done()
	})
}
