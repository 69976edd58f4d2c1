package memory

import (
	"fmt"
	"math/bits"
	"runtime"
	"slices"
	"unsafe"

	"github.com/cutwater-io/cutwater/internal/segment"
)

const (
	writeBufferSize = 1 << 20
	// pagesPerSlice is how many pages are written before the goroutine yields.
	// The task may share its core, and Go's time slice of 10 ms would land in
	// the latency of records.
	pagesPerSlice = 16
)

// WriteGroups writes the frozen entries, page by page in directory order, which
// is key-group order. A page whose range of hashes lies in one group is packed
// as it is; only pages on the border of groups are sorted.
func (s *snapshot[K, V]) WriteGroups(w segment.GroupWriter) error {
	g := &groupPacker[K, V]{t: s.t, w: w, group: -1}
	if s.over != nil {
		g.over = s.overEntries()
	}
	depth := s.t.top - s.main.shift
	pages := 0
	for i := 0; i < len(s.main.dir); {
		e := s.main.dir[i]
		n := 1 << (depth - e.depth)
		if e.page != s.t.empty {
			first := uint64(i) << s.main.shift
			last := uint64(i+n)<<s.main.shift - 1
			if err := g.page(e.page, first, last); err != nil {
				return err
			}
			s.main.done.Store(last)
			if pages++; pages%pagesPerSlice == 0 {
				runtime.Gosched()
			}
		}
		i += n
	}
	s.main.done.Store(allDone)
	if err := g.overUpTo(1 << 16); err != nil {
		return err
	}
	return g.flush()
}

// groupPacker packs the entries of pages into groups.
type groupPacker[K comparable, V any] struct {
	t     *Table[K, V]
	w     segment.GroupWriter
	group int // open; -1: none yet
	buf   []byte
	n     int      // entries in buf
	order []uint32 // of a border page: group<<16 | slot

	over []overEntry // of the overflow table, ascending by group
}

func (g *groupPacker[K, V]) page(page uintptr, first, last uint64) error {
	t := g.t
	hd := headerOf(page)
	if hd.count == 0 {
		return nil
	}
	// The unused end of the hash range may lie beyond 2^64.
	firstGroup, carry := bits.Add64(t.lo, first, 0)
	lastGroup, carry2 := bits.Add64(t.lo, last, 0)
	if carry == 0 && carry2 == 0 && t.group(firstGroup) == t.group(lastGroup) {
		if err := g.begin(int(t.group(firstGroup))); err != nil {
			return err
		}
		return g.pack(page, hd)
	}
	g.order = g.order[:0]
	for i := hd.next(0, t.slots); i < t.slots; i = hd.next(i+1, t.slots) {
		g.order = append(g.order, uint32(t.group(t.cfg.Hash(&t.slot(page, i).k)))<<16|uint32(i))
	}
	slices.Sort(g.order)
	for _, o := range g.order {
		if err := g.begin(int(o >> 16)); err != nil {
			return err
		}
		s := t.slot(page, uint64(o&0xffff))
		if err := g.entry(&s.k, &s.v); err != nil {
			return err
		}
	}
	return nil
}

// pack appends all entries of a page to the open group.
func (g *groupPacker[K, V]) pack(page uintptr, hd *header) error {
	t := g.t
	if !t.layout.copyRuns {
		for i := hd.next(0, t.slots); i < t.slots; i = hd.next(i+1, t.slots) {
			s := t.slot(page, i)
			if err := g.entry(&s.k, &s.v); err != nil {
				return err
			}
		}
		return nil
	}
	size := unsafe.Sizeof(slot[K, V]{})
	if err := g.reserve(int(uintptr(hd.count) * size)); err != nil {
		return err
	}
	for i := hd.next(0, t.slots); i < t.slots; {
		end := hd.runEnd(i, t.slots)
		g.buf = append(g.buf, bytesAt(page+headerSize+uintptr(i)*size, int(uintptr(end-i)*size))...)
		i = hd.next(end, t.slots)
	}
	g.n += int(hd.count)
	return nil
}

func (g *groupPacker[K, V]) entry(k *K, v *V) error {
	if g.buf == nil {
		g.buf = make([]byte, 0, 4096)
	}
	g.buf = g.t.cfg.Key.Append(g.buf, k)
	g.buf = g.t.cfg.Value.Append(g.buf, v)
	g.n++
	if len(g.buf) >= writeBufferSize {
		return g.flush()
	}
	return nil
}

// reserve makes room for n bytes without growing the buffer beyond its size.
func (g *groupPacker[K, V]) reserve(n int) error {
	if len(g.buf)+n > writeBufferSize {
		if err := g.flush(); err != nil {
			return err
		}
	}
	return nil
}

func (g *groupPacker[K, V]) begin(group int) error {
	if group == g.group {
		return nil
	}
	if err := g.overUpTo(group); err != nil {
		return err
	}
	return g.open(group)
}

func (g *groupPacker[K, V]) open(group int) error {
	if err := g.flush(); err != nil {
		return err
	}
	g.group = group
	return g.w.Begin(uint16(group))
}

func (g *groupPacker[K, V]) flush() error {
	if g.n == 0 {
		return nil
	}
	g.w.AddEntries(g.n)
	_, err := g.w.Write(g.buf)
	g.buf, g.n = g.buf[:0], 0
	return err
}

// overEntry is an encoded entry of the overflow table.
type overEntry struct {
	group int
	data  []byte
}

func (s *snapshot[K, V]) overEntries() []overEntry {
	var out []overEntry
	depth := s.overTable.top - s.over.shift
	for i := 0; i < len(s.over.dir); {
		e := s.over.dir[i]
		hd := headerOf(e.page)
		for j := hd.next(0, s.t.slots); j < s.t.slots; j = hd.next(j+1, s.t.slots) {
			en := s.t.slot(e.page, j)
			data := s.t.cfg.Value.Append(s.t.cfg.Key.Append(nil, &en.k), &en.v)
			out = append(out, overEntry{int(s.t.group(s.t.cfg.Hash(&en.k))), data})
		}
		i += 1 << (depth - e.depth)
	}
	slices.SortStableFunc(out, func(a, b overEntry) int { return a.group - b.group })
	return out
}

// overUpTo writes the overflow entries of groups less than end: those of the
// open group, and then those of groups that no page has.
func (g *groupPacker[K, V]) overUpTo(end int) error {
	for len(g.over) > 0 && g.over[0].group < end {
		o := g.over[0]
		g.over = g.over[1:]
		if o.group < g.group {
			return fmt.Errorf("state %q: overflow entry of key group %d found behind group %d; the key hash is not a function of the key", g.t.cfg.Name, o.group, g.group)
		}
		if o.group != g.group {
			if err := g.open(o.group); err != nil {
				return err
			}
		}
		g.buf = append(g.buf, o.data...)
		g.n++
		if len(g.buf) >= writeBufferSize {
			if err := g.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}
