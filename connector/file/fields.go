package file

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// fields knows how to fill the fields of a struct from texts. It is made once
// for a type.
type fields struct {
	list []field
}

type field struct {
	name     string // of the column or group
	tagged   bool   // the name is from the tag: it must match exactly
	optional bool
	index    []int
	set      func(v reflect.Value, text string) error
	// put appends the text of the field, for sinks.
	put func(dst []byte, v reflect.Value) ([]byte, error)
}

// fieldsOf looks at the exported fields of T. The tag names a field: `csv:"name"`,
// `csv:"name,optional"`, `csv:"-"` for a field to leave alone.
func fieldsOf[T any](tag string) (fields, error) {
	t := reflect.TypeFor[T]()
	if t.Kind() != reflect.Struct {
		return fields{}, fmt.Errorf("file: %v is no struct: %s needs one whose fields have the names of the columns", t, strings.ToUpper(tag))
	}
	var fs fields
	for _, sf := range reflect.VisibleFields(t) {
		value := sf.Tag.Get(tag)
		if sf.PkgPath != "" || value == "-" || sf.Anonymous && sf.Type.Kind() == reflect.Struct && value == "" {
			continue
		}
		name, option, _ := strings.Cut(value, ",")
		if option != "" && option != "optional" {
			return fields{}, fmt.Errorf("file: field %s of %v: tag option %q: only \"optional\" is known", sf.Name, t, option)
		}
		f := field{name: name, tagged: name != "", optional: option == "optional", index: sf.Index}
		if name == "" {
			f.name = sf.Name
		}
		if f.set, f.put = textOf(sf.Type); f.set == nil {
			return fields{}, fmt.Errorf("file: field %s of %v: no text can be made a %v: implement encoding.TextUnmarshaler and TextMarshaler, or leave it out by the tag `%s:\"-\"`", sf.Name, t, sf.Type, tag)
		}
		if throughPointer(t, sf.Index) {
			return fields{}, fmt.Errorf("file: field %s of %v is inside an embedded pointer: embed the struct itself", sf.Name, t)
		}
		fs.list = append(fs.list, f)
	}
	if len(fs.list) == 0 {
		return fields{}, fmt.Errorf("file: %v has no exported field to fill", t)
	}
	return fs, nil
}

func throughPointer(t reflect.Type, index []int) bool {
	for _, i := range index[:len(index)-1] {
		if t = t.Field(i).Type; t.Kind() == reflect.Pointer {
			return true
		}
	}
	return false
}

// columns finds for each column the field that it fills, -1 for none.
func (fs fields) columns(names []string) ([]int, error) {
	target := make([]int, len(names))
	found := make([]bool, len(fs.list))
	for c, name := range names {
		target[c] = slices.IndexFunc(fs.list, func(f field) bool {
			return f.name == name || !f.tagged && strings.EqualFold(f.name, name)
		})
		if t := target[c]; t >= 0 {
			if found[t] {
				return nil, fmt.Errorf("column %q is there twice", name)
			}
			found[t] = true
		}
	}
	for i, f := range fs.list {
		if !found[i] && !f.optional {
			return nil, fmt.Errorf("no column for the field %q; there are %q; add \",optional\" to the field's tag if it may be missing", f.name, names)
		}
	}
	return target, nil
}

var (
	unmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
	marshaler   = reflect.TypeFor[encoding.TextMarshaler]()
)

// textOf returns the conversions between a type and text; nil for none. An empty
// text is the zero number.
func textOf(t reflect.Type) (set func(reflect.Value, string) error, put func([]byte, reflect.Value) ([]byte, error)) {
	if reflect.PointerTo(t).Implements(unmarshaler) && reflect.PointerTo(t).Implements(marshaler) {
		return func(v reflect.Value, s string) error {
				return v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(s))
			}, func(dst []byte, v reflect.Value) ([]byte, error) {
				text, err := v.Addr().Interface().(encoding.TextMarshaler).MarshalText()
				return append(dst, text...), err
			}
	}
	number := func(parse func(v reflect.Value, s string) error) func(reflect.Value, string) error {
		return func(v reflect.Value, s string) error {
			if s == "" {
				return nil
			}
			return parse(v, s)
		}
	}
	switch t.Kind() {
	case reflect.String:
		return func(v reflect.Value, s string) error { v.SetString(s); return nil },
			func(dst []byte, v reflect.Value) ([]byte, error) { return append(dst, v.String()...), nil }
	case reflect.Bool:
		return number(func(v reflect.Value, s string) error {
				b, err := strconv.ParseBool(s)
				v.SetBool(b)
				return err
			}),
			func(dst []byte, v reflect.Value) ([]byte, error) { return strconv.AppendBool(dst, v.Bool()), nil }
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return number(func(v reflect.Value, s string) error {
				n, err := strconv.ParseInt(s, 10, t.Bits())
				v.SetInt(n)
				return err
			}),
			func(dst []byte, v reflect.Value) ([]byte, error) { return strconv.AppendInt(dst, v.Int(), 10), nil }
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return number(func(v reflect.Value, s string) error {
				n, err := strconv.ParseUint(s, 10, t.Bits())
				v.SetUint(n)
				return err
			}),
			func(dst []byte, v reflect.Value) ([]byte, error) { return strconv.AppendUint(dst, v.Uint(), 10), nil }
	case reflect.Float32, reflect.Float64:
		return number(func(v reflect.Value, s string) error {
				n, err := strconv.ParseFloat(s, t.Bits())
				v.SetFloat(n)
				return err
			}), func(dst []byte, v reflect.Value) ([]byte, error) {
				return strconv.AppendFloat(dst, v.Float(), 'g', -1, t.Bits()), nil
			}
	}
	return nil, nil
}
