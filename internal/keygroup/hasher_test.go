package keygroup_test

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cutwater-io/cutwater/codec"
	"github.com/cutwater-io/cutwater/internal/keygroup"
	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"
)

func mustFor[K comparable](t testing.TB) *keygroup.Hasher[K] {
	t.Helper()
	h, err := keygroup.For[K]()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func hash[K comparable](t testing.TB, k K) uint64 {
	h := mustFor[K](t)
	one, all := h.Hash(&k), []uint64{0}
	h.HashAll(all, []K{k})
	if one != all[0] {
		t.Errorf("%T %v: Hash says %016x, HashAll %016x", k, k, one, all[0])
	}
	return one
}

type (
	pair   struct{ A, B int64 }
	padded struct {
		A int8
		B int64
	}
	named struct {
		Shop string
		Item int32
	}
	point struct{ X, Y float64 }
)

// goldenKeys hashes the keys of testdata/golden.txt, whose lines are: type, key,
// hash, key group of 128. The key of a struct is its fields with a space between.
var goldenKeys = map[string]func(t testing.TB, key string) uint64{
	"int64": func(t testing.TB, k string) uint64 {
		n, err := strconv.ParseInt(k, 10, 64)
		fatal(t, err)
		return hash(t, n)
	},
	"uint64": func(t testing.TB, k string) uint64 {
		n, err := strconv.ParseUint(k, 10, 64)
		fatal(t, err)
		return hash(t, n)
	},
	"bool":    func(t testing.TB, k string) uint64 { return hash(t, k == "true") },
	"float64": func(t testing.TB, k string) uint64 { return hash(t, float(t, k)) },
	"string": func(t testing.TB, k string) uint64 {
		s, err := strconv.Unquote(k)
		fatal(t, err)
		return hash(t, s)
	},
	"repeat": func(t testing.TB, k string) uint64 {
		var s string
		var n int
		scan(t, k, &s, &n)
		return hash(t, strings.Repeat(s, n))
	},
	"pair": func(t testing.TB, k string) uint64 {
		var v pair
		scan(t, k, &v.A, &v.B)
		return hash(t, v)
	},
	"padded": func(t testing.TB, k string) uint64 {
		var v padded
		scan(t, k, &v.A, &v.B)
		return hash(t, v)
	},
	"named": func(t testing.TB, k string) uint64 {
		var v named
		scan(t, k, &v.Shop, &v.Item)
		return hash(t, v)
	},
	"point": func(t testing.TB, k string) uint64 {
		x, y, _ := strings.Cut(k, " ")
		return hash(t, point{float(t, x), float(t, y)})
	},
	"[3]uint16": func(t testing.TB, k string) uint64 {
		var v [3]uint16
		scan(t, k, &v[0], &v[1], &v[2])
		return hash(t, v)
	},
}

func fatal(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func scan(t testing.TB, s string, into ...any) {
	t.Helper()
	_, err := fmt.Sscan(s, into...)
	fatal(t, err)
}

func float(t testing.TB, s string) float64 {
	t.Helper()
	f, err := strconv.ParseFloat(s, 64)
	fatal(t, err)
	return f
}

// The values are frozen: a change moves the state of every job to wrong subtasks.
func TestTheHashIsTheOneOfTheFormatDocument(t *testing.T) {
	f, err := os.Open("testdata/golden.txt")
	fatal(t, err)
	defer f.Close()
	lines := 0
	for s := bufio.NewScanner(f); s.Scan(); {
		if s.Text() == "" || strings.HasPrefix(s.Text(), "#") {
			continue
		}
		lines++
		col := strings.Split(s.Text(), "\t")
		of := goldenKeys[col[0]]
		if of == nil || len(col) != 4 {
			t.Fatalf("line %q", s.Text())
		}
		h := of(t, col[1])
		if got := fmt.Sprintf("%016x\t%d", h, keygroup.Of(h, 128)); got != col[2]+"\t"+col[3] {
			t.Errorf("%s %s: %s, want %s %s", col[0], col[1], got, col[2], col[3])
		}
	}
	if lines < 40 {
		t.Errorf("only %d vectors", lines)
	}
}

func TestTheFormatDocumentHoldsTheGoldenVectors(t *testing.T) {
	doc, err := os.ReadFile("../../doc/format/hash.md")
	fatal(t, err)
	golden, err := os.ReadFile("testdata/golden.txt")
	fatal(t, err)
	if !strings.Contains(string(doc), "```\n"+string(golden)+"```\n") {
		t.Error("doc/format/hash.md and testdata/golden.txt differ")
	}
	if !strings.Contains(string(doc), "`"+keygroup.HashName+"`") {
		t.Errorf("doc/format/hash.md does not describe %s", keygroup.HashName)
	}
}

func TestIntegersOfEveryKindHashByValue(t *testing.T) {
	type id int32
	for n := range int8(127) {
		want := hash(t, int64(n))
		for kind, got := range map[string]uint64{
			"int": hash(t, int(n)), "int8": hash(t, n), "int16": hash(t, int16(n)), "int32": hash(t, int32(n)), "id": hash(t, id(n)),
			"uint": hash(t, uint(n)), "uint8": hash(t, uint8(n)), "uint16": hash(t, uint16(n)), "uint32": hash(t, uint32(n)), "uint64": hash(t, uint64(n)),
		} {
			if got != want {
				t.Errorf("%s(%d) has %016x, int64 has %016x", kind, n, got, want)
			}
		}
		m := -n
		if a, b, c, d, e := hash(t, m), hash(t, int16(m)), hash(t, int32(m)), hash(t, int(m)), hash(t, int64(m)); a != b || b != c || c != d || d != e {
			t.Errorf("%d hashes differently by width", m)
		}
	}
	if hash(t, float32(0.5)) != hash(t, 0.5) || hash(t, float32(0.1)) == hash(t, 0.1) {
		t.Error("floats do not hash by value")
	}
	type name string
	if hash(t, name("x")) != hash(t, "x") || hash(t, "x") != xxh3.HashString("x") {
		t.Error("strings do not hash as XXH3-64")
	}
}

func TestCompositeKeysHashAsTheirEncoding(t *testing.T) {
	type embedded struct{ E uint8 }
	type all struct {
		B  bool
		I8 int8
		embedded
		I16 int16
		I   int
		U   uint
		U32 uint32
		F32 float32
		F64 float64
		S   string
		P   [2]padded
		N   named
		_   int32
		Z   [0]int64
		T   string
	}
	h := mustFor[all](t)
	c, err := codec.For[all]()
	fatal(t, err)
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String()
		k := all{
			B: rapid.Bool().Draw(t, "B"), I8: rapid.Int8().Draw(t, "I8"), embedded: embedded{rapid.Uint8().Draw(t, "E")},
			I16: rapid.Int16().Draw(t, "I16"), I: rapid.Int().Draw(t, "I"), U: rapid.Uint().Draw(t, "U"), U32: rapid.Uint32().Draw(t, "U32"),
			F32: rapid.Float32().Draw(t, "F32"), F64: rapid.Float64().Draw(t, "F64"), S: s.Draw(t, "S"), T: s.Draw(t, "T"),
			P: [2]padded{{1, rapid.Int64().Draw(t, "P0")}, {2, rapid.Int64().Draw(t, "P1")}}, N: named{s.Draw(t, "Shop"), rapid.Int32().Draw(t, "Item")},
		}
		if err := h.Normalize(&k); err != nil {
			t.Fatal(err)
		}
		if got, want := h.Hash(&k), xxh3.Hash(c.Append(nil, &k)); got != want {
			t.Fatalf("%+v: hash %016x, of the encoding %016x", k, got, want)
		}
	})
}

