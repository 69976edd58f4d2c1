package transform

import (
	"fmt"

	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/internal/ident"
	"github.com/cutwater-io/cutwater/internal/manifest"
	"github.com/cutwater-io/cutwater/internal/operator"
)

const writerState = "writer"

// Sink makes the factory of a sink's writer. Behind the writer of a two-phase
// sink, on output port 0, stands its committer.
func Sink[T any](sink connector.Sink[T]) operator.Factory {
	return operator.Factory{Build: func(ctx *operator.Context) (operator.Operator, []any, error) {
		var restored [][]byte
		if ctx.RestoredFrom > 0 {
			restored = ctx.Restored.List(writerState)
			if restored == nil {
				restored = [][]byte{}
			}
		}
		w, err := sink.Writer(writerContext{ctx}, restored)
		if err != nil {
			return nil, nil, fmt.Errorf("sink %q: open writer of subtask %d: %w", ctx.Name, ctx.Subtask, err)
		}
		s := &writer[T]{ctx: ctx, writer: w, out: operator.OutputOf[Committables](ctx, 0)}
		s.committing, _ = w.(connector.CommittingWriter[T])
		return s, []any{operator.In[T]{Record: s.write, Control: s.out.Control}}, nil
	}}
}

type writer[T any] struct {
	operator.Base
	ctx        *operator.Context
	writer     connector.Writer[T]
	committing connector.CommittingWriter[T] // nil for a sink of one phase
	out        operator.In[Committables]
	ended      bool
}

func (s *writer[T]) write(v *T, ts int64) {
	if err := s.writer.Write(v, ts); err != nil {
		s.ctx.Fail("", fmt.Errorf("write: %w", err))
	}
}

// PrepareBarrier hands the committables of the epoch to the committer before
// the barrier, so that checkpoint and committables are one.
func (s *writer[T]) PrepareBarrier(id ident.CheckpointID) error {
	if err := s.writer.Flush(s.ended); err != nil {
		return fmt.Errorf("sink %q, subtask %d: flush: %w", s.ctx.Name, s.ctx.Subtask, err)
	}
	if s.committing == nil {
		return nil
	}
	items, err := s.committing.Prepare(uint64(id))
	if err != nil {
		return fmt.Errorf("sink %q, subtask %d: prepare checkpoint %d: %w", s.ctx.Name, s.ctx.Subtask, id, err)
	}
	if len(items) > 0 {
		s.out.Record(&Committables{Checkpoint: uint64(id), Items: items}, connector.NoTimestamp)
	}
	return nil
}

func (s *writer[T]) Snapshot(id ident.CheckpointID, snap *operator.Snapshot) error {
	elements, err := s.writer.Snapshot(uint64(id))
	if err != nil {
		return fmt.Errorf("sink %q, subtask %d: snapshot: %w", s.ctx.Name, s.ctx.Subtask, err)
	}
	snap.AddList(writerState, manifest.Split, elements)
	return nil
}

func (s *writer[T]) Finish() error {
	s.ended = true
	if err := s.writer.Flush(true); err != nil {
		return fmt.Errorf("sink %q, subtask %d: flush: %w", s.ctx.Name, s.ctx.Subtask, err)
	}
	return nil
}

func (s *writer[T]) Close() error { return s.writer.Close() }

// writerContext is what writers and committers see of their task.
type writerContext struct{ ctx *operator.Context }

func (c writerContext) Env() connector.Env   { return c.ctx.Env }
func (c writerContext) Job() string          { return c.ctx.Job.String() }
func (c writerContext) Operator() string     { return c.ctx.Name }
func (c writerContext) Subtask() int         { return c.ctx.Subtask }
func (c writerContext) Parallelism() int     { return c.ctx.Parallelism }
func (c writerContext) Attempt() uint64      { return c.ctx.Attempt }
func (c writerContext) RestoredFrom() uint64 { return uint64(c.ctx.RestoredFrom) }
