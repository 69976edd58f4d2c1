package memory

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"testing"
	"unsafe"

	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"

	"github.com/cutwater-io/cutwater/internal/segment"
)

// mix is a full-avalanche mixer (the finalizer of splitmix64).
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

func hashUint(k *uint64) uint64   { return mix(*k) }
func hashString(k *string) uint64 { return xxh3.HashString(*k) }

var errShort = errors.New("too short")

func uintCoding(memory bool) Coding[uint64] {
	return Coding[uint64]{
		Schema: "uint64", Memory: memory,
		Append: func(b []byte, v *uint64) []byte { return binary.LittleEndian.AppendUint64(b, *v) },
		Decode: func(b []byte, v *uint64) ([]byte, error) {
			if len(b) < 8 {
				return b, errShort
			}
			*v = binary.LittleEndian.Uint64(b)
			return b[8:], nil
		},
	}
}

func stringCoding() Coding[string] {
	return Coding[string]{
		Schema: "string",
		Append: func(b []byte, v *string) []byte {
			return append(binary.LittleEndian.AppendUint32(b, uint32(len(*v))), *v...)
		},
		Decode: func(b []byte, v *string) ([]byte, error) {
			if len(b) < 4 || uint32(len(b)-4) < binary.LittleEndian.Uint32(b) {
				return b, errShort
			}
			n := binary.LittleEndian.Uint32(b)
			*v = string(b[4 : 4+n])
			return b[4+n:], nil
		},
	}
}

// cart is a value with everything that can be changed in place.
type cart struct {
	Items map[string]uint64
	Log   []uint64
	N     uint64
}

func (c *cart) add(n uint64) {
	if c.Items == nil {
		c.Items = map[string]uint64{}
	}
	c.Items[fmt.Sprint(n%3)] += n
	if len(c.Log) > 3 {
		c.Log[n%4] = n
	} else {
		c.Log = append(c.Log, n)
	}
	c.N += n
}

func cloneCart(dst, src *cart) {
	*dst = cart{maps.Clone(src.Items), slices.Clone(src.Log), src.N}
}

func (c *cart) text() string { return fmt.Sprint(c.Items, c.Log, c.N) } // fmt sorts maps

func cartCoding() Coding[cart] {
	u, s := uintCoding(false), stringCoding()
	return Coding[cart]{
		Schema: "cart",
		Append: func(b []byte, v *cart) []byte {
			n := uint64(len(v.Items))
			b = u.Append(b, &n)
			for _, k := range slices.Sorted(maps.Keys(v.Items)) {
				x := v.Items[k]
				b = u.Append(s.Append(b, &k), &x)
			}
			n = uint64(len(v.Log))
			b = u.Append(b, &n)
			for i := range v.Log {
				b = u.Append(b, &v.Log[i])
			}
			return u.Append(b, &v.N)
		},
		Decode: func(b []byte, v *cart) ([]byte, error) {
			*v = cart{}
			var n, x uint64
			var k string
			var err error
			read := func(dst *uint64) {
				if err == nil {
					b, err = u.Decode(b, dst)
				}
			}
			read(&n)
			for ; n > 0 && err == nil; n-- {
				if b, err = s.Decode(b, &k); err == nil {
					read(&x)
					if v.Items == nil {
						v.Items = map[string]uint64{}
					}
					v.Items[k] = x
				}
			}
			for read(&n); n > 0 && err == nil; n-- {
				read(&x)
				v.Log = append(v.Log, x)
			}
			read(&v.N)
			return b, err
		},
	}
}

func uintConfig() Config[uint64, uint64] {
	return Config[uint64, uint64]{
		Name: "count", Key: uintCoding(true), Value: uintCoding(true), Hash: hashUint, MaxParallelism: 128,
	}
}

