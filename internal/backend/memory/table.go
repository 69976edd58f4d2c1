package memory

import (
	"fmt"
	"math/bits"
	"reflect"
	"unsafe"

	"github.com/zeebo/xxh3"
)

// entry is a line of the directory. Several neighbours refer to the same page
// while its depth is less than the directory's.
//
// Invariant: guard is the page's version, or 0 for a page that must not be
// written as it is: the empty page, and one with shared values. So
// guard <= version of the newest live snapshot is the whole copy-on-write check.
type entry struct {
	page  uintptr
	guard uint32
	depth uint8 // how many bits of the directory index the page depends on
}

// Table is a hash table from K to V that one goroutine, the task, reads and
// writes, and that can be frozen in O(directory) for a snapshot that another
// goroutine writes. All methods are for the task's goroutine unless they say
// otherwise.
//
// It is extendible hashing (Fagin, Nievergelt, Pippenger, Strong 1979): the
// directory is indexed by the top bits of the hash's position in the subtask's
// key-group range, pages are small open-addressing tables, and a page that is
// 65 % full splits in two. So nothing ever rehashes the whole table, directory
// order is key-group order, and the page is the unit of copy on write.
//
// Pointers to values are valid until the next call of a method that may write
// (Resolve, Upsert, Delete, Snapshot, Clear, LoadGroup).
type Table[K comparable, V any] struct {
	dir    []entry
	lo     uint64 // smallest hash of the key-group range
	shift  uint8  // (hash - lo) >> shift is the directory index
	top    uint8  // the largest shift: bits of the range
	slots  uint64
	limit  uint64
	empty  uintptr // a page that stays empty; the page of untouched directory entries; pages keeps it alive
	layout layout

	version uint32 // of pages written now; starts at 1
	snaps   *snapshots
	pages   pageSource
	nPages  int // pages the directory refers to
	n       int // entries, without over

	moved []uintptr // pages that slots moved out of since Resolve looked last
	// filling: most of the keys resolved last were new, as in a pane.
	filling bool
	sink    byte // keeps the touches of Resolve alive

	over  *Table[K, V] // for pages that cannot split; nil: none
	isTop bool         // not itself an overflow table
	cfg   Config[K, V]
	buf   []byte // scratch for the second hash

	handed     []uint64  // poisoning: hashes of the pointers that are valid
	quarantine []uintptr // poisoning: pages that kept pointers lead to

	gone bool
}

// emptyPage is the empty page of all off-heap tables. Nobody writes it.
var emptyPage [PageSize / 8]uint64

const (
	minShift      = 16 // below, directory bits and slot bits would be the same bits
	maxDirPerPage = 32 // the directory may have so many entries per page
	minDirEntries = 256
	overflowSeed  = 0x9e3779b97f4a7c15
	maxPresize    = 1 << 22 // directory entries that SizeHint may ask for
)

// NewTable makes an empty table whose pages come from a. The error says what is
// wrong with the types or the configuration.
func NewTable[K comparable, V any](a *Arena, cfg Config[K, V]) (*Table[K, V], error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	l, err := layoutOf(&cfg)
	if err != nil {
		return nil, err
	}
	if a.isClosed() {
		return nil, fmt.Errorf("state %q: make table: %w", cfg.Name, ErrClosed)
	}
	t := &Table[K, V]{cfg: cfg, layout: l, slots: uint64(l.slots), limit: uint64(l.limit), version: 1, isTop: true}
	t.snaps = &snapshots{}
	if l.offHeap {
		t.pages = a
		t.empty = uintptr(unsafe.Pointer(&emptyPage))
	} else {
		hp := a.heapPagesOf(reflect.TypeFor[slot[K, V]](), l.slots)
		t.pages = hp
		t.empty = uintptr(hp.empty)
	}
	t.snaps.pages = t.pages
	var hi uint64
	t.lo, hi = hashRange(cfg.FirstGroup, cfg.EndGroup, cfg.MaxParallelism)
	t.top = uint8(64 - bits.LeadingZeros64(hi-t.lo))
	t.resetDir(cfg.SizeHint)
	return t, nil
}

// hashRange returns the smallest and the largest hash of the key groups
// [first, end) of m, where the group of h is hi64(h*m).
func hashRange(first, end, m int) (lo, hi uint64) {
	atLeast := func(group int) uint64 {
		q, r := bits.Div64(uint64(group), 0, uint64(m))
		if r > 0 {
			q++
		}
		return q
	}
	if first > 0 {
		lo = atLeast(first)
	}
	hi = ^uint64(0)
	if end < m {
		hi = atLeast(end) - 1
	}
	return lo, hi
}

func (t *Table[K, V]) group(h uint64) uint16 {
	g, _ := bits.Mul64(h, uint64(t.cfg.MaxParallelism))
	return uint16(g)
}

// resetDir makes the directory of an empty table.
func (t *Table[K, V]) resetDir(sizeHint int) {
	depth := uint8(1)
	// Pages at seven eighths of where they split: one in twenty has more keys
	// than its share and splits, while a directory of twice the size would double
	// the memory that a pane walks through.
	for want := sizeHint / max(int(t.limit)*7/8, 1); 1<<depth < want && 1<<depth < maxPresize && t.top-depth > minShift; {
		depth++
	}
	n := 1 << depth
	if cap(t.dir) < n {
		t.dir = make([]entry, n)
	}
	t.dir = t.dir[:n]
	for i := range t.dir {
		t.dir[i] = entry{page: t.empty, depth: depth}
	}
	t.shift = t.top - depth
	t.nPages, t.n = 0, 0
}

// depth is the number of bits of a directory index.
func (t *Table[K, V]) depth() uint8 { return t.top - t.shift }

