package run_test

import (
	"context"
	"testing"
	"time"

	"github.com/cutwater-io/cutwater/connector/collect"
	"github.com/cutwater-io/cutwater/connector/gen"
	"github.com/cutwater-io/cutwater/run"
	"github.com/cutwater-io/cutwater/stream"
)

// The tasks of a job once disagreed about which checkpoint was the last, and those
// that waited for a later one waited for the acknowledgement of tasks that were
// gone. With checkpoints as often as this it happened within a few runs.
func TestS126AJobWithManyCheckpointsAlwaysEnds(t *testing.T) {
	for range 30 {
		got := collect.New[int64]()
		p := stream.New("ends")
		p.From(gen.Sequence(20_000, func(i uint64) int64 { return int64(i) }, gen.Splits(2)), stream.Name("numbers")).
			KeyBy(func(v int64) int64 { return v % 100 }).
			Stateful(func(_ *stream.Ctx[int64], sum *int64, v int64, out *stream.Emitter[int64]) error {
				*sum += v
				out.Emit(v)
				return nil
			}, stream.Name("sums")).
			To(got.Sink(), stream.Name("got"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		err := run.Run(ctx, p, run.Config{Ephemeral: true, Parallelism: 2, Checkpoints: run.Checkpoints{Interval: 10 * time.Millisecond}})
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		if n := len(got.Values()); n != 20_000 {
			t.Fatalf("%d records arrived of 20000", n)
		}
	}
}
