package codec_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math/big"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cutwater-io/cutwater/codec"
	"github.com/google/go-cmp/cmp"
)

type small struct {
	Key   int64
	Value int64
	Time  int64
}

type bid struct {
	Auction int64 `cutwater:"auction"`
	Bidder  int64 `cutwater:"bidder"`
	Price   int64 `cutwater:"price"`
	At      int64 `cutwater:"at"`
	Channel string
	URL     string
}

type color uint8

type inner struct {
	On   bool
	Rate float32
	Tags []string
}

type everything struct {
	I     int
	I8    int8
	I16   int16
	I32   int32
	U     uint
	U16   uint16
	U32   uint32
	F     float64
	C     complex128
	C64   complex64
	B     bool
	S     string
	Bytes []byte
	Color color
	Arr   [3]int16
	Strs  [2]string
	Bools [2]bool
	Ints  []int32
	Ins   []inner
	P     *inner
	PI    *int64
	M     map[string]int64
	MM    map[int32]map[string]inner
	T     time.Time
	D     time.Duration
	Link  url.URL
	LinkP *url.URL
	Set   map[string]struct{}
	Units []struct{}
	Cache map[string]chan int `cutwater:"-"`
	inner2
}

type inner2 struct{ Emb uint32 }

func full() everything {
	n := int64(-7)
	return everything{
		I: -1, I8: -2, I16: -3, I32: -4, U: 5, U16: 6, U32: 7, F: 1.5, C: complex(1, -2), C64: complex(3, 4),
		B: true, S: "héllo\x00", Bytes: []byte{1, 2}, Color: 3, Arr: [3]int16{1, -2, 3}, Strs: [2]string{"a", ""},
		Bools: [2]bool{true, false}, Ints: []int32{9, -9}, Ins: []inner{{On: true, Rate: 2, Tags: []string{"x", ""}}, {Tags: []string{}}},
		P: &inner{Rate: -1}, PI: &n, M: map[string]int64{"b": 2, "a": 1, "": 0},
		MM: map[int32]map[string]inner{1: nil, -1: {"k": {Tags: []string{"t"}}}, 256: {}},
		T:  time.Date(2024, 2, 29, 23, 59, 59, 123456789, time.UTC), D: time.Second, Link: url.URL{Scheme: "http", Host: "a", User: url.UserPassword("u", "p")},
		LinkP: &url.URL{Path: "/x"}, Set: map[string]struct{}{"z": {}}, Units: make([]struct{}, 5), inner2: inner2{Emb: 9},
	}
}

var whole = cmp.AllowUnexported(everything{}, url.Userinfo{})

