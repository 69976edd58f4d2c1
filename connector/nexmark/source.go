package nexmark

import (
	"slices"

	"github.com/cutwater-io/cutwater/connector/gen"
)

// Events returns a source of all events of cfg, with their event time. The events
// are dealt to the readers in turn, so together they are the same stream whatever
// the parallelism. opts are those of package gen: gen.Rate limits the source to
// the wall clock, gen.Splits prepares for a larger parallelism later.
func Events(cfg Config, opts ...gen.Option) *gen.Source[Event] {
	return gen.PerReader(cfg.Events, func() (func(uint64, *Event) int64, error) {
		g, err := New(cfg)
		if err != nil {
			return nil, err
		}
		return func(k uint64, e *Event) int64 {
			g.Event(k, e)
			return e.TimeMillis()
		}, nil
	}, checked(cfg, opts)...)
}

// Bids returns a source of the bids among the events of cfg: Config.Events and
// gen.Rate count events of all kinds, of which 46 in 50 are bids.
func Bids(cfg Config, opts ...gen.Option) *gen.Source[Bid] {
	return gen.PerReader(cfg.Events, func() (func(uint64, *Bid) int64, error) {
		g, err := New(cfg)
		if err != nil {
			return nil, err
		}
		return func(k uint64, b *Bid) int64 {
			if !g.Bid(k, b) {
				return gen.Skip
			}
			return b.DateTimeMillis
		}, nil
	}, checked(cfg, opts)...)
}

// checked makes the source report a wrong configuration before the job starts. It
// leaves the caller's slice alone.
func checked(cfg Config, opts []gen.Option) []gen.Option {
	return append(slices.Clone(opts), gen.Check(cfg.Validate()))
}
