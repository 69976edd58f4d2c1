package transform

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/internal/exchange"
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
//
// The state is a union: each committer commits its share of what is restored, and
// knows the shares of the others. For leftovers are swept by the number of the
// writer that made them, and after a change of parallelism the committables of
// that writer may be in the share of a committer which has not come to them yet.
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
	// retrying: a retry is scheduled. attempts counts those since the oldest
	// due checkpoint is oldest; later checkpoints do not begin the count anew.
	retrying bool
	attempts int
	oldest   uint64
	// upTo is the highest checkpoint known to be complete.
	upTo uint64
}

type pendingCommit struct {
	checkpoint uint64
	from       int // the subtask that received them
	items      []connector.Committable
}

func (c *committer) add(v *Committables, _ int64) {
	c.insert(pendingCommit{v.Checkpoint, c.ctx.Subtask, v.Items})
}

func (c *committer) insert(p pendingCommit) {
	i := len(c.pending)
	for i > 0 && c.pending[i-1].checkpoint > p.checkpoint {
		i--
	}
	c.pending = slices.Insert(c.pending, i, p)
}

// Open commits everything restored before any new input, then removes leftovers
// of transactions that no checkpoint knows.
func (c *committer) Open() error {
	live, err := c.restore()
	if err != nil {
		return err
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
			return fmt.Errorf("sink %q: a transaction of checkpoint %d could not be committed after the restore of checkpoint %d in %d attempts; see why its target asks to try later, and start the job again",
				c.name, c.pending[0].checkpoint, c.ctx.RestoredFrom, attempt+1)
		}
		select {
		case <-c.ctx.Env.Clock.After(commitDelay(attempt)):
		case <-c.ctx.Task.Done:
			panic(exchange.Canceled{})
		}
	}
	if err := c.committer.Sweep(live); err != nil {
		return fmt.Errorf("sink %q: remove leftovers of earlier runs: %w", c.name, err)
	}
	return nil
}

// restore takes this committer's share of the restored committables: by the
// subtask that received them, so that those of one writer stay together and in
// order. It returns those of the others.
func (c *committer) restore() (others []connector.Committable, err error) {
	for _, e := range c.ctx.Restored.List(committerState) {
		p, err := decodePending(e)
		if err != nil {
			return nil, fmt.Errorf("sink %q: restore checkpoint %d: %w", c.name, c.ctx.RestoredFrom, err)
		}
		if p.from%c.ctx.Parallelism == c.ctx.Subtask {
			c.insert(p)
		} else {
			others = append(others, p.items...)
		}
	}
	return others, nil
}

func commitDelay(attempt int) time.Duration {
	return min(commitBackoff<<min(attempt, 10), commitMaxDelay)
}

func (c *committer) NotifyComplete(id ident.CheckpointID) error {
	c.upTo = max(c.upTo, uint64(id))
	return c.commitAndRetry()
}

// commitAndRetry commits what is due and schedules another try of what is to be
// retried later. The task goes on meanwhile.
func (c *committer) commitAndRetry() error {
	if err := c.commit(false); err != nil {
		return err
	}
	if len(c.pending) == 0 || c.pending[0].checkpoint > c.upTo {
		c.attempts = 0
		return nil
	}
	if c.pending[0].checkpoint != c.oldest {
		c.oldest, c.attempts = c.pending[0].checkpoint, 0
	}
	if c.retrying {
		return nil
	}
	if c.attempts >= commitRetries {
		return fmt.Errorf("sink %q: a transaction of checkpoint %d could not be committed in %d attempts; see why its target asks to try later",
			c.name, c.oldest, c.attempts+1)
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
		later := len(outcomes) == len(p.items) // an error beside these only says why
		for i, item := range p.items {
			if i >= len(outcomes) || outcomes[i] != connector.Committed {
				left = append(left, item)
			}
			if i < len(outcomes) && outcomes[i] == connector.Failed {
				later = false
				if err == nil {
					err = fmt.Errorf("a transaction can never be committed: %w", operator.ErrPermanent)
				}
			}
		}
		if err != nil && !later && first == nil {
			first = fmt.Errorf("sink %q: commit checkpoint %d: %w", c.name, p.checkpoint, err)
		}
		if len(left) > 0 {
			kept = append(kept, pendingCommit{p.checkpoint, p.from, left})
		}
	}
	clear(c.pending[len(kept):])
	c.pending = kept
	return first
}

// Settled reports whether everything of complete checkpoints is committed. Without
// it a job could end, and forget its checkpoints, while a commit is to be tried
// again later.
func (c *committer) Settled() bool { return len(c.pending) == 0 || c.pending[0].checkpoint > c.upTo }

func (c *committer) Snapshot(_ ident.CheckpointID, snap *operator.Snapshot) error {
	elements := make([][]byte, len(c.pending))
	for i, p := range c.pending {
		elements[i] = encodePending(p)
	}
	snap.AddList(committerState, manifest.Union, elements)
	return nil
}

func (c *committer) Close() error { return c.committer.Close() }

// encodePending is the element of the state: the checkpoint, 8 bytes, the subtask,
// 4 bytes, and each item with its length before it, 4 bytes; little-endian.
func encodePending(p pendingCommit) []byte {
	b := binary.LittleEndian.AppendUint64(nil, p.checkpoint)
	b = binary.LittleEndian.AppendUint32(b, uint32(p.from))
	for _, item := range p.items {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(item.Data)))
		b = append(b, item.Data...)
	}
	return b
}

func decodePending(b []byte) (pendingCommit, error) {
	if len(b) < 12 {
		return pendingCommit{}, fmt.Errorf("decode committables: %d bytes are too short", len(b))
	}
	p := pendingCommit{checkpoint: binary.LittleEndian.Uint64(b), from: int(binary.LittleEndian.Uint32(b[8:]))}
	for rest := b[12:]; len(rest) > 0; {
		data, r, ok := cutBytes(rest)
		if !ok {
			return pendingCommit{}, errors.New("decode committables: cut off")
		}
		p.items = append(p.items, connector.Committable{Data: data})
		rest = r
	}
	return p, nil
}
