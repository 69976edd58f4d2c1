package transform

import (
	"github.com/cutwater-io/cutwater/internal/batch"
	"github.com/cutwater-io/cutwater/internal/watermark"
	"github.com/cutwater-io/cutwater/window"
)

// Windows by the wall clock: records belong to the window of the moment they are
// processed in, and a timer of the task fires windows. After a restore windows
// whose end has passed meanwhile fire at once; at the end of the input all that
// are open fire.

func (w *paneOp[K, T, A]) processingTime(b *batch.Batch[K, T], from, to int) {
	now := w.ctx.Task.NowMillis
	w.advance(now - 1)
	if p := w.paneAt(now); p != nil {
		w.add(p, b, from, to)
	}
	w.setAlarm()
}

// setAlarm sets the timer for the next window that ends with something in it.
func (w *paneOp[K, T, A]) setAlarm() {
	if len(w.panes) == 0 || w.alarm != 0 {
		return
	}
	from := w.panes[0].start
	if w.now != watermark.None {
		from = max(from, addSat(w.now, 1))
	}
	end := int64(w.win.Assigner.NextEnd(window.Millis(from)))
	if end == watermark.EndOfTime {
		return
	}
	w.alarm = end
	w.ctx.Task.At(end, func() error {
		w.alarm = 0
		w.advance(w.ctx.Task.NowMillis - 1)
		w.setAlarm()
		return nil
	})
}
