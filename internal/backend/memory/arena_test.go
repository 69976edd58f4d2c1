package memory

import (
	"errors"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestATinyJobMapsOneMebibytePerSubtask(t *testing.T) {
	a := NewArena()
	defer a.Close()
	if a.MappedBytes() != 0 {
		t.Error("an arena without tables maps memory")
	}
	tab := newTable(t, a, uintConfig())
	if a.MappedBytes() != 0 {
		t.Error("an empty table maps memory")
	}
	for k := uint64(0); k < 1000; k++ {
		tab.Upsert(&k, mix(k))
	}
	if a.MappedBytes() > 1<<20 {
		t.Errorf("1000 keys map %d bytes", a.MappedBytes())
	}
}

func TestSlabsGrowAndAllPagesComeBack(t *testing.T) {
	a := NewArena()
	seen := map[uintptr]bool{}
	var pages []uintptr
	for range 20_000 { // 80 MB: slabs of all sizes
		p := a.take()
		if seen[p] || p%headerSize != 0 {
			t.Fatalf("page %#x is handed out twice or not aligned to a cache line", p)
		}
		seen[p] = true
		bytesAt(p, PageSize)[PageSize-1] = 1
		pages = append(pages, p)
	}
	if a.PagesInUse() != 20_000 {
		t.Fatal(a.PagesInUse())
	}
	a.give(pages...)
	for range 20_000 {
		p := a.take()
		if !seen[p] {
			t.Fatal("a new page although old ones are free")
		}
		if bytesAt(p, PageSize)[PageSize-1] != 0 {
			t.Fatal("a recycled page is not zeroed")
		}
	}
	a.Close()
	a.Close()
	if a.MappedBytes() != 0 {
		t.Error("memory is mapped after Close")
	}
}

func TestPanesReuseEachOthersPages(t *testing.T) {
	a := NewArena()
	defer a.Close()
	for pane := range 50 {
		cfg := uintConfig()
		cfg.SizeHint = 10_000
		tab := newTable(t, a, cfg)
		for k := uint64(0); k < 10_000; k++ {
			tab.Upsert(&k, mix(k))
		}
		if pane%2 == 0 {
			tab.Clear()
		}
		tab.Close()
	}
	// Fifty panes without reuse are more than 12 MiB; two slabs and the spare one,
	// which may be ready or not, are less than 4.
	if a.PagesInUse() != 0 || a.MappedBytes() > 4<<20 {
		t.Errorf("%d pages in use, %d bytes mapped", a.PagesInUse(), a.MappedBytes())
	}
}

func TestMemoryStaysMappedUntilTheLastReleaseAfterClose(t *testing.T) {
	a := NewArena()
	k := uintKind("uint", uintConfig())
	tab := newTable(t, a, k.cfg)
	for n := uint64(0); n < 1000; n++ {
		tab.Upsert(&n, mix(n))
	}
	want := contents(k, tab)
	first, second := tab.Snapshot(countID), tab.Snapshot(countID)
	tab.Close()
	a.Close()
	first.Release()
	if a.MappedBytes() == 0 {
		t.Fatal("unmapped under a live snapshot")
	}
	if got := restored(t, k, writeSegment(t, second)); len(got) != len(want) {
		t.Fatalf("%d entries restored", len(got))
	}
	if a.MappedBytes() != 0 {
		t.Error("still mapped after the last release")
	}
	if _, err := NewTable(a, k.cfg); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

func TestWhatCannotBeATableIsRefused(t *testing.T) {
	a := NewArena()
	defer a.Close()
	if _, err := NewTable(a, Config[uint64, uint64]{}); err == nil {
		t.Error("an empty configuration is accepted")
	}
	if _, err := NewTable(a, Config[any, uint64]{
		Hash: func(*any) uint64 { return 0 }, MaxParallelism: 1, Value: uintCoding(true),
		Key: Coding[any]{Append: func(b []byte, _ *any) []byte { return b }, Decode: func(b []byte, _ *any) ([]byte, error) { return b, nil }},
	}); err == nil {
		t.Error("an interface is accepted as key")
	}
	bad := uintConfig()
	bad.FirstGroup, bad.EndGroup = 5, 129
	if _, err := NewTable(a, bad); err == nil {
		t.Error("key groups beyond max parallelism are accepted")
	}
}

func TestResolveDoesNotAllocate(t *testing.T) {
	if poisoning {
		t.Skip("poisoning allocates")
	}
	a := NewArena()
	defer a.Close()
	tab := newTable(t, a, uintConfig())
	keys, hashes, dst := make([]uint64, 512), make([]uint64, 512), make([]*uint64, 512)
	for i := range keys {
		keys[i] = uint64(i)
		hashes[i] = mix(keys[i])
	}
	tab.Resolve(keys, hashes, dst)
	if n := testing.AllocsPerRun(100, func() { tab.Resolve(keys, hashes, dst) }); n != 0 {
		t.Errorf("%v allocations per batch", n)
	}
}
