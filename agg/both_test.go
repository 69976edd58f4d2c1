package agg_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cutwater-io/cutwater/agg"
)

func ExampleBoth() {
	type request struct{ bytes int64 }
	a := agg.Both(agg.Count[request](), agg.Sum(func(r request) int64 { return r.bytes }))
	var acc agg.BothAcc[agg.CountAcc, agg.SumAcc[int64]]
	for _, r := range []request{{200}, {50}, {4000}} {
		a.Add(&acc, &r)
	}
	total := a.Get(&acc)
	fmt.Println(total.First, "requests,", total.Second, "bytes")
	// Output: 3 requests, 4250 bytes
}

func ExamplePair() {
	fmt.Println(agg.Pair[int64, string]{First: 3, Second: "requests"})
	// Output: {3 requests}
}

func TestBothHasAnInverseOnlyIfBothHave(t *testing.T) {
	id := func(v int64) int64 { return v }
	whole := agg.Both(agg.Count[int64](), agg.Sum(id))
	half := agg.Both(agg.Count[int64](), agg.Max(id))
	if whole.Sub == nil || half.Sub != nil {
		t.Fatalf("inverse of count and sum: %t, of count and max: %t", whole.Sub != nil, half.Sub != nil)
	}
	var acc, part agg.BothAcc[agg.CountAcc, agg.SumAcc[int64]]
	for v := range int64(10) {
		whole.Add(&acc, &v)
		if v < 4 {
			whole.Add(&part, &v)
		}
	}
	whole.Sub(&acc, &part)
	if got := whole.Get(&acc); got != (agg.Pair[int64, int64]{First: 6, Second: 39}) {
		t.Errorf("4 to 9 are %v", got)
	}
	whole.Merge(&acc, &part)
	if got := whole.Get(&acc); got != (agg.Pair[int64, int64]{First: 10, Second: 45}) {
		t.Errorf("0 to 9 are %v", got)
	}
}

func TestBothReportsWhatIsWrongWithOneOfThem(t *testing.T) {
	a := agg.Both(agg.Count[int64](), agg.TopN(0, func(v int64) int64 { return v }))
	if err := a.Validate(); err == nil || !strings.Contains(err.Error(), "TopN") {
		t.Errorf("the error is %v", err)
	}
}
