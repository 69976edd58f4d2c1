package main

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"slices"

	"github.com/cutwater-io/cutwater/codec"
	"github.com/cutwater-io/cutwater/connector/nexmark"
)

// Codecs: batches of records to bytes and back, against package gob, which has
// sent its types once and for all before, and for records without pointers
// against copying memory.

// bids are records as a generator makes them.
func bids() []nexmark.Bid {
	vs := make([]nexmark.Bid, 512)
	for i := range vs {
		x := scramble(uint64(i))
		vs[i] = nexmark.Bid{
			Auction: 1000 + below(x, 1000), Bidder: 1000 + below(scramble(x), 1000), Price: int64(x & 0xfffff),
			Channel: "channel-" + fmt.Sprint(x&0xfff), URL: "https://www.nexmark.com/item.htm?query=1&channel_id=" + fmt.Sprint(x&0xfff),
			DateTimeMillis: firstMillis + int64(i), Extra: fmt.Sprintf("%016x", scramble(x+1)),
		}
	}
	return vs
}

func smalls() []event {
	vs := make([]event, 512)
	for i := range vs {
		makeEvent(uint64(i), &vs[i])
	}
	return vs
}

// codecContest measures one type in one direction.
func codecContest[T comparable](label string, decode bool, vs []T) *contest {
	n := scaled(4_000_000)
	rounds := n / len(vs)
	c, err := codec.For[T]()
	if err != nil {
		panic(err) // ours are fine
	}
	copies := codec.PointerFree[T]()
	var own []byte
	for i := range vs {
		own = c.Append(own, &vs[i])
	}
	var stream bytes.Buffer
	enc, dec := gob.NewEncoder(&stream), gob.NewDecoder(&stream)
	var got T
	encodeGob := func() error {
		for i := range vs {
			if err := enc.Encode(&vs[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if err := encodeGob(); err != nil {
		panic(err)
	}
	for range vs { // the types are known from here on
		if err := dec.Decode(&got); err != nil {
			panic(err)
		}
	}
	if err := encodeGob(); err != nil {
		panic(err)
	}
	gobs := slices.Clone(stream.Bytes())
	stream.Reset()

	out, dst := make([]byte, 0, len(own)), make([]T, len(vs))
	check := func(last *T) error {
		if *last != vs[len(vs)-1] {
			return fmt.Errorf("decoded %v, encoded was %v", *last, vs[len(vs)-1])
		}
		return nil
	}
	direction := "Encode"
	ours := func() (int, uint64, error) {
		for range rounds {
			out = out[:0]
			for i := range vs {
				out = c.Append(out, &vs[i])
			}
		}
		return rounds * len(vs), 0, nil
	}
	theirs := func() (int, uint64, error) {
		for range rounds {
			stream.Reset()
			if err := encodeGob(); err != nil {
				return 0, 0, err
			}
		}
		stream.Reset()
		return rounds * len(vs), 0, nil
	}
	if decode {
		direction = "Decode"
		ours = func() (int, uint64, error) {
			for range rounds {
				src := own
				for i := range dst {
					var err error
					if src, err = c.Decode(src, &dst[i]); err != nil {
						return 0, 0, err
					}
				}
			}
			return rounds * len(vs), 0, check(&dst[len(dst)-1])
		}
		theirs = func() (int, uint64, error) {
			for range rounds {
				stream.Reset()
				stream.Write(gobs)
				for i := range dst {
					if err := dec.Decode(&dst[i]); err != nil {
						return 0, 0, err
					}
				}
			}
			return rounds * len(vs), 0, check(&dst[len(dst)-1])
		}
	}
	name := "Codec" + label + direction
	k := &contest{
		name: name,
		contestants: []contestant{
			{name: "codec", run: ours},
			{name: "gob", run: theirs},
		},
		rows: func(m measured) []row {
			rows := []row{versus(m, name, "codec", "gob", 0.3)}
			if copies {
				rows = append(rows, versus(m, name+" to a memory copy", "codec", "copy", 3))
			}
			for i := range rows {
				rows[i].Of = "codec"
			}
			return rows
		},
	}
	if copies {
		k.contestants = append(k.contestants, contestant{name: "copy", run: func() (int, uint64, error) {
			for range rounds {
				copyEach(dst, vs)
			}
			return rounds * len(vs), 0, nil
		}})
	}
	return k
}

// copyEach copies record by record, as a codec is called: one copy of the whole
// batch would be another thing.
//
//go:noinline
func copyEach[T any](dst, src []T) {
	for i := range src {
		copyOne(&dst[i], &src[i])
	}
}

//go:noinline
func copyOne[T any](dst, src *T) { *dst = *src }
