package keygroup

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"time"
	"unsafe"

	"github.com/zeebo/xxh3"
)

// A composite key is hashed as XXH3-64 of its encoding by package codec. The
// encoding is done here once more, over a flat list of parts: keys hold nothing
// but scalars and strings, and a list that is walked by a plain function lets
// the bytes stay on the stack. A test holds the two encodings equal.
type part struct {
	kind partKind
	off  uintptr
	n    uintptr // partCopy: bytes
}

type partKind uint8

const (
	partCopy partKind = iota // bytes whose memory is their encoding
	partNum2                 // numbers, little-endian in the encoding
	partNum4
	partNum8
	partInt32  // int of a 32-bit platform: 8 bytes
	partUint32 // uint of a 32-bit platform
	partFloat32
	partFloat64
	partString
)

var timeType = reflect.TypeFor[time.Time]()

// keyParts appends the parts of a key of type t at offset off, and an error for
// each part that cannot be in a key.
func keyParts(parts []part, errs []error, t reflect.Type, off uintptr, path string) ([]part, []error) {
	refuse := func(why string) ([]part, []error) {
		return parts, append(errs, fmt.Errorf("keygroup: %s of type %s cannot be part of a key: %s", path, t, why))
	}
	if t == timeType {
		return refuse("== on times also compares the location; use UnixNano")
	}
	if _, ok := reflect.PointerTo(t).MethodByName("UnmarshalBinary"); ok && t.Kind() == reflect.Struct {
		return refuse("its own encoding may make equal bytes of unequal keys; use its String or an array of bytes")
	}
	size := t.Size()
	add := func(k partKind) ([]part, []error) { return append(parts, part{k, off, size}), errs }
	switch t.Kind() {
	case reflect.Bool, reflect.Int8, reflect.Uint8:
		return add(partCopy)
	case reflect.Int16, reflect.Uint16:
		return add(partNum2)
	case reflect.Int32, reflect.Uint32:
		return add(partNum4)
	case reflect.Int64, reflect.Uint64:
		return add(partNum8)
	case reflect.Int, reflect.Uint:
		switch {
		case size == 8:
			return add(partNum8)
		case t.Kind() == reflect.Int:
			return add(partInt32)
		}
		return add(partUint32)
	case reflect.Float32:
		return add(partFloat32)
	case reflect.Float64:
		return add(partFloat64)
	case reflect.String:
		return add(partString)
	case reflect.Array:
		for i := range t.Len() {
			n := len(errs)
			parts, errs = keyParts(parts, errs, t.Elem(), off+uintptr(i)*t.Elem().Size(), path+"[]")
			if len(errs) > n {
				break // the other elements say the same
			}
		}
		return join(parts), errs
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			where := path + "." + f.Name
			switch {
			case f.Name == "_": // == does not look at it, nor does the codec
			case f.Tag.Get("cutwater") == "-":
				errs = append(errs, fmt.Errorf("keygroup: %s cannot be part of a key: its tag leaves it out of the encoding, so unequal keys would be equal bytes; take it out of the key", where))
			case !f.IsExported() && !(f.Anonymous && f.Type.Kind() == reflect.Struct):
				errs = append(errs, fmt.Errorf("keygroup: %s cannot be part of a key: the field is unexported; export it", where))
			default:
				parts, errs = keyParts(parts, errs, f.Type, off+f.Offset, where)
			}
		}
		return join(parts), errs
	case reflect.Pointer, reflect.UnsafePointer, reflect.Uintptr:
		return refuse("an address means nothing in another process; use what it points to")
	case reflect.Interface:
		return refuse("an interface does not say which types it may hold; use a concrete type")
	case reflect.Chan:
		return refuse("a channel means nothing in another process; use a name or number for it")
	case reflect.Complex64, reflect.Complex128:
		return refuse("complex numbers are not supported in keys; use a struct of two floats")
	}
	return refuse("it is not comparable; use a string or an array")
}

// hostLittle says that numbers lie in memory as they do in the encoding.
var hostLittle = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// join merges neighbouring parts that are plain copies.
func join(parts []part) []part {
	copies := func(p part) bool {
		return p.kind == partCopy || hostLittle && (p.kind == partNum2 || p.kind == partNum4 || p.kind == partNum8)
	}
	var out []part
	for _, p := range parts {
		if n := len(out); n > 0 && copies(p) && copies(out[n-1]) && out[n-1].off+out[n-1].n == p.off {
			out[n-1].kind, out[n-1].n = partCopy, out[n-1].n+p.n
			continue
		}
		out = append(out, p)
	}
	return out
}

// appendParts appends the encoding of the key at base, with -0 as +0.
func appendParts(dst []byte, parts []part, base unsafe.Pointer) []byte {
	for i := range parts {
		p := &parts[i]
		f := unsafe.Add(base, p.off)
		switch p.kind {
		case partCopy:
			dst = append(dst, unsafe.Slice((*byte)(f), p.n)...)
		case partNum2:
			dst = binary.LittleEndian.AppendUint16(dst, *(*uint16)(f))
		case partNum4:
			dst = binary.LittleEndian.AppendUint32(dst, *(*uint32)(f))
		case partNum8:
			dst = binary.LittleEndian.AppendUint64(dst, *(*uint64)(f))
		case partInt32:
			dst = binary.LittleEndian.AppendUint64(dst, uint64(*(*int32)(f)))
		case partUint32:
			dst = binary.LittleEndian.AppendUint64(dst, uint64(*(*uint32)(f)))
		case partFloat32:
			dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(*(*float32)(f)+0))
		case partFloat64:
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(*(*float64)(f)+0))
		case partString:
			s := *(*string)(f)
			dst = binary.LittleEndian.AppendUint32(dst, uint32(len(s)))
			dst = append(dst, s...)
		}
	}
	return dst
}

// hashParts is the hash of a composite key. Keys of up to 128 bytes do not
// allocate.
func hashParts(parts []part, base unsafe.Pointer) uint64 {
	if len(parts) == 1 && parts[0].kind == partCopy {
		return xxh3.Hash(unsafe.Slice((*byte)(unsafe.Add(base, parts[0].off)), parts[0].n))
	}
	var buf [128]byte
	return xxh3.Hash(appendParts(buf[:0], parts, base))
}

func (h *Hasher[K]) useParts(parts []part) {
	h.Hash = func(k *K) uint64 { return hashParts(parts, unsafe.Pointer(k)) }
	h.HashAll = func(dst []uint64, keys []K) {
		dst = dst[:len(keys)]
		for i := range keys {
			dst[i] = hashParts(parts, unsafe.Pointer(&keys[i]))
		}
	}
}

// useNormalize installs Normalize when the key holds floats.
func (h *Hasher[K]) useNormalize(parts []part) {
	var floats []part
	for _, p := range parts {
		if p.kind == partFloat32 || p.kind == partFloat64 {
			floats = append(floats, p)
		}
	}
	if len(floats) == 0 {
		return
	}
	h.Normalize = func(k *K) error {
		for _, p := range floats {
			f := unsafe.Add(unsafe.Pointer(k), p.off)
			if p.kind == partFloat32 {
				v := (*float32)(f)
				if *v != *v {
					return ErrNaN
				}
				*v += 0
				continue
			}
			v := (*float64)(f)
			if *v != *v {
				return ErrNaN
			}
			*v += 0
		}
		return nil
	}
}
