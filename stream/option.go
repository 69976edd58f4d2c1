package stream

import "time"

// Option sets something of one operator: [Name], [Parallelism], [MaxParallelism],
// [Chain], [BufferTimeout]. Options are the last arguments of the methods that add
// operators.
type Option func(*node)

// Name names an operator. State is found by this name after a restart and in a
// new version of the program, so an operator that keeps state must have one, and
// it must be unique in the pipeline. It also stands in errors, metrics and logs.
func Name(name string) Option {
	return func(n *node) { n.Name, n.Named = name, true }
}

// Parallelism sets the number of subtasks of an operator. Without it the
// operator has the job's parallelism. It may be changed between runs: state is
// redistributed. Less than 1 is an error of building.
func Parallelism(subtasks int) Option {
	return func(n *node) {
		n.Parallelism = subtasks
		if subtasks < 1 {
			n.Parallelism = -1 // reported by Program with the operator's name
		}
	}
}

// MaxParallelism sets the number of key groups of an operator: the unit in which
// keyed state moves, and so the upper bound of its parallelism for ever. Without
// it the number is derived from the parallelism of the first run (at least 128)
// and kept from then on. It is between 1 and 32768; only operators behind KeyBy use
// it.
func MaxParallelism(groups int) Option {
	return func(n *node) {
		n.MaxParallelism = groups
		if groups < 1 {
			n.MaxParallelism = -1
		}
	}
}

// Chain says whether an operator may run in one task with its neighbours, which
// is the default: records then pass by a function call. Chain(false) gives it a
// task, and so a goroutine, of its own.
func Chain(on bool) Option {
	return func(n *node) { n.NoChain = !on }
}

// BufferTimeout bounds how long a record may wait in an open batch behind the
// operator while the operator is busy. The default is 10 milliseconds; 0 sends
// every record at once, which costs much throughput. When the operator has
// nothing to do batches go out at once anyway.
func BufferTimeout(d time.Duration) Option {
	return func(n *node) {
		n.BufferTimeout = d
		if d <= 0 {
			n.BufferTimeout = -1
		}
	}
}
