package nexmark_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/connector/gen"
	"github.com/cutwater-io/cutwater/connector/nexmark"
)

// gateway carries splits from the enumerator to the readers; the sources use
// nothing else of their contexts.
type gateway[T any] struct {
	connector.EnumeratorContext
	readers []connector.Reader[T]
	t       testing.TB
}

func (g *gateway[T]) Parallelism() int         { return len(g.readers) }
func (g *gateway[T]) NoMoreSplits(subtask int) { g.readers[subtask].NoMoreSplits() }
func (g *gateway[T]) Assign(subtask int, splits ...connector.Split) {
	if err := g.readers[subtask].AddSplits(splits); err != nil {
		g.t.Fatal(err)
	}
}

type readerContext struct{ connector.ReaderContext }

func (readerContext) Env() connector.Env { return connector.Env{} }
func (readerContext) Subtask() int       { return 0 }

// readAll runs a source to its end and returns what it emits, with times.
func readAll[T any](t testing.TB, s *gen.Source[T], parallelism int) (got []T, times []int64) {
	t.Helper()
	g := &gateway[T]{readers: make([]connector.Reader[T], parallelism), t: t}
	enum, err := s.Enumerator(g, nil)
	if err != nil {
		t.Fatal(err)
	}
	out := &connector.Output[T]{Max: 37, Emit: func(v *T, ts int64) {
		got, times = append(got, *v), append(times, ts)
	}}
	for i := range g.readers {
		if g.readers[i], err = s.Reader(readerContext{}); err != nil {
			t.Fatal(err)
		}
		enum.AddReader(i)
	}
	for _, r := range g.readers {
		for {
			res, err := r.Poll(out)
			if err != nil {
				t.Fatal(err)
			}
			if res == connector.Finished {
				break
			}
		}
	}
	return got, times
}

func TestTheSourceEmitsTheSameEventsAtAnyParallelism(t *testing.T) {
	cfg := nexmark.Config{Events: 1000, OutOfOrderGroup: 50}
	g := generator(t, cfg)
	var want []nexmark.Event
	for k := range cfg.Events {
		var e nexmark.Event
		g.Event(k, &e)
		want = append(want, e)
	}
	order := func(a, b nexmark.Event) int {
		x, _ := a.AppendJSON(nil)
		y, _ := b.AppendJSON(nil)
		return strings.Compare(string(x), string(y))
	}
	one, times := readAll(t, nexmark.Events(cfg), 1)
	if !slices.Equal(one, want) {
		t.Error("one reader does not emit the stream in its order")
	}
	for i := range one {
		if times[i] != one[i].TimeMillis() {
			t.Fatalf("event %d is emitted with time %d, its own is %d", i, times[i], one[i].TimeMillis())
		}
	}
	slices.SortFunc(want, order)
	for _, p := range []int{2, 7} {
		got, _ := readAll(t, nexmark.Events(cfg), p)
		slices.SortFunc(got, order)
		if !slices.Equal(got, want) {
			t.Errorf("%d readers emit another set of events", p)
		}
	}
}

func TestTheSourceOfBidsEmitsExactlyTheBids(t *testing.T) {
	cfg := nexmark.Config{Events: 500, NoPadding: true}
	g := generator(t, cfg)
	var want []nexmark.Bid
	for k := range cfg.Events {
		var b nexmark.Bid
		if g.Bid(k, &b) {
			want = append(want, b)
		}
	}
	got, times := readAll(t, nexmark.Bids(cfg), 1)
	if len(got) != 460 || !slices.Equal(got, want) {
		t.Errorf("%d bids, want 460 in order", len(got))
	}
	for i := range got {
		if times[i] != got[i].DateTimeMillis {
			t.Fatalf("bid %d is emitted with time %d", i, times[i])
		}
	}
}

func TestASourceOfAWrongConfigurationSaysSoBeforeTheJobStarts(t *testing.T) {
	if err := nexmark.Events(nexmark.Config{OutOfOrderGroup: 953}).Validate(); err == nil || !strings.Contains(err.Error(), "multiple of 953") {
		t.Errorf("got %v", err)
	}
	if _, err := nexmark.Bids(nexmark.Config{OutOfOrderGroup: 953}).Reader(readerContext{}); err == nil || !strings.Contains(err.Error(), "multiple of 953") {
		t.Errorf("got %v", err)
	}
}
