package memory

import (
	"math/bits"
	"reflect"
	"sync"
	"unsafe"
)

// headerSize is the size of header: one cache line.
//
// An off-heap page is 65 lines long. With pages of 4096 bytes all headers would
// have the same address modulo 4096: they would compete for one of 64 sets of
// the first cache and 32 of 2048 of the second, while every new key writes one.
const headerSize = 64

// header is the first line of every page. The slots follow it.
//
// A lookup that hits does not read the header: a slot that equals a key other
// than the zero value is in use. Invariant: slots that are not in use are zero.
type header struct {
	// used has a bit per slot. Pages on the Go heap have at most 192 slots
	// and keep in used[3:6] the shared bits: the slot's value refers to
	// memory that a frozen page refers to as well.
	used    [7]uint64
	count   uint16
	spilled bool // keys that belong here may be in the overflow table
	version uint32
}

const (
	maxSlots     = 7 * 64
	maxHeapSlots = 3 * 64
	sharedWord   = 3
)

type slot[K comparable, V any] struct {
	k K
	v V
}

func headerOf(p uintptr) *header { return (*header)(at(p)) }

func (h *header) has(i uint64) bool    { return h.used[i>>6&7]&(1<<(i&63)) != 0 }
func (h *header) set(i uint64)         { h.used[i>>6] |= 1 << (i & 63) }
func (h *header) unset(i uint64)       { h.used[i>>6] &^= 1 << (i & 63) }
func (h *header) shared(i uint64) bool { return h.used[sharedWord+i>>6]&(1<<(i&63)) != 0 }
func (h *header) share(i uint64)       { h.used[sharedWord+i>>6] |= 1 << (i & 63) }
func (h *header) unshare(i uint64)     { h.used[sharedWord+i>>6] &^= 1 << (i & 63) }
func (h *header) anyShared() bool      { return h.used[3]|h.used[4]|h.used[5] != 0 }
func (h *header) unshareAll()          { h.used[3], h.used[4], h.used[5] = 0, 0, 0 }
func (h *header) shareAll()            { copy(h.used[sharedWord:], h.used[:sharedWord]) }

// next returns the first used slot from i on of the first n, or n.
func (h *header) next(i, n uint64) uint64 {
	for i < n {
		if w := h.used[i>>6] >> (i & 63); w != 0 {
			return min(i+uint64(bits.TrailingZeros64(w)), n)
		}
		i = (i | 63) + 1
	}
	return n
}

// runEnd returns the first slot from i on that is not used, or n.
func (h *header) runEnd(i, n uint64) uint64 {
	for i < n {
		if w := ^h.used[i>>6] >> (i & 63); w != 0 {
			return min(i+uint64(bits.TrailingZeros64(w)), n)
		}
		i = (i | 63) + 1
	}
	return n
}

// heapPages hands out pages on the Go heap that the collector understands, of one
// slot type, to all tables of an arena. The directory holds addresses only, so
// live keeps the pages alive.
type heapPages struct {
	typ   reflect.Type // struct{header; [n]slot}
	size  int
	empty unsafe.Pointer // stays empty, see Table.empty

	mu   sync.Mutex
	live map[uintptr]unsafe.Pointer
	free []unsafe.Pointer // zeroed
}

// maxFreeHeapPages bounds the pages kept for reuse, 64 MiB when they are small;
// more go to the collector.
const maxFreeHeapPages = 1 << 14

func newHeapPages(slotType reflect.Type, slots int) *heapPages {
	typ := reflect.StructOf([]reflect.StructField{
		{Name: "Header", Type: reflect.TypeFor[[headerSize / 8]uint64]()},
		{Name: "Slots", Type: reflect.ArrayOf(slots, slotType)},
	})
	return &heapPages{
		typ: typ, size: int(typ.Size()), empty: reflect.New(typ).UnsafePointer(),
		live: map[uintptr]unsafe.Pointer{},
	}
}

func (s *heapPages) take() uintptr {
	s.mu.Lock()
	defer s.mu.Unlock()
	var p unsafe.Pointer
	if n := len(s.free); n > 0 {
		p = s.free[n-1]
		s.free = s.free[:n-1]
	} else {
		p = reflect.New(s.typ).UnsafePointer()
	}
	s.live[uintptr(p)] = p
	return uintptr(p)
}

func (s *heapPages) takeToFill() uintptr { return s.take() } // copyPage copies used slots only

func (s *heapPages) give(pages ...uintptr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range pages {
		p := s.live[a]
		delete(s.live, a)
		if len(s.free) < maxFreeHeapPages {
			reflect.NewAt(s.typ, p).Elem().SetZero() // what it refers to is garbage now
			s.free = append(s.free, p)
		}
	}
}

func (s *heapPages) inUse() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.live)
}

func (s *heapPages) retain()  {}
func (s *heapPages) release() {}
