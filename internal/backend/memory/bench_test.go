//go:build linux

package memory

import (
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cutwater-io/cutwater/internal/segment"
)

// The benchmarks of doc/design/hotpath, "Benchmarks the project must have".
// Rivals run in the same process, interleaved; the medians of the rounds are
// compared, since machines are shared.

const batchSize = 512

// flatTable is the rival: one open-addressing array that never grows.
type flatTable struct {
	slots []slot[uint64, uint64]
	mask  uint64
	zero  uint64
}

func newFlatTable(n int) *flatTable {
	size := 1
	for size*65/100 < n {
		size *= 2
	}
	return &flatTable{slots: make([]slot[uint64, uint64], size), mask: uint64(size - 1)}
}

func (f *flatTable) at(k, h uint64) *uint64 {
	if k == 0 {
		return &f.zero
	}
	for i := h & f.mask; ; i = (i + 1) & f.mask {
		s := &f.slots[i]
		if s.k == k {
			return &s.v
		}
		if s.k == 0 {
			s.k = k
			return &s.v
		}
	}
}

// rival is one of the things compared in a round.
type rival struct {
	name string
	run  func() // a fixed number of records
}

// cpuTime is the processor time of this thread in nanoseconds.
func cpuTime() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		panic(err)
	}
	return ts.Nano()
}

// compare runs the rivals in turns and reports ns per record of the first and
// its ratio to the others.
func compare(b *testing.B, records int, rivals ...rival) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	times := make([][]float64, len(rivals))
	for range max(b.N, 5) {
		for i, r := range rivals {
			start := cpuTime()
			r.run()
			times[i] = append(times[i], float64(cpuTime()-start)/float64(records))
		}
	}
	for i, r := range rivals {
		slices.Sort(times[i])
		median := times[i][len(times[i])/2]
		b.ReportMetric(median, r.name+"-ns/rec")
		if i > 0 {
			b.ReportMetric(times[0][len(times[0])/2]/median, "of-"+r.name)
			b.ReportMetric(times[0][0]/times[i][0], "least-of-"+r.name)
		}
	}
	b.ReportMetric(0, "ns/op")
}

func keyStream(n, keys int, zipf bool) []uint64 {
	r := rand.New(rand.NewPCG(1, 2))
	z := rand.NewZipf(r, 1.1, 1, uint64(keys-1))
	out := make([]uint64, n)
	for i := range out {
		if zipf {
			out[i] = z.Uint64() + 1
		} else {
			out[i] = r.Uint64N(uint64(keys)) + 1
		}
	}
	return out
}

func BenchmarkStateUpdate(b *testing.B) {
	for _, keys := range []int{1000, 100_000, 1_000_000, 10_000_000} {
		for _, zipf := range []bool{false, true} {
			name := fmt.Sprintf("%dK", keys/1000)
			if zipf {
				name += "Zipf"
			} else {
				name += "Uniform"
			}
			b.Run(name, func(b *testing.B) { benchUpdate(b, keys, zipf) })
		}
	}
}

func benchUpdate(b *testing.B, keys int, zipf bool) {
	a := NewArena()
	defer a.Close()
	tab := newTable(b, a, uintConfig())
	defer tab.Close()
	flat := newFlatTable(keys)
	m := make(map[uint64]uint64, keys)
	for k := uint64(1); k <= uint64(keys); k++ {
		tab.Upsert(&k, mix(k))
		*flat.at(k, mix(k))++
		m[k] = 1
	}
	stream := keyStream(1<<20, keys, zipf)
	hashes := make([]uint64, len(stream))
	for i, k := range stream {
		hashes[i] = mix(k)
	}
	dst := make([]*uint64, batchSize)
	b.ResetTimer()
	compare(b, len(stream),
		rival{"table", func() {
			for i := 0; i < len(stream); i += batchSize {
				tab.Resolve(stream[i:i+batchSize], hashes[i:i+batchSize], dst)
				for _, v := range dst {
					*v++
				}
			}
		}},
		rival{"flat", func() {
			for i, k := range stream {
				*flat.at(k, hashes[i])++
			}
		}},
		rival{"map", func() {
			for _, k := range stream {
				m[k]++
			}
		}})
}

func BenchmarkStateUpdateString(b *testing.B) {
	for _, keys := range []int{1000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("%dK", keys/1000), func(b *testing.B) { benchUpdateString(b, keys) })
	}
}

