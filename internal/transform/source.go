package transform

import (
	"encoding/binary"
	"fmt"

	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/internal/ident"
	"github.com/cutwater-io/cutwater/internal/manifest"
	"github.com/cutwater-io/cutwater/internal/operator"
)

// splitsState is the name of a source's list state: the splits its readers hold.
const splitsState = "splits"

// pollRecords is the number of records a source emits before the task looks at
// its mail and its outputs again.
const pollRecords = 512

// Source makes the factory of a source. bad, if not nil, is the side output for
// input that could not be decoded.
func Source[T any](src connector.Source[T], bad func(*operator.Context) func(connector.BadRecord)) operator.Factory {
	return operator.Factory{
		Enumerator: src.Enumerator,
		Build: func(ctx *operator.Context) (operator.Operator, []any, error) {
			s := &source[T]{ctx: ctx, out: operator.OutputOf[T](ctx, 0)}
			if bad != nil {
				s.bad = bad(ctx)
			}
			reader, err := src.Reader(readerContext[T]{s})
			if err != nil {
				return nil, nil, fmt.Errorf("source %q: open reader of subtask %d: %w", ctx.Name, ctx.Subtask, err)
			}
			s.reader = reader
			return s, nil, nil
		},
	}
}

// source runs a connector's reader at the head of a chain.
type source[T any] struct {
	operator.Base
	ctx    *operator.Context
	reader connector.Reader[T]
	out    operator.In[T]
	output connector.Output[T]
	bad    func(connector.BadRecord)
}

func (s *source[T]) Open() error {
	s.output = connector.Output[T]{
		Emit:        s.out.Record,
		StartSplit:  s.tell(operator.SplitListener.StartSplit),
		EmptySplit:  s.tell(operator.SplitListener.EmptySplit),
		FinishSplit: s.tell(operator.SplitListener.FinishSplit),
		Max:         pollRecords,
	}
	s.ctx.Task.Where = func() string {
		if s.output.At == nil {
			return ""
		}
		return s.output.At()
	}
	var splits []connector.Split
	for _, e := range s.ctx.Restored.List(splitsState) {
		split, err := decodeSplit(e)
		if err != nil {
			return fmt.Errorf("source %q: restore splits: %w", s.ctx.Name, err)
		}
		splits = append(splits, split)
	}
	if len(splits) > 0 {
		if err := s.addSplits(splits); err != nil {
			return fmt.Errorf("source %q: restore %d splits: %w", s.ctx.Name, len(splits), err)
		}
	}
	return nil
}

// tell passes a message about a split to whoever tracks time per split.
func (s *source[T]) tell(message func(operator.SplitListener, string)) func(id string) {
	return func(id string) {
		for _, l := range s.ctx.Task.Splits {
			message(l, id)
		}
	}
}

// addSplits tells of all splits at once: a split that is assigned and not read
// yet holds back time.
func (s *source[T]) addSplits(splits []connector.Split) error {
	add := s.tell(operator.SplitListener.AddSplit)
	for i := range splits {
		add(splits[i].ID)
	}
	return s.reader.AddSplits(splits)
}

func (s *source[T]) Poll() (connector.PollResult, int64, error) {
	s.output.WakeAfter = 0
	result, err := s.reader.Poll(&s.output)
	if err != nil {
		return result, 0, fmt.Errorf("source %q, subtask %d: %w", s.ctx.Name, s.ctx.Subtask, err)
	}
	return result, int64(s.output.WakeAfter), nil
}

func (s *source[T]) HandleEvent(kind operator.EventKind, payload []byte) error {
	switch kind {
	case operator.EventAddSplits:
		splits, err := DecodeSplits(payload)
		if err == nil {
			err = s.addSplits(splits)
		}
		if err != nil {
			return fmt.Errorf("source %q, subtask %d: add splits: %w", s.ctx.Name, s.ctx.Subtask, err)
		}
	case operator.EventNoMoreSplits:
		s.reader.NoMoreSplits()
	case operator.EventCustom:
		return s.reader.HandleEvent(payload)
	default:
		panic(fmt.Sprintf("transform: source got event kind %d", kind))
	}
	return nil
}

func (s *source[T]) Snapshot(id ident.CheckpointID, snap *operator.Snapshot) error {
	splits, err := s.reader.Snapshot(uint64(id))
	if err != nil {
		return fmt.Errorf("source %q, subtask %d: snapshot: %w", s.ctx.Name, s.ctx.Subtask, err)
	}
	elements := make([][]byte, len(splits))
	for i := range splits {
		elements[i] = AppendSplit(nil, splits[i])
	}
	snap.AddList(splitsState, manifest.Split, elements)
	return nil
}

func (s *source[T]) NotifyComplete(id ident.CheckpointID) error {
	return s.reader.NotifyComplete(uint64(id))
}

func (s *source[T]) Close() error { return s.reader.Close() }

// readerContext is what the reader sees of its task.
type readerContext[T any] struct{ s *source[T] }

func (c readerContext[T]) Env() connector.Env { return c.s.ctx.Env }
func (c readerContext[T]) Subtask() int       { return c.s.ctx.Subtask }
func (c readerContext[T]) Parallelism() int   { return c.s.ctx.Parallelism }
func (c readerContext[T]) RequestSplit() {
	c.s.ctx.Task.Coordinator(c.s.ctx.ID, operator.EventRequestSplit, nil)
}
func (c readerContext[T]) Send(event []byte) {
	c.s.ctx.Task.Coordinator(c.s.ctx.ID, operator.EventCustom, event)
}
func (c readerContext[T]) Wake() { c.s.ctx.Task.Wake() }
func (c readerContext[T]) BadRecord(r connector.BadRecord) error {
	if c.s.bad == nil {
		return fmt.Errorf("%s, %s: %s (to go on without such input, read the side output stream.BadRecords of the source, for example into file.DeadLetters)", r.Split, r.Position, r.Cause)
	}
	c.s.ctx.Task.BadRecords++
	c.s.bad(r)
	return nil
}

// AppendSplit encodes a split: two byte strings with 32-bit lengths.
func AppendSplit(dst []byte, s connector.Split) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(s.ID)))
	dst = append(dst, s.ID...)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(s.Data)))
	return append(dst, s.Data...)
}

// EncodeSplits encodes several splits one after the other.
func EncodeSplits(splits []connector.Split) []byte {
	var b []byte
	for _, s := range splits {
		b = AppendSplit(b, s)
	}
	return b
}

// DecodeSplits reads what EncodeSplits wrote.
func DecodeSplits(b []byte) ([]connector.Split, error) {
	var splits []connector.Split
	for len(b) > 0 {
		id, rest, ok := cutBytes(b)
		data, rest2, ok2 := cutBytes(rest)
		if !ok || !ok2 {
			return nil, fmt.Errorf("decode split: cut off after %d bytes", len(b))
		}
		splits = append(splits, connector.Split{ID: string(id), Data: data})
		b = rest2
	}
	return splits, nil
}

func decodeSplit(b []byte) (connector.Split, error) {
	splits, err := DecodeSplits(b)
	if err != nil {
		return connector.Split{}, err
	}
	if len(splits) != 1 {
		return connector.Split{}, fmt.Errorf("decode split: %d found in one element", len(splits))
	}
	return splits[0], nil
}

func cutBytes(b []byte) (s, rest []byte, ok bool) {
	if len(b) < 4 {
		return nil, nil, false
	}
	n := binary.LittleEndian.Uint32(b)
	if uint64(n) > uint64(len(b)-4) {
		return nil, nil, false
	}
	return b[4 : 4+n : 4+n], b[4+n:], true
}
