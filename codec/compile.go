package codec

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

var (
	timeType        = reflect.TypeFor[time.Time]()
	marshalerType   = reflect.TypeFor[encoding.BinaryMarshaler]()
	unmarshalerType = reflect.TypeFor[encoding.BinaryUnmarshaler]()
)

// compiler builds the plan and the schema of one type.
type compiler struct {
	custom map[reflect.Type]*customCodec
	open   []reflect.Type // the types around the current one, to find cycles
	keys   int            // how many map keys are around the current type
	schema strings.Builder
	errs   []error
}

func newCompiler(with []Option) *compiler {
	b := &compiler{custom: map[reflect.Type]*customCodec{}}
	for _, o := range with {
		o(b)
	}
	return b
}

func (b *compiler) compile(t reflect.Type) (*plan, string) {
	ops := b.add(nil, t, 0, t.String())
	return newPlan(ops), b.schema.String()
}

// refuse notes that the type at path cannot be encoded.
func (b *compiler) refuse(path string, t reflect.Type, why string) {
	b.errs = append(b.errs, fmt.Errorf("codec: %s of type %s cannot be encoded: %s", path, t, why))
}

// sub compiles the plan of an element.
func (b *compiler) sub(t reflect.Type, path string) *plan {
	return newPlan(b.add(nil, t, 0, path))
}

// add appends the steps for a value of type t that lies at offset off.
func (b *compiler) add(ops []op, t reflect.Type, off uintptr, path string) []op {
	if slices.Contains(b.open, t) {
		b.refuse(path, t, "the type contains itself; give it MarshalBinary and UnmarshalBinary methods, or bring a codec with codec.Use")
		return ops
	}
	b.open = append(b.open, t)
	defer func() { b.open = b.open[:len(b.open)-1] }()

	if c := b.custom[t]; c != nil {
		b.schema.WriteString(c.schema)
		o := op{code: opCustom, off: off, typ: t, custom: c, path: path, min: 4}
		if c.fixed > 0 {
			o.min, o.fixed = c.fixed, true
		}
		return append(ops, o)
	}
	if t == timeType {
		b.schema.WriteString("time")
		return append(ops, op{code: opTime, off: off, min: 12, fixed: true, path: path})
	}
	if marshals(t) {
		if f, ok := promoted(t); ok {
			b.refuse(path, t, fmt.Sprintf("its MarshalBinary may be the one of the embedded field %s and lose the other fields; give the field a name, or bring a codec with codec.Use", f))
			return ops
		}
		fmt.Fprintf(&b.schema, "binary(%s)", typeName(t))
		return append(ops, op{code: opMarshal, off: off, typ: t, min: 4, path: path})
	}
	return b.addKind(ops, t, off, path)
}

// numbers describes the kinds that are a fixed count of bytes.
var numbers = map[reflect.Kind]struct {
	schema string
	code   opcode
	bytes  int
}{
	reflect.Bool: {"bool", opBool, 1},
	reflect.Int8: {"int8", opCopy, 1}, reflect.Uint8: {"uint8", opCopy, 1},
	reflect.Int16: {"int16", opFixed2, 2}, reflect.Uint16: {"uint16", opFixed2, 2},
	reflect.Int32: {"int32", opFixed4, 4}, reflect.Uint32: {"uint32", opFixed4, 4},
	reflect.Int64: {"int64", opFixed8, 8}, reflect.Uint64: {"uint64", opFixed8, 8},
	reflect.Int: {"int64", opFixed8, 8}, reflect.Uint: {"uint64", opFixed8, 8},
	reflect.Float32: {"float32", opFixed4, 4}, reflect.Float64: {"float64", opFixed8, 8},
}

func (b *compiler) addKind(ops []op, t reflect.Type, off uintptr, path string) []op {
	if n, ok := numbers[t.Kind()]; ok {
		b.schema.WriteString(n.schema)
		o := op{code: n.code, off: off, n: n.bytes, min: n.bytes, fixed: true, path: path}
		if t.Size() == 4 && n.bytes == 8 { // int and uint of a 32-bit platform
			o.code = opInt32
			if t.Kind() == reflect.Uint {
				o.code = opUint32
			}
		}
		return append(ops, o)
	}
	switch t.Kind() {
	case reflect.Complex64, reflect.Complex128:
		half, code := t.Size()/2, opFixed4
		if half == 8 {
			code = opFixed8
		}
		b.schema.WriteString(t.Kind().String())
		o := op{code: code, off: off, n: int(half), min: int(half), fixed: true, path: path}
		im := o
		im.off += half
		return append(ops, o, im)
	case reflect.String:
		b.schema.WriteString("string")
		return append(ops, op{code: opString, off: off, min: 4, path: path})
	case reflect.Struct:
		return b.addStruct(ops, t, off, path)
	case reflect.Array:
		return b.addArray(ops, t, off, path)
	case reflect.Slice:
		return b.addSlice(ops, t, off, path)
	case reflect.Map:
		return b.addMap(ops, t, off, path)
	case reflect.Pointer:
		b.schema.WriteString("*")
		sub := b.sub(t.Elem(), path)
		return append(ops, op{code: opPointer, off: off, typ: t.Elem(), sub: sub, min: 1, path: path})
	}
	why := "it has no meaning in another process"
	switch t.Kind() {
	case reflect.Interface:
		why = "an interface does not say which types it may hold"
	case reflect.Chan:
		why = "a channel carries no data of its own"
	case reflect.Func:
		why = "a function has no bytes"
	}
	b.refuse(path, t, why+"; use a concrete type, leave the field out with the tag `cutwater:\"-\"`, or bring a codec with codec.Use")
	return ops
}

