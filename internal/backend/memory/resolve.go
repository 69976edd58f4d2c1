package memory

import "unsafe"

// Resolve finds the value of each key, or makes a zero value, and stores the
// pointers in dst: one for each key, all valid together until the next call
// that may write. hashes are the hashes of the keys. Keys may repeat. hashes
// and dst are at least as long as keys.
//
// It is the hottest loop of the engine: in the usual case it calls nothing and
// reads one directory entry and one cache line of a page per key. A split
// inside moves entries; the pointers found before are then looked up again.
//
// dst refers to memory of the arena: clear it before the arena is closed.
func (t *Table[K, V]) Resolve(keys []K, hashes []uint64, dst []*V) {
	t.forgetMoves()
	hashes, dst = hashes[:len(keys)], dst[:len(keys)]
	if t.layout.stringKeys {
		t.resolveLocated(keys, hashes, dst)
		return
	}
	for end := 0; end < len(keys); {
		i := end
		end = min(end+resolveBlock, len(keys))
		t.touch(hashes[i:end])
		for ; i < end; i++ {
			if i = t.resolveUsual(keys[:end], hashes[:end], dst[:end], i); i == end {
				break
			}
			t.resolveUnusual(keys, hashes, dst, i)
		}
	}
}

// resolveUsual resolves keys from i on until it meets one that is unusual: in a
// frozen page, new in a page that is full, or wrapped around the end of its page.
// It returns its number, or the number of keys.
func (t *Table[K, V]) resolveUsual(keys []K, hashes []uint64, dst []*V, i int) int {
	dir, n := unsafe.Pointer(unsafe.SliceData(t.dir)), uint64(len(t.dir))
	lo, shift, slots := t.lo, t.shift&63, t.slots
	frozen := t.snaps.frozen.Load()
	var zero K
keys:
	for ; i < len(keys); i++ {
		h := hashes[i]
		idx := (h - lo) >> shift
		if idx >= n {
			return i
		}
		e := (*entry)(unsafe.Add(dir, idx*uint64(unsafe.Sizeof(entry{}))))
		if e.guard <= frozen {
			return i
		}
		home := uint64(uint32(h)) * slots >> 32
		p := e.page + headerSize + uintptr(home)*unsafe.Sizeof(slot[K, V]{})
		k := keys[i]
		for room := slots - home; room > 0; room-- {
			s := (*slot[K, V])(at(p))
			if s.k == k {
				if k == zero && !headerOf(e.page).has(slots-room) {
					return i // a free slot
				}
				dst[i] = &s.v
				continue keys
			}
			if s.k == zero {
				// Usually the free slot where a new key goes.
				hd, at := headerOf(e.page), slots-room
				if k == zero || hd.has(at) || hd.spilled || uint64(hd.count) >= t.limit {
					return i
				}
				hd.set(at)
				hd.count++
				t.n++
				s.k = k
				dst[i] = &s.v
				continue keys
			}
			p += unsafe.Sizeof(slot[K, V]{})
		}
		return i
	}
	return i
}

// resolveUnusual resolves key i in all cases. It reports whether entries moved;
// then the pointers found before have been looked up again.
func (t *Table[K, V]) resolveUnusual(keys []K, hashes []uint64, dst []*V, i int) (moved bool) {
	dst[i], _ = t.upsert(&keys[i], hashes[i])
	if len(t.moved) == 0 && (t.over == nil || len(t.over.moved) == 0) {
		return false
	}
	t.findAgain(keys[:i], hashes, dst)
	return true
}

// resolveBlock is how many keys resolveLocated locates before it searches them:
// enough loads in flight to fill the processor's queue (12 to 16 lines on x86),
// few enough that the lines are still in the first cache afterwards. A power of
// two.
const resolveBlock = 64

// place is where the search for a key begins, and the number of slots to the end
// of the page. No room means that the page must not be written as it is.
type place struct {
	first uintptr
	room  uint64
}

// resolveLocated is the loop for string keys. A search reads two lines, one
// after the other: the slot and then the text. Here the loads of a block of keys
// come first; they do not depend on each other, so the processor has many of
// them in flight.
func (t *Table[K, V]) resolveLocated(keys []K, hashes []uint64, dst []*V) {
	var places [resolveBlock]place
	var zero K
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
			// After a split the places that follow are wrong. Not so when a page
			// was made or copied: its places have no room.
			if t.resolveUnusual(keys, hashes, dst, i) {
				done = j + 1
				break
			}
		}
		begin += done
	}
}

// locate finds the places of a block of hashes and reads their lines.
func (t *Table[K, V]) locate(hashes []uint64, places *[resolveBlock]place) {
	dir, n := unsafe.Pointer(unsafe.SliceData(t.dir)), uint64(len(t.dir))
	lo, shift, slots := t.lo, t.shift&63, t.slots
	frozen := t.snaps.frozen.Load()
	for j, h := range hashes {
		idx := (h - lo) >> shift
		if idx >= n {
			idx = 0 // there is no such key; upsert reports the foreign hash
		}
		home := uint64(uint32(h)) * slots >> 32
		e := (*entry)(unsafe.Add(dir, idx*uint64(unsafe.Sizeof(entry{}))))
		room := uint64(0)
		if e.guard > frozen {
			room = slots - home
		}
		places[j&(resolveBlock-1)] = place{e.page + headerSize + uintptr(home)*unsafe.Sizeof(slot[K, V]{}), room}
	}
	var x byte
	for j := range hashes {
		// The key is a string and is the first field of the slot.
		s := *(*string)(at(places[j&(resolveBlock-1)].first))
		if len(s) > 0 {
			x ^= s[0]
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

// touch reads the lines where the searches for a block of hashes begin. The loads
// do not depend on each other, so the processor has many under way. The search
// that follows cannot do that by itself where every second key is new, as in a
// pane: whether the slot is free is a branch that is predicted wrong until the
// line is there. It takes a tenth off a windowed job with a million keys. Reading
// the page's header too gains nothing: headers stay in the second cache.
func (t *Table[K, V]) touch(hashes []uint64) {
	dir, n := unsafe.Pointer(unsafe.SliceData(t.dir)), uint64(len(t.dir))
	lo, shift, slots := t.lo, t.shift&63, t.slots
	var x byte
	for _, h := range hashes {
		idx := (h - lo) >> shift
		if idx >= n {
			idx = 0
		}
		e := (*entry)(unsafe.Add(dir, idx*uint64(unsafe.Sizeof(entry{}))))
		home := uint64(uint32(h)) * slots >> 32
		x ^= *(*byte)(at(e.page + headerSize + uintptr(home)*unsafe.Sizeof(slot[K, V]{})))
	}
	t.sink = x
}
