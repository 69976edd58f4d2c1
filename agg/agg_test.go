package agg_test

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cutwater-io/cutwater/agg"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// rec is a record; seq tells equal ones apart.
type rec struct {
	n   int64
	seq int
}

func number(r rec) int64 { return r.n }

func anyRecords(t *rapid.T, name string) []rec {
	// Few different numbers make ties and duplicates; the large ones overflow.
	pool := rapid.SampledFrom([]int64{-2, -1, 0, 1, 2, 3, math.MaxInt64, math.MinInt64, math.MaxInt64 - 1})
	ns := rapid.SliceOfN(pool, 0, 12).Draw(t, name)
	rs := make([]rec, len(ns))
	for i, n := range ns {
		rs[i] = rec{n, i + 100*int(name[0])}
	}
	return rs
}

func fill[A, V any](a agg.Agg[rec, A, V], parts ...[]rec) *A {
	acc := new(A)
	for _, part := range parts {
		for i := range part {
			a.Add(acc, &part[i])
		}
	}
	return acc
}

var same = cmp.Options{cmpopts.EquateEmpty(), cmp.AllowUnexported(rec{})}

// checkLaws holds an aggregate against the rules of the package comment, and its
// answer against a naive one.
func checkLaws[A, V any](t *testing.T, a agg.Agg[rec, A, V], naive func([]rec) V) {
	t.Helper()
	if err := a.Validate(); err != nil {
		t.Fatal(err)
	}
	checkPlain(t, reflect.TypeFor[A]())
	rapid.Check(t, func(t *rapid.T) {
		x, y, z := anyRecords(t, "x"), anyRecords(t, "y"), anyRecords(t, "z")
		all := slices.Concat(x, y, z)
		want := naive(all)
		check := func(what string, acc *A, want V) {
			if d := cmp.Diff(want, a.Get(acc), same); d != "" {
				t.Fatalf("%s of %v %v %v: %s", what, x, y, z, d)
			}
		}
		check("adding", fill(a, all), want)

		left := fill(a, x)
		a.Merge(left, fill(a, y))
		a.Merge(left, fill(a, z))
		check("(x+y)+z", left, want)

		yz := fill(a, y)
		a.Merge(yz, fill(a, z))
		right := fill(a, x)
		a.Merge(right, yz)
		check("x+(y+z)", right, want)

		empty := new(A)
		a.Merge(empty, left)
		check("merging into nothing", empty, want)
		a.Merge(left, new(A))
		check("merging nothing", left, want)

		// What was merged must not be written through.
		other, untouched := fill(a, y), fill(a, y)
		acc := new(A)
		a.Merge(acc, other)
		for i := range z {
			a.Add(acc, &z[i])
		}
		if d := cmp.Diff(untouched, other, same); d != "" {
			t.Fatalf("a merge lets acc write into other: %s", d)
		}
		if a.Sub != nil {
			acc := fill(a, x)
			a.Merge(acc, fill(a, y))
			a.Merge(acc, fill(a, z))
			a.Sub(acc, fill(a, x))
			check("x+y+z-x", acc, naive(slices.Concat(y, z)))
			a.Sub(acc, fill(a, slices.Concat(y, z)))
			check("x+y+z-x-(y+z)", acc, naive(nil))
			if d := cmp.Diff(new(A), acc, same); d != "" {
				t.Fatalf("taking everything out leaves something: %s", d)
			}
		}
	})
}

// checkPlain fails on an accumulator that cannot be encoded field by field.
func checkPlain(t *testing.T, typ reflect.Type) {
	t.Helper()
	for i := range typ.NumField() {
		f := typ.Field(i)
		if k := f.Type.Kind(); !f.IsExported() || k == reflect.Interface || k == reflect.Func || k == reflect.Chan {
			t.Errorf("field %s of %s cannot be written into a checkpoint", f.Name, typ)
		}
	}
}

func TestCountFollowsTheLaws(t *testing.T) {
	checkLaws(t, agg.Count[rec](), func(rs []rec) int64 { return int64(len(rs)) })
}

func TestSumOfIntegersFollowsTheLawsAndHealsAfterOverflow(t *testing.T) {
	checkLaws(t, agg.Sum(number), func(rs []rec) (s int64) {
		for _, r := range rs {
			s += r.n
		}
		return s
	})
}

func TestMinFollowsTheLaws(t *testing.T) {
	checkLaws(t, agg.Min(number), func(rs []rec) (m int64) {
		for i, r := range rs {
			if i == 0 || r.n < m {
				m = r.n
			}
		}
		return m
	})
}

func TestMaxFollowsTheLaws(t *testing.T) {
	checkLaws(t, agg.Max(number), func(rs []rec) (m int64) {
		for i, r := range rs {
			if i == 0 || r.n > m {
				m = r.n
			}
		}
		return m
	})
}

func TestDistinctFollowsTheLaws(t *testing.T) {
	checkLaws(t, agg.Distinct(number), func(rs []rec) int64 {
		seen := map[int64]bool{}
		for _, r := range rs {
			seen[r.n] = true
		}
		return int64(len(seen))
	})
}

func TestTopNFollowsTheLawsAndTheFirstOfEqualsWins(t *testing.T) {
	for _, n := range []int{1, 3, 50} {
		checkLaws(t, agg.TopN(n, number), func(rs []rec) []rec {
			rs = slices.Clone(rs)
			slices.SortStableFunc(rs, func(a, b rec) int {
				switch {
				case a.n > b.n:
					return -1
				case a.n < b.n:
					return 1
				}
				return 0
			})
			return rs[:min(n, len(rs))]
		})
	}
}

