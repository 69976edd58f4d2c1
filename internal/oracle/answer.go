package oracle

import (
	"fmt"

	"github.com/cutwater-io/cutwater/connector/nexmark"
)

// Cell names one result: an auction and the start of a tumbling window in
// milliseconds since 1970.
type Cell struct {
	Auction           int64
	WindowStartMillis int64
}

// BidsPerAuction counts the bids on each auction in each tumbling window of
// windowMillis, aligned to 1970, among the first n events of cfg.
//
// REQUIRES: cfg describes times from 1970 on.
func BidsPerAuction(cfg nexmark.Config, n uint64, windowMillis int64) (map[Cell]int64, error) {
	if windowMillis <= 0 {
		return nil, fmt.Errorf("oracle: windows of %d ms are empty; give a positive size", windowMillis)
	}
	if cfg.BaseMillis < 0 {
		return nil, fmt.Errorf("oracle: the events begin at %d ms, before 1970, where this oracle does not divide right; use a later base", cfg.BaseMillis)
	}
	g, err := nexmark.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("oracle: %w", err)
	}
	answer := make(map[Cell]int64)
	// Most bids meet the same few auctions and one window for a long time. The
	// counts of the current window stand in a map of their own with small
	// keys, twice as fast as one map of cells; a late event (events may be out
	// of order) goes straight to the answer.
	current, start := make(map[int64]int64), int64(-1)
	flush := func() {
		for auction, count := range current {
			answer[Cell{auction, start}] += count
		}
		clear(current)
	}
	for k := range n {
		auction, at, ok := g.BidKey(k)
		if !ok {
			continue
		}
		switch s := at - at%windowMillis; {
		case s == start:
			current[auction]++
		case s > start:
			flush()
			start = s
			current[auction]++
		default:
			answer[Cell{auction, s}]++
		}
	}
	flush()
	return answer, nil
}
