package codec

import (
	"bytes"
	"encoding"
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"time"
	"unsafe"
)

var le = binary.LittleEndian

// append runs the plan on the value at base.
//
// Tried and slower: summing the length up first, growing dst once and storing
// without append (31 ns against 23 for a bid of six fields; by hand it is 10).
func (p *plan) append(dst []byte, base unsafe.Pointer) []byte {
	for i := range p.ops {
		o := &p.ops[i]
		f := unsafe.Add(base, o.off)
		switch o.code {
		case opCopy:
			dst = append(dst, unsafe.Slice((*byte)(f), o.n)...)
		case opFixed2:
			dst = le.AppendUint16(dst, *(*uint16)(f))
		case opFixed4:
			dst = le.AppendUint32(dst, *(*uint32)(f))
		case opFixed8:
			dst = le.AppendUint64(dst, *(*uint64)(f))
		case opString:
			s := *(*string)(f)
			if uint64(len(s)) >= nilLength { // appendLength, which is too large to inline
				panic(&EncodeError{o.path, errTooLong})
			}
			dst = append(le.AppendUint32(dst, uint32(len(s))), s...)
		default:
			dst = o.append(dst, f)
		}
	}
	return dst
}

// append does the steps that are rarer or cost more than the call.
func (o *op) append(dst []byte, f unsafe.Pointer) []byte {
	switch o.code {
	case opBool:
		if *(*bool)(f) {
			return append(dst, 1)
		}
		return append(dst, 0)
	case opInt32:
		return le.AppendUint64(dst, uint64(*(*int32)(f)))
	case opUint32:
		return le.AppendUint64(dst, uint64(*(*uint32)(f)))
	case opBytes:
		b := *(*[]byte)(f)
		if b == nil {
			return le.AppendUint32(dst, nilLength)
		}
		return append(appendLength(dst, o, len(b)), b...)
	case opSliceCopy, opSlice:
		return o.appendSlice(dst, f)
	case opArray:
		for i := range o.n {
			dst = o.sub.append(dst, unsafe.Add(f, uintptr(i)*o.stride))
		}
		return dst
	case opPointer:
		e := *(*unsafe.Pointer)(f)
		if e == nil {
			return append(dst, 0)
		}
		return o.sub.append(append(dst, 1), e)
	case opMap:
		return o.appendMap(dst, f)
	case opTime:
		t := (*time.Time)(f)
		return le.AppendUint32(le.AppendUint64(dst, uint64(t.Unix())), uint32(t.Nanosecond()))
	case opMarshal:
		return o.appendMarshal(dst, f)
	case opCustom:
		return o.appendCustom(dst, f)
	case opSkip:
		return dst
	}
	panic(fmt.Sprintf("codec: unknown step %d", o.code))
}

func appendLength(dst []byte, o *op, n int) []byte {
	if uint64(n) >= nilLength {
		panic(&EncodeError{o.path, errTooLong})
	}
	return le.AppendUint32(dst, uint32(n))
}

// anySlice is how every slice lies in memory.
type anySlice struct {
	p        unsafe.Pointer
	len, cap int
}

func (o *op) appendSlice(dst []byte, f unsafe.Pointer) []byte {
	s := (*anySlice)(f)
	if s.p == nil {
		return le.AppendUint32(dst, nilLength)
	}
	dst = appendLength(dst, o, s.len)
	if o.code == opSliceCopy {
		return append(dst, unsafe.Slice((*byte)(s.p), s.len*o.n)...)
	}
	if o.stride == 0 {
		return dst
	}
	dst = slices.Grow(dst, s.len*o.sub.min)
	for i := range s.len {
		dst = o.sub.append(dst, unsafe.Add(s.p, uintptr(i)*o.stride))
	}
	return dst
}

// mapScratch is what encoding and decoding a map need besides the plan. It is
// pooled, so that maps in records do not allocate when they are encoded.
type mapScratch struct {
	iter     reflect.MapIter
	key, val reflect.Value
	buf      []byte
	entries  []mapEntry
}

// mapEntry is one encoded entry: key buf[start:mid], value buf[mid:end].
type mapEntry struct{ start, mid, end int }

func newMapScratch(t reflect.Type) *mapScratch {
	return &mapScratch{key: reflect.New(t.Key()).Elem(), val: reflect.New(t.Elem()).Elem()}
}

// release forgets the user's values and gives s back. A buffer that one large
// map has grown is not kept.
func (s *mapScratch) release(o *op) {
	s.iter.Reset(reflect.Value{})
	s.key.SetZero()
	s.val.SetZero()
	s.buf, s.entries = s.buf[:0], s.entries[:0]
	if cap(s.buf) > 1<<16 {
		s.buf, s.entries = nil, nil
	}
	o.pool.Put(s)
}

// appendMap writes the entries in the order of their encoded keys: Go's order
// changes from run to run.
func (o *op) appendMap(dst []byte, f unsafe.Pointer) []byte {
	m := reflect.NewAt(o.typ, f).Elem()
	if m.IsNil() {
		return le.AppendUint32(dst, nilLength)
	}
	dst = appendLength(dst, o, m.Len())
	if m.Len() == 0 {
		return dst
	}
	s := o.pool.Get().(*mapScratch)
	s.iter.Reset(m)
	kp, vp := s.key.Addr().UnsafePointer(), s.val.Addr().UnsafePointer()
	for s.iter.Next() {
		s.key.SetIterKey(&s.iter)
		s.val.SetIterValue(&s.iter)
		start := len(s.buf)
		s.buf = o.key.append(s.buf, kp)
		mid := len(s.buf)
		s.buf = o.sub.append(s.buf, vp)
		s.entries = append(s.entries, mapEntry{start, mid, len(s.buf)})
	}
	buf := s.buf
	slices.SortFunc(s.entries, func(a, b mapEntry) int {
		if c := bytes.Compare(buf[a.start:a.mid], buf[b.start:b.mid]); c != 0 {
			return c
		}
		return bytes.Compare(buf[a.mid:a.end], buf[b.mid:b.end]) // NaN keys may repeat
	})
	for _, e := range s.entries {
		dst = append(dst, buf[e.start:e.end]...)
	}
	s.release(o)
	return dst
}

func (o *op) appendMarshal(dst []byte, f unsafe.Pointer) []byte {
	v := reflect.NewAt(o.typ, f).Interface()
	start := len(dst)
	dst = le.AppendUint32(dst, 0)
	var err error
	if a, ok := v.(encoding.BinaryAppender); ok {
		dst, err = a.AppendBinary(dst)
	} else {
		var b []byte
		b, err = v.(encoding.BinaryMarshaler).MarshalBinary()
		dst = append(dst, b...)
	}
	if err != nil {
		panic(&EncodeError{o.path, err})
	}
	return o.endFrame(dst, start)
}

func (o *op) appendCustom(dst []byte, f unsafe.Pointer) []byte {
	if o.fixed {
		n := len(dst) + o.min
		dst = o.custom.append(dst, f)
		if len(dst) != n {
			panic(&EncodeError{o.path, fmt.Errorf("its codec has Fixed = %d but wrote %d bytes", o.min, len(dst)-n+o.min)})
		}
		return dst
	}
	start := len(dst)
	return o.endFrame(o.custom.append(le.AppendUint32(dst, 0), f), start)
}

// endFrame fills in the length in front of what has been written since start.
func (o *op) endFrame(dst []byte, start int) []byte {
	n := len(dst) - start - 4
	if uint64(n) >= nilLength {
		panic(&EncodeError{o.path, errTooLong})
	}
	le.PutUint32(dst[start:], uint32(n))
	return dst
}
