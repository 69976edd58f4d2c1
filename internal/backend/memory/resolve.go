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
	var places [resolveBlock]place
	var zero K
	hashes, dst = hashes[:len(keys)], dst[:len(keys)]
	for begin := 0; begin < len(keys); {
		n := min(len(keys)-begin, resolveBlock)
		t.locate(hashes[begin:begin+n], &places)
		done := n
	block:
		for j := range n {
			i := begin + j
			k := keys[i]
			p := places[j].first
			for room := places[j].room; room > 0; room-- {
				s := (*slot[K, V])(at(p))
				if s.k == k {
					if k == zero {
						break // the slot may be a free one
					}
					dst[i] = &s.v
					continue block
				}
				if s.k == zero {
					break
				}
				p += unsafe.Sizeof(slot[K, V]{})
			}
			dst[i], _ = t.upsert(&keys[i], hashes[i])
			if len(t.moved) > 0 || t.over != nil && len(t.over.moved) > 0 {
				// A split: look up again what was found, locate again what
				// comes. A page that was copied or made needs neither: its
				// places have no room.
				t.findAgain(keys[:i], hashes, dst)
				done = j + 1
				break
			}
		}
		begin += done
	}
}

// resolveBlock is how many keys are located before they are searched: enough
// loads in flight to fill the processor's queue (12 to 16 lines on x86), few
// enough that the lines are still in the first cache afterwards.
const resolveBlock = 32

// place is where the search for a key begins, and the number of slots to the end
// of the page. No room means that the page must not be written as it is.
type place struct {
	first uintptr
	room  uint64
}

// locate finds the places of a block of hashes and reads their lines. The loads
// do not depend on each other, so the processor has many of them in flight.
func (t *Table[K, V]) locate(hashes []uint64, places *[resolveBlock]place) {
	dir, lo, shift, slots := t.dir, t.lo, t.shift&63, t.slots
	frozen := t.snaps.frozen.Load()
	var x byte
	for j, h := range hashes[:min(len(hashes), resolveBlock)] {
		idx := (h - lo) >> shift
		if idx >= uint64(len(dir)) {
			t.notOurs(h)
		}
		e := &dir[idx]
		home := uint64(uint32(h)) * slots >> 32
		p := e.page + headerSize + uintptr(home)*unsafe.Sizeof(slot[K, V]{})
		room := slots - home
		if e.guard <= frozen {
			room = 0
		}
		places[j] = place{p, room}
		x ^= *(*byte)(at(p))
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
