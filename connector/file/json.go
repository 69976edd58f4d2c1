package file

import (
	"bytes"
	json "encoding/json/v2"
	"sync"
)

// byteOrderMark is what some programs put at the begin of UTF-8 text.
var byteOrderMark = []byte("\xef\xbb\xbf")

// JSON reads files of JSON Lines: one JSON value a line, decoded by
// encoding/json/v2 into T. Empty lines are passed over. Names of fields match
// exactly; members that T has no field for are ignored. A line with invalid JSON,
// invalid UTF-8, a name twice, or a value of the wrong type is a bad record.
func JSON[T any](glob string) *Source[T] {
	return newSource([]string{glob}, func() (format[T], error) {
		return format[T]{skipBlank: true, decode: func(line []byte, v *T) error {
			return json.Unmarshal(bytes.TrimPrefix(line, byteOrderMark), v)
		}}, nil
	})
}

// JSONSink writes one JSON value a line, encoded by encoding/json/v2, to parts
// with the extension ".jsonl". A value that cannot be encoded fails the attempt.
func JSONSink[T any](dir string) *PartSink[T] {
	return SinkFunc(dir, func(dst []byte, v *T) ([]byte, error) {
		b := appenders.Get().(*appender)
		b.b = dst
		err := json.MarshalWrite(b, v)
		dst, b.b = append(b.b, '\n'), nil
		appenders.Put(b)
		return dst, err
	}).Extension(".jsonl")
}

// appenders saves an allocation for each record: the subtasks share the encode
// function, so it cannot keep one.
var appenders = sync.Pool{New: func() any { return new(appender) }}

// appender is a writer to the end of a slice.
type appender struct{ b []byte }

func (a *appender) Write(p []byte) (int, error) {
	a.b = append(a.b, p...)
	return len(p), nil
}
