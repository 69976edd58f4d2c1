package checkpoint

import (
	"errors"
	"fmt"
	"time"
)

// This file is the way of a checkpoint from its acknowledgements to its one
// outcome (specification 3.4, 3.5 and 3.6).

var errTaskLost = errors.New("the task does not run any more")

func (c *Coordinator) onAcked(e Acked) {
	if c.closing {
		return
	}
	p := c.find(e.ID)
	if p == nil {
		c.discardAck(e, c.expired.has(e.ID))
		return
	}
	i := p.plan.expects(e.Attempt)
	if i < 0 || p.phase == triggering {
		// An attempt that need not acknowledge, or one that cannot have been
		// asked yet: whatever it sends, it is not part of this checkpoint.
		c.discardAck(e, false)
		return
	}
	if p.hasAcked(i) {
		return // it may be the very same objects: neither use nor delete them
	}
	p.ack(i, e.Metrics)
	a := c.slabs.keepAck.next()
	*a = KeepAck{ID: e.ID, Attempt: e.Attempt}
	c.out = append(c.out, a)
	if p.remaining == 0 {
		c.finalize(p)
	}
}

func (c *Coordinator) discardAck(e Acked, late bool) {
	a := c.slabs.discardAck.next()
	*a = DiscardAck{ID: e.ID, Attempt: e.Attempt, Late: late}
	c.out = append(c.out, a)
}

func (c *Coordinator) onDeclined(e Declined) {
	reason := e.Reason.known()
	p := c.find(e.ID)
	if p == nil || p.finalizing() || p.plan.expects(e.Attempt) < 0 {
		return
	}
	if reason == ReasonNone {
		reason = CheckpointDeclined
	}
	c.abort(p, cause{reason: reason, attempt: e.Attempt, hasAttempt: true, err: e.Err})
}

// finalize begins the I/O of a checkpoint everybody acknowledged. From here on an
// abort is not possible; the timeout is over.
func (c *Coordinator) finalize(p *pending) {
	c.cancelTimer(&p.timer)
	p.phase = writing
	p.stats.DurationMillis = int64((c.at.Now - p.startedAt) / time.Millisecond)
	a := c.slabs.writeManifest.next()
	*a = WriteManifest{ID: p.id, Kind: p.req.kind, Stats: p.stats}
	c.out = append(c.out, a)
}

func (c *Coordinator) onManifestWritten(e ManifestWritten) {
	p := c.find(e.ID)
	if p == nil || p.phase != writing {
		panic(fmt.Sprintf("checkpoint: the manifest of %d was written, but that was not asked for", e.ID))
	}
	switch {
	case p.doomed != ReasonNone:
		c.abort(p, cause{reason: p.doomed})
	case e.Err != nil:
		c.abort(p, cause{reason: FinalizeCheckpointFailure, err: e.Err})
	case p.req.kind == Savepoint:
		c.succeed(p)
		c.remove(p)
	default:
		p.phase = written
	}
}

// maybePublish starts the log entry of the oldest checkpoint that waits for it.
// One at a time: the order of entries is the order of ids, and with an older entry
// in doubt nothing newer may be written.
func (c *Coordinator) maybePublish() {
	var first *pending
	for _, p := range c.pending {
		switch p.phase {
		case publishing, resolving:
			return
		case written:
			if first == nil {
				first = p
			}
		}
	}
	if first == nil {
		return
	}
	first.phase = publishing
	a := c.slabs.publish.next()
	*a = Publish{ID: first.id}
	c.out = append(c.out, a)
}

