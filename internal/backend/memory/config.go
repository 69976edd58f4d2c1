package memory

import (
	"fmt"
	"reflect"
	"unsafe"
)

// Coding is how keys or values of a table are written to segments. It has the
// functions of a codec.Codec.
type Coding[T any] struct {
	// Schema names the encoding. A stored state is restored only into a table
	// with the same schemas.
	Schema string
	// Append appends the encoding of *v. It runs on the snapshot's goroutine
	// and on the task's, also at the same time.
	Append func(dst []byte, v *T) []byte
	// Decode reads one value from the front of src and returns the rest. It
	// sets all of *v and keeps nothing of src.
	Decode func(src []byte, v *T) (rest []byte, err error)
	// Memory says that the encoding is the memory of T: pointer-free, no
	// padding, little-endian. Pages are then copied instead of encoded.
	Memory bool
}

// Config describes a table. Key, Value, Hash and MaxParallelism must be set.
type Config[K comparable, V any] struct {
	// Name is the name of the state, for errors.
	Name string
	// Key and Value encode entries for snapshots.
	Key   Coding[K]
	Value Coding[V]
	// Hash is the key hash of the job (doc/format). All hashes passed to the
	// table are of this function. It must not fail, and equal keys (==) must
	// have equal hashes.
	Hash func(k *K) uint64
	// MaxParallelism is the number of key groups of the job, 1 to 65536.
	MaxParallelism int
	// FirstGroup and EndGroup are the key groups [FirstGroup, EndGroup) that
	// the subtask owns. Both zero means all.
	FirstGroup, EndGroup int
	// SizeHint is the number of entries expected, so that the directory need
	// not grow; pages are made on first write all the same. 0 means unknown.
	// For a window pane it is the Len of the last one.
	SizeHint int
	// Clone makes *dst a deep copy of *src, without writing to *src. Nil means
	// that an assignment does, as codec.Cloner says for types whose pointers
	// lead to nothing that can change. With nil for any other type, snapshots
	// would see later changes.
	Clone func(dst, src *V)

	// onHeap keeps pointer-free entries in pages on the Go heap too, where the
	// race detector sees them. For tests.
	onHeap bool
}

func (c *Config[K, V]) validate() error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("state %q: %s", c.Name, fmt.Sprintf(format, args...))
	}
	switch {
	case c.Hash == nil:
		return fail("the configuration has no key hash")
	case c.Key.Append == nil || c.Key.Decode == nil || c.Value.Append == nil || c.Value.Decode == nil:
		return fail("the configuration has no codec for keys or values")
	case c.MaxParallelism < 1 || c.MaxParallelism > 1<<16:
		return fail("max parallelism is %d; it must be 1 to 65536", c.MaxParallelism)
	case c.FirstGroup == 0 && c.EndGroup == 0:
		c.EndGroup = c.MaxParallelism
	}
	if c.FirstGroup < 0 || c.EndGroup <= c.FirstGroup || c.EndGroup > c.MaxParallelism {
		return fail("key groups [%d, %d) are not within [0, %d)", c.FirstGroup, c.EndGroup, c.MaxParallelism)
	}
	return nil
}

// content is what the memory of a type refers to.
type content uint8

const (
	plain    content = iota // nothing: it may live outside the Go heap
	textOnly                // strings only
	pointers                // anything else; whether it needs a deep copy is Clone's business
)

// contentOf looks at a type once, when the table is made.
func contentOf(t reflect.Type) content {
	switch t.Kind() {
	case reflect.String:
		return textOnly
	case reflect.Slice, reflect.Map, reflect.Pointer, reflect.Interface, reflect.Chan, reflect.Func, reflect.UnsafePointer:
		return pointers
	case reflect.Array:
		if t.Len() == 0 {
			return plain
		}
		return contentOf(t.Elem())
	case reflect.Struct:
		c := plain
		for i := range t.NumField() {
			c = max(c, contentOf(t.Field(i).Type))
		}
		return c
	default:
		return plain
	}
}

// layout is how entries lie in pages. It is fixed when the table is made.
type layout struct {
	slots    int  // per page
	limit    int  // entries at which a page splits
	offHeap  bool // class (a): pages of the arena
	deep     bool // values are deep-copied on first access after a snapshot
	copyRuns bool // an entry in memory is an entry in a segment
	// stringKeys: K is a string type.
	stringKeys bool
}

// fillPercent is where pages split: half full on average after a split, and
// probe sequences stay short.
const fillPercent = 65

func layoutOf[K comparable, V any](c *Config[K, V]) (layout, error) {
	kt, vt := reflect.TypeFor[K](), reflect.TypeFor[V]()
	kc, vc := contentOf(kt), contentOf(vt)
	var l layout
	if kc > textOnly {
		return l, fmt.Errorf("state %q: key type %v has pointers or interfaces, whose values have no stable hash; use strings, numbers, arrays and structs of them", c.Name, kt)
	}
	size := int(unsafe.Sizeof(slot[K, V]{}))
	room := PageSize - headerSize
	// A page with fewer than eight slots wastes too much: large entries go to
	// larger pages on the Go heap, which the collector does not read either
	// when they have no pointers.
	if kc == plain && vc == plain && size <= room/8 && !c.onHeap {
		l.offHeap = true
		l.slots = maxSlots
		if size > 0 {
			l.slots = min(room/size, maxSlots)
		}
	} else {
		l.slots = 8
		if size > 0 {
			l.slots = min(max(room/size, 8), maxHeapSlots)
		}
	}
	l.limit = l.slots * fillPercent / 100
	l.deep = c.Clone != nil && vc == pointers
	l.stringKeys = kt.Kind() == reflect.String
	l.copyRuns = c.Key.Memory && c.Value.Memory && kc == plain && vc == plain &&
		unsafe.Sizeof(slot[K, V]{}) == kt.Size()+vt.Size() && unsafe.Offsetof(slot[K, V]{}.v) == kt.Size()
	return l, nil
}