func benchUpdateString(b *testing.B, keys int) {
	a := NewArena()
	defer a.Close()
	cfg := stringKind().cfg
	cfg.MaxParallelism = 128
	tab := newTable(b, a, cfg)
	defer tab.Close()
	m := make(map[string]uint64, keys)
	// Every record brings its own string, as from a decoder.
	text := func(k uint64) string { return fmt.Sprintf("k%011d", k) }
	for k := uint64(1); k <= uint64(keys); k++ {
		s := text(k)
		tab.Upsert(&s, hashString(&s))
		m[s] = 1
	}
	nums := keyStream(1<<19, keys, false)
	stream, hashes := make([]string, len(nums)), make([]uint64, len(nums))
	for i, n := range nums {
		stream[i] = text(n)
		hashes[i] = hashString(&stream[i])
	}
	dst := make([]*uint64, batchSize)
	b.ResetTimer()
	compare(b, len(stream),
		rival{"table", func() {
			for i := 0; i < len(stream); i += batchSize {
				tab.Resolve(stream[i:i+batchSize], hashes[i:i+batchSize], dst)
				for _, v := range dst {
					*v++
				}
			}
		}},
		rival{"map", func() {
			for _, k := range stream {
				m[k]++
			}
		}})
}

func filledTable(b *testing.B, a *Arena, keys int) *Table[uint64, uint64] {
	tab := newTable(b, a, uintConfig())
	for k := uint64(1); k <= uint64(keys); k++ {
		tab.Upsert(&k, mix(k))
	}
	return tab
}

// BenchmarkSnapshotPause is the synchronous part, against stop-and-copy.
func BenchmarkSnapshotPause(b *testing.B) {
	for _, keys := range []int{1_000_000, 10_000_000} {
		b.Run(fmt.Sprintf("%dM", keys/1_000_000), func(b *testing.B) {
			a := NewArena()
			defer a.Close()
			tab := filledTable(b, a, keys)
			defer tab.Close()
			flat := newFlatTable(keys)
			copied := make([]slot[uint64, uint64], len(flat.slots))
			b.ResetTimer()
			compare(b, 1,
				rival{"table", func() { tab.Snapshot(countID).Release() }},
				rival{"copy", func() { copy(copied, flat.slots) }})
		})
	}
}

// BenchmarkSnapshotRate is the asynchronous part, against packing a flat table.
func BenchmarkSnapshotRate(b *testing.B) {
	const keys = 1_000_000
	a := NewArena()
	defer a.Close()
	tab := filledTable(b, a, keys)
	defer tab.Close()
	flat := newFlatTable(keys)
	for k := uint64(1); k <= keys; k++ {
		*flat.at(k, mix(k))++
	}
	packed := make([]slot[uint64, uint64], 0, keys)
	b.ResetTimer()
	compare(b, keys,
		rival{"table", func() {
			s := tab.Snapshot(countID)
			w := segment.NewWriter(io.Discard)
			if err := w.WriteState(s); err != nil {
				b.Fatal(err)
			}
			s.Release()
		}},
		rival{"pack", func() {
			packed = packed[:0]
			for i := range flat.slots {
				if s := &flat.slots[i]; s.k != 0 {
					packed = append(packed, *s)
				}
			}
		}})
}

// BenchmarkRestore loads a snapshot, against inserting the same keys at random.
func BenchmarkRestore(b *testing.B) {
	for _, keys := range []int{1_000_000, 10_000_000} {
		b.Run(fmt.Sprintf("%dM", keys/1_000_000), func(b *testing.B) { benchRestore(b, keys) })
	}
}

func benchRestore(b *testing.B, keys int) {
	a := NewArena()
	defer a.Close()
	tab := filledTable(b, a, keys)
	r := writeSegment(b, tab.Snapshot(countID))
	tab.Close()
	b.ResetTimer()
	compare(b, keys,
		rival{"restore", func() {
			t := newTable(b, a, uintConfig())
			if err := t.Restore(r, countID); err != nil {
				b.Fatal(err)
			}
			t.Close()
		}},
		rival{"insert", func() { filledTable(b, a, keys).Close() }})
}

