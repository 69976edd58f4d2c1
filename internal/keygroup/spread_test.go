package keygroup_test

import (
	"math"
	"math/bits"
	"strconv"
	"testing"

	"github.com/cutwater-io/cutwater/internal/keygroup"
)

// Sequential numbers are the commonest keys there are.
func TestSequentialIntegersSpreadEvenlyOverTheKeyGroups(t *testing.T) {
	const keys, groups = 1_000_000, 128
	checkEven(t, groups, keys, func(i int64) uint64 { return hashInt.Hash(&i) })
}

func TestMultiplesOfPowersOfTwoSpreadEvenlyOverTheKeyGroups(t *testing.T) {
	for shift := range 44 {
		checkEven(t, 128, 100_000, func(i int64) uint64 { i <<= shift; return hashInt.Hash(&i) })
	}
}

func TestNumberedStringsSpreadEvenlyOverTheKeyGroups(t *testing.T) {
	h := mustFor[string](t)
	checkEven(t, 128, 200_000, func(i int64) uint64 { s := "user-" + strconv.FormatInt(i, 10); return h.Hash(&s) })
}

var hashInt = func() *keygroup.Hasher[int64] {
	h, err := keygroup.For[int64]()
	if err != nil {
		panic(err)
	}
	return h
}()

// checkEven does a chi-squared test: with 127 degrees of freedom the statistic is
// 127 +- 16 for chance; 220 is about six deviations away.
func checkEven(t *testing.T, groups, keys int, hash func(i int64) uint64) {
	t.Helper()
	count := make([]int, groups)
	for i := range int64(keys) {
		count[keygroup.Of(hash(i), groups)]++
	}
	want, chi := float64(keys)/float64(groups), 0.0
	for g, n := range count {
		d := float64(n) - want
		chi += d * d / want
		if math.Abs(d) > 7*math.Sqrt(want) {
			t.Errorf("group %d has %d keys, the mean is %.0f", g, n, want)
		}
	}
	if chi > 220 {
		t.Errorf("chi squared %.0f", chi)
	}
}

func TestEveryBitOfAnIntegerKeyFlipsHalfOfTheHash(t *testing.T) {
	const keys = 4096
	var flips [64][64]int // input bit, output bit
	for i := range uint64(keys) {
		k := int64(i * i * 31)
		h := hashInt.Hash(&k)
		for in := range 64 {
			k2 := k ^ 1<<in
			for d := h ^ hashInt.Hash(&k2); d != 0; d &= d - 1 {
				flips[in][bits.TrailingZeros64(d)]++
			}
		}
	}
	for in := range 64 {
		for out := range 64 {
			if p := float64(flips[in][out]) / keys; p < 0.45 || p > 0.55 { // 6.4 deviations
				t.Errorf("bit %d flips bit %d with a chance of %.3f", in, out, p)
			}
		}
	}
}
