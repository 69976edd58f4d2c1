package main

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cutwater-io/cutwater/connector/gen"
	"github.com/cutwater-io/cutwater/run"
	"github.com/cutwater-io/cutwater/stream"
	"github.com/cutwater-io/cutwater/window"
)

// Latency under half of full load. Every record carries the moment it was due by
// its rate, not the moment it was made, so that a stall counts for all records it
// held up (no coordinated omission).

const (
	latencyKeys    = 10_000
	latencySeconds = 4
	latencyWindow  = 100 // milliseconds
)

// timedEvent is a record with the nanosecond, since the first, at which it was
// due.
type timedEvent struct {
	Key int64
	Due int64
}

// pace is when the first record was due, known when it is made.
type pace struct {
	start   atomic.Int64 // nanoseconds since 1970; 0: not yet
	perNano float64
}

func (p *pace) make(i uint64, v *timedEvent) {
	start := p.start.Load()
	if start == 0 {
		p.start.CompareAndSwap(0, time.Now().UnixNano())
		start = p.start.Load()
	}
	v.Key = below(scramble(i), latencyKeys)
	v.Due = start + int64(float64(i)/p.perNano)
}

// delays is a sink that notes how late results come. It is used with one
// subtask, so it needs no lock.
type delays struct {
	nanos []int64
	skip  int64 // results due before this are warming up
}

func (d *delays) note(due int64) {
	if due >= d.skip {
		d.nanos = append(d.nanos, time.Now().UnixNano()-due)
	}
}

func (d *delays) quantile(q float64) float64 {
	if len(d.nanos) == 0 {
		return 0
	}
	slices.Sort(d.nanos)
	return float64(d.nanos[min(len(d.nanos)-1, int(q*float64(len(d.nanos))))]) / 1e6
}

// latencyJob sends each record through a keyed update, or through windows of
// 100 ms, and notes the delay of each result.
func latencyJob(n int, perSecond float64, windowed bool, d *delays) *stream.Pipeline {
	pc := &pace{perNano: perSecond / 1e9}
	d.nanos = make([]int64, 0, n)
	d.skip = time.Now().Add(time.Second).UnixNano()
	p := stream.New("bench-latency")
	keyed := p.From(gen.Into(uint64(n), pc.make, gen.Rate(perSecond)), stream.Name("events")).
		EventTimeMillis(func(v *timedEvent) int64 { return v.Due / 1e6 }, stream.Ascending().Every(time.Millisecond)).
		Rebalance(). // a hop to another task, as in a job on several cores
		KeyBy(func(v timedEvent) int64 { return v.Key })
	if !windowed {
		keyed.Stateful(func(_ *stream.Ctx[int64], s *count, v timedEvent, out *stream.Emitter[int64]) error {
			s.N++
			out.Emit(v.Due)
			return nil
		}, stream.Name("count")).
			To(newTally(func(due *int64) uint64 { d.note(*due); return 1 }), stream.Name("delays"))
		return p
	}
	keyed.Window(window.Tumbling(latencyWindow*time.Millisecond)).
		Count(stream.Name("count")).
		To(newTally(func(r *window.Result[int64, int64]) uint64 {
			d.note(int64(r.Window.End) * 1e6)
			return 1
		}), stream.Name("delays"))
	return p
}

// latency is E2ELatency50: half of what the same job does at full speed, with a
// checkpoint per second to a directory.
func latency(_ int, progress func(string)) ([]row, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	var rows []row
	for _, windowed := range []bool{false, true} {
		full, err := fullSpeed(windowed)
		if err != nil {
			return nil, err
		}
		half := min(full/2, 2e6)
		n := int(half) * latencySeconds / scale
		var d delays
		checkpoints := 0
		err = executeObserved(latencyJob(n, half, windowed, &d), 1, time.Second, func(e run.Event) {
			if _, ok := e.(run.CheckpointCompleted); ok {
				checkpoints++
			}
		})
		if err != nil {
			return nil, fmt.Errorf("latency: %w", err)
		}
		if len(d.nanos) == 0 {
			return nil, errors.New("latency: no result came after the warm-up; use a smaller -scale")
		}
		kind := "per record"
		if windowed {
			kind = "per window"
		}
		progress(fmt.Sprintf("latency %s: %.0f records/s, %d checkpoints, %d results", kind, half, checkpoints, len(d.nanos)))
		for _, q := range []struct {
			name   string
			q      float64
			target float64
		}{{"p50", 0.5, 0}, {"p99", 0.99, 0}, {"p99.99", 0.9999, 10}} {
			x := d.quantile(q.q)
			rows = append(rows, row{
				Name: fmt.Sprintf("E2ELatency50, %s, %s at %.1f M/s, wall", kind, q.name, half/1e6), Unit: "ms",
				Value: spread{x, x}, Target: q.target, OfValue: q.target > 0,
			})
		}
	}
	return rows, nil
}

// fullSpeed is how many records a second the job does without a limit.
func fullSpeed(windowed bool) (float64, error) {
	const n = 4_000_000
	var d delays
	begin := time.Now()
	err := execute(latencyJob(n, 1e9, windowed, &d), 1, 0)
	return n / time.Since(begin).Seconds(), err
}
