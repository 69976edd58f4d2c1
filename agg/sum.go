package agg

import "math/bits"

// Number is what can be added.
type Number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// isFloat tells floats from integers: only they can hold a half.
func isFloat[N Number]() bool { return N(1)/N(2) != 0 }

// SumAcc is the accumulator of [Sum].
type SumAcc[N Number] struct {
	Sum N
}

// Sum adds what f returns. It counts in the type f returns and, as Go does, wraps
// round on overflow: let f return int64 where the field is narrow. Wrapping is
// harmless on the way: if the final sum fits, it is right.
//
// Sums of floats depend on the order of addition in their last digits, so two
// runs may differ there; for money return whole cents. They have no Sub.
func Sum[T any, N Number](f func(T) N) Agg[T, SumAcc[N], N] {
	return SumRef(func(v *T) N { return f(*v) })
}

// SumRef is [Sum] without the copy of each record.
func SumRef[T any, N Number](f func(*T) N) Agg[T, SumAcc[N], N] {
	a := Agg[T, SumAcc[N], N]{
		Name:  "sum",
		Add:   func(acc *SumAcc[N], v *T) { acc.Sum += f(v) },
		Merge: func(acc, other *SumAcc[N]) { acc.Sum += other.Sum },
		Get:   func(acc *SumAcc[N]) N { return acc.Sum },
	}
	if !isFloat[N]() {
		a.Sub = func(acc, other *SumAcc[N]) { acc.Sum -= other.Sum }
	}
	return a
}

// AvgAcc is the accumulator of [Avg]. Integers are summed in 128 bits, Hi and Lo
// in two's complement, where 2^63 records cannot overflow; floats in Float. Count is the number of records.
type AvgAcc struct {
	Hi    int64
	Lo    uint64
	Float float64
	Count int64
}

// Avg returns the arithmetic mean of what f returns; 0 of no records. The sum of
// integers is exact and cannot overflow; only the last step, the division, rounds
// to float64. Means of floats depend on the order of addition in their last
// digits and have no Sub.
func Avg[T any, N Number](f func(T) N) Agg[T, AvgAcc, float64] {
	return AvgRef(func(v *T) N { return f(*v) })
}

// AvgRef is [Avg] without the copy of each record.
func AvgRef[T any, N Number](f func(*T) N) Agg[T, AvgAcc, float64] {
	a := Agg[T, AvgAcc, float64]{Name: "avg"}
	if isFloat[N]() {
		a.Add = func(acc *AvgAcc, v *T) {
			acc.Float += float64(f(v))
			acc.Count++
		}
		a.Merge = func(acc, other *AvgAcc) {
			acc.Float += other.Float
			acc.Count += other.Count
		}
		a.Get = func(acc *AvgAcc) float64 {
			if acc.Count == 0 {
				return 0
			}
			return acc.Float / float64(acc.Count)
		}
		return a
	}
	a.Add = func(acc *AvgAcc, v *T) {
		n := f(v)
		hi := int64(0)
		if n < 0 {
			hi = -1
		}
		acc.add(hi, uint64(n)) // negative numbers are sign-extended by the conversion
		acc.Count++
	}
	a.Merge = func(acc, other *AvgAcc) {
		acc.add(other.Hi, other.Lo)
		acc.Count += other.Count
	}
	a.Sub = func(acc, other *AvgAcc) {
		lo, borrow := bits.Sub64(acc.Lo, other.Lo, 0)
		acc.Lo, acc.Hi = lo, acc.Hi-other.Hi-int64(borrow)
		acc.Count -= other.Count
	}
	a.Get = func(acc *AvgAcc) float64 {
		if acc.Count == 0 {
			return 0
		}
		return acc.sum() / float64(acc.Count)
	}
	return a
}

func (a *AvgAcc) add(hi int64, lo uint64) {
	sum, carry := bits.Add64(a.Lo, lo, 0)
	a.Lo, a.Hi = sum, a.Hi+hi+int64(carry)
}

// sum returns the 128-bit sum as a float. The sign is taken off first: near zero
// Hi is -1 and Lo huge, and adding their floats would cancel all digits.
func (a *AvgAcc) sum() float64 {
	hi, lo, sign := a.Hi, a.Lo, 1.0
	if hi < 0 {
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		hi, sign = -hi-int64(borrow), -1
	}
	return sign * (float64(uint64(hi))*(1<<64) + float64(lo))
}
