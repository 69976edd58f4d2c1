package memory

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/cutwater-io/cutwater/internal/segment"
)

// snapshots are the live snapshots of one table and the pages that only they
// still need.
type snapshots struct {
	// frozen is the version of the newest live snapshot, 0 without one. Pages
	// of this version or older are not written. The task alone raises it;
	// Release, from any goroutine, lowers it.
	frozen atomic.Uint32

	pages pageSource

	mu   sync.Mutex
	live []*view // ascending by version
	dirs [][]entry
}

// view is what a snapshot sees of one table: the directory at its moment.
type view struct {
	dir     []entry
	shift   uint8
	version uint32
	n       int
	// done says how far the writer is: pages that end before this position
	// (hash - lo) are saved. MaxUint64 means all.
	done atomic.Uint64
	// retired are pages that left the table while this was the newest snapshot
	// that needs them.
	retired []retiredPage
}

type retiredPage struct {
	page    uintptr
	version uint32
}

// maxFreeDirs is how many directory copies are kept for reuse: as many as
// snapshots are usually alive at once.
const maxFreeDirs = 2

func (s *snapshots) add(dir []entry, shift uint8, version uint32, n int) *view {
	s.pages.retain()
	s.mu.Lock()
	defer s.mu.Unlock()
	v := &view{shift: shift, version: version, n: n}
	if k := len(s.dirs); k > 0 {
		v.dir = s.dirs[k-1]
		s.dirs = s.dirs[:k-1]
	}
	if cap(v.dir) < len(dir) {
		v.dir = make([]entry, cap(dir))
	}
	v.dir = v.dir[:len(dir)]
	copy(v.dir, dir)
	s.live = append(s.live, v)
	s.frozen.Store(version)
	return v
}

// needed reports whether a live snapshot will still read a page of this version
// whose last position is end.
func (s *snapshots) needed(version uint32, end uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.live {
		if v.version >= version && v.done.Load() < end {
			return true
		}
	}
	return false
}

// retire hands over a page that left the table. It returns false when no
// snapshot needs it; the caller then gives the page back.
func (s *snapshots) retire(page uintptr, version uint32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := len(s.live) - 1
	if k < 0 || s.live[k].version < version {
		return false
	}
	s.live[k].retired = append(s.live[k].retired, retiredPage{page, version})
	return true
}

func (s *snapshots) remove(v *view) {
	s.mu.Lock()
	k := 0
	for s.live[k] != v {
		k++
	}
	var older *view
	if k > 0 {
		older = s.live[k-1]
	}
	s.live = append(s.live[:k], s.live[k+1:]...)
	if k := len(s.live); k == 0 {
		s.frozen.Store(0)
	} else {
		s.frozen.Store(s.live[k-1].version)
	}
	give := make([]uintptr, 0, len(v.retired))
	for _, r := range v.retired {
		// A page of this version is part of the older snapshot too.
		if older != nil && older.version >= r.version {
			older.retired = append(older.retired, r)
		} else {
			give = append(give, r.page)
		}
	}
	if len(s.dirs) < maxFreeDirs {
		s.dirs = append(s.dirs, v.dir)
	}
	v.dir, v.retired = nil, nil
	s.mu.Unlock()
	s.pages.give(give...)
	s.pages.release()
}

// Snapshot freezes the content of the table: the synchronous part of a
// snapshot. It copies the directory and nothing else. The result may be written
// and must be released by any goroutine; several may be alive at once. Until
// then the first write to each page copies the page.
func (t *Table[K, V]) Snapshot(id segment.StateID) segment.Source {
	if poisoning {
		t.expire()
	}
	s := &snapshot[K, V]{t: t, id: id, main: t.snaps.add(t.dir, t.shift, t.version, t.n)}
	t.version++
	if o := t.over; o != nil {
		s.overTable = o
		s.over = o.snaps.add(o.dir, o.shift, o.version, o.n)
		o.version++
	}
	return s
}

// snapshot implements segment.Source. Of the table it uses only what never
// changes: layout, configuration, hash range and the list of snapshots.
type snapshot[K comparable, V any] struct {
	t         *Table[K, V]
	id        segment.StateID
	main      *view
	overTable *Table[K, V]
	over      *view // nil: none
}

func (s *snapshot[K, V]) ID() segment.StateID { return s.id }

func (s *snapshot[K, V]) Schema() segment.Schema { return s.t.Schema() }

// Release gives back what the snapshot holds.
func (s *snapshot[K, V]) Release() {
	s.t.snaps.remove(s.main)
	if s.over != nil {
		s.overTable.snaps.remove(s.over)
	}
}

// Layout names the entry format of segments that tables write: entries one
// after another, each the encoding of the key and that of the value.
const Layout = "key value/1"

// Schema says how snapshots of the table are encoded.
func (t *Table[K, V]) Schema() segment.Schema {
	return segment.Schema{Key: t.cfg.Key.Schema, Value: t.cfg.Value.Schema, Layout: Layout}
}

const allDone = math.MaxUint64
