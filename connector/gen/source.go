package gen

import (
	"errors"
	"fmt"
	"math"

	"github.com/cutwater-io/cutwater/connector"
)

// Skip, returned as the timestamp by a function given to [Timed] or [PerReader],
// says that this number makes no record.
const Skip int64 = math.MinInt64 + 1

// MaxSplits is the largest number of splits: each is an entry in checkpoints.
const MaxSplits = 1 << 16

// Option changes a source; see [Rate] and [Splits].
type Option func(*options)

type options struct {
	perSecond float64
	splits    int
	err       error
}

// Rate limits the source to perSecond numbers a second over all readers. Number
// i is due i/perSecond seconds after the first; a job that was held up catches up
// in a burst, a restarted one goes on from where it was without one. Without Rate
// the source is as fast as the job.
func Rate(perSecond float64) Option {
	return func(o *options) {
		if !(perSecond > 0) || math.IsInf(perSecond, 1) {
			o.err = fmt.Errorf("gen: a rate of %v numbers a second is impossible; give a positive number, or leave Rate out for full speed", perSecond)
		}
		o.perSecond = perSecond
	}
}

// Splits sets the number of splits, at most [MaxSplits]; the default is one per
// reader at the first start. It is part of the job's state: a restored job keeps
// the splits it began with.
func Splits(n int) Option {
	return func(o *options) {
		if n < 1 || n > MaxSplits {
			o.err = fmt.Errorf("gen: %d splits are impossible; give 1 to %d, or leave Splits out for one per reader", n, MaxSplits)
		}
		o.splits = n
	}
}

// Check is for packages that make sources with this one: an err that is not nil,
// for example of their own configuration, is what Validate returns.
func Check(err error) Option {
	return func(o *options) {
		if err != nil {
			o.err = err
		}
	}
}

// Source is a generator; it implements [connector.Source]. Make one with [Values],
// [Sequence], [Into], [Timed] or [PerReader].
type Source[T any] struct {
	end uint64 // the first number that is not made
	// One of the three is set. plain has no timestamp; the others are told
	// apart only when a reader is made.
	plain     func(i uint64, v *T)
	timed     func(i uint64, v *T) int64
	perReader func() (func(i uint64, v *T) int64, error)
	opts      options
}

var _ connector.Source[int] = (*Source[int])(nil)

// Sequence returns the records f(0), f(1), ... f(n-1), without event time; n = 0
// never ends.
func Sequence[T any](n uint64, f func(i uint64) T, opts ...Option) *Source[T] {
	s := build[T](n, f != nil, opts)
	s.plain = func(i uint64, v *T) { *v = f(i) }
	return s
}

// Values returns the given records in their order, without event time: for tests
// and examples. The slice that was given must not be changed while the job runs.
// None at all is a source that ends at once.
func Values[T any](values ...T) *Source[T] {
	s := Sequence(uint64(len(values)), func(i uint64) T { return values[i] })
	s.end = uint64(len(values)) // also 0, which means endless elsewhere
	return s
}

// Into is [Sequence] without the copy of each record: f writes record i to *v,
// every field of it, because v still holds an earlier record. What v points to
// (maps, slices) must be new for each record.
func Into[T any](n uint64, f func(i uint64, v *T), opts ...Option) *Source[T] {
	s := build[T](n, f != nil, opts)
	s.plain = f
	return s
}

// Timed is [Into] with event time: f returns the record's milliseconds since
// 1970, or [Skip] for a number without a record.
func Timed[T any](n uint64, f func(i uint64, v *T) int64, opts ...Option) *Source[T] {
	s := build[T](n, f != nil, opts)
	s.timed = f
	return s
}

// PerReader is [Timed] with a function of its own for each reader, made by make
// when the reader starts, so that it may keep buffers and caches. It must still
// be pure: record i is the same whoever makes it.
func PerReader[T any](n uint64, make func() (func(i uint64, v *T) int64, error), opts ...Option) *Source[T] {
	s := build[T](n, make != nil, opts)
	s.perReader = make
	return s
}

func build[T any](n uint64, given bool, opts []Option) *Source[T] {
	s := &Source[T]{end: n}
	if n == 0 {
		s.end = math.MaxUint64
	}
	for _, o := range opts {
		o(&s.opts)
	}
	if !given {
		s.opts.err = errors.New("gen: the source has no function that makes records; pass one that is not nil")
	}
	return s
}

// Validate returns what is wrong with the source in one sentence, or nil.
func (s *Source[T]) Validate() error { return s.opts.err }

// Enumerator implements [connector.Source].
func (s *Source[T]) Enumerator(ctx connector.EnumeratorContext, restored []byte) (connector.Enumerator, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	return newEnumerator(ctx, s.opts.splits, restored)
}

// Reader implements [connector.Source].
func (s *Source[T]) Reader(ctx connector.ReaderContext) (connector.Reader[T], error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	r := &reader[T]{end: s.end, plain: s.plain, timed: s.timed, perSecond: s.opts.perSecond, clock: ctx.Env().Clock}
	r.at = r.where
	if s.perReader != nil {
		f, err := s.perReader()
		if err != nil {
			return nil, fmt.Errorf("gen: make the function of reader %d: %w", ctx.Subtask(), err)
		}
		r.timed = f
	}
	return r, nil
}
