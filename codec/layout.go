package codec

import "reflect"

// PointerFree says that values of T hold no pointers anywhere: numbers,
// booleans, and arrays and structs of them. Such values may lie outside the Go
// heap and are copied by assignment.
func PointerFree[T any]() bool { return memoryOf(reflect.TypeFor[T]()) == plainMemory }

// memory says what the memory of a type refers to. The greater includes the less.
type memory uint8

const (
	plainMemory  memory = iota // nothing
	stringMemory               // strings: pointers, but to bytes that nobody can change
	timeMemory                 // time.Time: a pointer to a location that nobody changes, but == sees it
	sharedMemory               // slices, maps, pointers, interfaces: assignment shares them
)

func memoryOf(t reflect.Type) memory {
	switch t.Kind() {
	case reflect.String:
		return stringMemory
	case reflect.Array:
		if t.Len() == 0 {
			return plainMemory
		}
		return memoryOf(t.Elem())
	case reflect.Struct:
		if t == timeType {
			return timeMemory
		}
		m := plainMemory
		for i := range t.NumField() {
			m = max(m, memoryOf(t.Field(i).Type))
		}
		return m
	case reflect.Pointer, reflect.UnsafePointer, reflect.Slice, reflect.Map,
		reflect.Interface, reflect.Chan, reflect.Func:
		return sharedMemory
	}
	return plainMemory
}
