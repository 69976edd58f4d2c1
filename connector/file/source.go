package file

import (
	"errors"
	"time"

	"github.com/cutwater-io/cutwater/connector"
)

// Defaults of a [Source].
const (
	DefaultMaxLine     = 16 << 20
	DefaultFollowEvery = time.Second
)

// Source reads records from files. It is made by [Lines], [Parse], [JSON],
// [CSV] or [Regexp]. Its methods set options; each returns a changed copy and
// leaves the receiver as it was.
//
// A record is a line, without its end "\n" or "\r\n"; only [CSV] has records of
// several lines. Records have no timestamp. A record that cannot be decoded, or
// is longer than [Source.MaxLine], is handed to the dead-letter output of the
// source; without one it fails the job.
type Source[T any] struct {
	globs   []string
	format  func() (format[T], error)
	maxLine int
	follow  time.Duration // 0: bounded
}

var _ connector.Source[string] = (*Source[string])(nil)

// format turns the bytes of a file into records. One format belongs to one
// reader; it may keep buffers.
type format[T any] struct {
	// frame returns the length of the first record in data with its end, and
	// without (content <= length). length 0: it ends beyond data. atEnd: there
	// is nothing beyond data. data is not empty. nil: records are lines.
	frame func(data []byte, atEnd bool) (length, content int)
	// header takes the first record of each file when that is not data. It is
	// called each time a file is opened. nil: files have no header.
	header func(record []byte) error
	// decode fills *v, which is zero, from a record. An error makes it a bad
	// record. data is valid only during the call.
	decode func(data []byte, v *T) error
	// skipBlank: an empty record is nothing, not a bad record.
	skipBlank bool
}

func newSource[T any](globs []string, f func() (format[T], error)) *Source[T] {
	return &Source[T]{globs: globs, format: f, maxLine: DefaultMaxLine}
}

// Lines reads each line as a string. Lines need not be valid UTF-8. A pattern
// is one of [path/filepath.Match]; each must match at least one file when the
// job starts, unless the source follows. A file that several patterns match is
// read once.
func Lines(globs ...string) *Source[string] {
	return newSource(globs, func() (format[string], error) {
		return format[string]{decode: func(line []byte, v *string) error {
			*v = string(line)
			return nil
		}}, nil
	})
}

// Parse reads each line by a function of the user's. *v is zero at the call; line
// is valid only during it, so what is kept of it must be copied. An error makes
// the line a bad record. Empty lines are given to parse too. Every reader uses
// the same function: it must not keep anything between calls.
func Parse[T any](glob string, parse func(line []byte, v *T) error) *Source[T] {
	return newSource([]string{glob}, func() (format[T], error) {
		if parse == nil {
			return format[T]{}, errors.New("file source: Parse needs a function")
		}
		return format[T]{decode: parse}, nil
	})
}

// Also adds files that match more patterns.
func (s *Source[T]) Also(globs ...string) *Source[T] {
	c := *s
	c.globs = append(append([]string(nil), s.globs...), globs...)
	return &c
}

// MaxLine is the greatest length of a record in bytes, and so bounds the memory
// of a reader. A longer record is a bad record and is skipped. Zero or less
// means [DefaultMaxLine].
func (s *Source[T]) MaxLine(bytes int) *Source[T] {
	c := *s
	c.maxLine = bytes
	if bytes <= 0 {
		c.maxLine = DefaultMaxLine
	}
	return &c
}

// Follow makes the source endless: it reads files to their end and goes on when
// they grow or new ones appear, looking once a second ([Source.FollowEvery]). No
// file need be there at the start.
//
// A file is known by its inode and the first 1024 bytes, not by its name: when it
// is renamed (log rotation) the rest of it is read, and a new file of the old
// name is another file. A file that is cut to be written anew (copytruncate) is
// read from its begin again; what was written between the last look and the cut
// is lost, so rotation by renaming is better. A last line without its newline is
// not yet a record, until the file is renamed or removed. Compressed files are
// read once; they must be moved into place when they are complete.
//
// Each file keeps an open file descriptor until it is renamed or removed.
func (s *Source[T]) Follow() *Source[T] { return s.FollowEvery(DefaultFollowEvery) }

// FollowEvery is [Source.Follow] with the time between two looks. Zero or less
// means [DefaultFollowEvery].
func (s *Source[T]) FollowEvery(d time.Duration) *Source[T] {
	c := *s
	c.follow = d
	if d <= 0 {
		c.follow = DefaultFollowEvery
	}
	return &c
}

// Enumerator implements [connector.Source].
func (s *Source[T]) Enumerator(ctx connector.EnumeratorContext, restored []byte) (connector.Enumerator, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if s.follow > 0 {
		return newFollower(ctx, s.globs, s.follow, restored)
	}
	return newEnumerator(ctx, s.globs, restored)
}

// Reader implements [connector.Source].
func (s *Source[T]) Reader(ctx connector.ReaderContext) (connector.Reader[T], error) {
	f, err := s.format()
	if err != nil {
		return nil, err
	}
	if s.follow > 0 {
		return newTailReader(ctx, s.format, s.maxLine, s.follow), nil
	}
	return newReader(ctx, f, s.maxLine), nil
}

// Validate returns what is wrong with the description of the source, or nil; it
// looks at no file. It is called when the pipeline is built.
func (s *Source[T]) Validate() error {
	if len(s.globs) == 0 {
		return errors.New("file source: no pattern: name the files to read, for example \"data/*.txt\"")
	}
	for _, g := range s.globs {
		if err := checkGlob(g); err != nil {
			return err
		}
	}
	_, err := s.format()
	return err
}
