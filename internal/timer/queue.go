package timer

import "math/bits"

// Queue is a priority queue of (time, key), the zero value of which is empty: a
// hierarchical timing wheel (Varghese and Lauck, "Hashed and hierarchical timing
// wheels", 1987). Entries of the same time come out in the order they went in. It
// belongs to one goroutine.
//
// A level has 256 slots; a slot of level 0 is one millisecond, one of level l is
// 256^l of them. Eight levels say every time, so there is no list of what is
// beyond; a level is made when it is first used, usually three are.
//
//	              base
//	level 0  ──────┼─┼─┼─┼─│            1 ms a slot, to the next multiple of 256
//	level 1                │──┼──┼──┼──│            256 ms a slot
//	level 2                            │────┼────┼─── 65 s a slot
//
// When base comes to the start of a slot of a higher level its entries are dealt
// out to the levels below. A slot is a list in the order of arrival, and entries
// of the same time are in the same slot at any moment: so dealing out keeps their
// order.
//
// Invariants:
//   - entries in the wheel are at base or later, those in early before it;
//   - an entry is in the level of the highest byte in which its time and base
//     differ, so that a level is later than all of the level below it.
type Queue[K any] struct {
	// base is a time up to which Pop was asked, or the start of a slot before
	// it, as an ordinal.
	base   ordinal
	n      int // entries, early included
	levels [8]*level[K]
	early  heap[K]

	// front, if not nil, is the first slot of level 0 that has entries: those
	// at frontAt.
	front   *slot[K]
	frontAt int64

	next  int64 // the time of the first entry, if known
	known bool

	free  *chunk[K] // chunks to be used again, at most maxFree
	nFree int
}

// entry is what a queue holds.
type entry[K any] struct {
	at   int64
	hash uint64
	key  K
}

// ordinal is a time such that the order is that of unsigned numbers.
type ordinal uint64

func ordinalOf(at int64) ordinal { return ordinal(at) ^ 1<<63 }
func (o ordinal) time() int64    { return int64(o ^ 1<<63) }

type level[K any] struct {
	used  [4]uint64 // a bit for each slot that has entries
	slots [256]slot[K]
}

// first returns the first slot in use; ok is false when there is none.
func (l *level[K]) first() (i int, ok bool) {
	for w, b := range l.used {
		if b != 0 {
			return w<<6 + bits.TrailingZeros64(b), true
		}
	}
	return 0, false
}

func (l *level[K]) clear(i int) { l.used[i>>6] &^= 1 << (i & 63) }

// slot is a list of chunks: its entries are those of first from index from on,
// those of last before index to, and all of the chunks between. The indexes stand
// here and not in the chunks so that adding an entry touches one line of a chunk,
// and reads none.
type slot[K any] struct {
	first, last *chunk[K]
	from, to    uint32
}

// chunk is a run of entries. Its one pointer comes first, so that the collector
// does not look at entries without pointers.
type chunk[K any] struct {
	next    *chunk[K]
	entries [chunkSize]entry[K]
}

const chunkSize = 16

// end is behind the last entry of a chunk of s.
func (s *slot[K]) end(c *chunk[K]) uint32 {
	if c == s.last {
		return s.to
	}
	return chunkSize
}

// maxFree is how many chunks are kept for later: 8192 entries.
const maxFree = 512

// Len is the number of entries.
func (q *Queue[K]) Len() int { return q.n }

// Add puts an entry in. hash is the key's hash, so that it need not be computed
// again.
func (q *Queue[K]) Add(at int64, key K, hash uint64) {
	o := ordinalOf(at)
	if q.n == 0 && (o < q.base || o-q.base > 1<<32) {
		q.base = o &^ (1<<24 - 1) // time has jumped: some hours of room before the first entry
	}
	q.n++
	if q.known && at < q.next {
		q.next = at
	}
	if o < q.base {
		q.early.push(entry[K]{at, hash, key})
		return
	}
	if at < q.frontAt {
		q.front = nil
	}
	q.place(o, &entry[K]{at, hash, key})
}

// place puts an entry into the wheel.
func (q *Queue[K]) place(o ordinal, e *entry[K]) {
	i := (63 - bits.LeadingZeros64(uint64(o^q.base)|1)) >> 3
	l := q.levels[i]
	if l == nil {
		l = new(level[K])
		q.levels[i] = l
	}
	at := uint8(o >> (i << 3 & 63))
	s := &l.slots[at]
	c := s.last
	switch {
	case c == nil:
		c = q.newChunk()
		*s = slot[K]{first: c, last: c}
		l.used[at>>6] |= 1 << (at & 63)
	case s.to == chunkSize:
		c = q.newChunk()
		s.last.next, s.last, s.to = c, c, 0
	}
	c.entries[s.to%chunkSize] = *e
	s.to++
}

