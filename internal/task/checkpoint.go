package task

import (
	"errors"
	"fmt"

	"github.com/cutwater-io/cutwater/internal/barrier"
	"github.com/cutwater-io/cutwater/internal/batch"
	"github.com/cutwater-io/cutwater/internal/exchange"
	"github.com/cutwater-io/cutwater/internal/ident"
	"github.com/cutwater-io/cutwater/internal/manifest"
	"github.com/cutwater-io/cutwater/internal/operator"
)

// stepAligner tells the aligner an event and carries out what it says.
func (t *Task) stepAligner(ev barrier.Event) error {
	if t.aligner == nil {
		return nil
	}
	for _, a := range t.aligner.Step(nil, ev) {
		switch a := a.(type) {
		case barrier.Block:
			t.cfg.Inbox.Block(t.channel(a.Channel))
		case barrier.Unblock:
			t.cfg.Inbox.Unblock(t.channel(a.Channel))
		case barrier.Perform:
			if err := t.stepTask(a); err != nil {
				return err
			}
		case barrier.Abort:
			if err := t.stepTask(a); err != nil {
				return err
			}
		default:
			panic(fmt.Sprintf("task: unknown action %v", a))
		}
	}
	return nil
}

// stepTask tells the core of the task's checkpoints an event and carries out
// what it says. An error fails the task.
func (t *Task) stepTask(ev barrier.TaskEvent) error {
	if t.snapshots == nil {
		return nil // failed before it was built
	}
	for _, a := range t.snapshots.Step(nil, ev) {
		if err := t.act(a); err != nil {
			return err
		}
	}
	return nil
}

func (t *Task) act(a barrier.TaskAction) error {
	switch a := a.(type) {
	case barrier.AlignTrigger:
		return t.stepAligner(a.Trigger)
	case barrier.Snapshot:
		return t.perform(a.Perform)
	case barrier.StartAsync:
		t.startAsync(a.Checkpoint)
	case barrier.CloseAsync:
		t.async[a.Checkpoint].cancel()
	case barrier.DiscardAsync:
		if p := t.async[a.Checkpoint]; p != nil {
			p.discard(t)
			delete(t.async, a.Checkpoint)
		}
	case barrier.Acknowledge:
		p := t.async[a.Checkpoint]
		delete(t.async, a.Checkpoint)
		t.cfg.Reporter.Acknowledge(a.Checkpoint, p.states, p.metrics)
	case barrier.Decline:
		cause := ""
		if p := t.async[a.Checkpoint]; p != nil && p.err != nil {
			cause = p.err.Error()
			delete(t.async, a.Checkpoint)
		}
		t.cfg.Reporter.Decline(a.Checkpoint, a.Reason, cause)
	case barrier.BroadcastCancel:
		t.broadcast(batch.Element{Kind: batch.KindCancelMarker, Checkpoint: a.Checkpoint})
	case barrier.DeliverComplete:
		return t.notify(func(op operator.Operator) error { return op.NotifyComplete(a.Checkpoint) })
	case barrier.DeliverAborted:
		return t.notify(func(op operator.Operator) error { return op.NotifyAborted(a.Checkpoint) })
	case barrier.FailTask:
		if t.syncErr != nil {
			return t.syncErr
		}
		return fmt.Errorf("checkpoint %d: %s", a.Checkpoint, a.Fault)
	case barrier.Finish:
		t.finish = true
	case barrier.Drained:
		t.drained = true
	case barrier.DeliverSubsumed, barrier.PruneLocal, barrier.DropLocal, barrier.ReportMetrics:
		// There are no local copies, and nobody asks for the metrics of what
		// was aborted.
	default:
		panic(fmt.Sprintf("task: unknown action %v", a))
	}
	return nil
}

func (t *Task) channel(id ident.ChannelID) *exchange.Channel {
	return t.cfg.Inbox.Channels()[t.aligner.Index(id)]
}

// notify calls every operator from tail to head, also when one fails; the first
// error is returned with the others joined behind it.
func (t *Task) notify(call func(operator.Operator) error) error {
	var errs []error
	for i := len(t.chain) - 1; i >= 0; i-- {
		if err := call(t.chain[i].op); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (t *Task) broadcast(e batch.Element) {
	for i := range t.outputs {
		t.outputs[i].Event(e)
	}
}

// perform is performCheckpoint of specification 2.5, steps 1 to 6: one action,
// into which no record, timer or notification can fall.
func (t *Task) perform(p barrier.Perform) error {
	begin := t.cfg.Env.Clock.Now()
	for _, l := range t.chain {
		if err := l.op.PrepareBarrier(p.Checkpoint); err != nil {
			return t.syncFailed(p.Checkpoint, err)
		}
	}
	t.broadcast(batch.Element{Kind: batch.KindBarrier, Checkpoint: p.Checkpoint, TimestampMillis: p.TimestampMillis})
	part := &asyncPart{id: p.Checkpoint}
	if err := t.capture(part); err != nil {
		return t.syncFailed(p.Checkpoint, err)
	}
	part.metrics = Metrics{StartDelay: p.StartDelay, Alignment: p.Alignment, Sync: t.cfg.Env.Clock.Now().Sub(begin)}
	t.async[p.Checkpoint] = part
	t.cfg.Reporter.SnapshotTaken(p.Checkpoint)
	return t.stepTask(barrier.SnapshotTaken{Checkpoint: p.Checkpoint})
}

// capture takes the synchronous part of every operator. When one fails, also by a
// panic of user code, what was captured is given back.
func (t *Task) capture(part *asyncPart) error {
	s := &operator.Snapshot{}
	captured := false
	defer func() {
		if !captured {
			s.Release()
			part.release()
		}
	}()
	for i := len(t.chain) - 1; i >= 0; i-- {
		l := &t.chain[i]
		s = &operator.Snapshot{}
		if err := l.op.Snapshot(part.id, s); err != nil {
			return err
		}
		if i == 0 && t.inputs != nil {
			s.AddList(watermarkState, manifest.Union, t.inputs.snapshot())
		}
		part.add(l, s)
		s = &operator.Snapshot{} // part's now
	}
	captured = true
	return nil
}

// syncFailed gives up after an error in the synchronous part: operators may be
// half changed, so the task cannot go on.
func (t *Task) syncFailed(id ident.CheckpointID, err error) error {
	t.syncErr = fmt.Errorf("checkpoint %d: %w", id, err)
	return t.stepTask(barrier.SnapshotFailed{Checkpoint: id})
}
