package memory

import (
	"fmt"

	"github.com/cutwater-io/cutwater/internal/blob"
	"github.com/cutwater-io/cutwater/internal/segment"
)

// CheckSchema returns an error when state that was stored with this schema
// cannot be loaded into the table. It is called before any group is read, so
// that an incompatible type is refused when the job starts.
func (t *Table[K, V]) CheckSchema(stored segment.Schema) error {
	have := t.Schema()
	for _, c := range []struct{ what, stored, have string }{
		{"key type", stored.Key, have.Key},
		{"value type", stored.Value, have.Value},
		{"entry layout", stored.Layout, have.Layout},
	} {
		if c.stored != c.have {
			return fmt.Errorf("state %q cannot be restored: its %s in the snapshot is %s, in this program %s; restore with the former type or give the state a new name",
				t.cfg.Name, c.what, c.stored, c.have)
		}
	}
	return nil
}

// LoadGroup adds the entries of one key group as Snapshot wrote them. data is
// not kept. It fails, leaving a part of the group in the table, when data does
// not hold the given number of entries of this group; the error then wraps
// blob.ErrCorrupt.
func (t *Table[K, V]) LoadGroup(group uint16, data []byte, entries int) error {
	if int(group) < t.cfg.FirstGroup || int(group) >= t.cfg.EndGroup {
		return fmt.Errorf("state %q: restore: key group %d is not in [%d, %d)", t.cfg.Name, group, t.cfg.FirstGroup, t.cfg.EndGroup)
	}
	const batch = 256
	var (
		keys   [batch]K
		values [batch]V
		hashes [batch]uint64
		dst    [batch]*V
		err    error
	)
	for done := 0; done < entries; {
		n := min(entries-done, batch)
		for i := range n {
			if data, err = t.cfg.Key.Decode(data, &keys[i]); err != nil {
				return fmt.Errorf("state %q: restore: key %d of group %d: %w: %w", t.cfg.Name, done+i, group, blob.ErrCorrupt, err)
			}
			if data, err = t.cfg.Value.Decode(data, &values[i]); err != nil {
				return fmt.Errorf("state %q: restore: value %d of group %d: %w: %w", t.cfg.Name, done+i, group, blob.ErrCorrupt, err)
			}
			hashes[i] = t.cfg.Hash(&keys[i])
			if g := t.group(hashes[i]); g != group {
				return fmt.Errorf("state %q: restore: a key of group %d hashes to group %d of %d: %w, or the key hash of this program is not that of the snapshot",
					t.cfg.Name, group, g, t.cfg.MaxParallelism, blob.ErrCorrupt)
			}
		}
		before := t.Len()
		t.Resolve(keys[:n], hashes[:n], dst[:n])
		if t.Len() != before+n {
			return fmt.Errorf("state %q: restore: group %d has a key twice: %w", t.cfg.Name, group, blob.ErrCorrupt)
		}
		for i, v := range dst[:n] {
			*v = values[i]
		}
		done += n
	}
	if len(data) > 0 {
		return fmt.Errorf("state %q: restore: %d bytes behind the last entry of group %d: %w", t.cfg.Name, len(data), group, blob.ErrCorrupt)
	}
	return nil
}

// Restore loads the key groups of the table's range from the state id of r. It
// is no error when r has no such state.
func (t *Table[K, V]) Restore(r *segment.Reader, id segment.StateID) error {
	s, ok := r.State(id)
	if !ok {
		return nil
	}
	if err := t.CheckSchema(s.Schema); err != nil {
		return err
	}
	ours := func(g segment.GroupInfo) bool {
		return int(g.KeyGroup) >= t.cfg.FirstGroup && int(g.KeyGroup) < t.cfg.EndGroup
	}
	if t.nPages == 0 {
		n := 0
		for _, g := range s.Groups {
			if ours(g) {
				n += int(g.Entries)
			}
		}
		t.resetDir(n) // most pages will not have to split
	}
	for _, g := range s.Groups {
		if !ours(g) {
			continue
		}
		data, entries, err := r.Group(id, g.KeyGroup)
		if err != nil {
			return err
		}
		if err := t.LoadGroup(g.KeyGroup, data, entries); err != nil {
			return err
		}
	}
	return nil
}
