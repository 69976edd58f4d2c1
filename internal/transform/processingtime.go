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
//
// A clock that is set back does not move windows back: until it has caught up,
// records belong to the moment that had been reached. So no record is late.

func (w *paneOp[K, T, A]) processingTime(b *batch.Batch[K, T], from, to int) {
	moment := wallMoment(w.ctx.Task.NowMillis, w.now)
	w.now = moment - 1
	w.firing.start()
	w.firing.finish() // before records of the next window
	start := int64(w.win.Assigner.Pane(window.Millis(moment)).Start)
	if w.gaps && len(w.windowsOf(start)) == 0 {
		return
	}
	w.add(w.pane(start), b, from, to)
	w.setAlarm()
}

// wallMoment is the time at which records are processed: the wall clock, but
// behind the last millisecond that is complete.
func wallMoment(wall, complete int64) int64 {
	if complete == watermark.None {
		return wall
	}
	return max(wall, complete+1)
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
		w.now = max(w.now, w.ctx.Task.NowMillis-1)
		w.firing.start()
		w.setAlarm()
		return nil
	})
}

// finishProcessing fires everything that is open. Time itself stays where it was
// (see step): a checkpoint taken afterwards must not say that it has ended.
func (w *paneOp[K, T, A]) finishProcessing() {
	w.firing.finish()
	w.ending, w.before = true, w.now
	w.now = watermark.EndOfTime
	w.firing.start()
}
