package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"time"
)

func main() {
	seeds := flag.Uint64("seeds", 2000, "how many `seeds` to run")
	first := flag.Uint64("first", 1, "the first `seed`")
	one := flag.Uint64("seed", 0, "print the trace of this `seed` only")
	planted := flag.Uint("bug", 0, "run with planted bug number `n`")
	flag.Parse()

	if *one != 0 {
		w := newWorld(*one, bug(*planted))
		w.tracing = true
		err := w.live()
		for _, line := range w.trace {
			fmt.Println(line)
		}
		fmt.Printf("seed %d: %v, hash %016x\n", *one, err, w.hash)
		return
	}
	debug.SetGCPercent(800) // short-lived garbage only
	begin := time.Now()
	r := runSeeds(*first, *seeds, bug(*planted), runtime.GOMAXPROCS(0))
	elapsed := time.Since(begin)
	for k, n := range r.seen {
		fmt.Printf("%-20s %d\n", seenNames[k], n)
	}
	for i, f := range r.failures {
		if i < 3 {
			fmt.Print(shrink(f, bug(*planted)))
		} else {
			fmt.Printf("seed %d: %v\n", f.seed, f.err)
		}
	}
	fmt.Printf("seeds %d to %d, %.0f seeds per second\n", *first, *first+*seeds-1, float64(*seeds)/elapsed.Seconds())
	fmt.Printf("sim: seeds %d, steps %d, violations %d, replay mismatches %d\n", r.seeds, r.steps, len(r.failures), r.mismatches)
	if len(r.failures)+r.mismatches > 0 {
		os.Exit(1)
	}
}
