//go:build !amd64

package memory

import "sync/atomic"

// prefetched keeps the loads of prefetch alive.
var prefetched atomic.Uint32

// prefetch reads the cache lines where the first n searches begin, and the
// headers of their pages when most keys are new. Only amd64 is tuned.
func prefetch(ps *places, n int, headers bool) {
	var x byte
	for _, p := range ps[:n] {
		x ^= *(*byte)(at(p.first))
		if headers {
			x ^= *(*byte)(at(p.page))
		}
	}
	if x == 1 {
		prefetched.Store(1)
	}
}