func (t *Table[K, V]) index(h uint64) uint64 {
	idx := (h - t.lo) >> (t.shift & 63)
	if idx >= uint64(len(t.dir)) {
		t.notOurs(h)
	}
	return idx
}

//go:noinline
func (t *Table[K, V]) notOurs(h uint64) {
	if t.gone {
		panic(fmt.Sprintf("memory: state %q: used after Close", t.cfg.Name))
	}
	panic(fmt.Sprintf("memory: state %q: hash %#x is of key group %d, which is not in [%d, %d): the record went to the wrong subtask",
		t.cfg.Name, h, t.group(h), t.cfg.FirstGroup, t.cfg.EndGroup))
}

// home is the slot where the search for a hash begins.
func (t *Table[K, V]) home(h uint64) uint64 { return uint64(uint32(h)) * t.slots >> 32 }

func (t *Table[K, V]) slot(page uintptr, i uint64) *slot[K, V] {
	return (*slot[K, V])(at(page + headerSize + uintptr(i)*unsafe.Sizeof(slot[K, V]{})))
}

// search returns the slot of k, or the free slot where it would go. There is
// always a free one: a page is never filled completely.
func (t *Table[K, V]) search(page uintptr, k *K, h uint64) (i uint64, found bool) {
	hd := headerOf(page)
	i = t.home(h)
	for hd.has(i) {
		if t.slot(page, i).k == *k {
			return i, true
		}
		if i++; i == t.slots {
			i = 0
		}
	}
	return i, false
}

// Get returns the value of k, or nil. h is the hash of k. The value must not be
// written: it may be part of a snapshot.
func (t *Table[K, V]) Get(k *K, h uint64) *V {
	page := t.dir[t.index(h)].page
	if i, ok := t.search(page, k, h); ok {
		return &t.slot(page, i).v
	}
	if headerOf(page).spilled && t.over != nil {
		return t.over.Get(k, t.secondHash(k))
	}
	return nil
}

// Upsert returns the value of k for reading and writing, and makes a zero value
// if there was none. h is the hash of k.
func (t *Table[K, V]) Upsert(k *K, h uint64) (v *V, created bool) {
	if poisoning {
		t.expire()
		t.handOut(h)
	}
	t.forgetMoves()
	return t.upsert(k, h)
}

func (t *Table[K, V]) upsert(k *K, h uint64) (v *V, created bool) {
	for {
		idx := t.index(h)
		page := t.own(idx)
		i, found := t.search(page, k, h)
		s := t.slot(page, i)
		hd := headerOf(page)
		if found {
			if t.layout.deep && hd.shared(i) {
				t.unshare(idx, i)
			}
			return &s.v, false
		}
		if hd.spilled {
			if k2 := t.secondHash(k); t.over.Get(k, k2) != nil {
				return t.over.upsert(k, k2)
			}
		}
		if uint64(hd.count) >= t.limit {
			if t.split(idx) {
				continue
			}
			if uint64(hd.count) >= t.slots-1 {
				hd.spilled = true
				return t.overflow().upsert(k, t.secondHash(k))
			}
		}
		hd.set(i)
		hd.count++
		t.n++
		s.k = *k
		return &s.v, true
	}
}

// Delete removes k and reports whether it was there. h is the hash of k.
func (t *Table[K, V]) Delete(k *K, h uint64) bool {
	if poisoning && t.isTop {
		t.expire()
	}
	idx := t.index(h)
	page := t.dir[idx].page
	hole, found := t.search(page, k, h)
	if !found {
		return headerOf(page).spilled && t.over.Delete(k, t.secondHash(k))
	}
	page = t.own(idx)
	hd := headerOf(page)
	// Entries behind the hole move up when the hole lies between their home
	// and them (Knuth 6.4, algorithm R): no tombstones.
	for j := hole; ; {
		if j++; j == t.slots {
			j = 0
		}
		if !hd.has(j) {
			break
		}
		s := t.slot(page, j)
		if t.distance(t.home(t.hash(&s.k)), j) < t.distance(hole, j) {
			continue
		}
		*t.slot(page, hole) = *s
		if t.layout.deep {
			if hd.shared(j) {
				hd.share(hole)
			} else {
				hd.unshare(hole)
			}
		}
		hole = j
	}
	*t.slot(page, hole) = slot[K, V]{}
	hd.unset(hole)
	if t.layout.deep {
		hd.unshare(hole)
	}
	hd.count--
	t.n--
	return true
}

// distance is how far slot to lies behind slot from, around the end.
func (t *Table[K, V]) distance(from, to uint64) uint64 {
	if to >= from {
		return to - from
	}
	return to + t.slots - from
}

// Len is the number of entries.
func (t *Table[K, V]) Len() int {
	if t.over != nil {
		return t.n + t.over.n
	}
	return t.n
}

// SizeBytes is the memory of pages and directory. What strings, slices and maps
// in the entries refer to is not counted, nor are pages that only snapshots
// hold.
func (t *Table[K, V]) SizeBytes() int64 {
	pageSize := int64(PageSize)
	if hp, ok := t.pages.(*heapPages); ok {
		pageSize = int64(hp.size)
	}
	n := int64(t.nPages)*pageSize + int64(len(t.dir))*int64(unsafe.Sizeof(entry{}))
	if t.over != nil {
		n += t.over.SizeBytes()
	}
	return n
}

// hash is the hash that this table is indexed by.
func (t *Table[K, V]) hash(k *K) uint64 {
	if t.isTop {
		return t.cfg.Hash(k)
	}
	return t.secondHash(k)
}

// secondHash tells keys apart whose hashes are equal. It is never stored.
func (t *Table[K, V]) secondHash(k *K) uint64 {
	t.buf = t.cfg.Key.Append(t.buf[:0], k)
	return xxh3.HashSeed(t.buf, overflowSeed)
}
