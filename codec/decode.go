package codec

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"time"
	"unsafe"
)

// errShort says that the input ends inside the field at path.
func errShort(path string, want, have int) error {
	return fmt.Errorf("codec: decode %s: %w: it needs %d bytes and %d are left", path, ErrDamaged, want, have)
}

func (o *op) damaged(format string, args ...any) error {
	return fmt.Errorf("codec: decode %s: %w: %s", o.path, ErrDamaged, fmt.Sprintf(format, args...))
}

// decode runs the plan on the value at base. shared says that src is never
// changed again, so that strings may be parts of it.
func (p *plan) decode(src []byte, base unsafe.Pointer, shared bool) ([]byte, error) {
	for i := range p.ops {
		o := &p.ops[i]
		f := unsafe.Add(base, o.off)
		if len(src) < o.min {
			return src, errShort(o.path, o.min, len(src))
		}
		switch o.code {
		case opCopy:
			copy(unsafe.Slice((*byte)(f), o.n), src)
			src = src[o.n:]
		case opFixed2:
			*(*uint16)(f) = le.Uint16(src)
			src = src[2:]
		case opFixed4:
			*(*uint32)(f) = le.Uint32(src)
			src = src[4:]
		case opFixed8:
			*(*uint64)(f) = le.Uint64(src)
			src = src[8:]
		case opString:
			n := uint64(le.Uint32(src))
			src = src[4:]
			if n > uint64(len(src)) {
				return src, o.damaged("a string of %d bytes where %d are left", n, len(src))
			}
			if shared {
				*(*string)(f) = unsafe.String(unsafe.SliceData(src), int(n))
			} else {
				*(*string)(f) = string(src[:n])
			}
			src = src[n:]
		default:
			var err error
			if src, err = o.decode(src, f, shared); err != nil {
				return src, err
			}
		}
	}
	return src, nil
}

// decode does the steps that are rarer or cost more than the call.
//
// REQUIRES: len(src) >= o.min.
func (o *op) decode(src []byte, f unsafe.Pointer, shared bool) ([]byte, error) {
	switch o.code {
	case opBool:
		if src[0] > 1 {
			return src, o.damaged("%d is not a boolean", src[0])
		}
		*(*bool)(f) = src[0] == 1
		return src[1:], nil
	case opInt32:
		n := int64(le.Uint64(src))
		if n != int64(int32(n)) {
			return src, o.damaged("%d does not fit the 32-bit int of this platform; use int64", n)
		}
		*(*int32)(f) = int32(n)
		return src[8:], nil
	case opUint32:
		n := le.Uint64(src)
		if n > math.MaxUint32 {
			return src, o.damaged("%d does not fit the 32-bit uint of this platform; use uint64", n)
		}
		*(*uint32)(f) = uint32(n)
		return src[8:], nil
	case opBytes:
		return o.decodeBytes(src, (*[]byte)(f))
	case opSliceCopy, opSlice:
		return o.decodeSlice(src, f, shared)
	case opArray:
		return o.decodeArray(src, f, o.n, shared)
	case opPointer:
		return o.decodePointer(src, f, shared)
	case opMap:
		return o.decodeMap(src, f, shared)
	case opTime:
		nanos := le.Uint32(src[8:])
		if nanos > 999_999_999 {
			return src, o.damaged("%d nanoseconds in a second", nanos)
		}
		*(*time.Time)(f) = time.Unix(int64(le.Uint64(src)), int64(nanos)).UTC()
		return src[12:], nil
	case opMarshal, opCustom:
		return o.decodeFramed(src, f)
	case opSkip:
		reflect.NewAt(o.typ, f).Elem().SetZero()
		return src, nil
	}
	panic(fmt.Sprintf("codec: unknown step %d", o.code))
}

func (o *op) decodeBytes(src []byte, b *[]byte) ([]byte, error) {
	n := uint64(le.Uint32(src))
	src = src[4:]
	if n == nilLength {
		*b = nil
		return src, nil
	}
	if n > uint64(len(src)) {
		return src, o.damaged("%d bytes where %d are left", n, len(src))
	}
	*b = make([]byte, n)
	copy(*b, src)
	return src[n:], nil
}

func (o *op) decodeArray(src []byte, f unsafe.Pointer, n int, shared bool) ([]byte, error) {
	var err error
	for i := range n { // never a pointer behind the last element: the collector would follow it
		if src, err = o.sub.decode(src, unsafe.Add(f, uintptr(i)*o.stride), shared); err != nil {
			return src, err
		}
	}
	return src, nil
}

