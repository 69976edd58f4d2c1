package task

import (
	"sync"
	"sync/atomic"

	"github.com/cutwater-io/cutwater/internal/barrier"
	"github.com/cutwater-io/cutwater/internal/exchange"
	"github.com/cutwater-io/cutwater/internal/ident"
	"github.com/cutwater-io/cutwater/internal/operator"
)

// mailbox is the queue of small actions that run between batches. It is bounded
// by its senders: the JobMaster has at most a few checkpoints and one
// assignment of splits under way, a reader at most one request.
type mailbox struct {
	waker *exchange.Waker
	// waiting is true while something is queued, for those who must not wait for
	// mu: it is read behind each key that fires.
	waiting *atomic.Bool
	mu      sync.Mutex // guards the fields below
	queue   []func() error
	closed  bool
}

// post queues an action; false when the task has ended.
func (m *mailbox) post(f func() error) bool {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return false
	}
	m.queue = append(m.queue, f)
	m.waiting.Store(true)
	m.mu.Unlock()
	m.waker.Wake()
	return true
}

// run executes everything queued, also what is queued meanwhile.
func (m *mailbox) run() error {
	for {
		m.mu.Lock()
		queue := m.queue
		m.queue = nil
		m.waiting.Store(false)
		m.mu.Unlock()
		if len(queue) == 0 {
			return nil
		}
		for _, f := range queue {
			if err := f(); err != nil {
				return err
			}
		}
	}
}

func (m *mailbox) close() {
	m.mu.Lock()
	m.closed, m.queue = true, nil
	m.waiting.Store(false)
	m.mu.Unlock()
}

// Trigger is TriggerCheckpoint. False: the task has ended. While something is
// under way that must end before a barrier, triggers wait, in their order; other
// mail does not.
func (t *Task) Trigger(id ident.CheckpointID, timestampMillis int64) bool {
	trigger := func() error {
		t.tick()
		return t.stepTask(barrier.Trigger{Checkpoint: id, TimestampMillis: timestampMillis, Now: t.moment()})
	}
	return t.mail.post(func() error {
		if t.busy() || len(t.triggers) > 0 {
			t.triggers = append(t.triggers, trigger)
			return nil
		}
		return trigger()
	})
}

// Complete is NotifyCheckpointComplete.
func (t *Task) Complete(id, subsumed ident.CheckpointID) {
	t.mail.post(func() error { return t.stepTask(barrier.Complete{Checkpoint: id, Subsumed: subsumed}) })
}

// Aborted is NotifyCheckpointAborted.
func (t *Task) Aborted(id, latest ident.CheckpointID) {
	t.mail.post(func() error {
		ev := barrier.Aborted{Checkpoint: id, Latest: latest}
		if err := t.stepTask(ev); err != nil {
			return err
		}
		return t.stepAligner(ev)
	})
}

// Finish says that the data of every task of the job has ended and a checkpoint
// that covers all of it is complete: the task may end.
// id is that checkpoint: if its notification was lost, this is it.
func (t *Task) Finish(id ident.CheckpointID) {
	t.mail.post(func() error {
		if err := t.stepTask(barrier.Complete{Checkpoint: id}); err != nil {
			return err
		}
		return t.mayFinish()
	})
}

// OperatorEvent delivers an event of an operator's coordinator. False: the task
// has ended.
func (t *Task) OperatorEvent(op ident.OperatorID, kind operator.EventKind, payload []byte) bool {
	return t.mail.post(func() error {
		if t.pull == nil || t.chain[0].id != op {
			return nil
		}
		return t.pull.HandleEvent(kind, payload)
	})
}