func (c *Coordinator) onPublished(e Published) {
	p := c.find(e.ID)
	if p == nil || (p.phase != publishing && p.phase != resolving) {
		panic(fmt.Sprintf("checkpoint: %d was published, but that was not asked for", e.ID))
	}
	switch e.Outcome {
	case OK:
		c.cancelTimer(&p.timer)
		c.complete(p)
	case Failed:
		c.cancelTimer(&p.timer)
		c.abort(p, cause{reason: FinalizeCheckpointFailure, err: e.Err})
	case Deposed:
		c.leave(true)
	case Unknown:
		// Neither complete nor failed (defect D19): read back, at once the
		// first time, then less and less often. It stays pending meanwhile.
		if p.phase == publishing {
			p.phase = resolving
			p.backoff = firstResolveBackoff
			c.resolvePublish(p)
			return
		}
		p.timer = c.setTimer(p.backoff)
		p.backoff = min(2*p.backoff, maxResolveBackoff)
	}
}

func (c *Coordinator) resolvePublish(p *pending) {
	a := c.slabs.resolvePublish.next()
	*a = ResolvePublish{ID: p.id}
	c.out = append(c.out, a)
}

// complete is the transition to COMPLETED of a checkpoint whose log entry is
// durable. Only here can a completion notification come from (invariant I4).
func (c *Coordinator) complete(p *pending) {
	id := p.id
	c.store.add(id)
	c.succeed(p)
	c.remove(p)
	c.abortSubsumed(p)
	excess := len(c.store.list) - c.cfg.MaxRetained
	if excess > 0 {
		c.store.lastSubsumed = c.store.list[excess-1].ID
	}
	a := c.slabs.notifyComplete.next()
	*a = NotifyComplete{ID: id, LastSubsumed: c.store.lastSubsumed, To: a.To[:0]}
	if c.plan != nil {
		// The current attempts, not those that acknowledged: a newer one was
		// restored from this checkpoint or a newer one and ignores it (S069).
		a.To = c.plan.appendAlive(a.To)
	}
	c.out = append(c.out, a)
	c.subsume(len(c.store.list), c.cfg.MaxRetained)
}

// succeed resolves p's request and notes the success.
func (c *Coordinator) succeed(p *pending) {
	c.resolve(p.req, p.id, cause{})
	c.failures.succeeded(p.id)
	c.completedAt, c.anySuccess = c.at.Now, true
}

// abortSubsumed ends the pending checkpoints that are older than done, which
// completed. Savepoints stay: somebody asked for them.
func (c *Coordinator) abortSubsumed(done *pending) {
	for i := 0; i < len(c.pending); {
		p := c.pending[i]
		switch {
		case p.id > done.id || p.req.kind == Savepoint:
			i++
		case p.phase == writing:
			p.doomed = CheckpointSubsumed
			i++
		default:
			c.abort(p, cause{reason: CheckpointSubsumed}) // takes p off the list
		}
	}
}

// abort is the transition to ABORTED. It ends the trigger phase, too, because that
// is nothing but p's phase (defect D1).
//
// REQUIRES: no I/O for p is on its way but the snapshot of the operator
// coordinators, whose late answer is discarded.
func (c *Coordinator) abort(p *pending, why cause) {
	c.cancelTimer(&p.timer)
	if why.reason == CheckpointExpired {
		c.expired.add(p.id)
	}
	n := c.slabs.notifyAborted.next()
	*n = NotifyAborted{ID: p.id, LatestCompleted: c.store.latest(), To: n.To[:0]}
	if p.phase != triggering && c.plan != nil {
		n.To = c.plan.appendAlive(n.To)
	}
	c.out = append(c.out, n)
	c.resolve(p.req, p.id, why)
	d := c.slabs.discardPending.next()
	*d = DiscardPending{ID: p.id}
	c.out = append(c.out, d)
	c.countFailure(p.req, p.id, why)
	c.remove(p)
}

// abortUnfinished aborts every pending checkpoint that still waits for somebody.
// Those that are finalizing go on to their outcome.
func (c *Coordinator) abortUnfinished(why cause) {
	for i := 0; i < len(c.pending); {
		if p := c.pending[i]; p.finalizing() {
			i++
		} else {
			c.abort(p, why)
		}
	}
}
