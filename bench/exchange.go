package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"time"

	"github.com/cutwater-io/cutwater/connector/gen"
	"github.com/cutwater-io/cutwater/run"
	"github.com/cutwater-io/cutwater/stream"
)

// Moving records between tasks, and what a job costs that moves none.

// hopJob sends records from each source subtask to all sink subtasks.
func hopJob(n int, make func(uint64, *event), out *tally[event], opts ...gen.Option) *stream.Pipeline {
	p := stream.New("bench-hop")
	p.From(gen.Into(uint64(n), make, opts...), stream.Name("events")).
		Rebalance().
		To(out, stream.Name("tally"))
	return p
}

func sumEvent(e *event) uint64 { return e.Session }

// scatterLoop makes records and deals them out to slices: what a shuffle would
// cost without tasks, queues and flow control.
func scatterLoop(n, targets int) (int, uint64, error) {
	parts := make([][]event, targets)
	for i := range parts {
		parts[i] = make([]event, 0, 512)
	}
	var sum uint64
	var e event
	for i := range uint64(n) {
		makeEvent(i, &e)
		t := int(i) % targets
		parts[t] = append(parts[t], e)
		if len(parts[t]) == 512 {
			for j := range parts[t] {
				sum += sumEvent(&parts[t][j])
			}
			parts[t] = parts[t][:0]
		}
	}
	for _, p := range parts {
		for j := range p {
			sum += sumEvent(&p[j])
		}
	}
	return n, sum, nil
}

func shuffleContest(parallelism int) *contest {
	n := scaled(16_000_000)
	name := fmt.Sprintf("Shuffle%dx%d", parallelism, parallelism)
	return &contest{
		name: name,
		contestants: []contestant{
			{name: "generate and scatter", run: func() (int, uint64, error) { return scatterLoop(n, parallelism) }},
			{name: "job", procs: 2, run: hopping(n, parallelism, 0)},
		},
		rows: func(m measured) []row { return []row{versus(m, name, "job", "generate and scatter", 2.5)} },
	}
}

func hopping(n, parallelism int, every time.Duration) func() (int, uint64, error) {
	return func() (int, uint64, error) {
		out := newTally(sumEvent)
		if err := execute(hopJob(n, makeEvent, out), parallelism, every); err != nil {
			return 0, 0, err
		}
		_, sum := out.total()
		return n, sum, nil
	}
}

// barrierContest is BarrierOnly: aligned barriers through a shuffle without state.
func barrierContest() *contest {
	n := scaled(60_000_000)
	return &contest{
		name: "BarrierOnly",
		contestants: []contestant{
			{name: "none", procs: 2, run: hopping(n, 2, 0)},
			{name: "1 s", procs: 2, run: hopping(n, 2, time.Second)},
			{name: "100 ms", procs: 2, run: hopping(n, 2, 100*time.Millisecond)},
		},
		rows: func(m measured) []row {
			return []row{
				versus(m, "BarrierOnly, 1 s", "1 s", "none", 1.05),
				versus(m, "BarrierOnly, 100 ms", "100 ms", "none", 1.05),
			}
		},
	}
}

// exchangeLatency is one hop to another task, from the moment a record is made.
func exchangeLatency(int, func(string)) ([]row, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	var rows []row
	for _, rate := range []float64{100, 1e3, 1e5, 1e6} {
		n := max(int(3*rate)/scale, 20)
		warmUp := time.Duration(float64(n) / rate / 6 * 1e9)
		d := delays{nanos: make([]int64, 0, n), skip: time.Now().Add(warmUp).UnixNano()}
		out := newTally(func(e *event) uint64 { d.note(e.At); return 1 })
		make := func(i uint64, e *event) { e.Session, e.At = i, time.Now().UnixNano() }
		if err := execute(hopJob(n, make, out, gen.Rate(rate)), 1, 0); err != nil {
			return nil, fmt.Errorf("exchange latency at %.0f/s: %w", rate, err)
		}
		if len(d.nanos) == 0 {
			return nil, fmt.Errorf("exchange latency at %.0f/s: no record came after the warm-up; use a smaller -scale", rate)
		}
		for _, q := range []float64{0.5, 0.99} {
			x := d.quantile(q)
			r := row{Name: fmt.Sprintf("ExchangeLatency, %.0f/s, p%.0f, wall", rate, q*100), Unit: "ms", Value: spread{x, x}}
			if rate == 1e5 && q == 0.99 {
				r.Target, r.OfValue = 0.1, true
			}
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// idleCPU is a job that waits for input for some seconds.
func idleCPU(int, func(string)) ([]row, error) {
	const wait = 5 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	out := newCount()
	p := countJobFrom(gen.Into(0, makeEvent, gen.Rate(1e-6)), out)
	begin := cpuTime()
	err := run.Run(ctx, p, run.Config{Parallelism: 2, Ephemeral: true, Checkpoints: run.Checkpoints{Interval: -1}, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if !run.IsCanceled(err) {
		return nil, fmt.Errorf("idle job: %w", errors.Join(err, errors.New("it ended by itself")))
	}
	percent := 100 * float64(cpuTime()-begin) / float64(wait)
	return []row{{Name: "IdleCPU", Unit: "% of a core", Value: spread{percent, percent}, Target: 0.1, OfValue: true}}, nil
}
