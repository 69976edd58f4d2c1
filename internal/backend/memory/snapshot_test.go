package memory

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/cutwater-io/cutwater/internal/blob"
	"github.com/cutwater-io/cutwater/internal/segment"
)

// mutator changes the table at every step of the writer: the finest interleaving
// of task and asynchronous part that there is.
type mutator struct {
	segment.GroupWriter
	change func()
}

func (m mutator) Begin(g uint16) error {
	m.change()
	return m.GroupWriter.Begin(g)
}

func (m mutator) Write(p []byte) (int, error) {
	m.change()
	return m.GroupWriter.Write(p)
}

// mutatedSource is a snapshot whose table changes while it is written.
type mutatedSource struct {
	segment.Source
	change func()
}

func (s mutatedSource) WriteGroups(w segment.GroupWriter) error {
	defer s.change()
	return s.Source.WriteGroups(mutator{w, s.change})
}

func TestS268ASnapshotHoldsTheBarrierMomentHoweverStateIsMutatedMeanwhile(t *testing.T) {
	testS268(t, uintKind("uint", uintConfig()))
	testS268(t, uintKind("odd range", subrange(33, 67, 101)))
	testS268(t, paddedKind())
	testS268(t, stringKind())
	testS268(t, cartKind())
	testS268(t, largeKind())
	testS268(t, degenerate("constant hash", func(*uint64) uint64 { return 1 << 63 }))
}

// content copies a table into text, which shares nothing with it.
func contents[K comparable, V any](k kind[K, V], tab *Table[K, V]) map[K]string {
	m := map[K]string{}
	for key, v := range tab.All() {
		m[*key] = k.text(v)
	}
	return m
}

func restored[K comparable, V any](t *testing.T, k kind[K, V], r *segment.Reader) map[K]string {
	t.Helper()
	a := NewArena()
	defer a.Close()
	tab := newTable(t, a, k.cfg)
	defer tab.Close()
	if err := tab.Restore(r, countID); err != nil {
		t.Fatal(err)
	}
	return contents(k, tab)
}

func testS268[K comparable, V any](t *testing.T, k kind[K, V]) {
	t.Run(k.name, func(t *testing.T) {
		a := NewArena()
		defer a.Close()
		tab := newTable(t, a, k.cfg)
		defer tab.Close()
		const keys = 2000
		update := func(n uint64) {
			key := k.key(mix(n) % keys)
			v, _ := tab.Upsert(&key, k.cfg.Hash(&key))
			k.add(v, n)
		}
		for n := range uint64(3 * keys) {
			update(n)
		}
		want := contents(k, tab)
		n := uint64(0)
		change := func() {
			for range 40 {
				n++
				if n%5 == 0 {
					key := k.key(mix(n) % keys)
					tab.Delete(&key, k.cfg.Hash(&key))
				} else {
					update(n)
				}
			}
			for range 5 { // and keys that are new
				n++
				key := k.key(keys + mix(n)%keys)
				tab.Upsert(&key, k.cfg.Hash(&key))
			}
		}
		change0 := contents(k, tab)
		r := writeSegment(t, mutatedSource{tab.Snapshot(countID), change})
		if got := restored(t, k, r); !maps.Equal(got, want) {
			t.Fatalf("%d entries restored are not the %d of the barrier", len(got), len(want))
		}
		if maps.Equal(contents(k, tab), change0) {
			t.Fatal("nothing was mutated: the test proves nothing")
		}
	})
}

// Under the race detector this also proves that the writer and the task never
// touch the same memory: pages are on the Go heap, which the detector sees.
func TestS268TheTaskMutatesWhileAnotherGoroutineWrites(t *testing.T) {
	testConcurrent(t, uintKind("uint on heap", onHeap(uintConfig())))
	testConcurrent(t, uintKind("uint", uintConfig()))
	testConcurrent(t, stringKind())
	testConcurrent(t, cartKind())
}

