package run_test

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/cutwater-io/cutwater/connector"
)

// held is a source of the numbers 0 to n-1 that a test can hold back: number i
// comes once the limit is above i. So a job neither ends before a test is done
// with it nor depends on how fast it runs. The numbers are dealt to splits like
// cards; splits move when the parallelism changes.
type held[T any] struct {
	n       int64
	splits  int64
	limit   *atomic.Int64
	highest atomic.Int64 // the greatest number emitted so far
	emitted atomic.Int64 // how many were, repetitions included
	make    func(i int64) (v T, timestampMillis int64)
	// endless keeps readers from being told that there are no more splits.
	endless bool
}

// hold makes a source of n numbers in 6 splits, all held back.
func hold[T any](n int64, make func(i int64) (T, int64)) *held[T] {
	return &held[T]{n: n, splits: 6, limit: new(atomic.Int64), make: make}
}

// upTo lets the numbers below limit come.
func (h *held[T]) upTo(limit int64) *held[T] {
	h.limit.Store(limit)
	return h
}

func (h *held[T]) Enumerator(ctx connector.EnumeratorContext, restored []byte) (connector.Enumerator, error) {
	e := &heldEnumerator{ctx: ctx, endless: h.endless}
	if restored == nil {
		for s := range h.splits {
			e.free = append(e.free, heldSplit(s, s))
		}
		return e, nil
	}
	for b := restored; len(b) > 0; b = b[16:] {
		e.free = append(e.free, heldSplit(int64(binary.LittleEndian.Uint64(b)), int64(binary.LittleEndian.Uint64(b[8:]))))
	}
	return e, nil
}

func heldSplit(id, next int64) connector.Split {
	b := binary.LittleEndian.AppendUint64(nil, uint64(id))
	return connector.Split{ID: strconv.FormatInt(id, 10), Data: binary.LittleEndian.AppendUint64(b, uint64(next))}
}

type heldEnumerator struct {
	ctx     connector.EnumeratorContext
	free    []connector.Split
	endless bool
}

func (e *heldEnumerator) Start() error { return nil }

// AddReader gives a reader its share of what is free.
func (e *heldEnumerator) AddReader(subtask int) {
	var kept, mine []connector.Split
	for i, s := range e.free {
		if id := int(binary.LittleEndian.Uint64(s.Data)); id%e.ctx.Parallelism() == subtask {
			mine = append(mine, e.free[i])
		} else {
			kept = append(kept, e.free[i])
		}
	}
	e.free = kept
	e.ctx.Assign(subtask, mine...)
	if !e.endless {
		e.ctx.NoMoreSplits(subtask)
	}
}
func (e *heldEnumerator) AddSplitsBack(splits []connector.Split, _ int) {
	e.free = append(e.free, splits...)
}
func (e *heldEnumerator) HandleRequest(int)       {}
func (e *heldEnumerator) HandleEvent(int, []byte) {}
func (e *heldEnumerator) NotifyComplete(uint64)   {}
func (e *heldEnumerator) Close() error            { return nil }
func (e *heldEnumerator) Snapshot(uint64) ([]byte, error) {
	var b []byte
	for _, s := range e.free {
		b = append(b, s.Data...)
	}
	return b, nil
}

func (h *held[T]) Reader(connector.ReaderContext) (connector.Reader[T], error) {
	return &heldReader[T]{h: h}, nil
}

type heldReader[T any] struct {
	h      *held[T]
	ids    []int64
	next   []int64
	noMore bool
	number int64
}

func (r *heldReader[T]) AddSplits(splits []connector.Split) error {
	for _, s := range splits {
		r.ids = append(r.ids, int64(binary.LittleEndian.Uint64(s.Data)))
		r.next = append(r.next, int64(binary.LittleEndian.Uint64(s.Data[8:])))
	}
	return nil
}
func (r *heldReader[T]) NoMoreSplits()               { r.noMore = true }
func (r *heldReader[T]) HandleEvent([]byte) error    { return nil }
func (r *heldReader[T]) NotifyComplete(uint64) error { return nil }
func (r *heldReader[T]) Close() error                { return nil }
func (r *heldReader[T]) Snapshot(uint64) ([]connector.Split, error) {
	var splits []connector.Split
	for i := range r.ids {
		splits = append(splits, heldSplit(r.ids[i], r.next[i]))
	}
	return splits, nil
}

// Poll emits at most a few numbers of each split, so that splits keep together.
func (r *heldReader[T]) Poll(out *connector.Output[T]) (connector.PollResult, error) {
	out.At = func() string { return fmt.Sprintf("number %d", r.number) }
	limit, emitted := min(r.h.limit.Load(), r.h.n), 0
	for i := 0; i < len(r.ids); i++ {
		id := strconv.FormatInt(r.ids[i], 10)
		out.StartSplit(id)
		for range 8 {
			if r.next[i] >= limit || emitted >= out.Max {
				break
			}
			r.number = r.next[i]
			v, ts := r.h.make(r.number)
			out.Emit(&v, ts)
			r.next[i] += r.h.splits
			r.h.emitted.Add(1)
			for old := r.h.highest.Load(); r.number > old && !r.h.highest.CompareAndSwap(old, r.number); {
				old = r.h.highest.Load()
			}
			emitted++
		}
		if r.next[i] >= r.h.n {
			out.FinishSplit(id)
			r.ids = append(r.ids[:i], r.ids[i+1:]...)
			r.next = append(r.next[:i], r.next[i+1:]...)
			i--
		} else if r.next[i] >= limit {
			out.EmptySplit(id)
		}
	}
	switch {
	case emitted > 0:
		return connector.More, nil
	case len(r.ids) == 0 && r.noMore:
		return connector.Finished, nil
	case len(r.ids) > 0:
		out.WakeAfter = time.Millisecond
	}
	return connector.Wait, nil
}
