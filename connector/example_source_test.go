package connector_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/connector/console"
	"github.com/cutwater-io/cutwater/run"
	"github.com/cutwater-io/cutwater/stream"
)

// Numbers is a source of the numbers below N, in splits of Size numbers.
type Numbers struct{ N, Size uint64 }

func (s Numbers) Validate() error { // optional: it is asked when the pipeline is built
	if s.Size == 0 {
		return errors.New("numbers: splits of no numbers: set Size")
	}
	return nil
}

func (s Numbers) Enumerator(ctx connector.EnumeratorContext, restored []byte) (connector.Enumerator, error) {
	e := &enumerator{ctx: ctx}
	if restored != nil {
		var err error
		e.pending, err = decodeRanges(restored)
		return e, err
	}
	for from := uint64(0); from < s.N; from += s.Size {
		e.pending = append(e.pending, numberRange{from, from, min(from+s.Size, s.N)})
	}
	return e, nil
}

func (s Numbers) Reader(ctx connector.ReaderContext) (connector.Reader[uint64], error) {
	return &reader{ctx: ctx}, nil
}

// numberRange is a split: Next is its position, the rest never changes.
type numberRange struct{ From, Next, To uint64 }

func (r numberRange) split() connector.Split {
	return connector.Split{ID: fmt.Sprint(r.From), Data: r.append(nil)}
}

func (r numberRange) append(dst []byte) []byte {
	for _, n := range []uint64{r.From, r.Next, r.To} {
		dst = binary.LittleEndian.AppendUint64(dst, n)
	}
	return dst
}

func decodeRanges(data []byte) (ranges []numberRange, err error) {
	if len(data)%24 != 0 {
		return nil, fmt.Errorf("numbers: restore: %d bytes are not the state of this source", len(data))
	}
	for ; len(data) > 0; data = data[24:] {
		n := binary.LittleEndian.Uint64
		ranges = append(ranges, numberRange{n(data), n(data[8:]), n(data[16:])})
	}
	return ranges, nil
}

// enumerator hands out one split to each reader that asks.
type enumerator struct {
	ctx     connector.EnumeratorContext
	pending []numberRange
}

func (e *enumerator) Start() error            { return nil }
func (e *enumerator) AddReader(int)           {} // readers ask by themselves
func (e *enumerator) HandleEvent(int, []byte) {}
func (e *enumerator) NotifyComplete(uint64)   {}
func (e *enumerator) Close() error            { return nil }
func (e *enumerator) HandleRequest(subtask int) {
	if len(e.pending) == 0 {
		e.ctx.NoMoreSplits(subtask)
		return
	}
	e.ctx.Assign(subtask, e.pending[0].split())
	e.pending = e.pending[1:]
}

func (e *enumerator) AddSplitsBack(splits []connector.Split, _ int) {
	for _, s := range splits {
		back, _ := decodeRanges(s.Data) // our own, made above
		e.pending = append(e.pending, back...)
	}
}

// What is assigned is in the snapshots of readers; this is the rest. It must not be
// nil, which would mean a fresh start.
func (e *enumerator) Snapshot(uint64) ([]byte, error) {
	state := []byte{}
	for _, r := range e.pending {
		state = r.append(state)
	}
	return state, nil
}

// reader reads one split after the other.
type reader struct {
	ctx           connector.ReaderContext
	splits        []numberRange
	asked, noMore bool
}

func (r *reader) AddSplits(splits []connector.Split) error {
	r.asked = false
	for _, s := range splits {
		ranges, err := decodeRanges(s.Data)
		if err != nil {
			return err
		}
		r.splits = append(r.splits, ranges...)
	}
	r.ctx.Wake()
	return nil
}

func (r *reader) Poll(out *connector.Output[uint64]) (connector.PollResult, error) {
	for range out.Max {
		if len(r.splits) == 0 {
			return r.idle(), nil
		}
		s := &r.splits[0]
		if s.Next < s.To {
			v := s.Next
			s.Next++ // the position is after the record once Poll returns
			out.Emit(&v, connector.NoTimestamp)
		}
		if s.Next >= s.To {
			r.splits = r.splits[1:]
		}
	}
	return connector.More, nil
}

func (r *reader) idle() connector.PollResult {
	if r.noMore {
		return connector.Finished
	}
	if !r.asked {
		r.asked = true
		r.ctx.RequestSplit()
	}
	return connector.Wait // AddSplits or NoMoreSplits wakes it
}

func (r *reader) Snapshot(uint64) (splits []connector.Split, err error) {
	for _, s := range r.splits {
		splits = append(splits, s.split())
	}
	return splits, nil
}

func (r *reader) NoMoreSplits()               { r.noMore = true; r.ctx.Wake() }
func (r *reader) HandleEvent([]byte) error    { return nil }
func (r *reader) NotifyComplete(uint64) error { return nil }
func (r *reader) Close() error                { return nil }

// A source with splits: it is restored exactly, also with more or fewer readers.
func ExampleSource() {
	p := stream.New("numbers")
	p.From(Numbers{N: 5, Size: 2}, stream.Name("numbers")).
		To(console.Sink[uint64](), stream.Name("print"))
	if err := run.Run(context.Background(), p, run.Config{Ephemeral: true, Parallelism: 1}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 0
	// 1
	// 2
	// 3
	// 4
}