func testConcurrent[K comparable, V any](t *testing.T, k kind[K, V]) {
	t.Run(k.name, func(t *testing.T) {
		a := NewArena()
		defer a.Close()
		tab := newTable(t, a, k.cfg)
		const keys, rounds, perRound = 3000, 8, 4000
		n := uint64(0)
		batch := func() {
			ks, hs, dst := make([]K, 256), make([]uint64, 256), make([]*V, 256)
			for i := range ks {
				n++
				ks[i] = k.key(mix(n) % keys)
				hs[i] = k.cfg.Hash(&ks[i])
			}
			tab.Resolve(ks, hs, dst)
			for _, v := range dst {
				k.add(v, n)
			}
		}
		type result struct {
			want map[K]string
			r    *segment.Reader
			err  error
		}
		results := make([]result, rounds)
		var wg sync.WaitGroup
		for i := range rounds {
			for range perRound / 256 {
				batch()
			}
			res := &results[i]
			res.want = contents(k, tab)
			src := tab.Snapshot(countID)
			wg.Go(func() { // ends when the segment is written
				defer src.Release()
				var buf bytes.Buffer
				w := segment.NewWriter(&buf)
				if res.err = w.WriteState(src); res.err != nil {
					return
				}
				size, err := w.Close()
				if err == nil {
					res.r, err = segment.NewReader(bytes.NewReader(buf.Bytes()), size)
				}
				res.err = err
			})
		}
		for range 20 {
			batch()
		}
		tab.Close()
		wg.Wait()
		for i, res := range results {
			if res.err != nil {
				t.Fatal(res.err)
			}
			if got := restored(t, k, res.r); !maps.Equal(got, res.want) {
				t.Fatalf("snapshot %d holds %d entries that are not the %d of its moment", i, len(got), len(res.want))
			}
		}
		if a.PagesInUse() != 0 {
			t.Fatalf("%d pages leaked", a.PagesInUse())
		}
	})
}

func TestASnapshotIsRestoredByRangesOfKeyGroups(t *testing.T) {
	a := NewArena()
	defer a.Close()
	cfg := uintConfig()
	cfg.MaxParallelism = 100
	tab := newTable(t, a, cfg)
	const keys = 20_000
	for k := uint64(0); k < keys; k++ {
		v, _ := tab.Upsert(&k, mix(k))
		*v = k * 3
	}
	r := writeSegment(t, tab.Snapshot(countID))
	seen := map[uint64]int{}
	for first := 0; first < 100; first += 37 {
		cfg.FirstGroup, cfg.EndGroup = first, min(first+37, 100)
		part := newTable(t, a, cfg)
		if err := part.Restore(r, countID); err != nil {
			t.Fatal(err)
		}
		for k, v := range part.All() {
			seen[*k]++
			if *v != *k*3 {
				t.Fatalf("key %d has value %d", *k, *v)
			}
			if g := int(part.group(mix(*k))); g < cfg.FirstGroup || g >= cfg.EndGroup {
				t.Fatalf("key %d of group %d in [%d, %d)", *k, g, cfg.FirstGroup, cfg.EndGroup)
			}
		}
	}
	for k := uint64(0); k < keys; k++ {
		if seen[k] != 1 {
			t.Fatalf("key %d is in %d parts", k, seen[k])
		}
	}
	if len(seen) != keys {
		t.Fatalf("%d keys restored", len(seen))
	}
}

func TestGroupsOfHashRangesPartitionAllHashes(t *testing.T) {
	for _, m := range []int{1, 2, 3, 100, 127, 128, 32768, 65535, 65536} {
		next := uint64(0)
		for g := 0; g < m; g += max(1, m/50) {
			end := min(g+max(1, m/50), m)
			lo, hi := hashRange(g, end, m)
			if lo != next {
				t.Fatalf("m=%d: range of group %d begins at %#x instead of %#x", m, g, lo, next)
			}
			tab := &Table[uint64, uint64]{cfg: Config[uint64, uint64]{MaxParallelism: m}}
			if int(tab.group(lo)) != g || int(tab.group(hi)) != end-1 {
				t.Fatalf("m=%d: [%#x, %#x] has groups %d to %d", m, lo, hi, tab.group(lo), tab.group(hi))
			}
			next = hi + 1
		}
		if next != 0 {
			t.Fatalf("m=%d: hashes from %#x on belong to no group", m, next)
		}
	}
}

func TestS294S297StateOfTheSameTypeIsRestoredAndOfAnotherTypeIsRefusedBeforeAnythingIsRead(t *testing.T) {
	a := NewArena()
	defer a.Close()
	tab := newTable(t, a, uintConfig())
	k := uint64(1)
	tab.Upsert(&k, mix(k))
	r := writeSegment(t, tab.Snapshot(countID))
	same := newTable(t, a, uintConfig())
	if err := same.Restore(r, countID); err != nil || same.Get(&k, mix(k)) == nil {
		t.Errorf("state of the same type: %v, %d entries", err, same.Len())
	}
	cfg := uintConfig()
	cfg.Value.Schema = "float64"
	other := newTable(t, a, cfg)
	err := other.Restore(r, countID)
	for _, part := range []string{`"count"`, "value type", "uint64", "float64"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not name %s: %v", part, err)
		}
	}
	if other.Len() != 0 {
		t.Error("entries were loaded")
	}
}

