package keygroup

import (
	"reflect"
	"unsafe"
)

// useInt installs the mixer on the value as a 64-bit number, sign-extended for
// signed kinds, so that a key may change its width without changing its group.
//
// Hash is written out for each width, since a call through a second closure
// would cost as much as the mixer.
func (h *Hasher[K]) useInt(t reflect.Type) {
	signed := t.Kind() >= reflect.Int && t.Kind() <= reflect.Int64
	switch t.Size() {
	case 8:
		h.Hash = func(k *K) uint64 { return mix(*(*uint64)(unsafe.Pointer(k))) }
		h.HashAll = hashInts[K, uint64]
	case 4:
		if signed {
			h.Hash = func(k *K) uint64 { return mix(uint64(*(*int32)(unsafe.Pointer(k)))) }
			h.HashAll = hashInts[K, int32]
			return
		}
		h.Hash = func(k *K) uint64 { return mix(uint64(*(*uint32)(unsafe.Pointer(k)))) }
		h.HashAll = hashInts[K, uint32]
	case 2:
		if signed {
			h.Hash = func(k *K) uint64 { return mix(uint64(*(*int16)(unsafe.Pointer(k)))) }
			h.HashAll = hashInts[K, int16]
			return
		}
		h.Hash = func(k *K) uint64 { return mix(uint64(*(*uint16)(unsafe.Pointer(k)))) }
		h.HashAll = hashInts[K, uint16]
	case 1:
		if signed {
			h.Hash = func(k *K) uint64 { return mix(uint64(*(*int8)(unsafe.Pointer(k)))) }
			h.HashAll = hashInts[K, int8]
			return
		}
		h.Hash = func(k *K) uint64 { return mix(uint64(*(*uint8)(unsafe.Pointer(k)))) }
		h.HashAll = hashInts[K, uint8]
	}
}

// hashInts hashes a batch. REQUIRES: K has the memory of the integer X.
func hashInts[K comparable, X uint8 | uint16 | uint32 | uint64 | int8 | int16 | int32](dst []uint64, keys []K) {
	dst = dst[:len(keys)]
	for i, k := range unsafe.Slice((*X)(unsafe.Pointer(unsafe.SliceData(keys))), len(keys)) {
		dst[i] = mix(uint64(k))
	}
}
