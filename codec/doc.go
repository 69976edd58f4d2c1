// Package codec turns Go values into bytes and back, by a plan that is compiled
// once from the type. Every edge of a job and every state has a codec: records
// cross the network with it, barriers overtake records with its help, and
// snapshots are written in it.
//
//	type Bid struct {                 build, once per type (For)
//	    Auction int64        Bid ---> reflection ---> plan: [copy 16 bytes at 0]
//	    Price   int64                                       [string at 16     ]
//	    URL     string                                          |
//	}                                                           v
//	              run, per record (no reflection)   Append: *Bid  -> bytes
//	                                                Decode: bytes -> *Bid
//
// The encoding (doc/format/codec.md draws every byte) is a row: the fields in
// order, fixed-width little-endian numbers without padding, lengths as uint32.
// There are no varints (1.5 to 4 times the work) and no type information: what
// the bytes mean is said once, beside them, by [Codec.Schema].
//
// # Rules for callers
//
//   - Build a codec once and hold it. For takes microseconds; the functions of
//     the codec take nanoseconds.
//   - A codec has no state of its own: any number of goroutines may use it.
//   - The same value always gives the same bytes, in every process and on
//     every platform: entries of maps are sorted. Bytes may be compared and
//     hashed instead of values.
//   - nil and empty slices and maps stay apart. Pointers are followed: two
//     pointers to one value become two values. A time.Time keeps its instant
//     and loses its location and monotonic reading: it comes back in UTC.
//   - Decode trusts nothing. Damaged input gives an error that wraps
//     [ErrDamaged], never a panic, and never more memory than a value of that
//     many bytes could need.
//   - Append has no error result, because nearly no type can fail. Two things
//     can: a string or slice of 4 GiB or more, and a MarshalBinary method that
//     returns an error. Then Append panics with a [*EncodeError]. Whoever
//     encodes values of user types recovers it where user code is called.
//
// # What can be encoded
//
// Booleans, integers, floats, complex numbers, strings, time.Time; arrays,
// slices, maps, pointers and structs of them; named types of those kinds; and
// types with MarshalBinary and UnmarshalBinary. Channels, functions, interfaces,
// uintptr and unsafe pointers, unexported fields, maps whose keys hold pointers,
// and types that contain themselves cannot. [For] then returns an error that
// names each such field and says what to do: leave it out with the tag
// `cutwater:"-"`, or bring a codec for its type with [Custom] and [Use].
//
// The tag `cutwater:"name"` gives a field a name in the schema that survives
// renaming it in Go.
//
// Start reading at codec.go; plan.go has the plan, compile.go builds it, append.go
// and decode.go run it. clone.go compiles deep copies from types in the same way.
package codec