func TestAvgOfSmallIntegersFollowsTheLaws(t *testing.T) {
	// Numbers below 2^53 in sum, where a float64 answer is exact.
	small := func(r rec) int8 { return int8(r.n) }
	checkLaws(t, agg.Avg(small), func(rs []rec) float64 {
		var s float64
		for _, r := range rs {
			s += float64(int8(r.n))
		}
		if len(rs) == 0 {
			return 0
		}
		return s / float64(len(rs))
	})
}

func TestAvgOfHugeIntegersDoesNotOverflow(t *testing.T) {
	id := func(n int64) int64 { return n }
	for _, c := range []struct {
		in   []int64
		want float64
	}{
		{[]int64{math.MaxInt64, math.MaxInt64, math.MaxInt64}, math.MaxInt64},
		{[]int64{math.MinInt64, math.MinInt64, math.MinInt64}, math.MinInt64},
		{[]int64{math.MaxInt64, math.MinInt64}, -0.5},
		{[]int64{-1, -1, -1}, -1},
		{nil, 0},
	} {
		a := agg.Avg(id)
		var acc agg.AvgAcc
		for _, n := range c.in {
			a.Add(&acc, &n)
		}
		if got := a.Get(&acc); got != c.want {
			t.Errorf("mean of %v = %v, want %v", c.in, got, c.want)
		}
	}
	u := agg.Avg(func(n uint64) uint64 { return n })
	var acc agg.AvgAcc
	for range 3 {
		n := uint64(math.MaxUint64)
		u.Add(&acc, &n)
	}
	if got := u.Get(&acc); got != math.MaxUint64 {
		t.Errorf("mean of the largest uint64 is %v", got)
	}
}

func TestFloatsHaveNoInverseBecauseSubtractionIsNotExact(t *testing.T) {
	f := func(v float64) float64 { return v }
	if agg.Sum(f).Sub != nil || agg.Avg(f).Sub != nil {
		t.Error("a sum of floats must not offer Sub")
	}
	var s agg.SumAcc[float64]
	var m agg.AvgAcc
	sum, avg := agg.Sum(f), agg.Avg(f)
	for _, v := range []float64{0.5, 1.5, 4} {
		sum.Add(&s, &v)
		avg.Add(&m, &v)
	}
	sum.Merge(&s, &agg.SumAcc[float64]{Sum: 2})
	avg.Merge(&m, &agg.AvgAcc{Float: 2, Count: 1})
	if sum.Get(&s) != 8 || avg.Get(&m) != 2 {
		t.Errorf("sum %v, mean %v, want 8 and 2", sum.Get(&s), avg.Get(&m))
	}
}

func TestNaNIsSmallerThanEveryNumber(t *testing.T) {
	f := func(v float64) float64 { return v }
	lo, hi := agg.Min(f), agg.Max(f)
	var l, h agg.ExtremeAcc[float64]
	for _, v := range []float64{3, math.NaN(), math.Inf(-1)} {
		lo.Add(&l, &v)
		hi.Add(&h, &v)
	}
	if !math.IsNaN(lo.Get(&l)) || hi.Get(&h) != 3 {
		t.Errorf("min %v, max %v, want NaN and 3", lo.Get(&l), hi.Get(&h))
	}
}

func TestTheValueOfTopNIsACopy(t *testing.T) {
	a := agg.TopN(2, number)
	acc := fill(a, []rec{{1, 1}, {2, 2}})
	got := a.Get(acc)
	a.Add(acc, &rec{9, 9})
	if want := []rec{{2, 2}, {1, 1}}; !slices.Equal(got, want) {
		t.Errorf("an earlier result changed to %v", got)
	}
}

func TestTopNRestoredWithASmallerNForgetsTheRest(t *testing.T) {
	acc := fill(agg.TopN(4, number), []rec{{4, 1}, {3, 2}, {2, 3}, {1, 4}})
	smaller := agg.TopN(2, number)
	if got := smaller.Get(acc); len(got) != 2 {
		t.Errorf("got %v", got)
	}
	smaller.Add(acc, &rec{5, 5})
	if want := []rec{{5, 5}, {4, 1}}; !slices.Equal(acc.Best, want) {
		t.Errorf("kept %v, want %v", acc.Best, want)
	}
}

func TestWrongAggregatesSayWhatIsWrong(t *testing.T) {
	count := agg.Count[rec]()
	noName, noAdd, noMerge, noGet := count, count, count, count
	noName.Name, noAdd.Add, noMerge.Merge, noGet.Get = "", nil, nil, nil
	for want, err := range map[string]error{
		"no Name":                noName.Validate(),
		"count has no Add":       noAdd.Validate(),
		"count has no Merge":     noMerge.Validate(),
		"count has no Get":       noGet.Validate(),
		"TopN of 0 records":      agg.TopN(0, number).Validate(),
		"TopNFunc(1) has no ord": agg.TopNFunc[rec](1, nil).Validate(),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}

func TestAddingToFixedSizeAccumulatorsDoesNotAllocate(t *testing.T) {
	v := rec{n: 7}
	count, sum, avg, maxi := agg.Count[rec](), agg.Sum(number), agg.Avg(number), agg.Max(number)
	var c agg.CountAcc
	var s agg.SumAcc[int64]
	var m agg.AvgAcc
	var e agg.ExtremeAcc[int64]
	if n := testing.AllocsPerRun(100, func() {
		count.Add(&c, &v)
		sum.Add(&s, &v)
		avg.Add(&m, &v)
		maxi.Add(&e, &v)
	}); n != 0 {
		t.Errorf("%v allocations per record", n)
	}
}

func BenchmarkSumAdd(b *testing.B) {
	a, v := agg.SumRef(func(r *rec) int64 { return r.n }), rec{n: 3}
	var acc agg.SumAcc[int64]
	for b.Loop() {
		a.Add(&acc, &v)
	}
}