func newTable[K comparable, V any](t testing.TB, a *Arena, cfg Config[K, V]) *Table[K, V] {
	t.Helper()
	tab, err := NewTable(a, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

// writeSegment runs the asynchronous part of a snapshot.
func writeSegment(t testing.TB, sources ...segment.Source) *segment.Reader {
	t.Helper()
	var buf bytes.Buffer
	w := segment.NewWriter(&buf)
	for _, s := range sources {
		if err := w.WriteState(s); err != nil {
			t.Fatal(err)
		}
		s.Release()
	}
	size, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	r, err := segment.NewReader(bytes.NewReader(buf.Bytes()), size)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var countID = segment.StateID{Name: "count", Namespace: 7}

// kind is a type of table under test: how a value is changed in place and shown.
type kind[K comparable, V any] struct {
	name string
	cfg  Config[K, V]
	key  func(n uint64) K
	add  func(v *V, n uint64)
	text func(v *V) string
}

func uintKind(name string, cfg Config[uint64, uint64]) kind[uint64, uint64] {
	return kind[uint64, uint64]{
		name: name, cfg: cfg,
		key:  func(n uint64) uint64 { return n },
		add:  func(v *uint64, n uint64) { *v += n },
		text: func(v *uint64) string { return fmt.Sprint(*v) },
	}
}

// padded has padding between and behind its fields.
type padded struct {
	A byte
	B uint64
	C byte
}

func paddedCoding() Coding[padded] {
	u := uintCoding(false)
	return Coding[padded]{
		Schema: "padded",
		Append: func(b []byte, v *padded) []byte { return append(u.Append(append(b, v.A), &v.B), v.C) },
		Decode: func(b []byte, v *padded) ([]byte, error) {
			if len(b) < 10 {
				return b, errShort
			}
			v.A, v.B, v.C = b[0], binary.LittleEndian.Uint64(b[1:]), b[9]
			return b[10:], nil
		},
	}
}

func paddedKind() kind[padded, padded] {
	return kind[padded, padded]{
		name: "padded",
		cfg: Config[padded, padded]{
			Name: "padded", Key: paddedCoding(), Value: paddedCoding(), MaxParallelism: 100,
			Hash: func(k *padded) uint64 { return mix(k.B + mix(uint64(k.A))) },
		},
		key:  func(n uint64) padded { return padded{byte(n), n / 3, 1} },
		add:  func(v *padded, n uint64) { v.A++; v.B += n; v.C = byte(n) },
		text: func(v *padded) string { return fmt.Sprint(*v) },
	}
}

func stringKind() kind[string, uint64] {
	return kind[string, uint64]{
		name: "string",
		cfg: Config[string, uint64]{
			Name: "string", Key: stringCoding(), Value: uintCoding(true), Hash: hashString, MaxParallelism: 300,
		},
		// Lengths 0 to 40.
		key: func(n uint64) string {
			if n == 0 {
				return ""
			}
			return fmt.Sprint(n, "0123456789012345678901234567890123456789"[:n%37])
		},
		add:  func(v *uint64, n uint64) { *v += n },
		text: func(v *uint64) string { return fmt.Sprint(*v) },
	}
}

func cartKind() kind[string, cart] {
	return kind[string, cart]{
		name: "cart",
		cfg: Config[string, cart]{
			Name: "cart", Key: stringCoding(), Value: cartCoding(), Hash: hashString, MaxParallelism: 128, Clone: cloneCart,
		},
		key:  func(n uint64) string { return fmt.Sprint("user-", n) },
		add:  (*cart).add,
		text: (*cart).text,
	}
}

// large entries do not fit the arena's pages.
type large [100]uint64

func largeKind() kind[uint64, large] {
	u := uintCoding(false)
	return kind[uint64, large]{
		name: "large",
		cfg: Config[uint64, large]{
			Name: "large", Key: u, Hash: hashUint, MaxParallelism: 1,
			Value: Coding[large]{
				Schema: "[100]uint64",
				Append: func(b []byte, v *large) []byte {
					for i := range v {
						b = u.Append(b, &v[i])
					}
					return b
				},
				Decode: func(b []byte, v *large) (rest []byte, err error) {
					for i := range v {
						if b, err = u.Decode(b, &v[i]); err != nil {
							return b, err
						}
					}
					return b, nil
				},
			},
		},
		key:  func(n uint64) uint64 { return n },
		add:  func(v *large, n uint64) { v[n%100] += n },
		text: func(v *large) string { return fmt.Sprint(*v) },
	}
}

func degenerate(name string, hash func(k *uint64) uint64) kind[uint64, uint64] {
	cfg := uintConfig()
	cfg.Hash = hash
	return uintKind(name, cfg)
}

func onHeap(cfg Config[uint64, uint64]) Config[uint64, uint64] {
	cfg.onHeap = true
	return cfg
}

func subrange(first, end, m int) Config[uint64, uint64] {
	cfg := uintConfig()
	cfg.FirstGroup, cfg.EndGroup, cfg.MaxParallelism = first, end, m
	// A hash that falls into the range.
	lo, hi := hashRange(first, end, m)
	cfg.Hash = func(k *uint64) uint64 {
		off, _ := bits.Mul64(mix(*k), hi-lo)
		return lo + off
	}
	return cfg
}

func TestTableBehavesLikeAMapWithAnyNumberOfSnapshotsAlive(t *testing.T) {
	runKind(t, uintKind("uint", uintConfig()))
	runKind(t, uintKind("uint on heap", onHeap(uintConfig())))
	runKind(t, uintKind("one group of 65536", subrange(40000, 40001, 65536)))
	runKind(t, uintKind("odd range", subrange(33, 67, 101)))
	runKind(t, uintKind("last range", subrange(100, 101, 101)))
	runKind(t, paddedKind())
	runKind(t, stringKind())
	runKind(t, cartKind())
	runKind(t, largeKind())
	runKind(t, degenerate("constant hash", func(*uint64) uint64 { return 1 << 63 }))
	runKind(t, degenerate("constant top bits", func(k *uint64) uint64 { return mix(*k) >> 40 }))
	runKind(t, degenerate("constant low bits", func(k *uint64) uint64 { return mix(*k) << 40 }))
}

func runKind[K comparable, V any](t *testing.T, k kind[K, V]) {
	t.Run(k.name, func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) { modelRun(t, rt, k) })
	})
}

