package collect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/cutwater-io/cutwater/connector"
)

// Collector holds what its sink received.
type Collector[T any] struct {
	mu sync.Mutex // guards the fields below
	// values are those of committed transactions, in the order of the commits.
	values []T
	// prepared are transactions that wait for their commit.
	prepared map[string][]T
	// committed are the names of all transactions that are in values.
	committed map[string]bool
	// grownC is closed and replaced when values grows.
	grownC chan struct{}
}

// New makes an empty collector. It may be used by one job, or by several one
// after the other.
func New[T any]() *Collector[T] {
	return &Collector[T]{
		prepared: map[string][]T{}, committed: map[string]bool{}, grownC: make(chan struct{}),
	}
}

// Sink is the sink that fills the collector.
func (c *Collector[T]) Sink() connector.CommittingSink[T] { return sink[T]{c} }

// Values returns the records of completed checkpoints. Records of one subtask
// are in order; those of different ones are in the order of their commits.
func (c *Collector[T]) Values() []T {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.values)
}

// Len is the number of Values.
func (c *Collector[T]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.values)
}

// Wait blocks until there are at least n values and returns all there are. When
// ctx ends before, it returns those it has and an error.
func (c *Collector[T]) Wait(ctx context.Context, n int) ([]T, error) {
	for {
		c.mu.Lock()
		values, grownC := slices.Clone(c.values), c.grownC
		c.mu.Unlock()
		if len(values) >= n {
			return values, nil
		}
		select {
		case <-grownC:
		case <-ctx.Done():
			return values, fmt.Errorf("collect: %d values of %d: %w", len(values), n, context.Cause(ctx))
		}
	}
}

// commit shows a transaction, once. It reports whether it is known.
func (c *Collector[T]) commit(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.committed[name] {
		return true
	}
	values, ok := c.prepared[name]
	if !ok {
		return false
	}
	c.values = append(c.values, values...)
	delete(c.prepared, name)
	c.committed[name] = true
	close(c.grownC)
	c.grownC = make(chan struct{})
	return true
}

func (c *Collector[T]) prepare(name string, values []T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.prepared[name] = values
}

// sweep drops prepared transactions of an owner and a share that are not live.
func (c *Collector[T]) sweep(owner string, mine func(subtask int) bool, live map[string]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name := range c.prepared {
		rest, ours := strings.CutPrefix(name, owner)
		if !ours || live[name] {
			continue
		}
		var subtask int
		if _, err := fmt.Sscanf(rest, "subtask %d ", &subtask); err == nil && mine(subtask) {
			delete(c.prepared, name)
		}
	}
}

// owner is the front of the names of a sink's transactions.
func owner(job, operator string) string { return fmt.Sprintf("%q %q ", job, operator) }

// sink implements [connector.CommittingSink].
type sink[T any] struct{ c *Collector[T] }

func (s sink[T]) Writer(ctx connector.WriterContext, _ [][]byte) (connector.Writer[T], error) {
	return &writer[T]{c: s.c, name: fmt.Sprintf("%ssubtask %d attempt %d", owner(ctx.Job(), ctx.Operator()), ctx.Subtask(), ctx.Attempt())}, nil
}

func (s sink[T]) Committer(ctx connector.CommitterContext) (connector.Committer, error) {
	return &committer[T]{c: s.c, owner: owner(ctx.Job(), ctx.Operator()), subtask: ctx.Subtask(), parallelism: ctx.Parallelism()}, nil
}

// writer implements [connector.CommittingWriter].
type writer[T any] struct {
	c      *Collector[T]
	name   string // of the attempt; with a checkpoint, of a transaction
	open   []T
	closed bool
}

var errClosed = errors.New("collect sink: the writer is closed")

func (w *writer[T]) Write(v *T, _ int64) error {
	if w.closed {
		return errClosed
	}
	w.open = append(w.open, *v)
	return nil
}

func (w *writer[T]) Flush(bool) error {
	if w.closed {
		return errClosed
	}
	return nil
}

func (w *writer[T]) Prepare(checkpoint uint64) ([]connector.Committable, error) {
	if w.closed {
		return nil, errClosed
	}
	if len(w.open) == 0 {
		return nil, nil
	}
	name := fmt.Sprintf("%s checkpoint %d", w.name, checkpoint)
	w.c.prepare(name, w.open)
	w.open = nil
	return []connector.Committable{{Data: []byte(name)}}, nil
}

func (w *writer[T]) Snapshot(uint64) ([][]byte, error) { return nil, nil }

func (w *writer[T]) Close() error {
	w.open, w.closed = nil, true
	return nil
}

// committer implements [connector.Committer].
type committer[T any] struct {
	c                    *Collector[T]
	owner                string
	subtask, parallelism int
}

func (k *committer[T]) Commit(checkpoint uint64, _ bool, cs []connector.Committable) ([]connector.Outcome, error) {
	outcomes := make([]connector.Outcome, len(cs))
	var errs []error
	for i, c := range cs {
		if !k.c.commit(string(c.Data)) {
			outcomes[i] = connector.Failed
			errs = append(errs, fmt.Errorf("collect sink: checkpoint %d: the records of transaction %.200q are gone: they lived in the memory of another process or collector; start the job fresh", checkpoint, c.Data))
		}
	}
	return outcomes, errors.Join(errs...)
}

func (k *committer[T]) Sweep(live []connector.Committable) error {
	keep := map[string]bool{}
	for _, l := range live {
		keep[string(l.Data)] = true
	}
	k.c.sweep(k.owner, func(subtask int) bool { return subtask%k.parallelism == k.subtask }, keep)
	return nil
}

func (k *committer[T]) Close() error { return nil }
