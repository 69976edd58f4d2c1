package file

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/cutwater-io/cutwater/connector"
)

// Defaults of a [PartSink].
const (
	DefaultMaxPartBytes   = 128 << 20
	DefaultMaxOpenBuckets = 128
)

// PartSink writes records to part files, exactly once. It is made by [Sink],
// [SinkFunc], [LinesSink], [JSONSink] or [CSVSink]. Its methods set options;
// each returns a changed copy and leaves the receiver as it was.
//
// Parts are named part-<subtask>-<checkpoint>-<n> with an extension. Each
// checkpoint ends all parts: how soon records become visible, and how small
// parts get, is decided by the checkpoint interval.
type PartSink[T any] struct {
	dir      string
	encode   func(dst []byte, v *T) ([]byte, error)
	bucket   func(v *T) string
	header   []byte
	ext      string
	prefix   string
	maxBytes int64
	maxAge   time.Duration
	maxOpen  int
	taken    bool
	// invalid is what is wrong with the description; Writer and Committer
	// return it.
	invalid error
}

var _ connector.CommittingSink[string] = (*PartSink[string])(nil)

// Sink writes what encode appends to dst for each value, one after the other
// and with nothing in between: a line needs its newline from encode. encode is
// called by the goroutine of the subtask; it returns dst, extended.
//
// Sinks of values that are large, or whose encoding can fail, use [SinkFunc].
func Sink[T any](dir string, encode func(dst []byte, v T) []byte) *PartSink[T] {
	return SinkFunc(dir, func(dst []byte, v *T) ([]byte, error) { return encode(dst, *v), nil })
}

// SinkFunc is [Sink] by pointer: v is valid only during the call and must not
// be changed. An error of encode fails the attempt.
func SinkFunc[T any](dir string, encode func(dst []byte, v *T) ([]byte, error)) *PartSink[T] {
	s := &PartSink[T]{
		dir: dir, encode: encode, ext: ".out", prefix: "part",
		maxBytes: DefaultMaxPartBytes, maxOpen: DefaultMaxOpenBuckets,
	}
	if dir == "" {
		s.invalid = errors.New("file sink: the directory is empty: name one, \".\" for the current one")
	}
	return s
}

// LinesSink writes each string and a newline, to parts with the extension
// ".txt". A string that contains newlines becomes several lines.
func LinesSink(dir string) *PartSink[string] {
	return SinkFunc(dir, func(dst []byte, v *string) ([]byte, error) {
		return append(append(dst, *v...), '\n'), nil
	}).Extension(".txt")
}

// MaxPartBytes ends a part when it has that many bytes or more. Zero or less
// means [DefaultMaxPartBytes].
func (s *PartSink[T]) MaxPartBytes(n int64) *PartSink[T] {
	c := *s
	c.maxBytes = n
	if n <= 0 {
		c.maxBytes = DefaultMaxPartBytes
	}
	return &c
}

// MaxPartAge ends a part that is older, so that no part spans more time than
// that between two checkpoints. It is looked at each 256 records and at
// barriers. Zero, the default, is no limit.
func (s *PartSink[T]) MaxPartAge(d time.Duration) *PartSink[T] {
	c := *s
	c.maxAge = max(d, 0)
	return &c
}

// BucketBy sorts values into subdirectories: key returns a slash-separated path
// below the directory, for example "country=de/day=2026-11-29"; "" is the
// directory itself. No element may be empty or begin with a dot. v must not be
// kept or changed.
func (s *PartSink[T]) BucketBy(key func(v *T) string) *PartSink[T] {
	c := *s
	c.bucket = key
	return &c
}

// MaxOpenBuckets bounds the parts that a subtask writes at the same time; each
// costs an open file and a buffer of 64 KiB. One more ends the part that has
// rested longest. Zero or less means [DefaultMaxOpenBuckets].
func (s *PartSink[T]) MaxOpenBuckets(n int) *PartSink[T] {
	c := *s
	c.maxOpen = n
	if n <= 0 {
		c.maxOpen = DefaultMaxOpenBuckets
	}
	return &c
}

// Header is written at the begin of every part.
func (s *PartSink[T]) Header(header []byte) *PartSink[T] {
	c := *s
	c.header = header
	return &c
}

// Extension is the end of the names of parts, with its dot. The default is
// ".out" for [Sink] and [SinkFunc].
func (s *PartSink[T]) Extension(ext string) *PartSink[T] {
	c := *s
	c.ext = ext
	c.checkName("extension", ext)
	return &c
}

// Prefix is the begin of the names of parts, "part" by default. Two sinks that
// share a directory need different ones.
func (s *PartSink[T]) Prefix(prefix string) *PartSink[T] {
	c := *s
	c.prefix = prefix
	c.checkName("prefix", prefix)
	if c.invalid == nil && (prefix == "" || prefix[0] == '.') {
		c.invalid = fmt.Errorf("file sink in %s: prefix %q: it must be a name that does not begin with a dot", s.dir, prefix)
	}
	return &c
}

// PartsMayBeTaken tells the sink that others move or delete published parts.
// After a restore the sink then takes a part that is neither staged nor
// published for published and taken away. Without it such a part fails the job,
// because it may as well be lost.
func (s *PartSink[T]) PartsMayBeTaken() *PartSink[T] {
	c := *s
	c.taken = true
	return &c
}

func (s *PartSink[T]) checkName(what, name string) {
	if s.invalid == nil && (strings.ContainsAny(name, "/\\\x00") || len(name) > maxEscaped) {
		s.invalid = fmt.Errorf("file sink in %s: %s %q: it must have no slash and at most %d bytes", s.dir, what, name, maxEscaped)
	}
}

// Validate returns what is wrong with the description of the sink, or nil; it
// looks at no file. It is called when the pipeline is built.
func (s *PartSink[T]) Validate() error { return s.invalid }

// Writer implements [connector.Sink]. It makes the directory, so that a wrong
// one is found before the first record.
func (s *PartSink[T]) Writer(ctx connector.WriterContext, _ [][]byte) (connector.Writer[T], error) {
	if s.invalid != nil {
		return nil, s.invalid
	}
	staging := filepath.Join(s.dir, stagingDir)
	if err := makeDirs(ctx.Env().Files, s.dir, staging); err != nil {
		return nil, fmt.Errorf("file sink: make %s: %w%s", staging, err, hint(err))
	}
	return &writer[T]{
		sink: s, env: ctx.Env(), staging: staging,
		owner:   stageOwner(ctx.Job(), ctx.Operator(), s.prefix),
		subtask: ctx.Subtask(), attempt: ctx.Attempt(), after: ctx.RestoredFrom(),
		open: map[string]*part{},
	}, nil
}

// Committer implements [connector.CommittingSink].
func (s *PartSink[T]) Committer(ctx connector.CommitterContext) (connector.Committer, error) {
	if s.invalid != nil {
		return nil, s.invalid
	}
	return &committer{
		env: ctx.Env(), dir: s.dir, staging: filepath.Join(s.dir, stagingDir), taken: s.taken,
		owner:   stageOwner(ctx.Job(), ctx.Operator(), s.prefix),
		subtask: ctx.Subtask(), parallelism: ctx.Parallelism(),
		made: map[string]bool{},
	}, nil
}
