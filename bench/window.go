package main

import (
	"time"
)

// Records of one run. Fewer would leave no time for checkpoints by the clock,
// more would make five rounds too long.
const (
	windowRecords = 48_000_000
	smallRecords  = 40_000_000
	zipfRecords   = 32_000_000
)

// scaled shortens runs for tests of the harness itself; 1 is the real thing.
var scale = 1

func scaled(n int) int { return n / scale }

// counting runs countJob as a contestant.
func counting(n int, toClick func(event) click, parallelism int, every time.Duration) func() (int, uint64, error) {
	return func() (int, uint64, error) {
		out := newCount()
		if err := execute(countJob(n, toClick, out), parallelism, every); err != nil {
			return 0, 0, err
		}
		_, sum := out.total()
		return n, sum, nil
	}
}

// windowContest is the heart of it: one million keys, one core.
func windowContest() *contest {
	n := scaled(windowRecords)
	c := newCounter(manyKeys)
	counts := make(map[int64]int64, manyKeys)
	return &contest{
		name: "E2EWindow",
		contestants: []contestant{
			{name: "loop", run: func() (int, uint64, error) { return floorWindow(n, manyKeys, c) }},
			{name: "job", run: counting(n, clickOfMany, 1, 0)},
			{name: "job with checkpoints", run: counting(n, clickOfMany, 1, time.Second)},
			{name: "map loop", run: func() (int, uint64, error) { return floorWindowMap(n, manyKeys, counts) }},
			{name: "job on two cores", procs: 2, run: counting(n, clickOfMany, 2, 0)},
		},
		rows: func(m measured) []row {
			two := compare("E2EWindow2Cores, wall", m.wall("job on two cores"), "loop", m.wall("loop"), 1.2)
			two.Ratio = over(m.wall("loop"), m.wall("job on two cores"))
			two.AtLeast = true
			return []row{
				{Name: "FloorWindowUniform, open addressing", Value: m.cpu("loop")},
				{Name: "FloorWindowUniform, Go map", Value: m.cpu("map loop"), Rival: "loop", Ratio: over(m.cpu("map loop"), m.cpu("loop"))},
				versus(m, "E2EWindow1Core", "job", "loop", 1.5),
				versus(m, "E2EWindow1Core to map", "job", "map loop", 0.9),
				versus(m, rowFloor, "job with checkpoints", "loop", 1.6),
				versus(m, rowMap, "job with checkpoints", "map loop", 0.9),
				versus(m, rowCost, "job with checkpoints", "job", 1.1),
				two,
			}
		},
	}
}

// Names of the rows that the last line quotes.
const (
	rowFloor = "E2EWindow1CoreCheckpoint1s"
	rowMap   = "E2EWindow1CoreCheckpoint1s to map"
	rowCost  = "E2EWindow1CoreCheckpoint1s to without"
)

func smallContest() *contest {
	n := scaled(smallRecords)
	c := newCounter(fewKeys)
	counts := make(map[int64]int64, fewKeys)
	return &contest{
		name: "E2ESmallState",
		contestants: []contestant{
			{name: "loop", run: func() (int, uint64, error) { return floorWindow(n, fewKeys, c) }},
			{name: "job", run: counting(n, clickOfFew, 1, 0)},
			{name: "map loop", run: func() (int, uint64, error) { return floorWindowMap(n, fewKeys, counts) }},
		},
		rows: func(m measured) []row {
			rate := m.cpu("job")
			return []row{
				versus(m, "E2ESmallState", "job", "loop", 3),
				versus(m, "E2ESmallState to map", "job", "map loop", 0),
				{Name: "E2ESmallState, M records/s and core", Unit: "M/s", Value: spread{1e3 / rate.Median, 1e3 / rate.Least}},
			}
		},
	}
}

func zipfContest() *contest {
	n := scaled(zipfRecords)
	c := newCounter(manyKeys)
	counts := make(map[int64]int64, manyKeys)
	return &contest{
		name: "E2EZipf",
		contestants: []contestant{
			{name: "loop", run: func() (int, uint64, error) { return floorZipf(n, c) }},
			{name: "job", run: counting(n, clickOfZipf, 1, 0)},
			{name: "map loop", run: func() (int, uint64, error) { return floorZipfMap(n, counts) }},
			{name: "job on two cores", procs: 2, run: counting(n, clickOfZipf, 2, 0)},
		},
		rows: func(m measured) []row {
			two := compare("E2EZipf2Cores, wall", m.wall("job on two cores"), "map loop", m.wall("map loop"), 1)
			two.Ratio = over(m.wall("map loop"), m.wall("job on two cores"))
			two.AtLeast = true
			return []row{
				{Name: "FloorWindowZipf, Go map", Value: m.cpu("map loop"), Rival: "loop", Ratio: over(m.cpu("map loop"), m.cpu("loop"))},
				versus(m, "E2EZipf1Core", "job", "loop", 4),
				two,
			}
		},
	}
}
