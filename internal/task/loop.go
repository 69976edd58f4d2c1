package task

import (
	"context"
	"time"

	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/internal/barrier"
	"github.com/cutwater-io/cutwater/internal/batch"
	"github.com/cutwater-io/cutwater/internal/exchange"
	"github.com/cutwater-io/cutwater/internal/operator"
)

// loop is the task. Each turn does mail, due timers and at most one batch of
// input or one step of a firing; when there was nothing to do it sends what is open
// and sleeps.
func (t *Task) loop(ctx context.Context) error {
	for {
		t.tick()
		if err := t.mail.run(); err != nil {
			return err
		}
		if err := t.timers.fire(t.shared.NowMillis); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ErrCanceled
		}
		if t.finish && t.settled() {
			return t.close()
		}
		worked, err := t.work()
		if err != nil {
			return err
		}
		if worked {
			t.flushOld()
			continue
		}
		t.wait(ctx)
	}
}

// tick advances the coarse clock. One reading per turn is 40 ns for a batch of
// 512 records.
func (t *Task) tick() {
	now := t.cfg.Env.Clock.Now()
	t.shared.NowNanos = 1 + int64(now.Sub(t.start))
	t.shared.NowMillis = now.UnixMilli()
}

func (t *Task) moment() barrier.Moment {
	return barrier.Moment{Nanos: t.shared.NowNanos, WallMillis: t.shared.NowMillis}
}

// work does one batch of input, if there is one and room for its results. What
// was begun comes first: a firing, from the tail of the chain on, because what
// operators before it emit goes into those behind it; then the rest of the batch
// whose watermark began the firing; then the end of data.
func (t *Task) work() (bool, error) {
	if len(t.triggers) > 0 && !t.busy() {
		trigger := t.triggers[0]
		t.triggers = t.triggers[1:]
		return true, trigger()
	}
	for i := range t.outputs {
		if !t.outputs[i].Ready() {
			t.setHeld(true)
			return false, nil
		}
	}
	switch {
	case t.shared.Firing > 0:
		t.setHeld(true)
		t.resume()
		return true, nil
	case t.reading.records != nil:
		t.process()
		return true, nil
	case t.ending:
		return true, t.finishData()
	case t.pull != nil:
		return t.poll()
	}
	c, e, ok := t.cfg.Inbox.Next()
	if !ok {
		return false, nil
	}
	return true, t.read(c, e)
}

// busy reports whether something has been begun that must end before the next
// barrier.
func (t *Task) busy() bool {
	return t.shared != nil && t.shared.Firing > 0 || t.reading.records != nil || t.ending
}

// resume does one step of the last firing of the chain.
func (t *Task) resume() {
	for i := len(t.chain) - 1; i >= 0; i-- {
		if r, ok := t.chain[i].op.(operator.Resumer); ok && r.Resume() {
			return
		}
	}
	panic("task: operators are counted as firing, and none is")
}

// reading is the batch that is being processed.
type reading struct {
	channel *exchange.Channel
	records batch.Records // nil: none
	at      operator.Place
}

// process hands over the batch that is being read, up to its end or to a
// watermark that begins a firing.
func (t *Task) process() {
	r := &t.reading
	t.inputs.current = r.channel
	var all bool
	if r.at, all = t.receivers[r.channel.ID.Gate].Process(r.records, r.at, t.mark); all {
		r.records.Release()
		*r = reading{}
	}
}

// setHeld tells a source's operators that it is not read, or read again.
func (t *Task) setHeld(held bool) {
	if t.held == held {
		return
	}
	t.held = held
	for _, l := range t.shared.Splits {
		l.Held(held)
	}
}

// poll reads from the source.
func (t *Task) poll() (bool, error) {
	t.setHeld(false)
	if t.dataEnded || t.shared.NowNanos < t.pollAt {
		return false, nil
	}
	result, after, err := t.pull.Poll()
	if err != nil {
		return false, err
	}
	switch result {
	case connector.Wait:
		// Wake ends the wait early, see wait.
		t.pollAt = never
		if after > 0 {
			t.pollAt = t.shared.NowNanos + after
		}
		return false, nil
	case connector.Finished:
		return true, t.endData(true)
	}
	t.pollAt = 0
	return true, nil
}

