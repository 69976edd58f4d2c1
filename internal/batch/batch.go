// Package batch holds what flows between tasks: batches of records, and the
// events that travel in band between them.
//
// A batch has one owner at a time. The sender fills it, the channel carries it,
// the receiver may change it in place and then releases it, which gives it back
// to the sender's free list. Having a free batch is the credit to send one: so
// memory is bounded and a slow receiver stops its senders.
//
//	sender ──fill──▶ channel ──▶ receiver ──Release──▶ free list of the sender
//
// Watermarks travel inside a batch as marks at a position; everything else that
// travels in band ([Event]) stands between batches, never inside one.
package batch

import "unsafe"

// Mark is a watermark before the record at Pos: all records from Pos on, and
// those of later batches of the channel, are newer than Watermark.
type Mark struct {
	Pos       int32
	Watermark int64 // milliseconds since 1970
}

// Batch is a run of records of type T. On keyed edges K and H hold each
// record's key and its hash; elsewhere K is struct{} and both are empty. On
// edges whose receiver needs no values V is empty and keys are all there is.
type Batch[K, T any] struct {
	V     []T      // records, an array of structs
	Ts    []int64  // event times in milliseconds, apart from V: most operators never touch them
	K     []K      // keys
	H     []uint64 // hashes of the keys
	Marks []Mark   // ascending by Pos

	// Limit is the number of records a sender puts into it.
	Limit int

	home  chan *Batch[K, T]
	owner Waker
	wipe  bool // records hold pointers: an empty batch must keep nothing alive
}

// Waker is told that something a task may wait for has happened.
type Waker interface{ Wake() }

// Shape says which columns the batches of an edge have.
type Shape struct {
	Limit  int  // records per batch
	Keyed  bool // with K and H
	Values bool // with V
	// Pointers says that keys or values hold pointers: they are cleared when
	// a batch is given back, so that a free batch keeps nothing alive.
	Pointers bool
}

// New makes an empty batch. home is the free list it returns to on Release, and
// owner is woken then; both may be nil.
func New[K, T any](s Shape, home chan *Batch[K, T], owner Waker) *Batch[K, T] {
	b := &Batch[K, T]{Limit: s.Limit, home: home, owner: owner, wipe: s.Pointers, Ts: make([]int64, 0, s.Limit)}
	if s.Values {
		b.V = make([]T, 0, s.Limit)
	}
	if s.Keyed {
		b.K = make([]K, 0, s.Limit)
		b.H = make([]uint64, 0, s.Limit)
	}
	return b
}

// Len is the number of records.
func (b *Batch[K, T]) Len() int { return len(b.Ts) }

// Reset empties the batch.
func (b *Batch[K, T]) Reset() {
	if b.wipe {
		clear(b.V)
		clear(b.K)
	}
	b.V, b.K, b.H, b.Ts, b.Marks = b.V[:0], b.K[:0], b.H[:0], b.Ts[:0], b.Marks[:0]
}

// AddMark appends a watermark at the end. A later watermark at the same
// position replaces the earlier one: nothing can tell them apart.
func (b *Batch[K, T]) AddMark(watermark int64) {
	pos := int32(len(b.Ts))
	if n := len(b.Marks); n > 0 && b.Marks[n-1].Pos == pos {
		b.Marks[n-1].Watermark = max(b.Marks[n-1].Watermark, watermark)
		return
	}
	b.Marks = append(b.Marks, Mark{Pos: pos, Watermark: watermark})
}

// Release gives the batch back to its sender. The caller must not touch it, or
// any record in it by pointer, afterwards.
func (b *Batch[K, T]) Release() {
	b.Reset()
	select {
	case b.home <- b:
	default: // an overdraft batch beyond the free list's room: left to the collector
	}
	if b.owner != nil {
		b.owner.Wake()
	}
}

// Records is the untyped face of a batch: what gates and tasks see.
type Records interface {
	Len() int
	Release()
}

const (
	targetBytes = 32 << 10
	maxRecords  = 512
	minRecords  = 32
)

// Limit is the number of records of type T per batch: 512, fewer when records
// are large, so that a batch holds about 32 KiB of them.
func Limit[T any]() int {
	var v T
	size := int(unsafe.Sizeof(v))
	if size == 0 {
		return maxRecords
	}
	return max(minRecords, min(maxRecords, targetBytes/size))
}
