package memory

import (
	"reflect"
	"unsafe"
)

// With the build tag cutwater_poison, every call that ends the validity of
// pointers (Resolve, Upsert, Delete, Snapshot, Clear, Close, LoadGroup) moves
// the pages that the pointers lead into and fills the old ones with 0xdb. User
// code that keeps a pointer to its state then reads nonsense and loses what it
// writes at once and always, instead of once in a while, when a page happens to
// split or a snapshot to be alive. Values with pointers become zero values
// instead. It costs a page copy per key; tests run with it, jobs do not.
const poisonByte = 0xdb

// maxQuarantine is how many poisoned pages a table keeps from being used again.
const maxQuarantine = 64

// handOut notes that pointers into the pages of hashes leave the table.
func (t *Table[K, V]) handOut(hashes ...uint64) { t.handed = append(t.handed, hashes...) }

// expire ends the validity of all pointers handed out.
func (t *Table[K, V]) expire() {
	fresh := map[uintptr]bool{}
	for _, h := range t.handed {
		t.moveAndPoison(t.index(h), fresh)
	}
	t.handed = t.handed[:0]
	if o := t.over; o != nil {
		// Which keys are there is not worth knowing: it is rare and small.
		for i := range o.dir {
			o.moveAndPoison(uint64(i), fresh)
		}
	}
}

// moveAndPoison gives the page of entry idx a new address. A frozen page stays:
// nobody got a pointer for writing since it froze.
func (t *Table[K, V]) moveAndPoison(idx uint64, fresh map[uintptr]bool) {
	e := t.dir[idx]
	if e.page == t.empty || fresh[e.page] || headerOf(e.page).version <= t.snaps.frozen.Load() {
		return
	}
	p := t.pages.take()
	t.copyPage(p, e.page)
	t.setPage(idx, p, e.guard)
	fresh[p] = true
	t.poison(e.page)
	if t.quarantine = append(t.quarantine, e.page); len(t.quarantine) > maxQuarantine {
		t.pages.give(t.quarantine[0])
		t.quarantine = append(t.quarantine[:0], t.quarantine[1:]...)
	}
}

func (t *Table[K, V]) poison(page uintptr) {
	plainValue := contentOf(reflect.TypeFor[V]()) == plain
	for i := range t.slots {
		s := t.slot(page, i)
		*s = slot[K, V]{}
		if plainValue {
			b := unsafe.Slice((*byte)(unsafe.Pointer(&s.v)), unsafe.Sizeof(s.v))
			for j := range b {
				b[j] = poisonByte
			}
		}
	}
}

// endQuarantine gives the poisoned pages back.
func (t *Table[K, V]) endQuarantine() {
	t.pages.give(t.quarantine...)
	t.quarantine = nil
	t.handed = t.handed[:0]
}
