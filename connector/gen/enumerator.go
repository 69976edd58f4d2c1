package gen

import (
	"fmt"

	"github.com/cutwater-io/cutwater/connector"
)

// enumerator deals a fixed set of splits. Its state is the list of those that no
// reader has, encoded as the format number and the splits one after the other.
type enumerator struct {
	ctx connector.EnumeratorContext
	// free holds the splits of each subtask that its reader has not got.
	// Invariant: a split is here or with exactly one reader.
	free [][]split
}

func newEnumerator(ctx connector.EnumeratorContext, splits int, restored []byte) (*enumerator, error) {
	e := &enumerator{ctx: ctx, free: make([][]split, ctx.Parallelism())}
	if restored == nil {
		of := splits
		if of == 0 {
			of = min(ctx.Parallelism(), MaxSplits)
		}
		for i := range uint64(of) {
			e.keep(newSplit(i, uint64(of), 0))
		}
		return e, nil
	}
	if len(restored) == 0 || restored[0] != splitFormat || (len(restored)-1)%splitBytes != 0 {
		return nil, fmt.Errorf("gen: restore the enumerator: %d bytes are not a list of splits; the checkpoint belongs to another source or is damaged", len(restored))
	}
	for b := restored[1:]; len(b) > 0; b = b[splitBytes:] {
		s, err := decodeSplit(b[:splitBytes])
		if err != nil {
			return nil, err
		}
		e.keep(s)
	}
	return e, nil
}

func (e *enumerator) keep(s split) {
	sub := s.index % uint64(len(e.free))
	e.free[sub] = append(e.free[sub], s)
}

func (e *enumerator) Start() error { return nil }

func (e *enumerator) AddReader(subtask int) {
	if free := e.free[subtask]; len(free) > 0 {
		out := make([]connector.Split, len(free))
		for i := range free {
			out[i] = free[i].encode()
		}
		e.free[subtask] = nil
		e.ctx.Assign(subtask, out...)
	}
	e.ctx.NoMoreSplits(subtask)
}

// AddSplitsBack keeps the splits for the same subtask: its reader will register
// again, while the others were told that nothing more comes.
func (e *enumerator) AddSplitsBack(splits []connector.Split, subtask int) {
	for _, c := range splits {
		s, err := decodeSplit(c.Data)
		if err != nil {
			// The engine returns what this source encoded: anything else means
			// that records would be lost in silence.
			panic(fmt.Sprintf("gen: split %q came back damaged: %v", c.ID, err))
		}
		e.free[subtask] = append(e.free[subtask], s)
	}
}

func (e *enumerator) HandleRequest(int)       {}
func (e *enumerator) HandleEvent(int, []byte) {}

func (e *enumerator) Snapshot(uint64) ([]byte, error) {
	b := []byte{splitFormat}
	for _, free := range e.free {
		for i := range free {
			b = free[i].appendTo(b)
		}
	}
	return b, nil
}

func (e *enumerator) NotifyComplete(uint64) {}
func (e *enumerator) Close() error          { return nil }
