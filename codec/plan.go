package codec

import (
	"reflect"
	"sync"
	"unsafe"
)

// opcode says what one step of a plan does with the field at its offset.
type opcode uint8

const (
	opCopy   opcode = iota // n bytes whose memory is their encoding
	opFixed2               // a number of 2, 4, 8 bytes, little-endian on the wire
	opFixed4
	opFixed8
	opBool
	opInt32 // int and uint of a 32-bit platform, 8 bytes on the wire
	opUint32
	opString
	opBytes     // []byte
	opSliceCopy // slice whose elements' memory is their encoding
	opSlice
	opArray
	opPointer
	opMap
	opTime
	opMarshal // MarshalBinary, UnmarshalBinary
	opCustom
	opSkip // `cutwater:"-"`: nothing on the wire, zero when decoded
)

// nilLength stands for the length of a nil slice or map.
const nilLength = 1<<32 - 1

// op is one step. Nested structs are flattened into the ops of the struct
// around them, so a plain record is one short loop.
type op struct {
	code   opcode
	off    uintptr
	n      int          // opCopy: bytes; opArray: length
	stride uintptr      // size of an element in memory
	min    int          // least bytes on the wire of the whole step
	fixed  bool         // min is also the most
	sub    *plan        // elements, pointees, map values
	key    *plan        // map keys
	typ    reflect.Type // the field's type, where memory is allocated
	path   string       // for errors
	custom *customCodec // opCustom
	pool   *sync.Pool   // opMap: *mapScratch
}

// plan encodes one type. It is immutable once compiled.
type plan struct {
	ops   []op
	min   int // least bytes on the wire
	fixed bool
}

// customCodec is a Codec whose type has been erased.
type customCodec struct {
	schema string
	fixed  int
	append func(dst []byte, p unsafe.Pointer) []byte
	decode func(src []byte, p unsafe.Pointer) ([]byte, error)
}

// hostLittle says that numbers lie in memory as they do on the wire.
var hostLittle = func() bool {
	x := uint16(1)
	return *(*byte)(unsafe.Pointer(&x)) == 1
}()

// newPlan joins neighbouring steps that are plain copies and sums the sizes up.
func newPlan(ops []op) *plan {
	p := &plan{fixed: true}
	for _, o := range ops {
		if last := len(p.ops) - 1; last >= 0 && o.copies() && p.ops[last].copies() && p.ops[last].off+uintptr(p.ops[last].min) == o.off {
			l := &p.ops[last]
			l.code, l.n, l.min = opCopy, l.min+o.min, l.min+o.min
		} else {
			p.ops = append(p.ops, o)
		}
		p.min += o.min
		p.fixed = p.fixed && o.fixed
	}
	return p
}

// copies says that the step can be done as a plain copy of o.min bytes.
func (o *op) copies() bool {
	switch o.code {
	case opCopy:
		return true
	case opFixed2, opFixed4, opFixed8:
		return hostLittle
	}
	return false
}

// oneCopy says that the whole plan is a copy of n bytes from offset 0.
func (p *plan) oneCopy() (n int, ok bool) {
	if len(p.ops) == 1 && p.ops[0].copies() && p.ops[0].off == 0 {
		return p.ops[0].min, true
	}
	return 0, false
}
