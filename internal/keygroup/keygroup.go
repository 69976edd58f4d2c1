package keygroup

import (
	"fmt"
	"math/bits"
)

const (
	// HashName names the function from keys to hashes and from hashes to key
	// groups. It changes whenever either does, and stands in every snapshot.
	HashName = "cutwater-1"

	// MinDefault is the least max parallelism that is chosen by default.
	MinDefault = 128

	// Limit is the greatest max parallelism.
	Limit = 32768
)

// Of returns the key group of a hash: the upper 64 bits of hash * M (Lemire's
// reduction), which is floor(hash/2^64 * M). It is monotone in hash and needs no
// division.
//
// REQUIRES: 1 <= maxParallelism <= Limit.
func Of(hash uint64, maxParallelism int) uint16 {
	hi, _ := bits.Mul64(hash, uint64(maxParallelism))
	return uint16(hi)
}

// RangeOf returns the key groups of a subtask, both ends included. The ranges of
// all subtasks partition 0..M-1 and differ in size by at most one group.
//
// REQUIRES: 0 <= subtask < parallelism <= maxParallelism <= Limit.
func RangeOf(subtask, parallelism, maxParallelism int) (first, last uint16) {
	first = uint16((subtask*maxParallelism + parallelism - 1) / parallelism)
	last = uint16(((subtask+1)*maxParallelism - 1) / parallelism)
	return first, last
}

// Subtask returns the owner of a key group: the one whose RangeOf holds it.
//
// REQUIRES: group < maxParallelism, 1 <= parallelism <= maxParallelism <= Limit.
func Subtask(group uint16, parallelism, maxParallelism int) int {
	return int(group) * parallelism / maxParallelism
}

// Targets returns Subtask as a table indexed by key group, for the sender of a
// keyed edge: a load per record in place of a division.
//
// REQUIRES: 1 <= parallelism <= maxParallelism <= Limit.
func Targets(parallelism, maxParallelism int) []uint16 {
	t := make([]uint16, maxParallelism)
	for g := range t {
		t[g] = uint16(Subtask(uint16(g), parallelism, maxParallelism))
	}
	return t
}

// DefaultMax returns the max parallelism of a job that names none: half as much
// again as the parallelism, rounded up to a power of two, between MinDefault and
// Limit, so that a job can grow by a half at least before it meets its limit.
//
// REQUIRES: 1 <= parallelism <= Limit.
func DefaultMax(parallelism int) int {
	want := uint(parallelism + parallelism/2)
	pow := 1 << bits.Len(want-1)
	return min(max(pow, MinDefault), Limit)
}

// Validate checks what a user has asked for: 1 <= parallelism <= maxParallelism
// <= Limit.
func Validate(parallelism, maxParallelism int) error {
	switch {
	case maxParallelism < 1 || maxParallelism > Limit:
		return fmt.Errorf("keygroup: max parallelism %d is out of range; choose 1 to %d", maxParallelism, Limit)
	case parallelism < 1:
		return fmt.Errorf("keygroup: parallelism %d is out of range; choose at least 1", parallelism)
	case parallelism > maxParallelism:
		return fmt.Errorf("keygroup: parallelism %d is above the max parallelism %d, which is the number of key groups and fixed for the life of the state; choose at most %d", parallelism, maxParallelism, maxParallelism)
	}
	return nil
}
