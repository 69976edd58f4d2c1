package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/cutwater-io/cutwater/connector/gen"
	"github.com/cutwater-io/cutwater/stream"
)

// Keyed updates through the public API: a count per key that a user's function
// keeps in a struct, without windows. The keys are drawn beforehand.

type count struct{ N int64 }

// pair is the last state of a key; the job emits it only when the key's count is
// a power of two, so that emitting is not what is measured.
type pair struct{ Key, N int64 }

func sumPair(p *pair) uint64 { return uint64(p.Key+1) * uint64(p.N) }

// draw returns keys, evenly or by a Zipf distribution with exponent 1.1: a power
// of two of them, and so many that most keys are drawn.
func draw(keys int, zipf bool) []int64 {
	r := rand.New(rand.NewPCG(1, 2))
	z := rand.NewZipf(r, 1.1, 1, uint64(keys-1))
	n := draws
	for n < keys {
		n *= 2
	}
	ks := make([]int64, n)
	for i := range ks {
		if zipf {
			ks[i] = below(scramble(z.Uint64()+1), uint64(keys))
		} else {
			ks[i] = int64(r.Uint64N(uint64(keys)))
		}
	}
	return ks
}

func updateJob(n int, draw []int64, out *tally[pair]) *stream.Pipeline {
	p := stream.New("bench-update")
	mask := uint64(len(draw) - 1)
	p.From(gen.Into(uint64(n), func(i uint64, v *int64) { *v = draw[i&mask] }), stream.Name("keys")).
		KeyBy(stream.Self[int64]).
		Stateful(func(c *stream.Ctx[int64], s *count, k int64, out *stream.Emitter[pair]) error {
			s.N++
			if s.N&(s.N-1) == 0 {
				out.Emit(pair{k, s.N})
			}
			return nil
		}, stream.Name("count")).
		To(out, stream.Name("tally"))
	return p
}

// The loops by hand do the same, emission included.
func updateLoop(n int, draw []int64, c *counter) (int, uint64, error) {
	clear(c.slots)
	mask, sum := uint64(len(draw)-1), uint64(0)
	for i := range uint64(n) {
		k := draw[i&mask]
		if x := c.up(k); x&(x-1) == 0 {
			sum += sumPair(&pair{k, x})
		}
	}
	return n, sum, nil
}

func updateMapLoop(n int, draw []int64, counts map[int64]int64) (int, uint64, error) {
	clear(counts)
	mask, sum := uint64(len(draw)-1), uint64(0)
	for i := range uint64(n) {
		k := draw[i&mask]
		x := counts[k] + 1
		counts[k] = x
		if x&(x-1) == 0 {
			sum += sumPair(&pair{k, x})
		}
	}
	return n, sum, nil
}

// stateContest is StateUpdate for some number of keys.
func stateContest(label string, keys int, zipf bool) *contest {
	n := scaled(16_000_000)
	ks := draw(keys, zipf)
	c := newCounter(keys)
	counts := make(map[int64]int64, keys)
	dist := "Uniform"
	if zipf {
		dist = "Zipf"
	}
	name := fmt.Sprintf("StateUpdate%s%s", label, dist)
	return &contest{
		name: name,
		contestants: []contestant{
			{name: "flat table", run: func() (int, uint64, error) { return updateLoop(n, ks, c) }},
			{name: "job", run: func() (int, uint64, error) {
				out := newTally(sumPair)
				if err := execute(updateJob(n, ks, out), 1, 0); err != nil {
					return 0, 0, err
				}
				_, sum := out.total()
				return n, sum, nil
			}},
			{name: "Go map", run: func() (int, uint64, error) { return updateMapLoop(n, ks, counts) }},
		},
		rows: func(m measured) []row {
			return []row{
				versus(m, name, "job", "flat table", 1.4),
				versus(m, name+" to map", "job", "Go map", 0.65),
			}
		},
	}
}

// The same with keys that are strings of 12 bytes.

type namePair struct {
	Key string
	N   int64
}

func sumNamePair(p *namePair) uint64 { return nameSum(p.Key, 0, p.N) }

// nameOf is the string key of draw i.
func nameOf(i uint64, draw []int64) string { return userNames[draw[i&uint64(len(draw)-1)]] }

func updateStringJob(n int, draw []int64, out *tally[namePair]) *stream.Pipeline {
	p := stream.New("bench-update-strings")
	p.From(gen.Into(uint64(n), func(i uint64, v *string) { *v = nameOf(i, draw) }), stream.Name("keys")).
		KeyBy(stream.Self[string]).
		Stateful(func(c *stream.Ctx[string], s *count, k string, out *stream.Emitter[namePair]) error {
			s.N++
			if s.N&(s.N-1) == 0 {
				out.Emit(namePair{k, s.N})
			}
			return nil
		}, stream.Name("count")).
		To(out, stream.Name("tally"))
	return p
}

func stateStringContest() *contest {
	n := scaled(16_000_000)
	ks := draw(stringKeys, false)
	counts := make(map[string]int64, stringKeys)
	return &contest{
		name: "StateUpdateString",
		contestants: []contestant{
			{name: "Go map", run: func() (int, uint64, error) {
				clear(counts)
				var sum uint64
				for i := range uint64(n) {
					k := nameOf(i, ks)
					x := counts[k] + 1
					counts[k] = x
					if x&(x-1) == 0 {
						sum += sumNamePair(&namePair{k, x})
					}
				}
				return n, sum, nil
			}},
			{name: "job", run: func() (int, uint64, error) {
				out := newTally(sumNamePair)
				if err := execute(updateStringJob(n, ks, out), 1, 0); err != nil {
					return 0, 0, err
				}
				_, sum := out.total()
				return n, sum, nil
			}},
		},
		rows: func(m measured) []row {
			return []row{versus(m, "StateUpdateString, 200 K keys of 12 bytes", "job", "Go map", 0.6)}
		},
	}
}
