package memory

import (
	"bytes"
	"testing"
	"time"
	"unsafe"

	"pgregory.net/rapid"

	"github.com/cutwater-io/cutwater/codec"
	"github.com/cutwater-io/cutwater/internal/keygroup"
)

// configOf is how the engine makes a configuration.
func configOf[K comparable, V any](t *testing.T, name string) Config[K, V] {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	k, err := codec.For[K]()
	must(err)
	v, err := codec.For[V]()
	must(err)
	h, err := keygroup.For[K]()
	must(err)
	clone, err := codec.Cloner[V]()
	must(err)
	return Config[K, V]{Name: name, Key: CodingOf(k), Value: CodingOf(v), Hash: h.Hash, MaxParallelism: 128, Clone: clone}
}

type tight struct {
	A int64
	B uint32
	C float32
	D [2]bool
	E int16
	F int32
}

type order struct {
	At    time.Time
	Items map[string][]int32
	Note  *string
}

func TestTablesWithTheCodecsOfTheEngineAreRestored(t *testing.T) {
	runKind(t, kind[int64, tight]{
		name: "tight", cfg: configOf[int64, tight](t, "tight"),
		key:  func(n uint64) int64 { return int64(n) - 50 },
		add:  func(v *tight, n uint64) { v.A++; v.B += uint32(n); v.C += 0.5; v.D[n%2] = true; v.F -= int32(n) },
		text: func(v *tight) string { return string(bytesOf(v)) },
	})
	c := configOf[string, order](t, "order")
	runKind(t, kind[string, order]{
		name: "order", cfg: c, key: stringKind().key,
		add: func(v *order, n uint64) {
			if v.Items == nil {
				v.Items = map[string][]int32{}
				v.Note = new(string)
			}
			v.At = time.UnixMilli(int64(n)).UTC()
			v.Items["x"] = append(v.Items["x"], int32(n))
			v.Items["x"][0]++
			*v.Note += "n"
		},
		text: func(v *order) string { return string(c.Value.Append(nil, v)) },
	})
}

func bytesOf[T any](v *T) []byte {
	return bytes.Clone(bytesAt(uintptr(unsafe.Pointer(v)), int(unsafe.Sizeof(*v))))
}

func TestAnEncodingIsCopiedOnlyWhenItIsTheMemory(t *testing.T) {
	c, err := codec.For[tight]()
	if err != nil {
		t.Fatal(err)
	}
	if !CodingOf(c).Memory {
		t.Error("a type without padding is not copied")
	}
	rapid.Check(t, func(rt *rapid.T) {
		v := rapid.Make[tight]().Draw(rt, "value")
		if got := c.Append(nil, &v); !bytes.Equal(got, bytesOf(&v)) {
			rt.Fatalf("encoded %x, in memory %x", got, bytesOf(&v))
		}
	})
	if p, err := codec.For[padded](); err != nil || CodingOf(p).Memory {
		t.Errorf("a type with padding is copied, %v", err)
	}
	big := codec.Custom("big-endian/1", func(b []byte, v *uint64) []byte { return b }, func(b []byte, v *uint64) ([]byte, error) { return b, nil })
	big.Fixed = 8
	if CodingOf(big).Memory {
		t.Error("a codec of the user's own is bypassed")
	}
}
