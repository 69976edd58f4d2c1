package main

import (
	"context"
	"io"
	"log/slog"
	"math/bits"
	"math/rand/v2"
	"os"
	"time"

	"github.com/cutwater-io/cutwater/connector/gen"
	"github.com/cutwater-io/cutwater/run"
	"github.com/cutwater-io/cutwater/stream"
	"github.com/cutwater-io/cutwater/window"
)

// event is what the generator makes: 24 bytes.
type event struct {
	Session uint64
	At      int64 // milliseconds since 1970
	Amount  int64
}

// click is what the map makes of it.
type click struct {
	User int64
	At   int64
}

const (
	firstMillis  = 1_700_000_000_000
	perMilli     = 2_000 // records to a millisecond of event time
	windowMillis = 1_000
	manyKeys     = 1_000_000
	fewKeys      = 1_000
)

// makeEvent is record i: a pure function of its number.
func makeEvent(i uint64, e *event) {
	e.Session = scramble(i)
	e.At = firstMillis + int64(i/perMilli)
	e.Amount = int64(i)
}

// scramble spreads numbers evenly over 64 bits (the finalizer of SplitMix64).
func scramble(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// The maps draw the user from the session: evenly from a million or a thousand.
func clickOfMany(e event) click { return click{User: below(e.Session, manyKeys), At: e.At} }
func clickOfFew(e event) click  { return click{User: below(e.Session, fewKeys), At: e.At} }

// clickOfZipf draws it from zipfDraws, in turn: a user of rank r is r^1.1 times
// rarer than the first.
func clickOfZipf(e event) click {
	return click{User: int64(zipfDraws[e.Amount&(draws-1)]), At: e.At}
}

// draws is how many keys are drawn beforehand where drawing is not the point. The
// array is read in order, so that reading it costs next to nothing.
const draws = 1 << 20

var zipfDraws = func() *[draws]uint32 {
	z := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 1, manyKeys-1)
	d := new([draws]uint32)
	for i := range d {
		d[i] = uint32(scramble(z.Uint64()) >> 40 * manyKeys >> 24)
	}
	return d
}()

func below(x, n uint64) int64 {
	hi, _ := bits.Mul64(x, n)
	return int64(hi)
}

func eventTime(e *event) int64 { return e.At }
func userOf(c click) int64     { return c.User }

// watermarks of all windowed jobs; see the package comment for the interval.
func watermarks() stream.Watermarks { return stream.Ascending().Every(20 * time.Millisecond) }

// countJob counts clicks per user and second.
func countJob(n int, toClick func(event) click, out *tally[window.Result[int64, int64]]) *stream.Pipeline {
	p := stream.New("bench-window")
	p.From(gen.Into(uint64(n), makeEvent), stream.Name("events")).
		EventTimeMillis(eventTime, watermarks()).
		Map(toClick).
		KeyBy(userOf).
		Window(window.Tumbling(windowMillis*time.Millisecond)).
		Count(stream.Name("clicks")).
		To(out, stream.Name("tally"))
	return p
}

// countJobFrom is countJob with the default watermarks and any source.
func countJobFrom(src *gen.Source[event], out *tally[window.Result[int64, int64]]) *stream.Pipeline {
	p := stream.New("bench-window")
	p.From(src, stream.Name("events")).
		EventTimeMillis(eventTime, stream.Ascending()).
		Map(clickOfMany).
		KeyBy(userOf).
		Window(window.Tumbling(windowMillis*time.Millisecond)).
		Count(stream.Name("clicks")).
		To(out, stream.Name("tally"))
	return p
}

// newCount is a tally of counts by number.
func newCount() *tally[window.Result[int64, int64]] {
	return newTally(func(r *window.Result[int64, int64]) uint64 {
		return countSum(r.Key, int64(r.Window.Start), r.Value)
	})
}

// countSum is the contribution of one result to the checksum. It does not depend
// on the order of results.
func countSum(key, start, count int64) uint64 {
	return uint64(key+1) * uint64(count) * uint64(start|1)
}

// execute runs a job to its end; every > 0 takes checkpoints to a directory.
func execute(p *stream.Pipeline, parallelism int, every time.Duration) error {
	return executeObserved(p, parallelism, every, nil)
}

func executeObserved(p *stream.Pipeline, parallelism int, every time.Duration, observe func(run.Event)) error {
	cfg := run.Config{
		Parallelism: parallelism, Checkpoints: run.Checkpoints{Interval: -1}, Ephemeral: true,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)), OnEvent: observe,
	}
	if every > 0 {
		dir, err := os.MkdirTemp(stateRoot, "bench-state-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		cfg.Ephemeral, cfg.StateDir, cfg.Checkpoints.Interval = false, dir, every
	}
	return run.Run(context.Background(), p, cfg)
}

// stateRoot is where the directories of checkpoints are made; "" is the system's
// place for temporary files.
var stateRoot string
