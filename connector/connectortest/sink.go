package connectortest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cutwater-io/cutwater/connector"
)

// SinkCase describes a sink to the conformance suite.
type SinkCase[T any] struct {
	// Open makes a sink that writes to a place where nothing is yet. It is
	// called for each run. A sink that writes files uses files.
	Open func(t *testing.T, files connector.Files) OpenedSink[T]
	// Value makes the i-th value; all differ.
	Value func(i int) T
	// Key tells values apart; nil is fmt.Sprint.
	Key func(v T) string
	// Parallelism is the number of subtasks; zero is 2.
	Parallelism int
}

// OpenedSink is a sink and what a consumer sees of it.
type OpenedSink[T any] struct {
	Sink connector.Sink[T]
	// Visible returns the values that a consumer sees now.
	Visible func() ([]T, error)
	// Leftovers, if set, lists what is there besides: open and prepared
	// transactions. It must be empty at the end.
	Leftovers func() ([]string, error)
}

// Sink runs the conformance suite. A [connector.CommittingSink] must show every
// record of completed checkpoints exactly once and no other; another sink must
// show every record at least once.
func Sink[T any](t *testing.T, c SinkCase[T]) {
	if c.Key == nil {
		c.Key = func(v T) string { return fmt.Sprint(v) }
	}
	if c.Parallelism == 0 {
		c.Parallelism = 2
	}
	probe := c.Open(t, NewDisk())
	if _, ok := probe.Sink.(connector.CommittingSink[T]); ok {
		sinkScenarios(t, c)
		sinkKills(t, c)
		sinkErrors(t, c)
		return
	}
	atLeastOnce(t, c)
}

// sinkRun is one run of a sink in a world of its own.
type sinkRun[T any] struct {
	*SinkJob[T]
	t    *testing.T
	c    SinkCase[T]
	disk *Disk
	seen OpenedSink[T]
}

func (c SinkCase[T]) run(t *testing.T, parallelism int) *sinkRun[T] {
	disk := NewDisk()
	seen := c.Open(t, disk)
	return &sinkRun[T]{
		t: t, c: c, disk: disk, seen: seen,
		SinkJob: &SinkJob[T]{Env: NewEnv(disk), Sink: seen.Sink, Value: c.Value, Parallelism: parallelism},
	}
}

// must fails the test on an error.
func (r *sinkRun[T]) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *sinkRun[T]) prepare() SinkState {
	r.t.Helper()
	s, err := r.Prepare(false)
	r.must(err)
	return s
}

// visible checks that just the values with these indexes are visible, each once.
func (r *sinkRun[T]) visible(indexes ...int) {
	r.t.Helper()
	got, err := r.seen.Visible()
	r.must(err)
	var want, have []string
	for _, i := range indexes {
		want = append(want, r.c.Key(r.c.Value(i)))
	}
	for _, v := range got {
		have = append(have, r.c.Key(v))
	}
	slices.Sort(want)
	slices.Sort(have)
	if !slices.Equal(want, have) {
		r.t.Fatalf("visible are %d values %.500q, want %d %.500q", len(have), have, len(want), want)
	}
}

func (r *sinkRun[T]) noLeftovers() {
	r.t.Helper()
	if r.seen.Leftovers == nil {
		return
	}
	left, err := r.seen.Leftovers()
	r.must(err)
	if len(left) > 0 {
		r.t.Fatalf("left over: %s", strings.Join(left, ", "))
	}
}

// upTo is the indexes 0 to n-1.
func upTo(n int) []int {
	var all []int
	for i := range n {
		all = append(all, i)
	}
	return all
}

// onlyCompleted checks that what is visible now is part of the stored
// checkpoint, with no value twice.
func (r *sinkRun[T]) onlyCompleted() error {
	got, err := r.seen.Visible()
	if err != nil {
		return err
	}
	allowed := map[string]bool{}
	for i := range r.Stored.Next {
		allowed[r.c.Key(r.c.Value(i))] = true
	}
	for _, v := range got {
		if k := r.c.Key(v); !allowed[k] {
			return fmt.Errorf("%q is visible and is not part of checkpoint %d, or is there twice", k, r.Stored.Checkpoint)
		}
		delete(allowed, r.c.Key(v))
	}
	return nil
}

var errKilled = errors.New("killed by the test")
