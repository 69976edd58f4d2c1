package transform

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/internal/ident"
	"github.com/cutwater-io/cutwater/internal/manifest"
	"github.com/cutwater-io/cutwater/internal/operator"
)

// Committables is what one writer prepared for one checkpoint: the record on the
// edge from writer to committer.
type Committables struct {
	Checkpoint uint64
	Items      []connector.Committable
}

const committerState = "committables"

const (
	commitRetries  = 10
	commitBackoff  = 100 * time.Millisecond
	commitMaxDelay = 10 * time.Second
)

// Committer makes the factory of a sink's second phase (specification 6.2).
//
// Invariant: every committable received and not committed is in the state of
// each checkpoint. So whatever a completed checkpoint promised is committed:
// when its completion is notified, or after a restore from it, or with a later
// checkpoint if the notification was lost.
func Committer[T any](sink connector.CommittingSink[T], name string) operator.Factory {
	return operator.Factory{Build: func(ctx *operator.Context) (operator.Operator, []any, error) {
		// The committer shares the name of the sink, by which its transactions
		// are known outside.
		inner := *ctx
		inner.Name = name
		c, err := sink.Committer(writerContext{&inner})
		if err != nil {
			return nil, nil, fmt.Errorf("sink %q: open committer of subtask %d: %w", name, ctx.Subtask, err)
		}
		op := &committer{ctx: ctx, name: name, committer: c}
		return op, []any{operator.In[Committables]{Record: op.add, Control: operator.Join[Committables](nil).Control}}, nil
	}}
}

type committer struct {
	operator.Base
	ctx       *operator.Context
	name      string
	committer connector.Committer
	// pending is ascending by checkpoint; several entries of one checkpoint
	// come from several writers.
	pending []pendingCommit
	// retrying: a retry is scheduled.
	retrying bool
	attempts int
	// upTo is the highest checkpoint known to be complete.
	upTo uint64
}

type pendingCommit struct {
	checkpoint uint64
	items      []connector.Committable
}

func (c *committer) add(v *Committables, _ int64) {
	i, _ := slices.BinarySearchFunc(c.pending, v.Checkpoint+1, func(p pendingCommit, id uint64) int {
		if p.checkpoint < id {
			return -1
		}
		return 1
	})
	c.pending = slices.Insert(c.pending, i, pendingCommit{v.Checkpoint, v.Items})
}

// Open commits everything restored before any new input, then removes leftovers
// of transactions that no checkpoint knows.
func (c *committer) Open() error {
	for _, e := range c.ctx.Restored.List(committerState) {
		p, err := decodePending(e)
		if err != nil {
			return fmt.Errorf("sink %q: restore committables: %w", c.name, err)
		}
		c.add(&Committables{p.checkpoint, p.items}, 0)
	}
	c.upTo = uint64(c.ctx.RestoredFrom)
	for attempt := 0; len(c.pending) > 0; attempt++ {
		if err := c.commit(true); err != nil {
			return err
		}
		if len(c.pending) == 0 {
			break
		}
		if attempt == commitRetries {
			return fmt.Errorf("sink %q: %d transactions of checkpoint %d could not be committed in %d attempts", c.name, len(c.pending), c.ctx.RestoredFrom, attempt)
		}
		<-c.ctx.Env.Clock.After(commitDelay(attempt))
	}
	if err := c.committer.Sweep(nil); err != nil {
		return fmt.Errorf("sink %q: remove leftovers of earlier runs: %w", c.name, err)
	}
	return nil
}

func commitDelay(attempt int) time.Duration {
	return min(commitBackoff<<min(attempt, 10), commitMaxDelay)
}

func (c *committer) NotifyComplete(id ident.CheckpointID) error {
	c.upTo = max(c.upTo, uint64(id))
	c.attempts = 0
	return c.commitAndRetry()
}

// commitAndRetry commits what is due and schedules another try of what is to be
// retried later. The task goes on meanwhile.
func (c *committer) commitAndRetry() error {
	if err := c.commit(false); err != nil {
		return err
	}
	if c.retrying || len(c.pending) == 0 || c.pending[0].checkpoint > c.upTo {
		return nil
	}
	if c.attempts >= commitRetries {
		return fmt.Errorf("sink %q: a transaction of checkpoint %d could not be committed in %d attempts", c.name, c.pending[0].checkpoint, c.attempts)
	}
	c.retrying = true
	delay := commitDelay(c.attempts)
	c.attempts++
	c.ctx.Task.At(c.ctx.Task.NowMillis+delay.Milliseconds(), func() error {
		c.retrying = false
		return c.commitAndRetry()
	})
	return nil
}

// commit commits all pending committables of complete checkpoints in order. A
// failure of one does not keep it from trying the others; the first is returned.
func (c *committer) commit(restored bool) error {
	var first error
	kept := c.pending[:0]
	for _, p := range c.pending {
		if p.checkpoint > c.upTo {
			kept = append(kept, p)
			continue
		}
		outcomes, err := c.committer.Commit(p.checkpoint, restored, p.items)
		if err == nil && len(outcomes) != len(p.items) {
			err = fmt.Errorf("the committer answered %d outcomes for %d committables", len(outcomes), len(p.items))
		}
		left := p.items[:0:0]
		for i, item := range p.items {
			if i >= len(outcomes) || outcomes[i] != connector.Committed {
				left = append(left, item)
			}
			if i < len(outcomes) && outcomes[i] == connector.Failed && err == nil {
				err = errors.New("a transaction can never be committed")
			}
		}
		if err != nil && first == nil {
			first = fmt.Errorf("sink %q: commit checkpoint %d: %w", c.name, p.checkpoint, err)
		}
		if len(left) > 0 {
			kept = append(kept, pendingCommit{p.checkpoint, left})
		}
	}
	clear(c.pending[len(kept):])
	c.pending = kept
	return first
}

func (c *committer) Snapshot(_ ident.CheckpointID, snap *operator.Snapshot) error {
	elements := make([][]byte, len(c.pending))
	for i, p := range c.pending {
		elements[i] = encodePending(p)
	}
	snap.AddList(committerState, manifest.Split, elements)
	return nil
}

func (c *committer) Close() error { return c.committer.Close() }

func encodePending(p pendingCommit) []byte {
	b := binary.LittleEndian.AppendUint64(nil, p.checkpoint)
	for _, item := range p.items {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(item.Data)))
		b = append(b, item.Data...)
	}
	return b
}

func decodePending(b []byte) (pendingCommit, error) {
	if len(b) < 8 {
		return pendingCommit{}, fmt.Errorf("decode committables: %d bytes are too short", len(b))
	}
	p := pendingCommit{checkpoint: binary.LittleEndian.Uint64(b)}
	for rest := b[8:]; len(rest) > 0; {
		data, r, ok := cutBytes(rest)
		if !ok {
			return pendingCommit{}, errors.New("decode committables: cut off")
		}
		p.items = append(p.items, connector.Committable{Data: data})
		rest = r
	}
	return p, nil
}
