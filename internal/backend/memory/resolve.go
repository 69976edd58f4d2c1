package memory

import "unsafe"

// Resolve finds the value of each key, or makes a zero value, and stores the
// pointers in dst: one for each key, all valid together until the next call
// that may write. hashes are the hashes of the keys. Keys may repeat.
//
// It is the hottest loop of the engine: in the usual case it calls nothing and
// reads one directory entry and one cache line of a page per key. A split
// inside moves entries; the pointers found before are then looked up again.
func (t *Table[K, V]) Resolve(keys []K, hashes []uint64, dst []*V) {
	t.forgetMoves()
	const block = 32
	var zero K
	for begin := 0; begin < len(keys); begin += block {
		end := min(begin+block, len(keys))
		t.touch(hashes[begin:end])
		frozen := t.snaps.frozen.Load()
		for i := begin; i < end; i++ {
			h := hashes[i]
			idx := (h - t.lo) >> (t.shift & 63)
			if idx < uint64(len(t.dir)) {
				e := &t.dir[idx]
				s := t.slot(e.page, t.home(h))
				if s.k == keys[i] && e.guard > frozen && keys[i] != zero {
					dst[i] = &s.v
					continue
				}
			}
			dst[i], _ = t.upsert(&keys[i], h)
			if len(t.moved) > 0 || t.over != nil && len(t.over.moved) > 0 {
				t.findAgain(keys[:i], hashes, dst)
			}
		}
	}
}

// touch reads the lines that Resolve needs for a block of hashes. The loads do
// not depend on each other, so the processor has many of them in flight at once.
func (t *Table[K, V]) touch(hashes []uint64) {
	var x byte
	for _, h := range hashes {
		if idx := (h - t.lo) >> (t.shift & 63); idx < uint64(len(t.dir)) {
			x ^= *(*byte)(unsafe.Pointer(t.slot(t.dir[idx].page, t.home(h))))
		}
	}
	t.sink = x
}

// findAgain repairs pointers into pages that were split.
func (t *Table[K, V]) findAgain(keys []K, hashes []uint64, dst []*V) {
	size := uintptr(t.slots)*unsafe.Sizeof(slot[K, V]{}) + headerSize
	over := t.over != nil && len(t.over.moved) > 0
	for i := range keys {
		p := uintptr(unsafe.Pointer(dst[i]))
		again := over
		for _, m := range t.moved {
			again = again || p-m < size
		}
		if again {
			dst[i] = t.Get(&keys[i], hashes[i])
		}
	}
	t.forgetMoves()
}

func (t *Table[K, V]) forgetMoves() {
	t.moved = t.moved[:0]
	if t.over != nil {
		t.over.moved = t.over.moved[:0]
	}
}
