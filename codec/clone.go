package codec

import (
	"errors"
	"fmt"
	"reflect"
	"unsafe"
)

// Cloner compiles a deep copy from the type T: afterwards *dst and *src share
// nothing that could be written to. It is nil when assignment does that already
// (no pointers but those of strings and time.Time). A running snapshot reads the
// original while the operator goes on with the copy.
//
// Fields that the codec leaves out are copied by assignment. Types that are
// encoded by their own methods or by a codec given with Use, and hold pointers,
// are copied by encoding and decoding: only they know which of their pointers
// are shared on purpose. Then the copy panics with a *EncodeError if that fails.
// The errors are those of For.
func Cloner[T any](with ...Option) (func(dst, src *T), error) {
	b := newCompiler(with)
	t := reflect.TypeFor[T]()
	if b.compile(t); len(b.errs) > 0 {
		return nil, errors.Join(b.errs...)
	}
	steps := b.cloneSteps(nil, t, 0, t.String())
	if len(steps) == 0 {
		return nil, nil
	}
	return func(dst, src *T) {
		*dst = *src
		unshare(steps, unsafe.Pointer(dst))
	}, nil
}

// cloneStep replaces what the field at off shares with the original by a copy.
type cloneStep struct {
	off   uintptr
	typ   reflect.Type
	array bool        // do sub for each element in place
	trip  *plan       // encode and decode
	sub   []cloneStep // of elements, pointees or map values; nil when assignment copies them
}

func (b *compiler) cloneSteps(steps []cloneStep, t reflect.Type, off uintptr, path string) []cloneStep {
	if memoryOf(t) < sharedMemory {
		return steps
	}
	if b.custom[t] != nil || marshals(t) {
		return append(steps, cloneStep{off: off, typ: t, trip: newPlan(b.add(nil, t, 0, path))})
	}
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if f.Name != "_" && f.Tag.Get("cutwater") != "-" {
				steps = b.cloneSteps(steps, f.Type, off+f.Offset, path+"."+f.Name)
			}
		}
		return steps
	case reflect.Array:
		sub := b.cloneSteps(nil, t.Elem(), 0, path+"[]")
		if len(sub) == 0 {
			return steps
		}
		return append(steps, cloneStep{off: off, typ: t, array: true, sub: sub})
	}
	return append(steps, cloneStep{off: off, typ: t, sub: b.cloneSteps(nil, t.Elem(), 0, path+"[]")})
}

// unshare runs the steps on the value at base, which is an assigned copy.
func unshare(steps []cloneStep, base unsafe.Pointer) {
	for i := range steps {
		s := &steps[i]
		f := unsafe.Add(base, s.off)
		switch {
		case s.trip != nil:
			s.roundTrip(f)
		case s.array:
			unshareElements(s.sub, f, s.typ.Len(), s.typ.Elem().Size())
		case s.typ.Kind() == reflect.Slice:
			s.cloneSlice(f)
		case s.typ.Kind() == reflect.Map:
			s.cloneMap(f)
		case *(*unsafe.Pointer)(f) != nil: // a pointer
			e := reflect.New(s.typ.Elem())
			e.Elem().Set(reflect.NewAt(s.typ, f).Elem().Elem())
			*(*unsafe.Pointer)(f) = e.UnsafePointer()
			unshare(s.sub, e.UnsafePointer())
		}
	}
}

func unshareElements(sub []cloneStep, first unsafe.Pointer, n int, size uintptr) {
	for i := range n {
		unshare(sub, unsafe.Add(first, uintptr(i)*size))
	}
}

func (s *cloneStep) cloneSlice(f unsafe.Pointer) {
	v := reflect.NewAt(s.typ, f).Elem()
	if v.IsNil() {
		return
	}
	n := v.Len()
	c := reflect.MakeSlice(s.typ, n, n)
	reflect.Copy(c, v)
	v.Set(c)
	if len(s.sub) > 0 {
		unshareElements(s.sub, c.UnsafePointer(), n, s.typ.Elem().Size())
	}
}

func (s *cloneStep) cloneMap(f unsafe.Pointer) {
	m := reflect.NewAt(s.typ, f).Elem()
	if m.IsNil() {
		return
	}
	c := reflect.MakeMapWithSize(s.typ, m.Len())
	key, val := reflect.New(s.typ.Key()).Elem(), reflect.New(s.typ.Elem()).Elem()
	for it := m.MapRange(); it.Next(); {
		key.SetIterKey(it)
		val.SetIterValue(it)
		if len(s.sub) > 0 {
			unshare(s.sub, val.Addr().UnsafePointer())
		}
		c.SetMapIndex(key, val)
	}
	m.Set(c)
}

func (s *cloneStep) roundTrip(f unsafe.Pointer) {
	enc := s.trip.append(nil, f)
	// The copy must not write through the pointers it still shares.
	reflect.NewAt(s.typ, f).Elem().SetZero()
	if _, err := s.trip.decode(enc, f, false); err != nil {
		panic(&EncodeError{s.trip.ops[0].path, fmt.Errorf("its own encoding does not decode: %w", err)})
	}
}
