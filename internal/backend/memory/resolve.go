package memory

import "unsafe"

// Resolve finds the value of each key, or makes a zero value, and stores the
// pointers in dst: one for each key, all valid together until the next call
// that may write. hashes are the hashes of the keys. Keys may repeat. hashes
// and dst are at least as long as keys.
//
// It is the hottest loop of the engine. In the usual case it reads one directory
// entry and one cache line of a page per key, and asks for the line a block of
// keys before it is searched. A split inside moves entries; the pointers found
// before are then looked up again.
//
// dst refers to memory of the arena: clear it before the arena is closed.
func (t *Table[K, V]) Resolve(keys []K, hashes []uint64, dst []*V) {
	if poisoning {
		t.expire()
		defer t.handOut(hashes[:len(keys)]...)
	}
	if t.gone && len(keys) > 0 {
		t.notOurs(hashes[0])
	}
	t.forgetMoves()
	hashes, dst = hashes[:len(keys)], dst[:len(keys)]
	for i := 0; i < len(keys); {
		var unusual int
		i, unusual = t.resolveUsual(keys, hashes, dst, i)
		for ; unusual > 0; unusual-- {
			t.resolveUnusual(keys, hashes, dst, i)
			i++
		}
	}
}

// resolveBlock is how many keys are located at once, ahead of the search: enough
// loads in flight to fill the processor's queue (12 to 16 lines on x86), few
// enough that the lines are still in the first cache when they are searched. A
// power of two.
const resolveBlock = 32

// place is where the search for a key begins: its home slot, and the page.
type place struct{ first, page uintptr }

type places [resolveBlock]place

// resolveUsual resolves keys from i on until it meets some that are unusual: new
// in a page that is full, wrapped around the end of their page, the zero key, or
// in a page with values that a snapshot shares. It returns the first that is not
// resolved, and how many from there on are to be resolved one by one.
//
// It is a pipeline over blocks of keys: while one is searched, the lines of the
// next are on their way. One search in four or five goes on to a second slot,
// and the processor predicts that wrong. Had the line to come from memory then,
// it would wait with nothing else under way, which costs more than the search.
// Measured as a share of a flat table, at 100 K keys and at 1 M, uniform:
//
//	search as the lines come                1.49  1.41
//	read the lines of a block, search it    1.56  1.21
//	search, read a line of the next block   1.40  1.22
//	prefetch the next block, search         1.35  1.02
//
// A load that waits keeps the processor from retiring what follows; a prefetch
// does not. With skewed keys the last is 0.9 to 1.1, the others 1.3 to 1.65.
func (t *Table[K, V]) resolveUsual(keys []K, hashes []uint64, dst []*V, i int) (next, unusual int) {
	var a, b places
	cur, ahead := &a, &b
	n := t.locate(hashes[i:], cur)
	prefetch(cur, n, t.filling)
	for n > 0 {
		m := t.locate(hashes[i+n:], ahead)
		prefetch(ahead, m, t.filling)
		if t.layout.stringKeys {
			t.touchTexts(cur[:n])
		}
		before := t.n
		done := t.searchBlock(keys[i:i+n], dst[i:i+n], cur)
		t.filling = t.n-before > done/4
		if i += done; done < n {
			return i, 1
		}
		cur, ahead, n = ahead, cur, m
	}
	return i, min(len(keys)-i, resolveBlock)
}

// locate finds the places of the next block of hashes and makes their pages
// writable. It returns their number: 0 when there are no more hashes, or when a
// page has values that a snapshot shares.
func (t *Table[K, V]) locate(hashes []uint64, ps *places) int {
	hashes = hashes[:min(len(hashes), resolveBlock)]
	if len(hashes) == 0 {
		return 0
	}
	l := locator{
		dir: unsafe.Pointer(unsafe.SliceData(t.dir)), mask: uint64(len(t.dir) - 1),
		lo: t.lo, shift: uint64(t.shift), slots: t.slots, size: unsafe.Sizeof(slot[K, V]{}),
	}
	if l.locate(hashes, ps) > t.snaps.frozen.Load() {
		return len(hashes)
	}
	// Owning a page moves no entry that was resolved before in this call: its
	// page is owned already.
	for _, h := range hashes {
		t.own(t.index(h))
	}
	if l.locate(hashes, ps) > t.snaps.frozen.Load() {
		return len(hashes)
	}
	return 0
}

// locator is what the position of a key depends on.
type locator struct {
	dir              unsafe.Pointer
	mask             uint64 // number of directory entries - 1
	lo, shift, slots uint64
	size             uintptr // of a slot
}

// locate stores the places of hashes and returns the least guard of their pages,
// or 0 when a hash is not of the table's range. It has no branches, and is not
// generic so that its variables fit the registers.
//
//go:noinline
func (l *locator) locate(hashes []uint64, ps *places) (guard uint32) {
	dir, mask, lo, shift, slots, size := l.dir, l.mask, l.lo, l.shift, l.slots, l.size
	guard = 1<<32 - 1
	all := uint64(0)
	for j, h := range hashes {
		idx := (h - lo) >> (shift & 63)
		all |= idx
		e := (*entry)(unsafe.Add(dir, (idx&mask)*uint64(unsafe.Sizeof(entry{}))))
		home := uintptr(uint64(uint32(h)) * slots >> 32)
		ps[j&(resolveBlock-1)] = place{e.page + headerSize + home*size, e.page}
		guard = min(guard, e.guard)
	}
	if all > mask {
		return 0
	}
	return guard
}

// touchTexts reads the first line of the texts of string keys. The loads do not
// depend on each other, as those of a search would: slot, then text.
func (t *Table[K, V]) touchTexts(ps []place) {
	var x byte
	for i := range ps {
		// The key is the first field of the slot.
		if s := *(*string)(at(ps[i].first)); len(s) > 0 {
			x ^= s[0]
		}
	}
	t.sink = x
}

// searchBlock resolves the keys of a block, whose pages are writable, until one
// is unusual. It returns how many it has resolved.
func (t *Table[K, V]) searchBlock(keys []K, dst []*V, ps *places) int {
	size := unsafe.Sizeof(slot[K, V]{})
	var zero K
	dst = dst[:len(keys)]
keys:
	for j := range keys {
		k := keys[j]
		if k == zero {
			return j // free slots look like it
		}
		at0 := &ps[j&(resolveBlock-1)]
		p := at0.first
		end := at0.page + headerSize + uintptr(t.slots)*size
		for {
			s := (*slot[K, V])(at(p))
			if s.k == k {
				dst[j] = &s.v
				continue keys
			}
			if s.k == zero {
				break
			}
			if p += size; p >= end {
				return j
			}
		}
		// Usually the free slot where a new key goes.
		hd, i := headerOf(at0.page), uint64((p-at0.page-headerSize)/size)
		if hd.has(i) || hd.spilled || uint64(hd.count) >= t.limit {
			return j
		}
		hd.set(i)
		hd.count++
		t.n++
		s := (*slot[K, V])(at(p))
		s.k = k
		dst[j] = &s.v
	}
	return len(keys)
}

// resolveUnusual resolves key i in all cases. When entries moved, the pointers
// found before have been looked up again.
func (t *Table[K, V]) resolveUnusual(keys []K, hashes []uint64, dst []*V, i int) {
	dst[i], _ = t.upsert(&keys[i], hashes[i])
	if len(t.moved) > 0 || t.over != nil && len(t.over.moved) > 0 {
		t.findAgain(keys[:i], hashes, dst)
	}
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
