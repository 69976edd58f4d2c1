//go:build !linux

package memory

import "unsafe"

// mapSlab takes the slab from the Go heap: pointer-free, so the collector does
// not read it. Only Linux is tuned.
func mapSlab(size int) ([]byte, error) {
	words := make([]uint64, size/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), size), nil
}

func touchSlab(slab []byte) {
	for i := 0; i < len(slab); i += PageSize {
		slab[i] = 0
	}
}

// unmapSlab leaves the slab to the collector.
func unmapSlab([]byte) {}
