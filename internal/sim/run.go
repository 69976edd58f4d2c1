package main

import (
	"slices"
	"sync"
	"sync/atomic"
)

// result of a range of seeds.
type result struct {
	seeds, steps uint64
	mismatches   int
	failures     []failure // ascending by seed
	seen         [seenKinds]int
}

type failure struct {
	seed  uint64
	err   error
	fired []int
}

// runSeeds runs each seed twice, on workers of their own, and compares the hashes
// of both traces.
func runSeeds(first, count uint64, b bug, workers int) result {
	var next atomic.Uint64
	var wg sync.WaitGroup
	var mu sync.Mutex // guards r
	var r result
	for range workers {
		wg.Go(func() {
			var mine result
			for {
				n := next.Add(1) - 1
				if n >= count {
					break
				}
				mine.one(first+n, b)
			}
			mu.Lock()
			defer mu.Unlock()
			r.seeds += mine.seeds
			r.steps += mine.steps
			r.mismatches += mine.mismatches
			r.failures = append(r.failures, mine.failures...)
			for k, n := range mine.seen {
				r.seen[k] += n
			}
		})
	}
	wg.Wait()
	slices.SortFunc(r.failures, func(a, b failure) int {
		if a.seed < b.seed {
			return -1
		}
		return 1
	})
	return r
}

func (r *result) one(seed uint64, b bug) {
	w := newWorld(seed, b)
	err := w.live()
	again := newWorld(seed, b)
	again.live()
	r.seeds++
	r.steps += uint64(w.steps)
	if w.hash != again.hash || w.steps != again.steps {
		r.mismatches++
	}
	if err != nil {
		r.failures = append(r.failures, failure{seed, err, w.fired})
	}
	for k, n := range w.seen {
		r.seen[k] += n
	}
}
