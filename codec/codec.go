package codec

import (
	"errors"
	"fmt"
	"reflect"
	"unsafe"
)

// Codec encodes and decodes values of T. It is a value held by its users, who
// never look it up per record. All functions may be called from any goroutine
// at the same time.
type Codec[T any] struct {
	// Schema is the layout of the encoding as text, for example
	// "struct{auction:int64,price:int64}". Equal schemas mean equal encodings;
	// it is stable across processes and platforms and stands beside everything
	// that is stored. doc/format/codec.md has its grammar.
	Schema string

	// Fixed is the length of the encoding in bytes when it is the same for
	// every value, else 0. (It is 0 also for types without any data, such as
	// struct{}; their Schema tells them apart.)
	Fixed int

	// Append appends the encoding of *v to dst and returns the longer slice.
	// It neither changes nor keeps *v. It panics with a *EncodeError in the two
	// cases named in the package comment.
	Append func(dst []byte, v *T) []byte

	// Decode reads one value from the front of src into *v and returns what
	// follows. *v is overwritten completely and shares no memory with src nor
	// with its former content. After an error, which wraps ErrDamaged, *v holds
	// a mixture that must not be used.
	Decode func(src []byte, v *T) (rest []byte, err error)

	// DecodeShared is Decode for a batch of values: the strings in *v are parts
	// of src, so that one string serves a whole batch instead of an allocation
	// per string. As long as one of them lives, all of src does. Byte slices
	// are copied, since their owner may write to them.
	DecodeShared func(src string, v *T) (rest string, err error)
}

// ErrDamaged is wrapped by every error of Decode: the bytes are not an encoding
// of the type. Trying again does not help.
var ErrDamaged = errors.New("damaged encoding")

// EncodeError is what Append panics with when a value cannot be encoded.
type EncodeError struct {
	Path string // the field, for example "Order.Items[].Note"
	Err  error  // why
}

// Error says which part of the value could not be encoded, and why.
func (e *EncodeError) Error() string { return fmt.Sprintf("codec: encode %s: %v", e.Path, e.Err) }

// Unwrap returns the cause.
func (e *EncodeError) Unwrap() error { return e.Err }

// Option changes how For and Cloner treat a type.
type Option func(*compiler)

// Use makes For encode every X inside the type, however deep, with c. It is the
// way to bring a codec for types of other people, and for interfaces. A later
// Use for the same type replaces an earlier one.
func Use[X any](c *Codec[X]) Option {
	return func(b *compiler) {
		b.custom[reflect.TypeFor[X]()] = &customCodec{
			schema: c.Schema,
			fixed:  c.Fixed,
			append: func(dst []byte, p unsafe.Pointer) []byte { return c.Append(dst, (*X)(p)) },
			decode: func(src []byte, p unsafe.Pointer) ([]byte, error) { return c.Decode(src, (*X)(p)) },
		}
	}
}

// For compiles the codec of T. The error names every field that cannot be
// encoded, why, and what to do about it.
func For[T any](with ...Option) (*Codec[T], error) {
	t := reflect.TypeFor[T]()
	b := newCompiler(with)
	if c := b.custom[t]; c != nil {
		return Custom(c.schema,
			func(dst []byte, v *T) []byte { return c.append(dst, unsafe.Pointer(v)) },
			func(src []byte, v *T) ([]byte, error) { return c.decode(src, unsafe.Pointer(v)) },
		).fixed(c.fixed), nil
	}
	p, schema := b.compile(t)
	if err := errors.Join(b.errs...); err != nil {
		return nil, err
	}
	c := &Codec[T]{
		Schema: schema,
		Append: func(dst []byte, v *T) []byte { return p.append(dst, unsafe.Pointer(v)) },
		Decode: func(src []byte, v *T) ([]byte, error) { return p.decode(src, unsafe.Pointer(v), false) },
	}
	if p.fixed {
		c.Fixed = p.min
	}
	c.DecodeShared = func(src string, v *T) (string, error) {
		// The plan only reads src; strings made from it are strings again.
		rest, err := p.decode(unsafe.Slice(unsafe.StringData(src), len(src)), unsafe.Pointer(v), true)
		return src[len(src)-len(rest):], err
	}
	if n, ok := p.oneCopy(); ok && uintptr(n) == t.Size() {
		c.specialiseCopy(n, t.String())
	}
	return c, nil
}

// specialiseCopy replaces the plan by a plain copy, for types whose memory is
// their encoding.
func (c *Codec[T]) specialiseCopy(n int, path string) {
	c.Append = func(dst []byte, v *T) []byte {
		return append(dst, unsafe.Slice((*byte)(unsafe.Pointer(v)), n)...)
	}
	c.Decode = func(src []byte, v *T) ([]byte, error) {
		if len(src) < n {
			return src, errShort(path, n, len(src))
		}
		copy(unsafe.Slice((*byte)(unsafe.Pointer(v)), n), src)
		return src[n:], nil
	}
}

// Custom makes a codec from functions. schema must change whenever the bytes
// do, and must not be the schema of another encoding; a name with a version
// does, such as "acme.Money/2". appendTo and decode keep the promises of
// Codec.Append and Codec.Decode: same value, same bytes; no panic on damaged
// input (wrap ErrDamaged); *v overwritten completely; src neither kept nor
// changed. Set Fixed on the result when every value takes as many bytes.
func Custom[T any](schema string, appendTo func(dst []byte, v *T) []byte, decode func(src []byte, v *T) ([]byte, error)) *Codec[T] {
	return &Codec[T]{
		Schema: schema,
		Append: appendTo,
		Decode: decode,
		DecodeShared: func(src string, v *T) (string, error) {
			// No copy: decode has promised to leave src as it is.
			rest, err := decode(unsafe.Slice(unsafe.StringData(src), len(src)), v)
			return src[len(src)-len(rest):], err
		},
	}
}

func (c *Codec[T]) fixed(n int) *Codec[T] {
	c.Fixed = n
	return c
}
