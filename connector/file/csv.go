package file

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// CSV reads files of comma-separated values (RFC 4180) into structs. The first
// record of each file is the header. A column fills the field whose tag
// `csv:"name"` is its name, or, without a tag, whose name it is in upper or
// lower case. Columns without a field are passed over; a field without a column
// is an error, unless its tag says `csv:"name,optional"`.
//
// Fields are strings, bools, numbers (an empty cell is zero), or types that
// implement both encoding.TextUnmarshaler and TextMarshaler, such as time.Time.
// A quoted cell may contain commas, doubled quotes and newlines. Empty lines are
// passed over.
func CSV[T any](glob string) *Source[T] {
	return newSource([]string{glob}, func() (format[T], error) {
		fs, err := fieldsOf[T]("csv")
		if err != nil {
			return format[T]{}, err
		}
		p := &csvParser{fields: fs}
		return format[T]{
			frame: frameCSV, header: p.header, skipBlank: true,
			decode: func(record []byte, v *T) error { return p.decode(record, reflect.ValueOf(v).Elem()) },
		}, nil
	})
}

// frameCSV cuts a record: a line, and the lines after it as long as a quote is
// open. Quotes in a well-formed record come in pairs, also those that stand for
// a quote inside a cell.
func frameCSV(data []byte, atEnd bool) (length, content int) {
	quotes := 0
	for length < len(data) {
		n, c := frameLine(data[length:], atEnd)
		if n == 0 {
			return 0, 0
		}
		quotes += bytes.Count(data[length:length+n], []byte{'"'})
		if quotes%2 == 0 {
			return length + n, length + c
		}
		length += n
	}
	if !atEnd {
		return 0, 0
	}
	// A quote is open to the end of the file: only the first line is bad.
	return frameLine(data, true)
}

// csvParser turns records into structs.
type csvParser struct {
	fields fields
	target []int // by column, from the header of the file in hand
	cells  []string
}

func (p *csvParser) header(record []byte) error {
	var err error
	if p.cells, err = splitCSV(p.cells[:0], bytes.TrimPrefix(record, byteOrderMark)); err != nil {
		return fmt.Errorf("the header: %w", err)
	}
	if p.target, err = p.fields.columns(p.cells); err != nil {
		return fmt.Errorf("the header: %w", err)
	}
	return nil
}

func (p *csvParser) decode(record []byte, v reflect.Value) (err error) {
	if p.cells, err = splitCSV(p.cells[:0], record); err != nil {
		return err
	}
	if len(p.cells) != len(p.target) {
		return fmt.Errorf("%d cells, and the header has %d", len(p.cells), len(p.target))
	}
	for c, t := range p.target {
		if t < 0 {
			continue
		}
		f := &p.fields.list[t]
		if err := f.set(v.FieldByIndex(f.index), p.cells[c]); err != nil {
			return fmt.Errorf("column %q: %w", f.name, err)
		}
	}
	return nil
}

// splitCSV appends the cells of a record. They share one string.
func splitCSV(cells []string, record []byte) ([]string, error) {
	rest := string(record)
	for {
		if strings.HasPrefix(rest, `"`) {
			cell, after, err := quotedCell(rest)
			if err != nil {
				return cells, err
			}
			cells = append(cells, cell)
			if after == "" {
				return cells, nil
			}
			rest = after[1:]
			continue
		}
		cell, after, more := strings.Cut(rest, ",")
		if strings.Contains(cell, `"`) {
			return cells, errors.New("a quote inside a cell that does not begin with one")
		}
		cells = append(cells, cell)
		if !more {
			return cells, nil
		}
		rest = after
	}
}

// quotedCell takes a quoted cell from the front; after is "" or begins with a
// comma.
func quotedCell(s string) (cell, after string, err error) {
	s = s[1:]
	for {
		n := strings.IndexByte(s, '"')
		if n < 0 {
			return "", "", errors.New("a quoted cell has no end")
		}
		cell += s[:n]
		s = s[n+1:]
		switch {
		case s == "" || s[0] == ',':
			return cell, s, nil
		case s[0] == '"':
			cell += `"`
			s = s[1:]
		default:
			return "", "", errors.New("text after the end of a quoted cell")
		}
	}
}

// CSVSink writes structs as comma-separated values, each part with a header, to
// parts with the extension ".csv". Columns are the exported fields in their
// order; names, tags and types are those of [CSV].
func CSVSink[T any](dir string) *PartSink[T] {
	fs, err := fieldsOf[T]("csv")
	s := SinkFunc(dir, func(dst []byte, v *T) ([]byte, error) {
		s := reflect.ValueOf(v).Elem()
		for i := range fs.list {
			f := &fs.list[i]
			if i > 0 {
				dst = append(dst, ',')
			}
			begin := len(dst)
			var err error
			if dst, err = f.put(dst, s.FieldByIndex(f.index)); err != nil {
				return nil, fmt.Errorf("field %q: %w", f.name, err)
			}
			dst = quoteCell(dst, begin, len(fs.list) == 1)
		}
		return append(dst, '\n'), nil
	}).Extension(".csv")
	if err != nil {
		s.invalid = err
		return s
	}
	var header []byte
	for i, f := range fs.list {
		if i > 0 {
			header = append(header, ',')
		}
		header = quoteCell(append(header, f.name...), len(header), len(fs.list) == 1)
	}
	return s.Header(append(header, '\n'))
}

// quoteCell quotes the cell dst[begin:] when it has to be. An empty cell that is
// alone is quoted, because an empty line is no record.
func quoteCell(dst []byte, begin int, alone bool) []byte {
	text := dst[begin:]
	if !bytes.ContainsAny(text, "\",\r\n") && (len(text) > 0 || !alone) {
		return dst
	}
	quoted := bytes.ReplaceAll(text, []byte{'"'}, []byte(`""`)) // a copy
	dst = append(dst[:begin], '"')
	dst = append(dst, quoted...)
	return append(dst, '"')
}
