package codec_test

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"testing"

	"github.com/cutwater-io/cutwater/codec"
)

var (
	aSmall = small{Key: 1, Value: 1 << 40, Time: 1_700_000_000_000}
	aBid   = bid{Auction: 1000, Bidder: 2000, Price: 1 << 20, At: 1_700_000_000_000, Channel: "apple-store", URL: "https://www.nexmark.com/item.htm?query=1&channel_id=5"}
)

// The hand-written rivals are what a careful user would write for the type.

func (v *bid) appendTo(dst []byte) []byte {
	le := binary.LittleEndian
	dst = le.AppendUint64(dst, uint64(v.Auction))
	dst = le.AppendUint64(dst, uint64(v.Bidder))
	dst = le.AppendUint64(dst, uint64(v.Price))
	dst = le.AppendUint64(dst, uint64(v.At))
	dst = append(le.AppendUint32(dst, uint32(len(v.Channel))), v.Channel...)
	return append(le.AppendUint32(dst, uint32(len(v.URL))), v.URL...)
}

func (v *bid) decodeFrom(src []byte) ([]byte, error) {
	if len(src) < 36 {
		return src, codec.ErrDamaged
	}
	le := binary.LittleEndian
	v.Auction, v.Bidder = int64(le.Uint64(src)), int64(le.Uint64(src[8:]))
	v.Price, v.At = int64(le.Uint64(src[16:])), int64(le.Uint64(src[24:]))
	n := le.Uint32(src[32:])
	if src = src[36:]; uint64(n)+4 > uint64(len(src)) {
		return src, codec.ErrDamaged
	}
	v.Channel, src = string(src[:n]), src[n:]
	n = le.Uint32(src)
	if src = src[4:]; uint64(n) > uint64(len(src)) {
		return src, codec.ErrDamaged
	}
	v.URL = string(src[:n])
	return src[n:], nil
}

func BenchmarkCodecSmallEncode(b *testing.B) { benchEncode(b, aSmall) }
func BenchmarkCodecSmallDecode(b *testing.B) { benchDecode(b, aSmall) }
func BenchmarkCodecBidEncode(b *testing.B) {
	benchEncode(b, aBid)
	b.Run("hand", func(b *testing.B) {
		b.ReportAllocs()
		buf, v := []byte(nil), aBid
		for b.Loop() {
			buf = v.appendTo(buf[:0])
		}
	})
}
func BenchmarkCodecBidDecode(b *testing.B) {
	benchDecode(b, aBid)
	b.Run("hand", func(b *testing.B) {
		b.ReportAllocs()
		enc, v := aBid.appendTo(nil), bid{}
		for b.Loop() {
			if _, err := v.decodeFrom(enc); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func benchEncode[T any](b *testing.B, v T) {
	b.Run("own", func(b *testing.B) {
		b.ReportAllocs()
		c, buf := mustFor[T](b), []byte(nil)
		for b.Loop() {
			buf = c.Append(buf[:0], &v)
		}
	})
	b.Run("gob", func(b *testing.B) {
		b.ReportAllocs()
		var buf bytes.Buffer
		e := gob.NewEncoder(&buf)
		for b.Loop() {
			buf.Reset()
			if err := e.Encode(&v); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// gobStream repeats the second message of a gob stream for ever: the first one
// carries the type.
type gobStream struct {
	first, rest []byte
	at          int
}

func (s *gobStream) Read(p []byte) (int, error) {
	if len(s.first) > 0 {
		n := copy(p, s.first)
		s.first = s.first[n:]
		return n, nil
	}
	n := copy(p, s.rest[s.at:])
	s.at = (s.at + n) % len(s.rest)
	return n, nil
}

func (s *gobStream) ReadByte() (byte, error) {
	var p [1]byte
	_, err := s.Read(p[:])
	return p[0], err
}

func benchDecode[T any](b *testing.B, v T) {
	c := mustFor[T](b)
	enc := c.Append(nil, &v)
	b.Run("own", func(b *testing.B) {
		b.ReportAllocs()
		var out T
		for b.Loop() {
			if _, err := c.Decode(enc, &out); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("shared", func(b *testing.B) {
		b.ReportAllocs()
		var out T
		s := string(enc)
		for b.Loop() {
			if _, err := c.DecodeShared(s, &out); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("gob", func(b *testing.B) {
		b.ReportAllocs()
		var buf bytes.Buffer
		e := gob.NewEncoder(&buf)
		_ = e.Encode(&v)
		s := &gobStream{first: bytes.Clone(buf.Bytes())}
		buf.Reset()
		_ = e.Encode(&v)
		s.rest = buf.Bytes()
		d := gob.NewDecoder(s)
		for b.Loop() {
			var out T
			if err := d.Decode(&out); err != nil {
				b.Fatal(err)
			}
		}
	})
}