func TestDamagedGroupsAreErrors(t *testing.T) {
	a := NewArena()
	defer a.Close()
	u := uintCoding(true)
	entry := func(k uint64) []byte { return u.Append(u.Append(nil, &k), &k) }
	key := uint64(5)
	tab := newTable(t, a, uintConfig())
	group := tab.group(mix(key))
	for _, c := range []struct {
		name    string
		group   uint16
		data    []byte
		entries int
	}{
		{"cut key", group, entry(key)[:7], 1},
		{"cut value", group, entry(key)[:15], 1},
		{"too few", group, entry(key), 2},
		{"too many", group, append(entry(key), entry(key)...), 1},
		{"twice", group, append(entry(key), entry(key)...), 2},
		{"other group", group ^ 1, entry(key), 1},
	} {
		tab := newTable(t, a, uintConfig())
		if err := tab.LoadGroup(c.group, c.data, c.entries); !errors.Is(err, blob.ErrCorrupt) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if err := tab.LoadGroup(group, entry(key), 1); err != nil || tab.Len() != 1 {
		t.Error(err)
	}
}

func FuzzLoadGroup(f *testing.F) {
	c := cartCoding()
	s := stringCoding()
	name := "a"
	v := cart{Items: map[string]uint64{"x": 1}, Log: []uint64{2, 3}, N: 4}
	f.Add(uint16(0), c.Append(s.Append(nil, &name), &v), 1)
	f.Add(uint16(1), []byte{0, 0, 0, 0}, 1<<40)
	f.Fuzz(func(t *testing.T, group uint16, data []byte, entries int) {
		a := NewArena()
		defer a.Close()
		cfg := cartKind().cfg
		cfg.MaxParallelism = 2
		tab := newTable(t, a, cfg)
		defer tab.Close()
		if err := tab.LoadGroup(group%2, data, entries); err == nil && tab.Len() != max(entries, 0) {
			t.Fatalf("%d entries loaded instead of %d", tab.Len(), entries)
		}
	})
}

func TestAHashOfAnotherSubtaskPanicsWithItsGroup(t *testing.T) {
	a := NewArena()
	defer a.Close()
	cfg := uintConfig()
	cfg.FirstGroup, cfg.EndGroup = 32, 64
	tab := newTable(t, a, cfg)
	for _, h := range []uint64{0, 1<<62 - 1, 1 << 63, ^uint64(0)} {
		func() {
			defer func() {
				if r := recover(); !strings.Contains(fmt.Sprint(r), "key group") {
					t.Errorf("hash %#x: %v", h, r)
				}
			}()
			tab.Resolve([]uint64{1}, []uint64{h}, make([]*uint64, 1))
		}()
	}
}

func TestMisuseOfATablePanicsWithTheNameOfTheState(t *testing.T) {
	a := NewArena()
	defer a.Close()
	k := uint64(1)
	closed := newTable(t, a, uintConfig())
	closed.Upsert(&k, mix(k))
	closed.Close()
	// Different keys, one hash, one encoding: a codec that leaves a field out.
	cfg := uintConfig()
	cfg.Hash = func(*uint64) uint64 { return 0 }
	cfg.Key.Append = func(b []byte, _ *uint64) []byte { return append(b, 0) }
	forgetful := newTable(t, a, cfg)
	for name, c := range map[string]struct {
		misuse func()
		want   []string
	}{
		"resolve after close": {func() { closed.Resolve([]uint64{k}, []uint64{mix(k)}, make([]*uint64, 1)) }, []string{`"count"`, "after Close"}},
		"upsert after close":  {func() { closed.Upsert(&k, mix(k)) }, []string{`"count"`, "after Close"}},
		"get after close":     {func() { closed.Get(&k, mix(k)) }, []string{`"count"`, "after Close"}},
		"delete after close":  {func() { closed.Delete(&k, mix(k)) }, []string{`"count"`, "after Close"}},
		"codec without a field": {func() {
			for n := range uint64(10_000) {
				forgetful.Upsert(&n, 0)
			}
		}, []string{`"count"`, "uint64", "same encoding"}},
	} {
		func() {
			defer func() {
				text := fmt.Sprint(recover())
				for _, w := range c.want {
					if !strings.Contains(text, w) {
						t.Errorf("%s: %q does not say %q", name, text, w)
					}
				}
			}()
			c.misuse()
			t.Errorf("%s does not panic", name)
		}()
	}
	forgetful.Close()
}