func mustFor[T any](t testing.TB, with ...codec.Option) *codec.Codec[T] {
	t.Helper()
	c, err := codec.For[T](with...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestEveryKindComesBackAsItWas(t *testing.T) {
	c := mustFor[everything](t)
	for _, in := range []everything{full(), {}} {
		enc := c.Append([]byte("before"), &in)[6:]
		out := full() // rubbish that must be overwritten
		out.Cache = map[string]chan int{}
		rest, err := c.Decode(append(enc, 1, 2, 3), &out)
		if err != nil || !bytes.Equal(rest, []byte{1, 2, 3}) {
			t.Fatalf("rest %v, error %v", rest, err)
		}
		if d := cmp.Diff(in, out, whole); d != "" {
			t.Fatal(d)
		}
		var shared everything
		tail, err := c.DecodeShared(string(enc)+"tail", &shared)
		if err != nil || tail != "tail" {
			t.Fatalf("rest %q, error %v", tail, err)
		}
		if d := cmp.Diff(in, shared, whole); d != "" {
			t.Fatal(d)
		}
	}
}

func TestSchemaIsTheLayoutAsText(t *testing.T) {
	for got, want := range map[string]string{
		mustFor[bid](t).Schema:                      "struct{auction:int64,bidder:int64,price:int64,at:int64,Channel:string,URL:string}",
		mustFor[int](t).Schema:                      "int64",
		mustFor[color](t).Schema:                    "uint8",
		mustFor[time.Duration](t).Schema:            "int64",
		mustFor[map[string]*[2]inner](t).Schema:     "map[string]*[2]struct{On:bool,Rate:float32,Tags:[]string}",
		mustFor[[]byte](t).Schema:                   "bytes",
		mustFor[time.Time](t).Schema:                "time",
		mustFor[url.URL](t).Schema:                  "binary(net/url.URL)",
		mustFor[struct{}](t).Schema:                 "struct{}",
		mustFor[struct{ A, B complex64 }](t).Schema: "struct{A:complex64,B:complex64}",
	} {
		if got != want {
			t.Errorf("schema %s, want %s", got, want)
		}
	}
}

func TestFixedIsTheLengthOfEveryEncoding(t *testing.T) {
	type padded struct {
		A bool
		B int64
		C int16
	}
	if c := mustFor[padded](t); c.Fixed != 11 || len(c.Append(nil, &padded{})) != 11 {
		t.Errorf("padded struct: Fixed %d", c.Fixed)
	}
	if c := mustFor[small](t); c.Fixed != 24 {
		t.Errorf("small: Fixed %d", c.Fixed)
	}
	if c := mustFor[bid](t); c.Fixed != 0 {
		t.Errorf("bid: Fixed %d", c.Fixed)
	}
	if c := mustFor[[4]time.Time](t); c.Fixed != 48 {
		t.Errorf("times: Fixed %d", c.Fixed)
	}
}

// The bytes are drawn in doc/format/codec.md. A change here makes stored state
// unreadable.
func TestTheBytesAreTheOnesOfTheFormatDocument(t *testing.T) {
	type record struct {
		ID    int32
		Ok    bool
		Name  string
		Raw   []byte
		Next  *uint16
		Count map[string]int16
		At    time.Time
	}
	n := uint16(0x0102)
	v := record{ID: -2, Ok: true, Name: "ab", Raw: nil, Next: &n, Count: map[string]int16{"b": 2, "a": 1}, At: time.Unix(1, 2)}
	want := "feffffff" + "01" + "02000000" + "6162" + "ffffffff" + "01" + "0201" +
		"02000000" + "01000000" + "61" + "0100" + "01000000" + "62" + "0200" + "0100000000000000" + "02000000"
	if got := hex.EncodeToString(mustFor[record](t).Append(nil, &v)); got != want {
		t.Errorf("encoding\n%s, want\n%s", got, want)
	}
}

func TestMapsAreEncodedInTheOrderOfTheirKeys(t *testing.T) {
	c := mustFor[map[int32]string](t)
	m := map[int32]string{}
	for i := range int32(300) {
		m[i*7919] = "x"
	}
	first := c.Append(nil, &m)
	for range 20 {
		again := map[int32]string{}
		for k, v := range m {
			again[k] = v
		}
		if !bytes.Equal(first, c.Append(nil, &again)) {
			t.Fatal("two encodings of one map differ")
		}
	}
}

func TestATimeKeepsItsInstantAndComesBackInUTC(t *testing.T) {
	c := mustFor[time.Time](t)
	for _, in := range []time.Time{{}, time.Now(), time.Date(-5000, 1, 1, 0, 0, 0, 1, time.FixedZone("x", 3600)), time.Unix(1<<40, 999_999_999)} {
		var out time.Time
		if _, err := c.Decode(c.Append(nil, &in), &out); err != nil || !out.Equal(in) || out != in.Round(0).UTC() {
			t.Errorf("%v came back as %v, %v", in, out, err)
		}
	}
}

func TestTheErrorOfForNamesEveryFieldAndSaysWhatToDo(t *testing.T) {
	type list struct {
		V    int
		Next *list
	}
	type bad struct {
		C    chan int
		F    func()
		Deep []map[string]struct{ X any }
		priv int
		Up   uintptr
		L    list
		K    map[*int]int
		KT   map[time.Time]int
		Dup  int `cutwater:"C2"`
		Dup2 int `cutwater:"C2"`
		Name int `cutwater:"a:b"`
		Emb  struct {
			time.Time
			X int
		}
		Blank []struct{ _ int64 }
		Key   map[struct {
			A int
			B int `cutwater:"-"`
		}]int
	}
	_ = bad{}.priv
	_, err := codec.For[bad]()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		".bad.C of type chan int", "codec_test.bad.F of type func()", "bad.Deep[][].X of type interface {}",
		"bad.priv of type int cannot be encoded: the field is unexported", "bad.Up of type uintptr", "bad.L.Next of type codec_test.list",
		"bad.K of type map[*int]int", "bad.KT of type", "bad.Dup2", "bad.Name", "bad.Emb of type", "bad.Key[key].B", "cutwater:\"-\"", "codec.Use",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q:\n%v", want, err)
		}
	}
	if _, err := codec.For[[]struct{ _ int64 }](); err == nil {
		t.Error("a slice of elements without data has a codec")
	}
	if _, err := codec.Cloner[bad](); err == nil {
		t.Error("a type without codec has a cloner")
	}
}

type money struct{ cents int64 }

func moneyCodec() *codec.Codec[money] {
	in := mustForInt()
	c := codec.Custom("test.money/1",
		func(dst []byte, v *money) []byte { return in.Append(dst, &v.cents) },
		func(src []byte, v *money) ([]byte, error) { return in.Decode(src, &v.cents) })
	c.Fixed = 8
	return c
}

func mustForInt() *codec.Codec[int64] {
	c, err := codec.For[int64]()
	if err != nil {
		panic(err)
	}
	return c
}

