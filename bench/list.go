package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// benchmark makes some rows of the table.
type benchmark struct {
	name string
	rows func(rounds int, progress func(string)) ([]row, error)
}

// of makes a benchmark of a contest, which is built only when it is run: its
// tables and draws take memory.
func of(name string, build func() *contest) benchmark {
	return benchmark{name, func(rounds int, progress func(string)) ([]row, error) {
		c := build()
		m, err := c.take(rounds, progress)
		if err != nil {
			return nil, err
		}
		return c.rows(m), nil
	}}
}

// contests lists the benchmarks in the order of the table.
func contests(all bool) []benchmark {
	list := []benchmark{
		of("E2EWindow", windowContest),
		of("E2ESmallState", smallContest),
		of("E2EZipf", zipfContest),
		of("E2EStrings", stringContest),
		of("Chain5", chainContest),
		{"ChainAllocs", chainAllocs},
		of("StateUpdate1MUniform", func() *contest { return stateContest("1M", 1_000_000, false) }),
		of("StateUpdate1MZipf", func() *contest { return stateContest("1M", 1_000_000, true) }),
		of("SnapshotPause1M", func() *contest { return pauseContest("1M", 1_000_000, 0.1) }),
		{"E2ELatency50", latency},
	}
	if !all {
		return list
	}
	return append(list,
		of("StateUpdate100KUniform", func() *contest { return stateContest("100K", 100_000, false) }),
		of("StateUpdate100KZipf", func() *contest { return stateContest("100K", 100_000, true) }),
		of("StateUpdate10MUniform", func() *contest { return stateContest("10M", 10_000_000, false) }),
		of("StateUpdate10MZipf", func() *contest { return stateContest("10M", 10_000_000, true) }),
		of("StateUpdateString", stateStringContest),
		of("SnapshotPause10M", func() *contest { return pauseContest("10M", 10_000_000, 0.5) }),
		of("SnapshotLoss1M", func() *contest { return lossContest("1M", 1_000_000) }),
		of("SnapshotLoss10M", func() *contest { return lossContest("10M", 10_000_000) }),
		of("SnapshotRate", rateContest),
		of("Restore1M", func() *contest { return restoreContest("1M", 1_000_000) }),
		of("Restore10M", func() *contest { return restoreContest("10M", 10_000_000) }),
		of("TumblingPane", tumblingContest),
		of("Sliding60", slidingContest),
		of("TimerWheel", timerContest),
		of("Scatter2", func() *contest { return scatterContest(2) }),
		of("Scatter4", func() *contest { return scatterContest(4) }),
		of("Scatter16", func() *contest { return scatterContest(16) }),
		of("Shuffle2x2", func() *contest { return shuffleContest(2) }),
		of("Shuffle4x4", func() *contest { return shuffleContest(4) }),
		of("BarrierOnly", barrierContest),
		benchmark{"ExchangeLatency", exchangeLatency},
		of("CodecSmallEncode", func() *contest { return codecContest("Small", false, smalls()) }),
		of("CodecSmallDecode", func() *contest { return codecContest("Small", true, smalls()) }),
		of("CodecBidEncode", func() *contest { return codecContest("Bid", false, bids()) }),
		of("CodecBidDecode", func() *contest { return codecContest("Bid", true, bids()) }),
		of("GCShare1M", func() *contest { return garbageContest("1M", 1_000_000) }),
		of("GCShare10M", func() *contest { return garbageContest("10M", 10_000_000) }),
		benchmark{"IdleCPU", idleCPU},
		benchmark{"TCPExchange", func(int, func(string)) ([]row, error) {
			return []row{{Name: "TCPExchange", Skipped: "not measured: tasks do not talk over TCP before there is a cluster"}}, nil
		}},
	)
}

// keeper keeps the rows of finished benchmarks in files, so that a long run can
// be interrupted and go on. With an empty dir it keeps nothing.
type keeper struct{ dir string }

func (k keeper) rows(name string, measure func() ([]row, error)) ([]row, error) {
	if k.dir == "" {
		return measure()
	}
	file := filepath.Join(k.dir, name+".json")
	data, err := os.ReadFile(file)
	if err == nil {
		var rows []row
		if err := json.Unmarshal(data, &rows); err != nil {
			return nil, fmt.Errorf("%s: %w; delete it to measure %s again", file, err, name)
		}
		return rows, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	rows, err := measure()
	if err != nil {
		return nil, err
	}
	if data, err = json.MarshalIndent(rows, "", "\t"); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(k.dir, 0o755); err != nil {
		return nil, err
	}
	// Written aside and renamed: a half-written file would count as finished.
	if err := os.WriteFile(file+".tmp", data, 0o644); err != nil {
		return nil, err
	}
	return rows, os.Rename(file+".tmp", file)
}
