package main

import (
	"fmt"
	"strings"
)

// maxShrink bounds the runs that shrinking one failure takes.
const maxShrink = 400

// shrink takes faults away as long as the seed still violates the same invariant,
// and returns the report: seed, what is left of the faults, and the trace.
func shrink(f failure, b bug) string {
	which := kindOf(f.err)
	keep := f.fired
	runs := 0
	try := func(only []int) bool {
		runs++
		w := newWorld(f.seed, b)
		w.only = map[int]bool{}
		for _, n := range only {
			w.only[n] = true
		}
		err := w.live()
		if err == nil || kindOf(err) != which {
			return false
		}
		keep = w.fired
		return true
	}
	for size := max(1, len(keep)/2); size >= 1; {
		removed := false
		for i := 0; i < len(keep) && runs < maxShrink; {
			end := min(i+size, len(keep))
			only := append(append([]int(nil), keep[:i]...), keep[end:]...)
			if try(only) {
				removed = true
				continue // keep is shorter now: look at the same place again
			}
			i = end
		}
		if size == 1 && (!removed || runs >= maxShrink) {
			break
		}
		size = max(1, size/2)
		if runs >= maxShrink {
			break
		}
	}
	w := newWorld(f.seed, b)
	w.only, w.tracing = map[int]bool{}, true
	for _, n := range keep {
		w.only[n] = true
	}
	err := w.live()
	var s strings.Builder
	fmt.Fprintf(&s, "seed %d: %v\n", f.seed, f.err)
	fmt.Fprintf(&s, "with %d of %d faults: %v\n", len(keep), len(f.fired), err)
	tail := w.trace
	if len(tail) > traceLines {
		fmt.Fprintf(&s, "... %d lines before\n", len(tail)-traceLines)
		tail = tail[len(tail)-traceLines:]
	}
	for _, line := range tail {
		s.WriteString(line + "\n")
	}
	return s.String()
}

const traceLines = 80

// kindOf is the invariant that an error names.
func kindOf(err error) string {
	name, _, _ := strings.Cut(err.Error(), ":")
	return name
}
