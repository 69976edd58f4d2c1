package memory

// Clear removes all entries. Pages that no snapshot needs go back at once, the
// others when the snapshots are released.
func (t *Table[K, V]) Clear() {
	t.dropPages()
	t.resetDir(0)
	if t.over != nil {
		t.over.Close()
		t.over = nil
	}
}

// Close gives all pages back as Clear does. The table must not be used
// afterwards, but its snapshots may. A second Close does nothing.
func (t *Table[K, V]) Close() {
	if t.gone {
		return
	}
	t.gone = true
	t.dropPages()
	t.dir = nil
	t.n, t.nPages = 0, 0
	if t.over != nil {
		t.over.Close()
		t.over = nil
	}
}

func (t *Table[K, V]) dropPages() {
	if poisoning {
		t.expire()
		t.endQuarantine()
	}
	batch := make([]uintptr, 0, 256)
	frozen := t.snaps.frozen.Load() // only the task raises it
	for p := range t.eachPage {
		if frozen > 0 && t.snaps.retire(p, headerOf(p).version) {
			continue
		}
		if batch = append(batch, p); len(batch) == cap(batch) {
			t.pages.give(batch...)
			batch = batch[:0]
		}
	}
	t.pages.give(batch...)
}

// eachPage yields every page of the directory once, without the empty page.
func (t *Table[K, V]) eachPage(yield func(page uintptr) bool) {
	for i := 0; i < len(t.dir); {
		e := t.dir[i]
		if e.page != t.empty && !yield(e.page) {
			return
		}
		i += 1 << (t.depth() - e.depth)
	}
}
