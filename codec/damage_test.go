package codec_test

import (
	"bytes"
	"errors"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/cutwater-io/cutwater/codec"
)

// refused fails unless Decode refuses src with an error that is marked.
func refused[T any](t *testing.T, c *codec.Codec[T], src []byte) {
	t.Helper()
	var v, s T
	if _, err := c.Decode(src, &v); !errors.Is(err, codec.ErrDamaged) {
		t.Errorf("%s: decoding %x gives %v", c.Schema, src, err)
	}
	if _, err := c.DecodeShared(string(src), &s); !errors.Is(err, codec.ErrDamaged) {
		t.Errorf("%s: decoding %x as a string gives %v", c.Schema, src, err)
	}
}

func TestEveryTruncatedEncodingIsDamaged(t *testing.T) {
	c, v := mustFor[everything](t), full()
	enc := c.Append(nil, &v)
	for n := range enc {
		refused(t, c, enc[:n])
	}
	s := mustFor[small](t)
	enc = s.Append(nil, &aSmall)
	for n := range enc {
		refused(t, s, enc[:n])
	}
}

func TestBytesThatNoValueHasAreDamaged(t *testing.T) {
	refused(t, mustFor[bool](t), []byte{2})
	refused(t, mustFor[*int8](t), []byte{2, 0})
	refused(t, mustFor[*int64](t), []byte{1, 0})
	refused(t, mustFor[struct{ A [2]bool }](t), []byte{1, 3})
	refused(t, mustFor[map[int8]int8](t), []byte{2, 0, 0, 0, 5, 1, 5, 1})
	refused(t, mustFor[map[struct{}]int8](t), []byte{2, 0, 0, 0, 1, 1})
	refused(t, mustFor[[1]netip.Addr](t), []byte{3, 0, 0, 0, 1, 2, 3})
	refused(t, mustFor[[]money](t, codec.Use(moneyCodec())), []byte{1, 0, 0, 0, 1})
	half := codec.Custom("half", func(dst []byte, v *square) []byte { return append(dst, byte(*v), 0) },
		func(src []byte, v *square) ([]byte, error) { return src[1:], nil })
	refused(t, mustFor[[]square](t, codec.Use(half)), []byte{1, 0, 0, 0, 2, 0, 0, 0, 7, 7})
	refused(t, mustFor[time.Time](t), []byte{0, 0, 0, 0, 0, 0, 0, 0, 0x00, 0xca, 0x9a, 0x3b})
}

func TestAClaimedLengthAllocatesNothingBeyondTheInput(t *testing.T) {
	claim := []byte{0xfe, 0xff, 0xff, 0xff, 1, 2, 3, 4}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	refused(t, mustFor[string](t), claim)
	refused(t, mustFor[[]byte](t), claim)
	refused(t, mustFor[[]int64](t), claim)
	refused(t, mustFor[[]string](t), claim)
	refused(t, mustFor[[]bid](t), claim)
	refused(t, mustFor[map[string]bid](t), claim)
	refused(t, mustFor[map[uint8]struct{}](t), claim)
	refused(t, mustFor[map[struct{}]struct{}](t), claim)
	refused(t, mustFor[[][]map[int8]*[4]string](t), claim)
	refused(t, mustFor[[]moody](t), claim)
	refused(t, mustFor[moody](t), claim)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("%d bytes were allocated", n)
	}
}

// fuzzed has every step of a plan.
type fuzzed struct {
	A    int32
	B    bool
	C    [3]bool
	S    string
	Raw  []byte
	Nums []uint16
	Ins  []inner
	P    **inner
	M    map[string]int8
	F    map[float32][]string
	MM   map[[2]bool]map[int8]struct{}
	Zero map[struct{}]bool
	Unit []struct{}
	IP   []netip.Addr
	Cash []money
	Last int64
}

func FuzzDecode(f *testing.F) {
	c := mustFor[fuzzed](f, codec.Use(moneyCodec()))
	in := &inner{On: true, Tags: []string{"t"}}
	for _, v := range []fuzzed{{}, {
		A: 1, B: true, S: "text", Raw: []byte{}, Nums: []uint16{1, 2}, Ins: []inner{{}, *in}, P: &in, M: map[string]int8{"": 1, "k": 2},
		F: map[float32][]string{0: nil, 1: {"a", "b"}}, MM: map[[2]bool]map[int8]struct{}{{true, false}: {1: {}}}, Zero: map[struct{}]bool{{}: true},
		Unit: make([]struct{}, 3), IP: []netip.Addr{netip.MustParseAddr("::1"), {}}, Cash: []money{{1}, {-1}}, Last: -1,
	}} {
		f.Add(c.Append(nil, &v))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		before := bytes.Clone(src)
		var v, s fuzzed
		rest, err := c.Decode(src, &v)
		if !bytes.Equal(before, src) {
			t.Fatal("Decode has changed its input")
		}
		restS, errS := c.DecodeShared(string(src), &s)
		if (err == nil) != (errS == nil) || string(rest) != restS {
			t.Fatalf("Decode: %v, rest %x; DecodeShared: %v, rest %x", err, rest, errS, restS)
		}
		if err != nil {
			if !errors.Is(err, codec.ErrDamaged) {
				t.Fatalf("the error is not marked: %v", err)
			}
			return
		}
		// The input may hold its map entries in another order; from here on the
		// bytes are a fixed point.
		enc := c.Append(nil, &v)
		if len(enc) != len(src)-len(rest) || !bytes.Equal(enc, c.Append(nil, &s)) {
			t.Fatalf("%x\nis encoded again as\n%x", src[:len(src)-len(rest)], enc)
		}
		var again fuzzed
		if rest, err := c.Decode(enc, &again); err != nil || len(rest) > 0 || !bytes.Equal(enc, c.Append(nil, &again)) {
			t.Fatalf("%x\ndoes not come back: rest %x, %v", enc, rest, err)
		}
	})
}