func (q *Queue[K]) newChunk() *chunk[K] {
	c := q.free
	if c == nil {
		return new(chunk[K])
	}
	q.free = c.next
	q.nFree--
	c.next = nil
	return c
}

// release keeps a chunk whose entries have been cleared.
func (q *Queue[K]) release(c *chunk[K]) {
	if q.nFree >= maxFree {
		return
	}
	c.next, q.free = q.free, c
	q.nFree++
}

// Next is the time of the first entry; ok is false when there is none.
func (q *Queue[K]) Next() (at int64, ok bool) {
	switch {
	case q.n == 0:
		return 0, false
	case q.known:
	case len(q.early.entries) > 0:
		q.next = q.early.entries[0].at
	case q.front != nil:
		q.next = q.frontAt
	default:
		q.next = q.firstOfWheel()
	}
	q.known = true
	return q.next, true
}

// firstOfWheel is the earliest time in the first slot that has entries.
//
// REQUIRES: the wheel is not empty.
func (q *Queue[K]) firstOfWheel() int64 {
	for _, l := range q.levels {
		if l == nil {
			continue
		}
		i, ok := l.first()
		if !ok {
			continue
		}
		s := &l.slots[i]
		at := s.first.entries[s.from].at
		from := s.from
		for c := s.first; c != nil; c, from = c.next, 0 {
			for _, e := range c.entries[from:s.end(c)] {
				at = min(at, e.at)
			}
		}
		return at
	}
	panic("timer: the wheel is empty, but its length is not zero")
}

// Pop takes the first entry out if its time is until or earlier.
func (q *Queue[K]) Pop(until int64) (at int64, key K, hash uint64, ok bool) {
	if len(q.early.entries) > 0 {
		if q.early.entries[0].at > until {
			return 0, key, 0, false
		}
		e := q.early.pop()
		q.n--
		q.known = false
		return e.at, e.key, e.hash, true
	}
	if q.front == nil && !q.advance(until) || q.frontAt > until {
		return 0, key, 0, false
	}
	s := q.front
	c := s.first
	e := &c.entries[s.from%chunkSize]
	at, key, hash = e.at, e.key, e.hash
	*e = entry[K]{}
	s.from++
	q.n--
	if s.from == s.end(c) {
		q.shorten(s, c)
	}
	return at, key, hash, true
}

// shorten takes the first chunk out of the front slot, which has no entry left.
func (q *Queue[K]) shorten(s *slot[K], c *chunk[K]) {
	s.first, s.from = c.next, 0
	q.release(c)
	if s.first == nil {
		*s = slot[K]{}
		q.levels[0].clear(int(uint8(ordinalOf(q.frontAt))))
		q.front, q.known = nil, false
	}
}

// advance moves base on towards until and finds the front; false: nothing is due.
func (q *Queue[K]) advance(until int64) bool {
	if q.n == 0 {
		return false
	}
	end := ordinalOf(until)
	for {
		i, at := q.firstSlot()
		shift := uint(i) << 3
		// The bytes of base above the level, and the slot's.
		start := q.base>>(shift+8)<<(shift+8) | ordinal(at)<<shift
		if start > end {
			// No slot that has entries begins in between, so none changes its
			// level.
			q.base = max(q.base, end)
			return false
		}
		if i == 0 {
			q.front, q.frontAt = &q.levels[0].slots[at], start.time()
			q.base = start
			return true
		}
		q.base = start
		q.deal(q.levels[i], at)
	}
}

// firstSlot returns the first slot that has entries.
func (q *Queue[K]) firstSlot() (lev, at int) {
	for i, l := range q.levels {
		if l == nil {
			continue
		}
		if at, ok := l.first(); ok {
			return i, at
		}
	}
	panic("timer: the wheel is empty, but its length is not zero")
}

// deal deals the entries of a slot that base has come to out to the levels below.
func (q *Queue[K]) deal(l *level[K], at int) {
	s := l.slots[at]
	l.slots[at] = slot[K]{}
	l.clear(at)
	from := s.from
	for c := s.first; c != nil; from = 0 {
		entries := c.entries[from:s.end(c)]
		for j := range entries {
			q.place(ordinalOf(entries[j].at), &entries[j])
		}
		clear(entries)
		next := c.next
		q.release(c)
		c = next
	}
}
