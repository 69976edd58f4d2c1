package main

import (
	"fmt"
	"runtime/debug"
	"runtime/metrics"

	"github.com/cutwater-io/cutwater/connector/gen"
	"github.com/cutwater-io/cutwater/internal/host"
	"github.com/cutwater-io/cutwater/stream"
)

// garbageJob is updateJob with a map that allocates 64 bytes for each record and
// drops them, as the decoding of a record would.
func garbageJob(n int, draw []int64, out *tally[pair]) *stream.Pipeline {
	p := stream.New("bench-garbage")
	mask := uint64(len(draw) - 1)
	var last *[64]byte // keeps the compiler from leaving the allocation out
	p.From(gen.Into(uint64(n), func(i uint64, v *int64) { *v = draw[i&mask] }), stream.Name("keys")).
		Map(func(k int64) int64 {
			last = new([64]byte)
			last[k&63] = 1
			return k
		}).
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

// collectorTime is the processor time of the garbage collector so far, in
// seconds, without what idle processors gave it for nothing.
func collectorTime() float64 {
	s := []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/cpu/classes/gc/mark/idle:cpu-seconds"}}
	metrics.Read(s)
	return s[0].Value.Float64() - s[1].Value.Float64()
}

// garbageContest is GCShare: the collector's share of the processor time, with
// the collector set as in a program of run.Main.
func garbageContest(label string, keys int) *contest {
	n := scaled(32_000_000)
	ks := draw(keys, false)
	var shares []float64
	return &contest{
		name: "GCShare" + label,
		setup: func() (func(), error) {
			before := debug.SetGCPercent(host.CollectorPercent)
			return func() { debug.SetGCPercent(before) }, nil
		},
		contestants: []contestant{{name: "job", run: func() (int, uint64, error) {
			cpu, gc := cpuTime(), collectorTime()
			out := newTally(sumPair)
			if err := execute(garbageJob(n, ks, out), 1, 0); err != nil {
				return 0, 0, err
			}
			shares = append(shares, 100*(collectorTime()-gc)/(cpuTime()-cpu).Seconds())
			_, sum := out.total()
			return n, sum, nil
		}}},
		rows: func(m measured) []row {
			return []row{
				{Name: fmt.Sprintf("GCShare%s, 64 B of garbage per record", label), Unit: "% of CPU", Value: spreadOf(shares), Target: 2, OfValue: true},
				{Name: "GCShare" + label + ", the job", Value: m.cpu("job")},
			}
		},
	}
}