func (b *compiler) addStruct(ops []op, t reflect.Type, off uintptr, path string) []op {
	b.schema.WriteString("struct{")
	names := map[string]string{}
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Name == "_" {
			continue // padding carries no data
		}
		where := path + "." + f.Name
		tag := f.Tag.Get("cutwater")
		if tag == "-" && b.keys > 0 {
			b.refuse(where, f.Type, "it is left out, but part of a map key: keys that differ would be the same bytes; encode the field or take it out of the key")
		}
		if tag == "-" {
			ops = append(ops, op{code: opSkip, off: off + f.Offset, typ: f.Type, fixed: true, path: where})
			continue
		}
		if !f.IsExported() && !(f.Anonymous && f.Type.Kind() == reflect.Struct) {
			b.refuse(where, f.Type, "the field is unexported; export it, leave it out with the tag `cutwater:\"-\"`, or give the struct MarshalBinary and UnmarshalBinary methods")
			continue
		}
		name := cmp.Or(tag, f.Name)
		if strings.ContainsAny(name, "{}[]():,* \t\n") {
			b.refuse(where, f.Type, fmt.Sprintf("its name %q in the tag holds a character with a meaning in schemas; use letters, digits, '_', '-' and '.'", name))
		}
		if other, taken := names[name]; taken {
			b.refuse(where, f.Type, fmt.Sprintf("the field %s has the name %q already; change one of the tags", other, name))
		}
		if len(names) > 0 {
			b.schema.WriteByte(',')
		}
		names[name] = f.Name
		b.schema.WriteString(name + ":")
		ops = b.add(ops, f.Type, off+f.Offset, where)
	}
	b.schema.WriteString("}")
	return ops
}

func (b *compiler) addArray(ops []op, t reflect.Type, off uintptr, path string) []op {
	b.schema.WriteString("[" + strconv.Itoa(t.Len()) + "]")
	e := t.Elem()
	sub := b.sub(e, path+"[]")
	if t.Len() == 0 || e.Size() == 0 {
		return ops
	}
	if n, ok := sub.oneCopy(); ok && uintptr(n) == e.Size() {
		total := n * t.Len()
		return append(ops, op{code: opCopy, off: off, n: total, min: total, fixed: true, path: path})
	}
	return append(ops, op{
		code: opArray, off: off, n: t.Len(), stride: e.Size(), sub: sub,
		min: sub.min * t.Len(), fixed: sub.fixed, path: path,
	})
}

func (b *compiler) addSlice(ops []op, t reflect.Type, off uintptr, path string) []op {
	e := t.Elem()
	if e.Kind() == reflect.Uint8 && b.custom[e] == nil && !marshals(e) {
		b.schema.WriteString("bytes")
		return append(ops, op{code: opBytes, off: off, min: 4, path: path})
	}
	b.schema.WriteString("[]")
	sub := b.sub(e, path+"[]")
	o := op{code: opSlice, off: off, typ: t, stride: e.Size(), sub: sub, min: 4, path: path}
	if n, ok := sub.oneCopy(); ok && uintptr(n) == e.Size() {
		o.code, o.n = opSliceCopy, n
	}
	if sub.min == 0 && e.Size() > 0 && len(b.errs) == 0 {
		// A few damaged bytes could ask for any amount of memory.
		b.refuse(path, t, "its elements take memory but carry no data; keep their number instead")
	}
	return append(ops, o)
}

func (b *compiler) addMap(ops []op, t reflect.Type, off uintptr, path string) []op {
	if memoryOf(t.Key()) > stringMemory {
		b.refuse(path, t, "its keys hold pointers, interfaces or time.Time: keys that differ for Go would be the same bytes; use keys of plain values, for times their UnixNano")
		return ops
	}
	b.schema.WriteString("map[")
	b.keys++
	key := b.sub(t.Key(), path+"[key]")
	b.keys--
	b.schema.WriteString("]")
	val := b.sub(t.Elem(), path+"[]")
	pool := &sync.Pool{New: func() any { return newMapScratch(t) }}
	return append(ops, op{code: opMap, off: off, typ: t, key: key, sub: val, min: 4, path: path, pool: pool})
}

// marshals says that *t brings its own encoding.
func marshals(t reflect.Type) bool {
	if t.Kind() == reflect.Interface || t.Kind() == reflect.Pointer {
		return false
	}
	p := reflect.PointerTo(t)
	return p.Implements(marshalerType) && p.Implements(unmarshalerType)
}

// promoted says that the marshal methods of the struct t may come from one of
// several fields, and names it.
func promoted(t reflect.Type) (field string, ok bool) {
	if t.Kind() != reflect.Struct || t.NumField() < 2 {
		return "", false
	}
	for i := range t.NumField() {
		f := t.Field(i)
		ft := f.Type
		if ft.Kind() == reflect.Pointer {
			ft = ft.Elem()
		}
		if f.Anonymous && (marshals(ft) || ft.Implements(marshalerType) || ft.Implements(unmarshalerType)) {
			return f.Name, true
		}
	}
	return "", false
}

// typeName is the full name of a type with methods of its own.
func typeName(t reflect.Type) string {
	if t.Name() == "" {
		return t.String()
	}
	return t.PkgPath() + "." + t.Name()
}

var errTooLong = errors.New("it has 4 GiB or more; split it into smaller values")
