package main

import (
	"fmt"
	"io"
	"time"

	"github.com/cutwater-io/cutwater/codec"
	"github.com/cutwater-io/cutwater/internal/backend/memory"
	"github.com/cutwater-io/cutwater/internal/keygroup"
	"github.com/cutwater-io/cutwater/internal/segment"
)

// Benchmarks of the state table itself: what a snapshot costs the task that goes
// on, and what writing and loading one costs. No public API shows these alone.

type table = memory.Table[int64, int64]

func newTable(a *memory.Arena) (*table, *keygroup.Hasher[int64], error) {
	h, err := keygroup.For[int64]()
	if err != nil {
		return nil, nil, err
	}
	c, err := codec.For[int64]()
	if err != nil {
		return nil, nil, err
	}
	coding := memory.CodingOf(c)
	t, err := memory.NewTable(a, memory.Config[int64, int64]{Name: "bench", Key: coding, Value: coding, Hash: h.Hash, MaxParallelism: 128})
	return t, h, err
}

func fillTable(t *table, h *keygroup.Hasher[int64], keys int) {
	for k := range int64(keys) {
		v, _ := t.Upsert(&k, h.Hash(&k))
		*v = 1
	}
}

func fillCounter(c *counter, keys int) {
	clear(c.slots)
	for k := range int64(keys) {
		c.add(k)
	}
}

var countID = segment.StateID{Name: "count"}

// pauseContest is SnapshotPause: the synchronous part against stopping to copy a
// flat table. The numbers are per snapshot.
func pauseContest(label string, keys int, targetMillis float64) *contest {
	const times = 20
	a := memory.NewArena()
	t, h, err := newTable(a)
	if err != nil {
		panic(err) // int64 is a key
	}
	fillTable(t, h, keys/scale)
	flat := newCounter(keys / scale)
	fillCounter(flat, keys/scale)
	copied := make([]countSlot, len(flat.slots))
	name := "SnapshotPause" + label
	return &contest{
		name: name,
		contestants: []contestant{
			{name: "snapshot", run: func() (int, uint64, error) {
				for range times {
					t.Snapshot(countID).Release()
				}
				return times, 0, nil
			}},
			{name: "stop and copy", run: func() (int, uint64, error) {
				for range times {
					copy(copied, flat.slots)
				}
				return times, 0, nil
			}},
		},
		rows: func(m measured) []row {
			ms := m.cpu("snapshot")
			ms = spread{ms.Median / 1e6, ms.Least / 1e6}
			stop := versus(m, name+" to stop and copy", "snapshot", "stop and copy", 0.05)
			stop.Of, stop.Unit = "table", "ns/snapshot"
			return []row{{Name: name, Of: "table", Unit: "ms", Value: ms, Target: targetMillis, OfValue: true}, stop}
		},
	}
}

// rateContest is SnapshotRate: writing a snapshot to nowhere against packing a
// flat table.
func rateContest() *contest {
	const keys = 1_000_000
	n := keys / scale
	a := memory.NewArena()
	t, h, err := newTable(a)
	if err != nil {
		panic(err)
	}
	fillTable(t, h, n)
	flat := newCounter(n)
	fillCounter(flat, n)
	packed := make([]countSlot, 0, n)
	return &contest{
		name: "SnapshotRate",
		contestants: []contestant{
			{name: "segment", run: func() (int, uint64, error) {
				s := t.Snapshot(countID)
				defer s.Release()
				w := segment.NewWriter(io.Discard)
				if err := w.WriteState(s); err != nil {
					return 0, 0, err
				}
				_, err := w.Close()
				return n, 0, err
			}},
			{name: "pack", run: func() (int, uint64, error) {
				packed = packed[:0]
				for i := range flat.slots {
					if s := &flat.slots[i]; s.count != 0 {
						packed = append(packed, *s)
					}
				}
				return n, 0, nil
			}},
		},
		rows: func(m measured) []row {
			r := versus(m, "SnapshotRate, speed against packing", "segment", "pack", 0.4)
			r.Of, r.AtLeast = "table", true
			r.Ratio = over(m.cpu("pack"), m.cpu("segment"))
			return []row{r}
		},
	}
}

// lossContest is SnapshotLoss: how much longer updating takes when a snapshot was
// taken, with every page dirty: the copies of pages. The rival stops and copies.
func lossContest(label string, keys int) *contest {
	n := keys / scale
	a := memory.NewArena()
	t, h, err := newTable(a)
	if err != nil {
		panic(err)
	}
	fillTable(t, h, n)
	flat := newCounter(n)
	fillCounter(flat, n)
	copied := make([]countSlot, len(flat.slots))
	ks := draw(n, false)
	hs := make([]uint64, len(ks))
	h.HashAll(hs, ks)
	dst := make([]*int64, 512)
	updates := max(len(ks), 2*n)
	var longest time.Duration
	update := func(watch bool) {
		for done := 0; done < updates; done += 512 {
			i := done & (len(ks) - 1)
			begin := time.Time{}
			if watch {
				begin = time.Now()
			}
			t.Resolve(ks[i:i+512], hs[i:i+512], dst)
			for _, v := range dst {
				*v++
			}
			if watch {
				longest = max(longest, time.Since(begin))
			}
		}
	}
	name := "SnapshotLoss" + label
	return &contest{
		name: name,
		contestants: []contestant{
			{name: "update", run: func() (int, uint64, error) { update(true); return 1, 0, nil }},
			{name: "update after snapshot", run: func() (int, uint64, error) {
				s := t.Snapshot(countID)
				defer s.Release()
				update(true)
				return 1, 0, nil
			}},
			{name: "stop and copy", run: func() (int, uint64, error) { copy(copied, flat.slots); return 1, 0, nil }},
		},
		rows: func(m measured) []row {
			loss := m.cpu("update after snapshot").Median - m.cpu("update").Median
			least := m.cpu("update after snapshot").Least - m.cpu("update").Least
			stop := m.cpu("stop and copy")
			return []row{
				{Name: name, Of: "table", Unit: "ms", Value: spread{loss / 1e6, least / 1e6}, Rival: fmt.Sprintf("stop and copy %.1f ms", stop.Median/1e6),
					Ratio: spread{loss / stop.Median, least / stop.Least}, Target: 3},
				{Name: name + ", longest step of 512 records, wall", Of: "table", Unit: "ms",
					Value: spread{float64(longest) / 1e6, float64(longest) / 1e6}, Target: 1, OfValue: true},
			}
		},
	}
}
