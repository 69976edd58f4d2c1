package main

import (
	"math/bits"

	"github.com/cutwater-io/cutwater/window"
)

// The rivals: the windowed jobs as loops by hand, for one thread, without fault
// tolerance, in which everything is known: that time ascends, that windows are a
// second, which types there are. They call the same generator and map and hand
// their results to the same writer.

// counter is a table with open addressing, made for counts: linear probing,
// multiplicative hashing, at most 65 % full. A count of zero is a free slot.
type counter struct {
	slots []countSlot
	shift uint8
	mask  uint64
}

type countSlot struct{ key, count int64 }

func newCounter(keys int) *counter {
	size := 1
	for size*65/100 < keys {
		size *= 2
	}
	return &counter{slots: make([]countSlot, size), mask: uint64(size - 1), shift: uint8(64 - bits.Len(uint(size-1)))}
}

func (c *counter) add(key int64) {
	i := uint64(key) * 0x9e3779b97f4a7c15 >> (c.shift & 63)
	for {
		s := &c.slots[i&c.mask]
		if s.key == key && s.count != 0 {
			s.count++
			return
		}
		if s.count == 0 {
			s.key, s.count = key, 1
			return
		}
		i++
	}
}

// up is add that returns the new count.
func (c *counter) up(key int64) int64 {
	i := uint64(key) * 0x9e3779b97f4a7c15 >> (c.shift & 63)
	for {
		s := &c.slots[i&c.mask]
		if s.count == 0 {
			s.key = key
		} else if s.key != key {
			i++
			continue
		}
		s.count++
		return s.count
	}
}

// drain hands out all counts and empties the table in one pass.
func (c *counter) drain(e *emitter) {
	for i := range c.slots {
		if s := &c.slots[i]; s.count != 0 {
			e.emit(s.key, s.count)
			*s = countSlot{}
		}
	}
}

// emitter hands results of a window to the writer of the sink.
type emitter struct {
	w   *tallyWriter[window.Result[int64, int64]]
	r   window.Result[int64, int64]
	end int64
}

func newEmitter() *emitter {
	out := newCount()
	e := &emitter{w: &tallyWriter[window.Result[int64, int64]]{tally: out, sum: out.sum}}
	e.next(firstMillis)
	return e
}

// next begins the window that starts at start.
func (e *emitter) next(start int64) {
	e.end = start + windowMillis
	e.r.Window = window.Window{Start: window.Millis(start), End: window.Millis(e.end)}
}

func (e *emitter) emit(key, count int64) {
	e.r.Key, e.r.Value = key, count
	_ = e.w.Write(&e.r, e.end-1)
}

// floorWindow counts per user and second with the table above.
func floorWindow(n int, keys uint64, c *counter) (records int, checksum uint64, err error) {
	out := newEmitter()
	var e event
	for i := range uint64(n) {
		makeEvent(i, &e)
		k := click{User: below(e.Session, keys), At: e.At}
		if k.At >= out.end {
			c.drain(out)
			out.next(out.end)
		}
		c.add(k.User)
	}
	c.drain(out)
	return n, out.w.checksum, nil
}

// floorWindowMap is floorWindow with the map everybody would take.
func floorWindowMap(n int, keys uint64, counts map[int64]int64) (records int, checksum uint64, err error) {
	out := newEmitter()
	var e event
	for i := range uint64(n) {
		makeEvent(i, &e)
		k := click{User: below(e.Session, keys), At: e.At}
		if k.At >= out.end {
			drainMap(counts, out)
			out.next(out.end)
		}
		counts[k.User]++
	}
	drainMap(counts, out)
	return n, out.w.checksum, nil
}

func drainMap(counts map[int64]int64, out *emitter) {
	for key, count := range counts {
		out.emit(key, count)
	}
	clear(counts)
}

// floorZipf and floorZipfMap are the same for users drawn by clickOfZipf.
func floorZipf(n int, c *counter) (records int, checksum uint64, err error) {
	out := newEmitter()
	var e event
	for i := range uint64(n) {
		makeEvent(i, &e)
		k := clickOfZipf(e)
		if k.At >= out.end {
			c.drain(out)
			out.next(out.end)
		}
		c.add(k.User)
	}
	c.drain(out)
	return n, out.w.checksum, nil
}

func floorZipfMap(n int, counts map[int64]int64) (records int, checksum uint64, err error) {
	out := newEmitter()
	var e event
	for i := range uint64(n) {
		makeEvent(i, &e)
		k := clickOfZipf(e)
		if k.At >= out.end {
			drainMap(counts, out)
			out.next(out.end)
		}
		counts[k.User]++
	}
	drainMap(counts, out)
	return n, out.w.checksum, nil
}