// BenchmarkSnapshotLoss is what a snapshot costs the task when every page is
// written while it is alive, against stop-and-copy.
func BenchmarkSnapshotLoss(b *testing.B) {
	for _, keys := range []int{1_000_000, 10_000_000} {
		b.Run(fmt.Sprintf("%dM", keys/1_000_000), func(b *testing.B) { benchLoss(b, keys) })
	}
}

func benchLoss(b *testing.B, keys int) {
	a := NewArena()
	defer a.Close()
	tab := filledTable(b, a, keys)
	defer tab.Close()
	flat := newFlatTable(keys)
	copied := make([]slot[uint64, uint64], len(flat.slots))
	b.ResetTimer()
	compare(b, keys,
		rival{"table", func() {
			s := tab.Snapshot(countID)
			for i := 0; i < len(tab.dir); i += 1 << (tab.depth() - tab.dir[i].depth) {
				tab.own(uint64(i))
			}
			s.Release()
		}},
		rival{"copy", func() { copy(copied, flat.slots) }})
}

// BenchmarkSnapshotLongestStep is the longest that a snapshot keeps the task from
// its next record: taking it, a batch that copies pages, or Release, in processor time of the task's thread. The first snapshot of a
// table makes the arena grow and is a round of its own.
func BenchmarkSnapshotLongestStep(b *testing.B) {
	for _, keys := range []int{1_000_000, 10_000_000} {
		b.Run(fmt.Sprintf("%dM", keys/1_000_000), func(b *testing.B) { benchLongestStep(b, keys) })
	}
}

func benchLongestStep(b *testing.B, keys int) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	a := NewArena()
	defer a.Close()
	tab := filledTable(b, a, keys)
	defer tab.Close()
	stream := keyStream(1<<20, keys, false)
	hashes := make([]uint64, len(stream))
	for i, k := range stream {
		hashes[i] = mix(k)
	}
	dst := make([]*uint64, batchSize)
	var take, batch, release []float64 // the longest of each round, in ms
	timed := func(longest *float64, f func()) {
		start := cpuTime()
		f()
		*longest = max(*longest, float64(cpuTime()-start)/1e6)
	}
	b.ResetTimer()
	for range max(b.N, 5) {
		var t, w, r float64
		var s segment.Source
		timed(&t, func() { s = tab.Snapshot(countID) })
		for i := 0; i < len(stream); i += batchSize {
			timed(&w, func() { tab.Resolve(stream[i:i+batchSize], hashes[i:i+batchSize], dst) })
		}
		timed(&r, s.Release)
		take, batch, release = append(take, t), append(batch, w), append(release, r)
	}
	for _, step := range []struct {
		name string
		ms   []float64
	}{{"take", take}, {"batch", batch}, {"release", release}} {
		first := step.ms[0]
		slices.Sort(step.ms)
		b.ReportMetric(first, step.name+"-first-ms")
		b.ReportMetric(step.ms[0], step.name+"-least-ms")
		b.ReportMetric(step.ms[len(step.ms)/2], step.name+"-ms")
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkPaneFill is the life of a window pane: every key is new, then the
// pages go back. The rival is a flat table that has the right size and is
// cleared.
func BenchmarkPaneFill(b *testing.B) {
	for _, keys := range []int{10_000, 1_000_000} {
		b.Run(fmt.Sprintf("%dK", keys/1000), func(b *testing.B) { benchPane(b, keys) })
	}
}

func benchPane(b *testing.B, keys int) {
	a := NewArena()
	defer a.Close()
	stream := make([]uint64, keys/batchSize*batchSize)
	hashes := make([]uint64, len(stream))
	for i := range stream {
		stream[i] = uint64(i) + 1
		hashes[i] = mix(stream[i])
	}
	dst := make([]*uint64, batchSize)
	flat := newFlatTable(keys)
	b.ResetTimer()
	compare(b, len(stream),
		rival{"table", func() {
			cfg := uintConfig()
			cfg.SizeHint = keys
			tab := newTable(b, a, cfg)
			for i := 0; i < len(stream); i += batchSize {
				tab.Resolve(stream[i:i+batchSize], hashes[i:i+batchSize], dst)
				for _, v := range dst {
					*v++
				}
			}
			tab.Close()
		}},
		rival{"flat", func() {
			clear(flat.slots)
			for i, k := range stream {
				*flat.at(k, hashes[i])++
			}
		}},
		rival{"map", func() {
			m := make(map[uint64]uint64, keys)
			for _, k := range stream {
				m[k]++
			}
		}})
}
