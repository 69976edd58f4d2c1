package keygroup_test

import (
	"math"
	"slices"
	"testing"

	"github.com/cutwater-io/cutwater/internal/keygroup"
	"pgregory.net/rapid"
)

// checkPartition holds the ranges of all subtasks against the definition: they
// are disjoint, cover 0..M-1 in order, agree with Subtask and Targets, and differ
// in size by at most one.
func checkPartition(t interface{ Fatalf(string, ...any) }, p, m int) {
	next, least, most := 0, m, 0
	targets := keygroup.Targets(p, m)
	if len(targets) != m {
		t.Fatalf("p=%d M=%d: a table of %d targets", p, m, len(targets))
	}
	for i := range p {
		first, last := keygroup.RangeOf(i, p, m)
		if int(first) != next || last < first {
			t.Fatalf("p=%d M=%d: subtask %d owns %d-%d, the last one ended before %d", p, m, i, first, last, next)
		}
		for g := int(first); g <= int(last); g++ {
			if s := keygroup.Subtask(uint16(g), p, m); s != i || int(targets[g]) != i {
				t.Fatalf("p=%d M=%d: group %d is in the range of %d, but Subtask says %d and Targets %d", p, m, g, i, s, targets[g])
			}
		}
		size := int(last) - int(first) + 1
		least, most = min(least, size), max(most, size)
		next = int(last) + 1
	}
	if next != m {
		t.Fatalf("p=%d M=%d: the ranges end before %d", p, m, next)
	}
	if most-least > 1 {
		t.Fatalf("p=%d M=%d: ranges of %d and of %d groups", p, m, least, most)
	}
}

func TestS270RangesPartitionTheKeyGroupsAtEveryParallelism(t *testing.T) {
	for p := 1; p <= 128; p++ {
		checkPartition(t, p, 128)
	}
}

func TestS293RangesDifferByOneGroupAtMostWhenMIsNoMultipleOfP(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.IntRange(1, 2048).Draw(t, "M")
		checkPartition(t, rapid.IntRange(1, m).Draw(t, "p"), m)
	})
	for _, p := range []int{1, 2, 3, 1000, 16384, 32767, 32768} {
		checkPartition(t, p, keygroup.Limit)
	}
}

func TestS271RangesAreTheOnesOfTheSpecification(t *testing.T) {
	for _, v := range []struct {
		m, p int
		want []uint16 // first, last of each subtask
	}{
		{128, 3, []uint16{0, 42, 43, 85, 86, 127}},
		{128, 5, []uint16{0, 25, 26, 51, 52, 76, 77, 102, 103, 127}},
		{10, 4, []uint16{0, 2, 3, 4, 5, 7, 8, 9}},
		{4096, 3, []uint16{0, 1365, 1366, 2730, 2731, 4095}},
		{3, 3, []uint16{0, 0, 1, 1, 2, 2}},
	} {
		var got []uint16
		for i := range v.p {
			first, last := keygroup.RangeOf(i, v.p, v.m)
			got = append(got, first, last)
		}
		if !slices.Equal(got, v.want) {
			t.Errorf("M=%d p=%d: ranges %v, want %v", v.m, v.p, got, v.want)
		}
	}
}

func TestS272DefaultMaxParallelism(t *testing.T) {
	for p, want := range map[int]int{
		1: 128, 2: 128, 84: 128, 85: 128, 86: 256, 170: 256, 171: 256, 172: 512, 200: 512,
		1000: 2048, 21845: 32768, 22000: 32768, 32768: 32768,
	} {
		if got := keygroup.DefaultMax(p); got != want {
			t.Errorf("p=%d: %d, want %d", p, got, want)
		}
	}
}

func TestValidateRefusesWhatTheFormulasDoNotHoldFor(t *testing.T) {
	for _, v := range []struct {
		p, m int
		ok   bool
	}{
		{1, 1, true}, {128, 128, true}, {32768, 32768, true},
		{0, 128, false}, {-1, 128, false}, {129, 128, false}, {1, 0, false}, {1, 32769, false}, {1, -5, false},
	} {
		if err := keygroup.Validate(v.p, v.m); (err == nil) != v.ok {
			t.Errorf("p=%d M=%d: %v", v.p, v.m, err)
		}
	}
}

func TestKeyGroupsAreMonotoneInTheHash(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.IntRange(1, keygroup.Limit).Draw(t, "M")
		a, b := rapid.Uint64().Draw(t, "a"), rapid.Uint64().Draw(t, "b")
		ga, gb := keygroup.Of(min(a, b), m), keygroup.Of(max(a, b), m)
		if ga > gb || int(gb) >= m {
			t.Fatalf("hashes %x, %x have groups %d, %d of %d", min(a, b), max(a, b), ga, gb, m)
		}
	})
	if keygroup.Of(0, 7) != 0 || keygroup.Of(math.MaxUint64, 7) != 6 || keygroup.Of(1<<63, 128) != 64 || keygroup.Of(1<<63-1, 128) != 63 {
		t.Error("the ends of the space are not in the first and last group")
	}
}