func TestUseBringsACodecForATypeWhereverItOccurs(t *testing.T) {
	type shape interface{ Area() int }
	shapes := codec.Custom("test.shape/1",
		func(dst []byte, v *shape) []byte { return append(dst, byte((*v).Area())) },
		func(src []byte, v *shape) ([]byte, error) {
			if len(src) == 0 {
				return src, codec.ErrDamaged
			}
			*v = square(src[0])
			return src[1:], nil
		})
	type order struct {
		Total  money
		Parts  map[string]money
		Shapes []shape
	}
	c := mustFor[order](t, codec.Use(moneyCodec()), codec.Use(shapes))
	if want := "struct{Total:test.money/1,Parts:map[string]test.money/1,Shapes:[]test.shape/1}"; c.Schema != want {
		t.Errorf("schema %s", c.Schema)
	}
	in := order{money{5}, map[string]money{"a": {6}}, []shape{square(3)}}
	var out order
	if rest, err := c.Decode(c.Append(nil, &in), &out); err != nil || len(rest) > 0 || !reflect.DeepEqual(in, out) {
		t.Errorf("%v came back as %v, rest %v, %v", in, out, rest, err)
	}
	top := mustFor[money](t, codec.Use(moneyCodec()))
	if top.Fixed != 8 || top.Schema != "test.money/1" {
		t.Errorf("top: %d %s", top.Fixed, top.Schema)
	}
}

// big.Int.SetBytes writes into the memory that the number has already.
func TestACodecThatReusesMemoryCannotMixUpTheEntriesOfAMap(t *testing.T) {
	reusing := codec.Custom("test.big/1",
		func(dst []byte, v *big.Int) []byte { return append(dst, v.Bytes()...) },
		func(src []byte, v *big.Int) ([]byte, error) { v.SetBytes(src); return nil, nil })
	c := mustFor[map[int]big.Int](t, codec.Use(reusing))
	in, out := map[int]big.Int{}, map[int]big.Int{}
	for i := range 20 {
		in[i] = *big.NewInt(int64(i) << 40)
	}
	if _, err := c.Decode(c.Append(nil, &in), &out); err != nil {
		t.Fatal(err)
	}
	for i, n := range in {
		if m := out[i]; m.Cmp(&n) != 0 {
			t.Errorf("%d became %v, was %v", i, &m, &n)
		}
	}
}

type square int

func (s square) Area() int { return int(s) }

type moody struct{ Fail bool }

var errMood = errors.New("not today")

func (m moody) MarshalBinary() ([]byte, error) {
	if m.Fail {
		return nil, errMood
	}
	return nil, nil
}
func (m *moody) UnmarshalBinary(b []byte) error {
	if len(b) > 0 {
		return errMood
	}
	return nil
}

func TestAppendPanicsWithTheFieldWhoseMarshalerFails(t *testing.T) {
	type outer struct{ M []moody }
	c := mustFor[outer](t)
	defer func() {
		e, ok := recover().(*codec.EncodeError)
		if !ok || !errors.Is(e, errMood) || e.Path != "codec_test.outer.M[]" {
			t.Errorf("panic %v", e)
		}
	}()
	c.Append(nil, &outer{M: []moody{{}, {Fail: true}}})
}

func TestEncodingAllocatesNothing(t *testing.T) {
	c, b := mustFor[bid](t), bid{Channel: "apple", URL: "https://example.com"}
	buf := c.Append(nil, &b)
	if n := testing.AllocsPerRun(100, func() { buf = c.Append(buf[:0], &b) }); n != 0 {
		t.Errorf("%v allocations per encoding", n)
	}
	m, mc := map[string]int64{"a": 1, "b": 2}, mustFor[map[string]int64](t)
	if n := testing.AllocsPerRun(100, func() { buf = mc.Append(buf[:0], &m) }); n != 0 && !raceEnabled {
		t.Errorf("%v allocations per encoding of a map", n)
	}
}

func TestDecodeSharesNoMemoryWithItsInput(t *testing.T) {
	type value struct {
		S string
		B []byte
	}
	c := mustFor[value](t)
	enc := c.Append(nil, &value{"abc", []byte("def")})
	var out value
	if _, err := c.Decode(enc, &out); err != nil {
		t.Fatal(err)
	}
	clear(enc)
	if out.S != "abc" || string(out.B) != "def" {
		t.Errorf("%q", out)
	}
}

func TestDecodeNeverWritesIntoTheFormerValue(t *testing.T) {
	c := mustFor[[]int64](t)
	former := []int64{1, 2, 3}
	v := former
	if _, err := c.Decode(c.Append(nil, &[]int64{9}), &v); err != nil || former[0] != 1 || v[0] != 9 {
		t.Errorf("former %v, now %v, %v", former, v, err)
	}
}
