package transform

import (
	"slices"

	"github.com/cutwater-io/cutwater/internal/backend/memory"
	"github.com/cutwater-io/cutwater/internal/batch"
	"github.com/cutwater-io/cutwater/window"
)

// Windows of several panes with an aggregate that has no inverse, such as a
// minimum: a queue made of two stacks, for all keys at once (Tangwongsan, Hirzel
// and Schneider, "Low-latency sliding-window aggregation in worst-case constant
// time", 2017, section 2, describe it for one key).
//
//	         runFrom             mid               runTo
//	panes ──────┼────┬────┬────┬──┼────┬────┬────────┼──▶ time
//	            └── front ────────┘└── back ─────────┘
//	            leave one by one     merged as they come
//
// For each key, Front is the panes of the front merged from the last to the first,
// and each pane of the front keeps, for its own keys, what Front was before it was
// merged: when the pane leaves, that is put back. Back is the sum of the panes
// that have come since. When the front is used up all panes become the front. So a
// pane is merged twice in its life, however many windows it is in.
//
// What a pane keeps is as large as the pane. That holds only for accumulators of
// a fixed size: a set of values, say, would be kept once for each pane after its
// own. For accumulators with pointers the panes are merged anew at each firing.
//
// Invariants, with stale false:
//   - Front holds exactly the panes within [runFrom, mid), Back those within
//     [mid, runTo); each pane of the front has its saved, in the order of a scan
//     of its table;
//   - a key that no pane has is not in the table.
type twoStacks[A any] struct {
	Front, Back     A
	InFront, InBack bool
}

// savedFront is what Front was without a pane.
type savedFront[A any] struct {
	acc     A
	inFront bool
}

// moveStacks is moveRunning for them.
func (w *paneOp[K, T, A]) moveStacks(win window.Window) {
	from, to := int64(win.Start), int64(win.End)
	if w.stacks == nil || w.stale || from < w.runFrom || from >= w.mid {
		w.rebuildStacks(from, to)
		return
	}
	for _, p := range w.panes {
		switch {
		case p.start >= w.runFrom && p.start < from:
			w.popFront(p)
		case p.start >= w.runTo && p.start < to:
			w.mergeBack(p)
		}
	}
	w.runFrom, w.runTo = from, to
}

// leaveStacks takes a pane that goes away out of the stacks.
func (w *paneOp[K, T, A]) leaveStacks(p *pane[K, A]) {
	if w.stacks == nil || w.stale || p.start < w.runFrom || p.start >= w.runTo {
		return
	}
	w.runFrom = addSat(p.last, 1)
	if w.runFrom >= w.mid {
		w.staleStacks() // it was the last one of the front
		return
	}
	w.popFront(p)
}

// staleStacks gives up what the stacks hold; the next firing makes them anew.
func (w *paneOp[K, T, A]) staleStacks() {
	w.stale = true
	w.stacks.Clear()
	for _, p := range w.panes {
		p.saved = nil
	}
}

// rebuildStacks adds the passes that make all panes within [from, to) the front.
func (w *paneOp[K, T, A]) rebuildStacks(from, to int64) {
	if w.stacks != nil {
		w.stacks.Close()
	}
	w.stacks = w.stackType.table(w.ctx, w.lastSize)
	w.stale, w.runFrom, w.mid, w.runTo = false, from, to, to
	for _, p := range slices.Backward(w.panes) {
		p.saved = nil
		if p.start >= from && p.start < to {
			w.pushFront(p)
		}
	}
}

// stacksOf resolves the keys of a block.
func (w *paneOp[K, T, A]) stacksOf(b *block[K, A]) []*twoStacks[A] {
	n := len(b.keys)
	w.both = slices.Grow(w.both[:0], n)[:n]
	w.stacks.Resolve(b.keys, b.hashes, w.both)
	return w.both
}

func (w *paneOp[K, T, A]) pushFront(p *pane[K, A]) {
	p.saved = make([]savedFront[A], 0, p.table.Len())
	w.inBlocks(p.table, func(b *block[K, A]) {
		for i, s := range w.stacksOf(b) {
			later := savedFront[A]{s.Front, s.InFront}
			p.saved = append(p.saved, later)
			s.Front, s.InFront = *b.accs[i], true
			if later.inFront {
				w.fold.Merge(&s.Front, &p.saved[len(p.saved)-1].acc)
			}
		}
	})
}

func (w *paneOp[K, T, A]) popFront(p *pane[K, A]) {
	saved := p.saved
	p.saved = nil
	w.inBlocks(p.table, func(b *block[K, A]) {
		empty := 0
		for i, s := range w.stacksOf(b) {
			s.Front, s.InFront = saved[i].acc, saved[i].inFront
			if !s.InFront && !s.InBack {
				// Deleting moves entries that both refers to: later.
				b.keys[empty], b.hashes[empty] = b.keys[i], b.hashes[i]
				empty++
			}
		}
		saved = saved[len(b.keys):]
		for i := range empty {
			w.stacks.Delete(&b.keys[i], b.hashes[i])
		}
	})
}

func (w *paneOp[K, T, A]) mergeBack(p *pane[K, A]) {
	w.inBlocks(p.table, func(b *block[K, A]) {
		for i, s := range w.stacksOf(b) {
			if s.InBack {
				w.fold.Merge(&s.Back, b.accs[i])
				continue
			}
			s.Back, s.InBack = *b.accs[i], true
		}
	})
}

func (w *paneOp[K, T, A]) emitStacks(win window.Window) {
	var at memory.Cursor
	acc := new(A)
	w.passes = append(w.passes, func() bool {
		at = w.stacks.Scan(at, func(k *K, s *twoStacks[A]) bool {
			switch {
			case !s.InBack:
				*acc = s.Front
			case !s.InFront:
				*acc = s.Back
			default:
				*acc = s.Front
				w.fold.Merge(acc, &s.Back)
			}
			w.fire(k, win, acc)
			return w.firing.more()
		})
		return at.Done()
	})
	w.then(func() { w.lastSize = w.stacks.Len() })
}

// addStacks folds a record into the stacks, which hold its pane already. What the
// panes of the front have saved cannot be corrected for one key.
func (w *paneOp[K, T, A]) addStacks(p *pane[K, A], b *batch.Batch[K, T], i int) {
	if w.stale {
		return
	}
	if p.start < w.mid {
		w.staleStacks()
		return
	}
	s, _ := w.stacks.Upsert(&b.K[i], b.H[i])
	s.InBack = true
	w.accs[0] = &s.Back
	w.fold.Fold(w.accs[:1], values(b, i, i+1))
}
