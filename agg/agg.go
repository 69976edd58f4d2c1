package agg

import (
	"errors"
	"fmt"
)

// Agg turns records T into a value V through an accumulator A. See the rules in
// the package comment; the zero value of A is the empty accumulator.
type Agg[T, A, V any] struct {
	// Name says what it is in plans and messages, for example "count".
	Name string
	// Add takes one record. *v may be read only during the call.
	Add func(acc *A, v *T)
	// Merge adds what other holds to acc and leaves other as it was.
	Merge func(acc *A, other *A)
	// Sub takes what other holds out of acc, to which it was added or merged
	// before, and leaves other as it was. nil means that there is no exact
	// inverse; results are the same, sliding windows then merge more.
	Sub func(acc *A, other *A)
	// Get returns the value. It may be called many times.
	Get func(acc *A) V

	// err is what was wrong with the arguments of a ready-made aggregate.
	err error
}

// Validate returns what is wrong with the aggregate in one sentence, or nil. The
// engine calls it when the job is built.
func (a Agg[T, A, V]) Validate() error {
	name := a.Name
	if name == "" {
		name = "without a name"
	}
	switch {
	case a.err != nil:
		return a.err
	case a.Add == nil:
		return missing(name, "Add")
	case a.Merge == nil:
		return missing(name, "Merge")
	case a.Get == nil:
		return missing(name, "Get")
	case a.Name == "":
		return errors.New("agg: an aggregate has no Name; name it for what it computes, for example \"revenue\"")
	}
	return nil
}

func missing(name, field string) error {
	return fmt.Errorf("agg: aggregate %s has no %s function; only Sub may be left out", name, field)
}
