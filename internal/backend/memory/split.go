package memory

import (
	"fmt"
	"reflect"
)

// own makes the page of directory entry idx writable and returns it: a page
// instead of the empty one, or a copy of a frozen one.
func (t *Table[K, V]) own(idx uint64) uintptr {
	e := t.dir[idx]
	frozen := t.snaps.frozen.Load()
	if e.guard > frozen {
		return e.page
	}
	if e.page == t.empty {
		p := t.pages.take()
		headerOf(p).version = t.version
		t.nPages++
		t.setPage(idx, p, t.version)
		return p
	}
	p := e.page
	hd := headerOf(p)
	switch {
	case hd.version > frozen:
		// Not frozen: guarded because of shared values.
	case t.snaps.needed(hd.version, t.endOf(idx)):
		p = t.pages.takeToFill()
		t.copyPage(p, e.page)
		hd = headerOf(p)
		if t.layout.deep {
			hd.shareAll()
		}
		hd.version = t.version
		if !t.snaps.retire(e.page, headerOf(e.page).version) {
			t.pages.give(e.page)
		}
	default:
		hd.version = t.version // all snapshots that need it have saved it
	}
	guard := hd.version
	if t.layout.deep && hd.anyShared() {
		if frozen == 0 {
			hd.unshareAll()
		} else {
			guard = 0
		}
	}
	t.setPage(idx, p, guard)
	return p
}

// endOf returns the last position (hash - lo) of the page of entry idx.
func (t *Table[K, V]) endOf(idx uint64) uint64 {
	n := uint64(1) << (t.depth() - t.dir[idx].depth)
	return (idx&^(n-1)+n)<<t.shift - 1
}

// setPage sets all directory entries of the page of entry idx.
func (t *Table[K, V]) setPage(idx uint64, page uintptr, guard uint32) {
	d := t.dir[idx].depth
	n := uint64(1) << (t.depth() - d)
	first := idx &^ (n - 1)
	for i := first; i < first+n; i++ {
		t.dir[i] = entry{page: page, guard: guard, depth: d}
	}
}

func (t *Table[K, V]) copyPage(dst, src uintptr) {
	if t.layout.offHeap {
		copy(bytesAt(dst, PageSize), bytesAt(src, PageSize))
		return
	}
	*headerOf(dst) = *headerOf(src)
	hd := headerOf(src)
	for i := hd.next(0, t.slots); i < t.slots; i = hd.next(i+1, t.slots) {
		*t.slot(dst, i) = *t.slot(src, i)
	}
}

// unshare deep-copies the value in slot i of entry idx: its first access after
// a snapshot. The frozen page keeps the original.
func (t *Table[K, V]) unshare(idx, i uint64) {
	page := t.dir[idx].page
	v := &t.slot(page, i).v
	var c V
	t.cfg.Clone(&c, v)
	*v = c
	hd := headerOf(page)
	hd.unshare(i)
	if !hd.anyShared() {
		t.setPage(idx, page, hd.version)
	}
}

// split replaces the page of entry idx, which is owned, by two. It returns
// false when the directory may not grow: then too many hashes are equal.
func (t *Table[K, V]) split(idx uint64) bool {
	d := t.dir[idx].depth
	if d == t.depth() {
		if t.shift <= minShift || len(t.dir) >= minDirEntries && len(t.dir) >= maxDirPerPage*t.nPages {
			return false
		}
		t.doubleDir()
		idx *= 2
	}
	old := t.dir[idx].page
	oh := headerOf(old)
	bit := t.top - d - 1 // of the position: 0 goes to the left half
	var half [2]uintptr
	for i := oh.next(0, t.slots); i < t.slots; i = oh.next(i+1, t.slots) {
		s := t.slot(old, i)
		h := t.hash(&s.k)
		side := (h - t.lo) >> bit & 1
		if half[side] == 0 {
			half[side] = t.pages.take()
			hd := headerOf(half[side])
			hd.version = t.version
			hd.spilled = oh.spilled
		}
		hd := headerOf(half[side])
		j := t.home(h)
		for hd.has(j) {
			if j++; j == t.slots {
				j = 0
			}
		}
		hd.set(j)
		hd.count++
		*t.slot(half[side], j) = *s
		if t.layout.deep && oh.shared(i) {
			hd.share(j)
		}
	}
	n := uint64(1) << (t.depth() - d)
	first := idx &^ (n - 1)
	for side, p := range half {
		guard := t.version
		switch {
		case p == 0 && oh.spilled:
			// Keys of this half may be in the overflow table, so that the
			// page needs a header of its own.
			p = t.pages.take()
			headerOf(p).version = t.version
			headerOf(p).spilled = true
			t.nPages++
		case p == 0:
			p, guard = t.empty, 0
		default:
			t.nPages++
			if t.layout.deep && headerOf(p).anyShared() {
				guard = 0
			}
		}
		begin := first + uint64(side)*n/2
		for i := begin; i < begin+n/2; i++ {
			t.dir[i] = entry{page: p, guard: guard, depth: d + 1}
		}
	}
	t.nPages--
	t.moved = append(t.moved, old)
	t.pages.give(old)
	return true
}

// doubleDir makes the directory one bit deeper.
func (t *Table[K, V]) doubleDir() {
	n := len(t.dir)
	if cap(t.dir) < 2*n {
		dir := make([]entry, 2*n)
		for i, e := range t.dir {
			dir[2*i], dir[2*i+1] = e, e
		}
		t.dir = dir
	} else {
		t.dir = t.dir[:2*n]
		for i := n - 1; i >= 0; i-- {
			e := t.dir[i]
			t.dir[2*i], t.dir[2*i+1] = e, e
		}
	}
	t.shift--
}

// overflow returns the table for keys whose page cannot split because their
// hashes agree in too many bits. It is a table of its own, indexed by a second
// hash over the encoded key, so that even a constant Hash ends neither in an
// endless split nor in a full page; it is slower. With a sound hash it is never
// made.
func (t *Table[K, V]) overflow() *Table[K, V] {
	if t.over == nil {
		if !t.isTop {
			panic(fmt.Sprintf("memory: state %q: %d keys of type %v are different and have the same encoding, so nothing tells them apart in a snapshot; the codec of the key must write every field that == compares",
				t.cfg.Name, t.n, reflect.TypeFor[K]()))
		}
		o := &Table[K, V]{
			cfg: t.cfg, layout: t.layout, slots: t.slots, limit: t.limit, version: 1,
			snaps: &snapshots{pages: t.pages}, pages: t.pages, empty: t.empty,
			top: 64,
		}
		o.resetDir(0)
		t.over = o
	}
	return t.over
}