type liveSnapshot[K comparable] struct {
	src  segment.Source
	want map[K]string
}

func modelRun[K comparable, V any](t *testing.T, rt *rapid.T, k kind[K, V]) {
	a := NewArena()
	tab := newTable(t, a, k.cfg)
	// The model keeps values in a form that shares nothing with the table.
	model := map[K]*V{}
	texts := func() map[K]string {
		m := map[K]string{}
		for key, v := range model {
			m[key] = k.text(v)
		}
		return m
	}
	var snaps []liveSnapshot[K]
	space := rapid.SampledFrom([]uint64{5, 300, 3000}).Draw(rt, "key space")
	drawKeys := func(max int) []K {
		// Seeds, not keys: thousands of draws would be slow.
		n := rapid.IntRange(1, max).Draw(rt, "keys")
		seed := rapid.Uint64().Draw(rt, "seed")
		keys := make([]K, n)
		for i := range keys {
			keys[i] = k.key(mix(seed+uint64(i)) % space)
		}
		return keys
	}
	touch := func(key K, v *V, n uint64) {
		k.add(v, n)
		if model[key] == nil {
			model[key] = new(V)
		}
		k.add(model[key], n)
	}
	verify := func(s liveSnapshot[K]) {
		r := writeSegment(t, s.src)
		b := NewArena()
		defer b.Close()
		back := newTable(t, b, k.cfg)
		if err := back.Restore(r, countID); err != nil {
			rt.Fatal(err)
		}
		got := map[K]string{}
		for key, v := range back.All() {
			got[*key] = k.text(v)
		}
		if !maps.Equal(got, s.want) {
			rt.Fatalf("the snapshot restores %d entries that differ from the %d at its moment", len(got), len(s.want))
		}
		back.Close()
	}
	rt.Repeat(map[string]func(*rapid.T){
		"resolve": func(rt *rapid.T) {
			keys := drawKeys(700)
			hashes, dst := make([]uint64, len(keys)), make([]*V, len(keys))
			for i := range keys {
				hashes[i] = k.cfg.Hash(&keys[i])
			}
			tab.Resolve(keys, hashes, dst)
			for i, v := range dst {
				touch(keys[i], v, uint64(i))
			}
		},
		"upsert": func(rt *rapid.T) {
			for i, key := range drawKeys(20) {
				_, had := model[key]
				v, created := tab.Upsert(&key, k.cfg.Hash(&key))
				if created == had {
					rt.Fatalf("created %v is %v", key, created)
				}
				touch(key, v, uint64(i))
			}
		},
		"delete": func(rt *rapid.T) {
			for _, key := range drawKeys(300) {
				_, had := model[key]
				if tab.Delete(&key, k.cfg.Hash(&key)) != had {
					rt.Fatalf("delete %v: was there: %v", key, had)
				}
				delete(model, key)
			}
		},
		"get": func(rt *rapid.T) {
			for _, key := range drawKeys(50) {
				v := tab.Get(&key, k.cfg.Hash(&key))
				want := model[key]
				if (v == nil) != (want == nil) || v != nil && k.text(v) != k.text(want) {
					rt.Fatalf("get %v differs from the model", key)
				}
			}
		},
		"snapshot": func(rt *rapid.T) {
			if len(snaps) < 4 {
				snaps = append(snaps, liveSnapshot[K]{tab.Snapshot(countID), texts()})
			}
		},
		"write and release": func(rt *rapid.T) {
			if len(snaps) > 0 {
				i := rapid.IntRange(0, len(snaps)-1).Draw(rt, "which")
				verify(snaps[i])
				snaps = slices.Delete(snaps, i, i+1)
			}
		},
		"write and keep": func(rt *rapid.T) {
			if len(snaps) > 0 {
				w := segment.NewWriter(new(bytes.Buffer))
				if err := w.WriteState(snaps[0].src); err != nil {
					rt.Fatal(err)
				}
				snaps[0].src.Release()
				snaps = snaps[1:]
			}
		},
		"release": func(rt *rapid.T) {
			if len(snaps) > 0 {
				i := rapid.IntRange(0, len(snaps)-1).Draw(rt, "which")
				snaps[i].src.Release()
				snaps = slices.Delete(snaps, i, i+1)
			}
		},
		"clear": func(rt *rapid.T) {
			if rapid.IntRange(0, 5).Draw(rt, "really") == 0 {
				tab.Clear()
				clear(model)
			}
		},
		"scan": func(rt *rapid.T) {
			step := rapid.IntRange(1, 500).Draw(rt, "step")
			got := map[K]string{}
			for c := (Cursor{}); !c.Done(); {
				n := 0
				c = tab.Scan(c, func(key *K, v *V) bool {
					if _, ok := got[*key]; ok {
						rt.Fatalf("scan yields %v twice", *key)
					}
					got[*key] = k.text(v)
					n++
					return n < step
				})
			}
			if !maps.Equal(got, texts()) {
				rt.Fatalf("scan differs from the model")
			}
		},
		"": func(rt *rapid.T) {
			if tab.Len() != len(model) {
				rt.Fatalf("length %d, want %d", tab.Len(), len(model))
			}
		},
	})
	// The table goes before its snapshots, as when a pane fires or a task ends.
	tab.Close()
	for _, s := range snaps {
		verify(s)
	}
	if n := a.PagesInUse(); n != 0 {
		rt.Fatalf("%d pages leaked", n)
	}
	if hp, ok := tab.pages.(*heapPages); ok && hp.inUse() != 0 {
		rt.Fatalf("%d heap pages leaked", hp.inUse())
	}
	a.Close()
	if a.MappedBytes() != 0 {
		rt.Fatal("memory is still mapped")
	}
}

func TestHeaderIsOneCacheLine(t *testing.T) {
	if n := unsafe.Sizeof(header{}); n > headerSize {
		t.Fatalf("header has %d bytes", n)
	}
}
