package memory

import (
	"reflect"
	"unsafe"

	"github.com/cutwater-io/cutwater/codec"
)

// CodingOf makes a Coding of a codec. It finds out by itself whether the
// encoding is the memory of T.
func CodingOf[T any](c *codec.Codec[T]) Coding[T] {
	return Coding[T]{Schema: c.Schema, Append: c.Append, Decode: c.Decode, Memory: isMemory(c)}
}

// isMemory reports whether encodings of c are the memory of T on this machine.
// The codec that is compiled from the type writes fields in order, little-endian
// and without padding; equal schemas mean equal encodings, so a codec of the
// user's own is recognised by its schema.
func isMemory[T any](c *codec.Codec[T]) bool {
	size := reflect.TypeFor[T]().Size()
	if contentOf(reflect.TypeFor[T]()) != plain || size == 0 || uintptr(c.Fixed) != size || !littleEndian() {
		return false
	}
	compiled, err := codec.For[T]()
	return err == nil && compiled.Schema == c.Schema
}

func littleEndian() bool {
	x := uint16(1)
	return *(*byte)(unsafe.Pointer(&x)) == 1
}
