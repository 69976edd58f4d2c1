package memory

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

const hugePageSize = 2 << 20

// mapSlab maps size bytes of zeroed memory. From 2 MiB on the slab is aligned
// to 2 MiB and advised for huge pages: one TLB entry then covers 512 pages of a
// table that is read at random.
func mapSlab(size int) ([]byte, error) {
	const prot, flags = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_ANON | unix.MAP_PRIVATE
	if size < hugePageSize {
		return mmap(size, prot, flags)
	}
	b, err := mmap(size+hugePageSize, prot, flags)
	if err != nil {
		return nil, err
	}
	base := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	skip := int(-base & (hugePageSize - 1))
	if skip > 0 {
		munmap(b[:skip])
	}
	if tail := b[skip+size:]; len(tail) > 0 {
		munmap(tail)
	}
	slab := b[skip : skip+size : skip+size]
	_ = unix.Madvise(slab, unix.MADV_HUGEPAGE) // without huge pages it is only slower
	return slab, nil
}

// mmap and munmap bypass the bookkeeping of unix.Mmap, which refuses to unmap a
// part of a mapping.
func mmap(size, prot, flags int) ([]byte, error) {
	p, err := unix.MmapPtr(-1, 0, nil, uintptr(size), prot, flags)
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*byte)(p), size), nil
}

func munmap(b []byte) {
	_ = unix.MunmapPtr(unsafe.Pointer(unsafe.SliceData(b)), uintptr(len(b)))
}

// touchSlab makes every page of a new slab present. It yields between huge
// pages so that the task, which may share the core, is not held up.
func touchSlab(slab []byte) {
	for i := 0; i < len(slab); i += PageSize {
		slab[i] = 0
		if i%hugePageSize == 0 {
			runtime.Gosched()
		}
	}
}

func unmapSlab(slab []byte) { munmap(slab) }
