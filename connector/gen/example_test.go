package gen_test

import (
	"fmt"

	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/connector/gen"
)

// enumerating and reading stand for the engine with one reader.
type enumerating struct {
	connector.EnumeratorContext
	assign func(splits []connector.Split) error
	noMore func()
}

func (e enumerating) Parallelism() int { return 1 }
func (e enumerating) NoMoreSplits(int) { e.noMore() }
func (e enumerating) Assign(_ int, splits ...connector.Split) {
	if err := e.assign(splits); err != nil {
		fmt.Println(err)
	}
}

type reading struct{ connector.ReaderContext }

func (reading) Env() connector.Env { return connector.Env{} }
func (reading) Subtask() int       { return 0 }

// show prints all records of a source, as a job with one reader would see them.
func show[T any](s *gen.Source[T]) {
	r, err := s.Reader(reading{})
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := s.Enumerator(enumerating{assign: r.AddSplits, noMore: r.NoMoreSplits}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	e.AddReader(0)
	out := &connector.Output[T]{Max: 100, Emit: func(v *T, ts int64) {
		if ts == connector.NoTimestamp {
			fmt.Println(*v)
		} else {
			fmt.Println(*v, "at", ts)
		}
	}}
	for {
		if res, err := r.Poll(out); err != nil || res == connector.Finished {
			return
		}
	}
}

func ExampleSequence() {
	show(gen.Sequence(3, func(i uint64) string { return fmt.Sprint("record ", i) }))
	// Output:
	// record 0
	// record 1
	// record 2
}

func ExampleValues() {
	show(gen.Values("to be", "or not to be"))
	show(gen.Values[int]()) // nothing
	// Output:
	// to be
	// or not to be
}

type sample struct {
	Sensor uint64
	Value  float64
}

func ExampleInto() {
	show(gen.Into(2, func(i uint64, v *sample) { v.Sensor, v.Value = i%2, float64(i)/2 }))
	// Output:
	// {0 0}
	// {1 0.5}
}

func ExampleTimed() {
	show(gen.Timed(4, func(i uint64, v *uint64) int64 {
		if i == 2 {
			return gen.Skip
		}
		*v = i * i
		return 1000 * int64(i)
	}))
	// Output:
	// 0 at 0
	// 1 at 1000
	// 9 at 3000
}

func ExamplePerReader() {
	show(gen.PerReader(2, func() (func(uint64, *string) int64, error) {
		buf := make([]byte, 0, 16) // one per reader
		return func(i uint64, v *string) int64 {
			buf = fmt.Appendf(buf[:0], "%03d", i)
			*v = string(buf)
			return int64(i)
		}, nil
	}))
	// Output:
	// 000 at 0
	// 001 at 1
}

func ExampleSplits() {
	// Two splits on one reader take turns.
	show(gen.Sequence(4, func(i uint64) uint64 { return i }, gen.Splits(2)))
	// Output:
	// 0
	// 2
	// 1
	// 3
}

func ExampleRate() {
	fmt.Println(gen.Sequence(0, func(i uint64) uint64 { return i }, gen.Rate(-5)).Validate())
	// Output: gen: a rate of -5 numbers a second is impossible; give a positive number, or leave Rate out for full speed
}
