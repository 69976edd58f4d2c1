package transform

import (
	"slices"

	"github.com/cutwater-io/cutwater/internal/backend/memory"
	"github.com/cutwater-io/cutwater/internal/batch"
	"github.com/cutwater-io/cutwater/window"
)

// Windows of several panes with an aggregate that has an inverse: one running
// table, into which panes are merged as they come and out of which they are
// subtracted as they leave.

// share is an accumulator over several panes, with the number of those that have
// the key: at zero the key leaves.
type share[A any] struct {
	Panes int64
	Acc   A
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

// sharesOf resolves the keys of a block in running.
func (w *paneOp[K, T, A]) sharesOf(b *block[K, A]) []*share[A] {
	n := len(b.keys)
	w.shares = slices.Grow(w.shares[:0], n)[:n]
	w.running.Resolve(b.keys, b.hashes, w.shares)
	return w.shares
}

func (w *paneOp[K, T, A]) mergeRunning(p *pane[K, A]) {
	w.inBlocks(p.table, func(b *block[K, A]) {
		for i, s := range w.sharesOf(b) {
			s.Panes++
			w.fold.Merge(&s.Acc, b.accs[i])
		}
	})
}

func (w *paneOp[K, T, A]) subtract(p *pane[K, A]) {
	w.inBlocks(p.table, func(b *block[K, A]) {
		empty := 0
		for i, s := range w.sharesOf(b) {
			if s.Panes--; s.Panes == 0 {
				// Deleting moves entries that shares refers to: later.
				b.keys[empty], b.hashes[empty] = b.keys[i], b.hashes[i]
				empty++
				continue
			}
			w.fold.Sub(&s.Acc, b.accs[i])
		}
		for i := range empty {
			w.running.Delete(&b.keys[i], b.hashes[i])
		}
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
