package main

import (
	"fmt"
	"runtime"

	"github.com/cutwater-io/cutwater/connector/gen"
	"github.com/cutwater-io/cutwater/stream"
)

// Records of four sizes for the chain of five operators. Each is made anew from
// its number, and each operator does one cheap thing to N.
type (
	rec24  struct{ N, A, B int64 }
	recStr struct { // 48 bytes
		N, A      int64
		Name, URL string
	}
	rec64  struct{ N, A, B, C, D, E, F, G int64 }
	rec128 struct {
		N int64
		A [15]int64
	}
)

// numbered gives generic code the one field that all have.
type numbered interface {
	rec24 | recStr | rec64 | rec128
}

// steps are the five functions of a chain over T, by pointer: the form for
// records of any size. The loop by hand calls the same ones.
type steps[T any] struct {
	make  func(i uint64, v *T)
	add   func(in, out *T)
	keep  func(v *T) bool
	mul   func(in, out *T)
	again func(v *T) bool // the flatMap emits v, and again when this says so
	sub   func(in, out *T)
	sum   func(v *T) uint64
}

// stepsOf returns the functions for a record type, given where its N is.
func stepsOf[T numbered](n func(*T) *int64, fill func(i uint64, v *T)) steps[T] {
	return steps[T]{
		make:  fill,
		add:   func(in, out *T) { *out = *in; *n(out) += 7 },
		keep:  func(v *T) bool { return *n(v)&15 != 0 },
		mul:   func(in, out *T) { *out = *in; *n(out) *= 3 },
		again: func(v *T) bool { return *n(v)&7 == 0 },
		sub:   func(in, out *T) { *out = *in; *n(out) -= 5 },
		sum:   func(v *T) uint64 { return uint64(*n(v)) },
	}
}

var urls = [4]string{"/", "/index.html", "/shop/cart", "/about"}

func steps24() steps[rec24] {
	return stepsOf(func(v *rec24) *int64 { return &v.N }, func(i uint64, v *rec24) { v.N, v.A, v.B = int64(i), 1, 2 })
}

func stepsStr() steps[recStr] {
	return stepsOf(func(v *recStr) *int64 { return &v.N }, func(i uint64, v *recStr) {
		v.N, v.A, v.Name, v.URL = int64(i), 1, "visitor", urls[i&3]
	})
}

func steps64() steps[rec64] {
	return stepsOf(func(v *rec64) *int64 { return &v.N }, func(i uint64, v *rec64) { *v = rec64{N: int64(i), G: 9} })
}

func steps128() steps[rec128] {
	return stepsOf(func(v *rec128) *int64 { return &v.N }, func(i uint64, v *rec128) { v.N, v.A[14] = int64(i), 9 })
}

// chainJob is source, map, filter, map, flatMap, map, sink in one task.
func chainJob[T any](n int, s steps[T], out *tally[T]) *stream.Pipeline {
	p := stream.New("bench-chain")
	again := s.again
	p.From(gen.Into(uint64(n), s.make), stream.Name("numbers")).
		MapInto(s.add).
		FilterRef(s.keep).
		MapInto(s.mul).
		FlatMapInto(func(in *T, out *stream.Emitter[T]) {
			out.EmitRef(in)
			if again(in) {
				out.EmitRef(in)
			}
		}).
		MapInto(s.sub).
		To(out, stream.Name("tally"))
	return p
}

// chainLoop calls the same functions in a loop.
func chainLoop[T any](n int, s steps[T]) (int, uint64, error) {
	out := newTally(s.sum)
	w := &tallyWriter[T]{tally: out, sum: s.sum}
	a, b, c, d := new(T), new(T), new(T), new(T)
	for i := range uint64(n) {
		s.make(i, a)
		s.add(a, b)
		if !s.keep(b) {
			continue
		}
		s.mul(b, c)
		s.sub(c, d)
		_ = w.Write(d, 0)
		if s.again(c) {
			s.sub(c, d)
			_ = w.Write(d, 0)
		}
	}
	return n, w.checksum, nil
}

const chainRecords = 10_000_000

func chainPair[T any](name string, s steps[T]) []contestant {
	n := scaled(chainRecords)
	return []contestant{
		{name: "loop " + name, run: func() (int, uint64, error) { return chainLoop(n, s) }},
		{name: "job " + name, run: func() (int, uint64, error) {
			out := newTally(s.sum)
			if err := execute(chainJob(n, s, out), 1, 0); err != nil {
				return 0, 0, err
			}
			_, sum := out.total()
			return n, sum, nil
		}},
	}
}

func chainContest() *contest {
	c := &contest{name: "Chain5", rows: func(m measured) []row {
		var rows []row
		for _, size := range []string{"24 B", "48 B with strings", "64 B", "128 B"} {
			rows = append(rows, versus(m, "Chain5, "+size, "job "+size, "loop "+size, 2))
		}
		return append(rows, versus(m, "Chain5, 128 B to 24 B", "job 128 B", "job 24 B", 1.3))
	}}
	c.contestants = append(c.contestants, chainPair("24 B", steps24())...)
	c.contestants = append(c.contestants, chainPair("48 B with strings", stepsStr())...)
	c.contestants = append(c.contestants, chainPair("64 B", steps64())...)
	c.contestants = append(c.contestants, chainPair("128 B", steps128())...)
	return c
}

// allocations runs a job of n and of 2n records and returns how many objects each
// further record allocated: what starting and ending cost is in both.
func allocations(n int, job func(n int) error) (float64, error) {
	count := func(n int) (uint64, error) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := job(n)
		runtime.ReadMemStats(&after)
		return after.Mallocs - before.Mallocs, err
	}
	if _, err := count(n); err != nil { // fills pools
		return 0, err
	}
	once, err := count(n)
	if err != nil {
		return 0, err
	}
	twice, err := count(2 * n)
	if err != nil {
		return 0, err
	}
	return max(0, float64(twice)-float64(once)) / float64(n), nil
}

// chainAllocs counts allocations per record in a chain, over an exchange between
// two tasks, and in a keyed update.
func chainAllocs(int, func(string)) ([]row, error) {
	n := scaled(4_000_000)
	jobs := []struct {
		name string
		run  func(n int) error
	}{
		{"chain", func(n int) error {
			return execute(chainJob(n, steps24(), newTally(steps24().sum)), 1, 0)
		}},
		{"exchange", func(n int) error { return execute(updateJob(n, draw(fewKeys, false), newTally(sumPair)), 2, 0) }},
		{"keyed update", func(n int) error { return execute(updateJob(n, draw(fewKeys, false), newTally(sumPair)), 1, 0) }},
		{"window", func(n int) error { return execute(countJob(n, clickOfFew, newCount()), 1, 0) }},
		{"exchange of strings", func(n int) error { return execute(stringJob(n, newStringCount()), 2, 0) }},
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	var rows []row
	for _, j := range jobs {
		per, err := allocations(n, j.run)
		if err != nil {
			return nil, fmt.Errorf("allocations of %s: %w", j.name, err)
		}
		// Timers by the wall clock, and pages of windows with string keys, are
		// allocations per interval and per window: the count per record is
		// rounded down to a hundredth.
		per = float64(int(per*100)) / 100
		rows = append(rows, row{Name: "ChainAllocs, " + j.name, Unit: "per record", Value: spread{per, per}, OfValue: true})
	}
	return rows, nil
}
