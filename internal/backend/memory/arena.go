package memory

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"unsafe"
)

const (
	// PageSize is the size of an off-heap page in bytes: a header and 4 KiB of
	// slots. It is an odd number of cache lines on purpose; see headerSize.
	PageSize = 4096 + headerSize

	firstSlabSize = 1 << 20
	maxSlabSize   = 32 << 20
)

// ErrClosed is returned when a table is made in an arena that was closed.
var ErrClosed = errors.New("arena is closed")

// Arena hands out pages of 4 KiB and a header, outside the Go heap, to all
// tables of one subtask, so that a window pane that goes leaves its pages to the
// one that comes. Tables with strings or other pointers get theirs from the Go
// heap, through it.
//
// Memory comes in slabs of 1 MiB, then 2, 4 and so on up to 32 MiB, mapped from
// the operating system and from 2 MiB on advised for huge pages. A small job
// never maps more than the first. When a slab is half used, a goroutine of the
// arena maps and touches the next one, because the first touch of a 32 MiB slab
// stalled the task for 5 to 16 ms when it was done in line. Pages that come
// back are reused, never unmapped before Close.
//
// The subtask owns the arena and closes it after its tables. Taking pages
// happens on the task's goroutine only; pages come back from any goroutine
// (Release of a snapshot). The preparing goroutine ends by itself, and Close
// waits for it. Memory that a live snapshot still reads stays mapped until the
// last Release, even after Close.
type Arena struct {
	mu     sync.Mutex
	slabs  [][]byte
	free   []uintptr // pages that came back, dirty
	next   uintptr   // first page never used of the newest slab
	end    uintptr
	half   uintptr // beyond this the next slab is prepared
	spare  []byte  // mapped and touched; nil: none
	asked  bool    // a spare is being prepared, or was tried
	size   int     // of the newest slab
	inUse  int64   // pages
	refs   int     // live snapshots
	closed bool
	wg     sync.WaitGroup

	heap map[reflect.Type]*heapPages // by slot type
}

// NewArena makes an arena without any memory yet.
func NewArena() *Arena { return &Arena{} }

// take returns a zeroed page. It panics when the operating system has no
// memory left, as the Go allocator does.
func (a *Arena) take() uintptr {
	p, dirty := a.takeAny()
	if dirty {
		clear(bytesAt(p, PageSize))
	}
	return p
}

// takeToFill returns a page with anything in it.
func (a *Arena) takeToFill() uintptr {
	p, _ := a.takeAny()
	return p
}

func (a *Arena) takeAny() (p uintptr, dirty bool) {
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		panic("memory: a table grows after its arena was closed; tables are closed first")
	}
	a.inUse++
	if n := len(a.free); n > 0 {
		p := a.free[n-1]
		a.free = a.free[:n-1]
		a.mu.Unlock()
		return p, true
	}
	if a.end-a.next < PageSize {
		a.growLocked()
	}
	p = a.next
	a.next += PageSize
	if a.next > a.half && !a.asked {
		a.asked = true
		size := nextSlabSize(a.size)
		a.wg.Go(func() { a.prepare(size) }) // ends when the slab is ready
	}
	a.mu.Unlock()
	return p, false
}

// heapPagesOf returns the typed pages for slots of this type, so that panes with
// strings reuse each other's pages too.
func (a *Arena) heapPagesOf(slotType reflect.Type, slots int) *heapPages {
	a.mu.Lock()
	defer a.mu.Unlock()
	hp := a.heap[slotType]
	if hp == nil {
		hp = newHeapPages(slotType, slots)
		if a.heap == nil {
			a.heap = map[reflect.Type]*heapPages{}
		}
		a.heap[slotType] = hp
	}
	return hp
}

func nextSlabSize(size int) int {
	if size == 0 {
		return firstSlabSize
	}
	return min(size*2, maxSlabSize)
}

func (a *Arena) growLocked() {
	slab := a.spare
	a.spare = nil
	if slab == nil {
		var err error
		size := nextSlabSize(a.size)
		if slab, err = mapSlab(size); err != nil {
			a.mu.Unlock()
			panic(fmt.Sprintf("memory: map %d MiB for keyed state: %v; raise the memory limit or the parallelism", size>>20, err))
		}
	}
	a.slabs = append(a.slabs, slab)
	a.size = len(slab)
	a.next = uintptr(unsafe.Pointer(unsafe.SliceData(slab)))
	a.end = a.next + uintptr(len(slab))
	a.half = a.next + uintptr(len(slab)/2)
	a.asked = false
}

// prepare maps and touches the next slab. An error is left to growLocked, which
// tries again and reports.
func (a *Arena) prepare(size int) {
	slab, err := mapSlab(size)
	if err != nil {
		return
	}
	touchSlab(slab)
	a.mu.Lock()
	defer a.mu.Unlock()
	// The task may have outrun this goroutine and mapped a slab itself; the
	// spare is then for the one after. After Close nobody would unmap it.
	if a.closed || a.spare != nil {
		unmapSlab(slab)
		return
	}
	a.spare = slab
	a.asked = true
}

// give takes pages back.
func (a *Arena) give(pages ...uintptr) {
	if len(pages) == 0 {
		return
	}
	a.mu.Lock()
	a.free = append(a.free, pages...)
	a.inUse -= int64(len(pages))
	a.mu.Unlock()
}

func (a *Arena) retain() {
	a.mu.Lock()
	a.refs++
	a.mu.Unlock()
}

func (a *Arena) release() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refs--
	if a.closed && a.refs == 0 {
		a.unmapLocked()
	}
}

// PagesInUse is the number of off-heap pages that tables and live snapshots hold. It may
// be called from any goroutine.
func (a *Arena) PagesInUse() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.inUse
}

// MappedBytes is the memory mapped from the operating system, used or not. It
// may be called from any goroutine.
func (a *Arena) MappedBytes() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := int64(len(a.spare))
	for _, s := range a.slabs {
		n += int64(len(s))
	}
	return n
}

// Close unmaps all memory, or leaves that to the last Release of a snapshot
// that is still alive. No table of the arena may be used afterwards. A second
// Close does nothing.
func (a *Arena) Close() {
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return
	}
	a.closed = true
	a.heap = nil
	if a.refs == 0 {
		a.unmapLocked()
	}
	a.mu.Unlock()
	a.wg.Wait()
}

func (a *Arena) isClosed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.closed
}

func (a *Arena) unmapLocked() {
	for _, s := range a.slabs {
		unmapSlab(s)
	}
	if a.spare != nil {
		unmapSlab(a.spare)
	}
	a.slabs, a.spare, a.free, a.next, a.end = nil, nil, nil, 0, 0
}

// pageSource is where a table gets its pages: the arena, or typed pages on the
// Go heap. A page is named by its address; Go does not move objects.
type pageSource interface {
	// take returns a zeroed page. Task goroutine only.
	take() uintptr
	// takeToFill returns a page for copyPage, which is zeroed only as far as
	// copyPage needs it.
	takeToFill() uintptr
	// give takes pages back, from any goroutine.
	give(pages ...uintptr)
	// retain and release bracket the life of a snapshot.
	retain()
	release()
}

// at turns an address into a pointer. The address is in a page that its source
// keeps alive, so there is nothing for the collector to track. The arithmetic
// from nil stays in registers; reading the address back through memory cost a
// store and a load per use.
//
//go:nocheckptr
func at(p uintptr) unsafe.Pointer { return unsafe.Add(unsafe.Pointer(nil), p) }

func bytesAt(p uintptr, n int) []byte { return unsafe.Slice((*byte)(at(p)), n) }