func TestZeroHasOneHashAndNaNIsNoKey(t *testing.T) {
	minus := math.Copysign(0, -1)
	if hash(t, 0.0) != hash(t, minus) || hash(t, float32(0)) != hash(t, float32(minus)) || hash(t, point{0, 1}) != hash(t, point{minus, 1}) {
		t.Error("-0 and +0 are equal, but have two hashes")
	}
	k := point{minus, minus}
	if err := mustFor[point](t).Normalize(&k); err != nil || math.Signbit(k.X) || math.Signbit(k.Y) {
		t.Errorf("normalized to %v, %v", k, err)
	}
	k.Y = math.NaN()
	if err := mustFor[point](t).Normalize(&k); !errors.Is(err, keygroup.ErrNaN) {
		t.Errorf("a point with NaN: %v", err)
	}
	f := float32(math.NaN())
	if err := mustFor[float32](t).Normalize(&f); !errors.Is(err, keygroup.ErrNaN) {
		t.Errorf("NaN: %v", err)
	}
	if mustFor[int](t).Normalize != nil || mustFor[named](t).Normalize != nil {
		t.Error("keys without floats are normalized for nothing")
	}
}

func TestTheNameSaysHowTheKeyIsHashed(t *testing.T) {
	for got, want := range map[string]string{
		mustFor[uint8](t).Name: "cutwater-1/int", mustFor[bool](t).Name: "cutwater-1/bool", mustFor[float32](t).Name: "cutwater-1/float",
		mustFor[string](t).Name: "cutwater-1/string", mustFor[pair](t).Name: "cutwater-1/struct",
	} {
		if got != want {
			t.Errorf("name %s, want %s", got, want)
		}
	}
}

func TestTheErrorNamesTheFieldThatCannotBeInAKey(t *testing.T) {
	type bad struct {
		P     *int
		I     any
		C     chan int
		Z     complex64
		T     time.Time
		priv  int
		Left  int `cutwater:"-"`
		Deep  [2]struct{ Up uintptr }
		Clock struct{ time.Time }
	}
	_ = bad{}.priv
	_, err := keygroup.For[bad]()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"bad.P of type *int", "bad.I of type interface {}", "bad.C of type chan int", "bad.Z of type complex64", "bad.T of type time.Time",
		"bad.priv cannot be part of a key: the field is unexported", "bad.Left cannot be", "bad.Deep[].Up of type uintptr", "bad.Clock",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q:\n%v", want, err)
		}
	}
	if n := strings.Count(err.Error(), "Up of type"); n != 1 {
		t.Errorf("the element of an array is named %d times", n)
	}
	for name, f := range map[string]func() error{
		"pointer":   func() error { _, err := keygroup.For[*int](); return err },
		"interface": func() error { _, err := keygroup.For[any](); return err },
		"chan":      func() error { _, err := keygroup.For[chan int](); return err },
	} {
		if f() == nil {
			t.Errorf("a %s can be a key", name)
		}
	}
}

func TestHashingAllocatesNothing(t *testing.T) {
	h, k := mustFor[named](t), named{"a shop with a name", 5}
	if n := testing.AllocsPerRun(100, func() { h.Hash(&k) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
