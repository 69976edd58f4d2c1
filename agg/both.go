package agg

// BothAcc is the accumulator of [Both].
type BothAcc[A, B any] struct {
	First  A // of the first aggregate
	Second B // of the second
}

// Pair is the value of [Both].
type Pair[V, W any] struct {
	First  V // of the first aggregate
	Second W // of the second
}

// Both computes two aggregates over the same records, for example how many there
// were and what they sum up to; put one Both into another for three. It has a Sub if
// both have one.
func Both[T, A, V, B, W any](first Agg[T, A, V], second Agg[T, B, W]) Agg[T, BothAcc[A, B], Pair[V, W]] {
	both := Agg[T, BothAcc[A, B], Pair[V, W]]{Name: first.Name + " and " + second.Name}
	for _, err := range []error{first.Validate(), second.Validate()} {
		if err != nil {
			both.err = err
			return both
		}
	}
	both.Add = func(acc *BothAcc[A, B], v *T) {
		first.Add(&acc.First, v)
		second.Add(&acc.Second, v)
	}
	both.Merge = func(acc, other *BothAcc[A, B]) {
		first.Merge(&acc.First, &other.First)
		second.Merge(&acc.Second, &other.Second)
	}
	if first.Sub != nil && second.Sub != nil {
		both.Sub = func(acc, other *BothAcc[A, B]) {
			first.Sub(&acc.First, &other.First)
			second.Sub(&acc.Second, &other.Second)
		}
	}
	both.Get = func(acc *BothAcc[A, B]) Pair[V, W] {
		return Pair[V, W]{first.Get(&acc.First), second.Get(&acc.Second)}
	}
	return both
}
