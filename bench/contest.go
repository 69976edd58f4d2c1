package main

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"
	"time"
)

// contestant is one of the things compared. run does its work once and returns
// how many records that were and a checksum of the results.
type contestant struct {
	name  string
	procs int // GOMAXPROCS; 0: 1
	run   func() (records int, checksum uint64, err error)
	// unchecked says that the checksum is of another kind than the others'.
	unchecked bool
}

// contest is contestants that take turns, and what is read off their times.
type contest struct {
	name        string
	rounds      int // 0: rounds of the command line
	contestants []contestant
	rows        func(m measured) []row
	// setup, if not nil, runs before the first round and returns what undoes it.
	setup func() (func(), error)
}

// sample is one run: nanoseconds per record.
type sample struct{ cpu, wall float64 }

// measured holds the samples of each contestant.
type measured map[string][]sample

// contestants, if not nil, leaves out those it does not match.
var contestants *regexp.Regexp

// take runs the contest.
func (c *contest) take(rounds int, progress func(string)) (measured, error) {
	if c.setup != nil {
		undo, err := c.setup()
		if err != nil {
			return nil, fmt.Errorf("%s: set up: %w", c.name, err)
		}
		defer undo()
	}
	m := measured{}
	var want uint64
	for round := range max(rounds, c.rounds) {
		checked := false
		for i := range c.contestants {
			k := &c.contestants[i]
			if contestants != nil && !contestants.MatchString(k.name) {
				continue
			}
			s, sum, err := k.once()
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", c.name, k.name, err)
			}
			if !k.unchecked {
				if checked && sum != want {
					return nil, fmt.Errorf("%s: %s computed %#x, the ones before %#x: the results differ", c.name, k.name, sum, want)
				}
				want, checked = sum, true
			}
			m[k.name] = append(m[k.name], s)
			progress(fmt.Sprintf("%s round %d: %s %.1f ns", c.name, round+1, k.name, s.cpu))
		}
	}
	return m, nil
}

// once runs a contestant on a clean heap.
func (k *contestant) once() (sample, uint64, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(k.procs, 1)))
	debug.FreeOSMemory()
	cpu, wall := cpuTime(), time.Now()
	n, sum, err := k.run()
	if err != nil {
		return sample{}, 0, err
	}
	return sample{
		cpu:  float64(cpuTime()-cpu) / float64(n),
		wall: float64(time.Since(wall)) / float64(n),
	}, sum, nil
}

// cpuTime is the processor time the process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		fmt.Fprintln(os.Stderr, "bench: getrusage:", err)
		os.Exit(2)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// spread is a median and the least value.
type spread struct{ Median, Least float64 }

func spreadOf(xs []float64) spread {
	if len(xs) == 0 {
		return spread{}
	}
	xs = slices.Sorted(slices.Values(xs))
	return spread{Median: xs[len(xs)/2], Least: xs[0]}
}

// cpu and wall are nanoseconds per record of a contestant.
func (m measured) cpu(name string) spread {
	return m.pick(name, func(s sample) float64 { return s.cpu })
}
func (m measured) wall(name string) spread {
	return m.pick(name, func(s sample) float64 { return s.wall })
}

func (m measured) pick(name string, of func(sample) float64) spread {
	var xs []float64
	for _, s := range m[name] {
		xs = append(xs, of(s))
	}
	return spreadOf(xs)
}
