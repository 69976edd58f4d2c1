package agg_test

import (
	"fmt"

	"github.com/cutwater-io/cutwater/agg"
)

type sale struct {
	Item  string
	Cents int64
}

func cents(s sale) int64     { return s.Cents }
func centsRef(s *sale) int64 { return s.Cents }
func item(s sale) string     { return s.Item }
func itemRef(s *sale) string { return s.Item }

// over runs an aggregate over three sales, as a window would.
func over[A, V any](a agg.Agg[sale, A, V]) V {
	var acc A
	for _, s := range []sale{{"pear", 120}, {"fig", 80}, {"pear", 100}} {
		a.Add(&acc, &s)
	}
	return a.Get(&acc)
}

func ExampleAgg() {
	type spread struct{ Low, High int64 }
	a := agg.Agg[sale, spread, int64]{
		Name: "spread",
		Add: func(acc *spread, s *sale) {
			if acc.High == 0 || s.Cents < acc.Low {
				acc.Low = s.Cents
			}
			acc.High = max(acc.High, s.Cents)
		},
		Merge: func(acc, other *spread) {
			if acc.High == 0 || other.High != 0 && other.Low < acc.Low {
				acc.Low = other.Low
			}
			acc.High = max(acc.High, other.High)
		},
		Get: func(acc *spread) int64 { return acc.High - acc.Low },
	}
	fmt.Println(a.Validate(), over(a))
	// Output: <nil> 40
}

func ExampleAgg_Validate() {
	fmt.Println(agg.TopN(0, cents).Validate())
	// Output: agg: TopN of 0 records keeps nothing; give n of at least 1
}

func ExampleCount() {
	a := agg.Count[sale]()
	acc := agg.CountAcc{N: 5}
	a.Sub(&acc, &agg.CountAcc{N: 2})
	fmt.Println(over(a), a.Get(&acc))
	// Output: 3 3
}

func ExampleSum() {
	fmt.Println(over(agg.Sum(cents)))
	// Output: 300
}

func ExampleSumRef() {
	fmt.Println(over(agg.SumRef(centsRef)))
	// Output: 300
}

func ExampleMin() {
	fmt.Println(over(agg.Min(cents)), over(agg.Min(item)))
	// Output: 80 fig
}

func ExampleMinRef() {
	fmt.Println(over(agg.MinRef(centsRef)))
	// Output: 80
}

func ExampleMax() {
	fmt.Println(over(agg.Max(cents)))
	// Output: 120
}

func ExampleMaxRef() {
	fmt.Println(over(agg.MaxRef(centsRef)))
	// Output: 120
}

func ExampleAvg() {
	fmt.Println(over(agg.Avg(cents)))
	// Output: 100
}

func ExampleAvgRef() {
	fmt.Println(over(agg.AvgRef(centsRef)))
	// Output: 100
}

func ExampleTopN() {
	fmt.Println(over(agg.TopN(2, cents)))
	// Output: [{pear 120} {pear 100}]
}

func ExampleTopNFunc() {
	cheapest := agg.TopNFunc(2, func(a, b *sale) bool { return a.Cents < b.Cents })
	fmt.Println(over(cheapest))
	// Output: [{fig 80} {pear 100}]
}

func ExampleDistinct() {
	fmt.Println(over(agg.Distinct(item)))
	// Output: 2
}

func ExampleDistinctRef() {
	fmt.Println(over(agg.DistinctRef(itemRef)))
	// Output: 2
}

// after returns the accumulator itself, as it stands in a checkpoint.
func after[A, V any](a agg.Agg[sale, A, V]) A {
	var acc A
	for _, s := range []sale{{"pear", 120}, {"fig", 80}, {"pear", 100}} {
		a.Add(&acc, &s)
	}
	return acc
}

func ExampleCountAcc() {
	fmt.Printf("%+v\n", after(agg.Count[sale]()))
	// Output: {N:3}
}

func ExampleSumAcc() {
	fmt.Printf("%+v\n", after(agg.Sum(cents)))
	// Output: {Sum:300}
}

func ExampleAvgAcc() {
	fmt.Printf("%+v\n", after(agg.Avg(cents)))
	// Output: {Hi:0 Lo:300 Float:0 Count:3}
}

func ExampleExtremeAcc() {
	fmt.Printf("%+v\n", after(agg.Max(cents)))
	// Output: {Value:120 Any:true}
}

func ExampleTopAcc() {
	fmt.Printf("%+v\n", after(agg.TopN(1, cents)))
	// Output: {Best:[{Item:pear Cents:120}]}
}

func ExampleDistinctAcc() {
	fmt.Printf("%+v\n", after(agg.Distinct(item)))
	// Output: {Times:map[fig:1 pear:2]}
}

type celsius float32

func ExampleNumber() {
	mean := agg.Avg(func(c celsius) celsius { return c })
	var acc agg.AvgAcc
	for _, c := range []celsius{20, 21} {
		mean.Add(&acc, &c)
	}
	fmt.Println(mean.Get(&acc), mean.Sub == nil)
	// Output: 20.5 true
}
