package barrier

import "github.com/cutwater-io/cutwater/internal/ident"

// abortedIDs remembers which checkpoints the coordinator has aborted before
// their barrier came, in 16 bytes whatever happens (S222).
//
// Bit i stands for the id highest-i. Ids further back than the bits reach count
// as aborted: the coordinator has given up at least one checkpoint that is 64
// ids younger, so nobody waits for them any more. Should that guess be wrong,
// the task declines, and the coordinator tries again.
type abortedIDs struct {
	highest ident.CheckpointID // zero: none yet
	bits    uint64
}

const abortedReach = 64

func (a *abortedIDs) add(id ident.CheckpointID) {
	switch {
	case a.highest == 0:
		a.highest, a.bits = id, 1
	case id > a.highest:
		a.bits = a.bits<<(id-a.highest) | 1 // a shift of 64 and more gives zero
		a.highest = id
	case a.highest-id < abortedReach:
		a.bits |= 1 << (a.highest - id)
	}
}

// has reports whether id counts as aborted, and whether that is only the guess
// for ids that are too old.
func (a *abortedIDs) has(id ident.CheckpointID) (aborted, guessed bool) {
	if a.highest == 0 || id > a.highest {
		return false, false
	}
	if a.highest-id >= abortedReach {
		return true, true
	}
	return a.bits>>(a.highest-id)&1 == 1, false
}
