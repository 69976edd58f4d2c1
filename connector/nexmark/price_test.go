package nexmark

import (
	"math"
	"testing"
)

func TestPricesEqualThePowerOfTheMathPackage(t *testing.T) {
	differ := 0
	for i := range uint64(1_000_000) {
		r, again := newRng(7, i), newRng(7, i)
		u := float64(again.u64()>>11) / (1 << 53)
		got, want := r.price(), int64(math.Floor(100*math.Pow(10, 6*u)+0.5))
		if got != want {
			differ++
		}
		if d := got - want; d > 1 || d < -1 {
			t.Fatalf("u = %v: %d cents, want %d", u, got, want)
		}
	}
	if differ > 1 {
		t.Errorf("%d prices of a million differ by a cent", differ)
	}
}

func TestPricesReachFromOneDollarToAMillion(t *testing.T) {
	if low := int64(math.Floor(100*powHigh[0]*powLow[0] + 0.5)); low != 100 {
		t.Errorf("the lowest price is %d", low)
	}
	if high := 100 * powHigh[255] * powLow[255] * 1.0003; high < 1e8 || powHigh[255]*powLow[255] >= 1e6 {
		t.Errorf("the highest price is %f", high)
	}
}

func BenchmarkPrice(b *testing.B) {
	r := newRng(1, 1)
	for b.Loop() {
		r.price()
	}
}
