package keygroup

import (
	"errors"
	"math"
	"reflect"
	"unsafe"

	"github.com/zeebo/xxh3"
)

// Hasher hashes keys of one type. The value is the same in every process, on
// every platform and in every version of the program as long as Name is.
type Hasher[K comparable] struct {
	// Name is HashName with the class of the key: "cutwater-1/int", "/bool",
	// "/float", "/string" or "/struct". Keys of the same class with the same
	// value have the same hash, so int32 may become int64.
	Name string

	// Hash returns the hash of *k. It neither changes nor keeps it, and hashes
	// -0 as +0; of NaN it returns a value without meaning.
	Hash func(k *K) uint64

	// HashAll sets hashes[i] to the hash of keys[i]: Hash for a batch, without a
	// call per key. REQUIRES: len(hashes) >= len(keys).
	HashAll func(hashes []uint64, keys []K)

	// Normalize is nil when equal keys are equal bytes and every value is a key,
	// which holds for all types without floats. Else it must be called on each
	// key before it is hashed, encoded or stored: it turns -0 into +0 and
	// returns ErrNaN for keys with a NaN.
	Normalize func(k *K) error
}

// ErrNaN is returned for a key that is or holds NaN. Such a key is not equal to
// itself: its state could never be found.
var ErrNaN = errors.New("key holds NaN, which is not equal to itself; filter such records or choose another key")

// For returns the hasher of K. The error names each part of K that cannot be
// (part of) a key, why, and what to do: pointers, interfaces, channels, time.Time,
// complex numbers, unexported fields, and fields without encoding.
func For[K comparable]() (*Hasher[K], error) {
	t := reflect.TypeFor[K]()
	parts, errs := keyParts(nil, nil, t, 0, t.String())
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	h := &Hasher[K]{}
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		h.Name = HashName + "/int"
		h.useInt(t)
	case reflect.Bool:
		h.Name = HashName + "/bool"
		use[K](h, func(k *uint8) uint64 { return mix(uint64(*k)) }, func(dst []uint64, keys []uint8) {
			for i, k := range keys {
				dst[i] = mix(uint64(k))
			}
		})
	case reflect.Float64:
		h.Name = HashName + "/float"
		use[K](h, func(k *float64) uint64 { return mixFloat(*k) }, func(dst []uint64, keys []float64) {
			for i, k := range keys {
				dst[i] = mixFloat(k)
			}
		})
	case reflect.Float32:
		h.Name = HashName + "/float"
		use[K](h, func(k *float32) uint64 { return mixFloat(float64(*k)) }, func(dst []uint64, keys []float32) {
			for i, k := range keys {
				dst[i] = mixFloat(float64(k))
			}
		})
	case reflect.String:
		h.Name = HashName + "/string"
		use[K](h, func(k *string) uint64 { return xxh3.HashString(*k) }, func(dst []uint64, keys []string) {
			for i := range keys {
				dst[i] = xxh3.HashString(keys[i])
			}
		})
	default:
		h.Name = HashName + "/struct"
		h.useParts(parts)
	}
	h.useNormalize(parts)
	return h, nil
}

// mix is the finalizer of SplitMix64 (Steele, Lea, Flood 2014, with Stafford's
// constants "Mix13"): a bijection, so different integers have different hashes,
// in which each input bit flips each output bit with a chance of one half.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// mixFloat hashes a float by value: adding +0 turns -0 into +0.
func mixFloat(f float64) uint64 { return mix(math.Float64bits(f + 0)) }

// use installs functions of the kind of K. REQUIRES: K has the memory of X.
func use[K comparable, X any](h *Hasher[K], one func(k *X) uint64, all func(dst []uint64, keys []X)) {
	h.Hash = func(k *K) uint64 { return one((*X)(unsafe.Pointer(k))) }
	h.HashAll = func(dst []uint64, keys []K) {
		all(dst[:len(keys)], unsafe.Slice((*X)(unsafe.Pointer(unsafe.SliceData(keys))), len(keys)))
	}
}
