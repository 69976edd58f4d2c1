package transform

import (
	"math"

	"github.com/cutwater-io/cutwater/internal/operator"
)

// fireStep is how many keys an operator fires before the task looks at timers,
// outputs and cancellation again. Waiting mail ends a step earlier, behind the
// key that is being fired.
const fireStep = 512

// firing is the part of an operator that has much to do at one moment: a
// watermark that closes a window of a million keys, or passes a million timers.
// It works in steps and lets the task hear its mail between them; see "Firing"
// in the package comment.
//
// What the operator gets while a firing is under way:
//
//	watermark, status   wait in the queue, in their order, behind the firing
//	records             finish the firing first, at once
//	a barrier           finishes the firing first; the task does not let it come
//
// Invariants:
//   - a watermark is forwarded after everything that it made due has fired;
//   - active operators are counted in task.Firing, each once.
type firing struct {
	task *operator.Task
	out  operator.Control
	// due takes a new time. It only notes what step is to fire.
	due func(ts int64)
	// step fires what is due until more says stop, and reports whether nothing
	// is left. It fires at least one key.
	step func() bool

	active   bool
	queue    []inBand
	forward  bool  // forwarding is to be forwarded when step has nothing left
	reached  int64 // with forward: the watermark
	left     int   // keys until the step ends
	draining bool  // to the end, whatever waits
}

// inBand is a watermark or a status that waits.
type inBand struct {
	watermark    int64
	status, idle bool
}

// more is asked behind each key: may the step go on?
func (f *firing) more() bool {
	f.left--
	return f.left > 0 && (f.draining || !f.task.Mail.Load())
}

// watermark takes a watermark: what it makes due fires, then it is forwarded.
func (f *firing) watermark(ts int64) {
	if n := len(f.queue); n > 0 && !f.queue[n-1].status {
		f.queue[n-1].watermark = max(f.queue[n-1].watermark, ts)
		return
	}
	f.queue = append(f.queue, inBand{watermark: ts})
	f.start()
}

// idle takes a status, which is forwarded behind what came before it.
func (f *firing) idle(idle bool) {
	f.queue = append(f.queue, inBand{status: true, idle: idle})
	f.start()
}

// start begins with what is due. While an operator of the chain is firing this
// one waits: what it emits might otherwise meet the middle of that firing.
func (f *firing) start() {
	switch {
	case f.active:
	case f.task.Firing > 0:
		f.hold()
	default:
		f.left = fireStep
		f.run()
	}
}

// resume does one step; false: there is nothing to do.
func (f *firing) resume() bool {
	if !f.active {
		return false
	}
	f.left = fireStep
	f.run()
	return true
}

// finish fires everything that is due and forwards everything that waits.
func (f *firing) finish() {
	if !f.active {
		return
	}
	f.draining, f.left = true, math.MaxInt
	f.run()
	f.draining = false
}

func (f *firing) run() {
	f.release() // or those behind would think that they have to wait
	for {
		if !f.step() {
			f.hold()
			return
		}
		if f.forward {
			f.forward = false
			f.out.Watermark(f.reached)
		}
		if len(f.queue) == 0 {
			return
		}
		// What was forwarded may have begun a firing behind, which comes first.
		if !f.draining && (f.left <= 0 || f.task.Firing > 0) {
			f.hold()
			return
		}
		e := f.queue[0]
		f.queue = append(f.queue[:0], f.queue[1:]...)
		if e.status {
			f.out.Status(e.idle)
			continue
		}
		f.due(e.watermark)
		f.forward, f.reached = true, e.watermark
	}
}

func (f *firing) hold() {
	if !f.active {
		f.active = true
		f.task.Firing++
	}
}

func (f *firing) release() {
	if f.active {
		f.active = false
		f.task.Firing--
	}
}
