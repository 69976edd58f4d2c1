package memory

import "iter"

// Cursor is a place in a table between two entries. The zero value is the
// beginning.
type Cursor struct {
	pos  uint64 // hash position of a page
	slot uint64
	part uint8 // 0 main table, 1 overflow table, 2 end
}

// Done reports whether the scan has reached the end.
func (c Cursor) Done() bool { return c.part == 2 }

// Scan yields entries from the cursor on, in directory order, which is
// key-group order but for the overflow table that comes last. When yield
// returns false, Scan stops behind that entry; the result is where to go on.
//
// Between two calls the task may take snapshots and write values it gets from
// Upsert of keys that exist; new keys or deletions may make the scan miss or
// repeat entries of the pages they touch. During a call only Get may be used.
// The values must not be written: they may be part of a snapshot.
func (t *Table[K, V]) Scan(from Cursor, yield func(k *K, v *V) bool) Cursor {
	if from.part == 0 {
		c := t.scanPart(from, yield)
		if c.part == 0 {
			return c
		}
		from = Cursor{part: 1}
	}
	if from.part == 1 && t.over != nil {
		c := t.over.scanPart(from, yield)
		if c.part == 1 {
			return c
		}
	}
	return Cursor{part: 2}
}

func (t *Table[K, V]) scanPart(c Cursor, yield func(k *K, v *V) bool) Cursor {
	part := c.part
	for idx := c.pos >> t.shift; idx < uint64(len(t.dir)); {
		e := t.dir[idx]
		hd := headerOf(e.page)
		for i := hd.next(c.slot, t.slots); i < t.slots; i = hd.next(i+1, t.slots) {
			s := t.slot(e.page, i)
			if !yield(&s.k, &s.v) {
				return Cursor{pos: idx << t.shift, slot: i + 1, part: part}
			}
		}
		c.slot = 0
		n := uint64(1) << (t.depth() - e.depth)
		idx = idx&^(n-1) + n
	}
	return Cursor{part: part + 1}
}

// All yields all entries as Scan does.
func (t *Table[K, V]) All() iter.Seq2[*K, *V] {
	return func(yield func(*K, *V) bool) { t.Scan(Cursor{}, yield) }
}
