package transform

import (
	"slices"

	"github.com/cutwater-io/cutwater/internal/backend/memory"
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
	case w.stackType != nil:
		w.moveStacks(win)
		w.emitStacks(win)
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
	w.inBlocks(p.table, func(b *block[K, A]) {
		into := w.accs[:len(b.keys)]
		w.merged.Resolve(b.keys, b.hashes, into)
		for i, acc := range into {
			w.fold.Merge(acc, b.accs[i])
		}
	})
}

// block is some entries of a pane.
type block[K, A any] struct {
	keys   []K
	hashes []uint64
	accs   []*A // to be read only
}

// blockSize is how many entries of a pane are taken at once: as many as a batch
// has, for the same reason, so that the cache misses of the table that they are
// merged into overlap.
const blockSize = 512

// inBlocks adds a pass that hands out all entries of a pane. No key comes twice.
func (w *paneOp[K, T, A]) inBlocks(t *memory.Table[K, A], do func(b *block[K, A])) {
	var at memory.Cursor
	w.passes = append(w.passes, func() bool {
		b := &w.block
		for {
			more := true
			b.keys, b.accs = b.keys[:0], b.accs[:0]
			at = t.Scan(at, func(k *K, acc *A) bool {
				b.keys, b.accs = append(b.keys, *k), append(b.accs, acc)
				more = w.firing.more()
				return more && len(b.keys) < blockSize
			})
			if n := len(b.keys); n > 0 {
				b.hashes = slices.Grow(b.hashes[:0], n)[:n]
				w.st.key.hasher.HashAll(b.hashes, b.keys)
				do(b)
			}
			if at.Done() || !more {
				return at.Done()
			}
		}
	})
}

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