const never = int64(1<<63 - 1)

// read takes one element from a channel.
func (t *Task) read(c *exchange.Channel, e batch.Element) error {
	switch e.Kind {
	case batch.KindRecords:
		t.reading = reading{channel: c, records: e.Records}
		t.process()
		return nil
	case batch.KindBarrier:
		// A notification that was sent before the barrier is heard before it.
		if err := t.mail.run(); err != nil {
			return err
		}
		t.tick()
		return t.stepAligner(barrier.Barrier{Channel: c.ID, Checkpoint: e.Checkpoint, TimestampMillis: e.TimestampMillis, Now: t.moment()})
	case batch.KindCancelMarker:
		return t.stepAligner(barrier.CancelMarker{Channel: c.ID, Checkpoint: e.Checkpoint})
	case batch.KindStatus:
		t.inputs.status(c, e.Idle)
		return nil
	case batch.KindEndOfData:
		if t.inputs.endOfData(c, e.Drain) {
			return t.endData(t.inputs.drain)
		}
		return nil
	case batch.KindEndOfPartition:
		return t.stepAligner(barrier.EndOfPartition{Channel: c.ID, Now: t.moment()})
	}
	panic("task: element of unknown kind " + e.Kind.String())
}

// flushOld sends batches whose oldest record has waited for the buffer timeout.
func (t *Task) flushOld() {
	for i := range t.outputs {
		t.outputs[i].FlushOpenedBefore(t.shared.NowNanos - t.outputs[i].timeoutNanos)
	}
}

// wait sends what is open, then sleeps until something wakes the task. A task that
// waits for a receiver sends only what is old enough: a shuffle whose senders sent
// their half-filled batches each time that one of the receivers was behind would
// soon consist of batches of a few records.
func (t *Task) wait(ctx context.Context) {
	ready := true
	for i := range t.outputs {
		ready = ready && t.outputs[i].Ready()
	}
	if ready && !t.busy() {
		for _, l := range t.chain {
			l.op.Idle()
		}
		for i := range t.outputs {
			t.outputs[i].Flush()
		}
	} else {
		t.flushOld()
	}
	var due <-chan time.Time
	if d, ok := t.untilDue(ready); ok {
		if d <= 0 {
			return
		}
		due = t.cfg.Env.Clock.After(d)
	}
	select {
	case <-t.cfg.Waker.C():
		// Whatever woke the task may be the source's input.
		t.pollAt = 0
	case <-due:
	case <-ctx.Done():
	}
}

// untilDue is how long the task may sleep: until a timer, the source's own alarm
// or the buffer timeout of an open batch.
//
// While a receiver is behind (ready is false) the source is not polled, so its
// alarm says nothing: the batch that comes back wakes the task.
func (t *Task) untilDue(ready bool) (time.Duration, bool) {
	d, ok := time.Duration(0), false
	if millis, has := t.timers.next(); has {
		d, ok = time.Duration(millis-t.shared.NowMillis)*time.Millisecond, true
	}
	if ready && t.pull != nil && !t.dataEnded && t.pollAt != never {
		if p := time.Duration(t.pollAt - t.shared.NowNanos); !ok || p < d {
			d, ok = p, true
		}
	}
	for i := range t.outputs {
		if opened := t.outputs[i].Opened(); opened != 0 {
			if p := time.Duration(opened + t.outputs[i].timeoutNanos - t.shared.NowNanos); !ok || p < d {
				d, ok = p, true
			}
		}
	}
	return d, ok
}

// close is the ordinary end: mailbox closed, asynchronous parts ended, channels
// closed. Run closes the operators.
func (t *Task) close() error {
	if err := t.stepTask(barrier.Closing{}); err != nil {
		return err
	}
	for !t.drained {
		if err := t.mail.run(); err != nil {
			return err
		}
		if t.drained {
			break
		}
		select {
		case <-t.cfg.Waker.C():
		case <-t.done:
			return ErrCanceled
		}
	}
	for i := range t.outputs {
		t.outputs[i].Event(batch.Element{Kind: batch.KindEndOfPartition})
	}
	return nil
}
