package nexmark

import (
	"fmt"
	"math"
)

// Config describes a stream of events. The zero value is the standard stream.
type Config struct {
	// Seed chooses the stream. Zero means 1.
	Seed uint64
	// EventsPerSecond is the rate in event time. Zero means 10,000.
	EventsPerSecond float64
	// BaseMillis is the time of event 0. Zero means 2015-07-15 00:00 UTC.
	BaseMillis int64
	// OutOfOrderGroup is the number of consecutive events that are emitted in
	// shuffled order; the shuffle is fixed. Zero means 1: in order. It must not
	// be a multiple of 953, the step of the shuffle.
	OutOfOrderGroup uint64
	// NoPadding leaves the Extra fields empty; all other fields stay the same.
	NoPadding bool
	// Events ends the stream after so many events of all kinds. Zero is
	// endless. Only [Events] and [Bids] look at it.
	Events uint64
}

// The numbers of the published benchmark.
const (
	people, auctions, bids = 1, 3, 46
	epoch                  = people + auctions + bids // kinds repeat after so many events
	firstID                = 1000                     // of people and of auctions
	firstCategory          = 10
	categories             = 5
	lead                   = 10   // ids so far ahead of the newest may be used
	activePeople           = 1000 // only the newest so many act
	inFlight               = 100  // auctions that a bid which is not hot reaches back
	hotSeller              = 4    // a seller is hot with probability 1 - 1/hotSeller
	hotAuction             = 2
	hotBidder              = 4
	hotChannel             = 2
	hotBatch               = 100 // one of so many consecutive ids is hot
	channels               = 10_000
	ahead                  = inFlight * epoch / auctions // events in which inFlight auctions open
	shuffleStep            = 953

	personBytes, auctionBytes, bidBytes = 200, 500, 100 // nominal sizes that padding fills up to
)

// maxEvents keeps event numbers where floats and the streams of channel URLs are
// exact and apart.
const maxEvents = 1 << 53

func (c Config) withDefaults() Config {
	if c.Seed == 0 {
		c.Seed = 1
	}
	if c.EventsPerSecond == 0 {
		c.EventsPerSecond = 10_000
	}
	if c.BaseMillis == 0 {
		c.BaseMillis = 1_436_918_400_000
	}
	if c.OutOfOrderGroup == 0 {
		c.OutOfOrderGroup = 1
	}
	return c
}

// Validate returns what is wrong with the configuration in one sentence, or nil.
func (c Config) Validate() error {
	c = c.withDefaults()
	switch {
	case !(c.EventsPerSecond >= 1e-3) || math.IsInf(c.EventsPerSecond, 1):
		return fmt.Errorf("nexmark: EventsPerSecond is %v; give a number of at least 0.001, or 0 for 10,000", c.EventsPerSecond)
	case c.OutOfOrderGroup > 1 && c.OutOfOrderGroup%shuffleStep == 0:
		return fmt.Errorf("nexmark: OutOfOrderGroup is %d, a multiple of %d, with which events would repeat; choose another size", c.OutOfOrderGroup, shuffleStep)
	case c.OutOfOrderGroup > 1<<32:
		return fmt.Errorf("nexmark: OutOfOrderGroup is %d; give at most 2^32", c.OutOfOrderGroup)
	case c.Events > maxEvents:
		return fmt.Errorf("nexmark: %d events are too many; give at most 2^53, or 0 for an endless stream", c.Events)
	case float64(c.Events)*1e6/c.EventsPerSecond > 1<<62: // the microseconds of the last event
		return fmt.Errorf("nexmark: %d events at %v a second reach the end of time; give fewer or more a second", c.Events, c.EventsPerSecond)
	}
	return nil
}
