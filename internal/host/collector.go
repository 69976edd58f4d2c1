package host

import (
	"os"
	"runtime/debug"
)

// CollectorPercent is the GOGC of a program of run.Main. State without pointers
// is no part of the heap, so that what is live is small, tens of megabytes, and
// at Go's own setting of 100 the collector would run for each few tens of
// megabytes that are allocated. With 400 and 64 MB live it runs once for 256 MB.
//
// It is a factor and not a number of bytes because the cost of a cycle is that of
// what is live: the share of the processor stays the same for small heaps, whose
// cycles are more frequent and cheaper, and large heaps do not grow without end.
const CollectorPercent = 400

// SetCollector makes garbage collection rarer, unless the environment has set
// GOGC or GOMEMLIMIT: then the user has decided. It reports whether it did.
func SetCollector() bool {
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		if os.Getenv(name) != "" {
			return false
		}
	}
	debug.SetGCPercent(CollectorPercent)
	return true
}
