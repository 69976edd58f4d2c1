package gen

import (
	"context"
	"testing"
	"time"

	"github.com/cutwater-io/cutwater/connector"
)

// clock is a clock that the test moves.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time                       { return c.now }
func (c *clock) After(time.Duration) <-chan time.Time { return nil }
func (c *clock) advance(d time.Duration)              { c.now = c.now.Add(d) }
func (c *clock) env() connector.Env                   { return connector.Env{Clock: c} }
func newClock() *clock                                { return &clock{now: time.Unix(1000, 0)} }
func newOutput[T any](emit func(*T, int64)) *connector.Output[T] {
	return &connector.Output[T]{Emit: emit, Max: 100}
}

// readerContext is the part of connector.ReaderContext that this source uses.
type readerContext struct {
	connector.ReaderContext
	clock *clock
}

func (c readerContext) Env() connector.Env { return c.clock.env() }
func (c readerContext) Subtask() int       { return 0 }

// job is a source with its readers, run by hand.
type job[T any] struct {
	t       testing.TB
	clock   *clock
	enum    connector.Enumerator
	readers []connector.Reader[T]
	got     []T
	times   []int64
	done    []bool
}

// snapshot is a checkpoint: the enumerator's state, all splits, all output.
type snapshot[T any] struct {
	enum   []byte
	splits []connector.Split
	got    []T
}

func start[T any](t testing.TB, s *Source[T], parallelism int, from *snapshot[T]) *job[T] {
	t.Helper()
	j := &job[T]{t: t, clock: newClock(), readers: make([]connector.Reader[T], parallelism), done: make([]bool, parallelism)}
	var restored []byte
	if from != nil {
		restored = from.enum
		j.got = append(j.got, from.got...)
	}
	var err error
	if j.enum, err = s.Enumerator(enumeratorContext[T]{job: j}, restored); err != nil {
		t.Fatal(err)
	}
	for i := range j.readers {
		if j.readers[i], err = s.Reader(readerContext{clock: j.clock}); err != nil {
			t.Fatal(err)
		}
	}
	if from != nil {
		for i, split := range from.splits {
			if err := j.readers[i%parallelism].AddSplits([]connector.Split{split}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := j.enum.Start(); err != nil {
		t.Fatal(err)
	}
	return j
}

func (j *job[T]) register() {
	for i := range j.readers {
		j.enum.AddReader(i)
	}
}

// poll lets one reader emit at most n records.
func (j *job[T]) poll(reader, n int) connector.PollResult {
	j.t.Helper()
	emitted := 0
	out := newOutput(func(v *T, ts int64) {
		j.got, j.times = append(j.got, *v), append(j.times, ts)
		emitted++
	})
	out.Max = n
	res, err := j.readers[reader].Poll(out)
	if err != nil {
		j.t.Fatal(err)
	}
	if emitted > n {
		j.t.Fatalf("one poll emitted %d records, at most %d are allowed", emitted, n)
	}
	j.done[reader] = res == connector.Finished
	return res
}

// finish polls all readers in turn until each has finished.
func (j *job[T]) finish() {
	j.t.Helper()
	for round := 0; ; round++ {
		all := true
		for i := range j.readers {
			if !j.done[i] {
				j.poll(i, 100)
				all = false
			}
		}
		if all {
			return
		}
		if round > 1_000_000 {
			j.t.Fatal("the readers do not finish")
		}
	}
}

func (j *job[T]) snapshot() *snapshot[T] {
	j.t.Helper()
	s := &snapshot[T]{got: append([]T(nil), j.got...)}
	var err error
	if s.enum, err = j.enum.Snapshot(1); err != nil {
		j.t.Fatal(err)
	}
	for _, r := range j.readers {
		splits, err := r.Snapshot(1)
		if err != nil {
			j.t.Fatal(err)
		}
		s.splits = append(s.splits, splits...)
	}
	return s
}

type enumeratorContext[T any] struct{ job *job[T] }

func (c enumeratorContext[T]) Env() connector.Env { return c.job.clock.env() }
func (c enumeratorContext[T]) Parallelism() int   { return len(c.job.readers) }
func (c enumeratorContext[T]) Assign(subtask int, splits ...connector.Split) {
	if err := c.job.readers[subtask].AddSplits(splits); err != nil {
		c.job.t.Fatal(err)
	}
}
func (c enumeratorContext[T]) NoMoreSplits(subtask int) { c.job.readers[subtask].NoMoreSplits() }
func (c enumeratorContext[T]) Send(int, []byte)         {}
func (c enumeratorContext[T]) CallAsync(func(context.Context) (any, error), func(any, error), time.Duration) {
}
