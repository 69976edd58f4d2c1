package file

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
)

// Regexp reads lines by a regular expression whose named groups fill the fields
// of a struct: `(?P<status>\d+)` the field that is tagged `regexp:"status"`, or
// is called Status in upper or lower case. Every field needs a group, unless its
// tag says `regexp:"name,optional"`. Types are those of [CSV]; a group that took
// no part in the match is the empty text. A line that does not match is a bad
// record, also an empty one.
func Regexp[T any](expr, glob string) *Source[T] {
	return newSource([]string{glob}, func() (format[T], error) {
		re, err := regexp.Compile(expr)
		if err != nil {
			return format[T]{}, fmt.Errorf("file source: regular expression: %w", err)
		}
		fs, err := fieldsOf[T]("regexp")
		if err != nil {
			return format[T]{}, err
		}
		target, err := fs.columns(re.SubexpNames()[1:])
		if err != nil {
			return format[T]{}, fmt.Errorf("file source: the groups of the regular expression: %w", err)
		}
		return format[T]{decode: func(line []byte, v *T) error {
			return fs.match(re, target, line, reflect.ValueOf(v).Elem())
		}}, nil
	})
}

var errNoMatch = errors.New("the line does not match the regular expression")

func (fs fields) match(re *regexp.Regexp, target []int, line []byte, v reflect.Value) error {
	m := re.FindSubmatchIndex(line)
	if m == nil {
		return errNoMatch
	}
	for g, t := range target {
		from, to := m[2*g+2], m[2*g+3]
		if t < 0 || from < 0 {
			continue
		}
		f := &fs.list[t]
		if err := f.set(v.FieldByIndex(f.index), string(line[from:to])); err != nil {
			return fmt.Errorf("group %q: %w", f.name, err)
		}
	}
	return nil
}