func (o *op) decodeSlice(src []byte, f unsafe.Pointer, shared bool) ([]byte, error) {
	n := uint64(le.Uint32(src))
	src = src[4:]
	v := reflect.NewAt(o.typ, f).Elem()
	v.SetZero() // never write into memory that the former value shares with others
	if n == nilLength {
		return src, nil
	}
	// The claimed length is believed only as far as the input can fill it.
	// Elements without data have no size either (see addSlice).
	if o.sub.min > 0 && n > uint64(len(src)/o.sub.min) || n > math.MaxInt {
		return src, o.damaged("%d elements where %d bytes are left", n, len(src))
	}
	if n == 0 || o.stride == 0 {
		v.Set(reflect.MakeSlice(o.typ, int(n), int(n))) // empty, but not nil
		return src, nil
	}
	v.Grow(int(n))
	v.SetLen(int(n))
	first := (*anySlice)(f).p
	if o.code == opSliceCopy {
		bytes := int(n) * o.n
		copy(unsafe.Slice((*byte)(first), bytes), src)
		return src[bytes:], nil
	}
	return o.decodeArray(src, first, int(n), shared)
}

func (o *op) decodePointer(src []byte, f unsafe.Pointer, shared bool) ([]byte, error) {
	switch src[0] {
	case 0:
		*(*unsafe.Pointer)(f) = nil
		return src[1:], nil
	case 1:
		if src = src[1:]; len(src) < o.sub.min {
			return src, errShort(o.path, o.sub.min, len(src))
		}
		e := reflect.New(o.typ).UnsafePointer()
		*(*unsafe.Pointer)(f) = e
		return o.sub.decode(src, e, shared)
	}
	return src, o.damaged("%d is neither a nil pointer (0) nor a value (1)", src[0])
}

func (o *op) decodeMap(src []byte, f unsafe.Pointer, shared bool) ([]byte, error) {
	n := uint64(le.Uint32(src))
	src = src[4:]
	m := reflect.NewAt(o.typ, f).Elem()
	m.SetZero()
	if n == nilLength {
		return src, nil
	}
	// Keys without data are all the same key.
	most := uint64(1)
	if o.key.min > 0 {
		most = uint64(len(src) / (o.key.min + o.sub.min))
	}
	if n > most {
		return src, o.damaged("a map of %d entries where %d bytes are left", n, len(src))
	}
	m.Set(reflect.MakeMapWithSize(o.typ, int(n)))
	s := o.pool.Get().(*mapScratch)
	defer s.release(o)
	kp, vp := s.key.Addr().UnsafePointer(), s.val.Addr().UnsafePointer()
	var err error
	for range int(n) {
		if src, err = o.key.decode(src, kp, shared); err != nil {
			return src, err
		}
		if src, err = o.sub.decode(src, vp, shared); err != nil {
			return src, err
		}
		m.SetMapIndex(s.key, s.val)
	}
	if m.Len() != int(n) {
		return src, o.damaged("a key stands twice in a map of %d entries", n)
	}
	return src, nil
}

// decodeFramed hands the field's own bytes to user code, which must take all of
// them.
func (o *op) decodeFramed(src []byte, f unsafe.Pointer) ([]byte, error) {
	n := uint64(o.min)
	if !o.fixed {
		n = uint64(le.Uint32(src))
		src = src[4:]
	}
	if n > uint64(len(src)) {
		return src, o.damaged("%d bytes where %d are left", n, len(src))
	}
	own, rest := src[:n:n], src[n:]
	// User code may keep what it does not find, or write into memory of the former
	// value, which is another entry's when maps are decoded.
	v := reflect.NewAt(o.typ, f)
	v.Elem().SetZero()
	if o.code == opMarshal {
		if err := v.Interface().(encoding.BinaryUnmarshaler).UnmarshalBinary(own); err != nil {
			return rest, o.damaged("%v", err)
		}
		return rest, nil
	}
	left, err := o.custom.decode(own, f)
	if err != nil {
		if errors.Is(err, ErrDamaged) {
			return rest, fmt.Errorf("codec: decode %s: %w", o.path, err)
		}
		return rest, o.damaged("%v", err)
	}
	if len(left) > 0 {
		return rest, o.damaged("its codec left %d of %d bytes", len(left), n)
	}
	return rest, nil
}
