package main

import (
	"time"
	"unsafe"

	"github.com/cutwater-io/cutwater/connector/gen"
	"github.com/cutwater-io/cutwater/stream"
	"github.com/cutwater-io/cutwater/window"
)

// The windowed job with string keys and records that are structs with strings:
// what most programs have.

const (
	stringKeys    = 200_000
	stringRecords = 12_000_000
)

// visit is a record with strings: 64 bytes with those.
type visit struct {
	User, Page, Agent string
	At                int64
	Status            int32
}

// userNames are the strings of 12 bytes that the keys are, one memory each, as
// after decoding.
var userNames = func() []string {
	text := make([]byte, 0, stringKeys*12)
	names := make([]string, stringKeys)
	for i := range names {
		text = append(text, "user-0000000"...)
		d := text[len(text)-7:]
		for j, x := 6, i; x > 0; j, x = j-1, x/10 {
			d[j] = byte('0' + x%10)
		}
		names[i] = unsafe.String(&text[len(text)-12], 12)
	}
	return names
}()

func makeVisit(i uint64, v *visit) {
	x := scramble(i)
	v.User = userNames[below(x, stringKeys)]
	v.Page, v.Agent = urls[x&3], "Mozilla/5.0"
	v.At = firstMillis + int64(i/perMilli)
	v.Status = 200
}

func visitTime(v *visit) int64 { return v.At }
func visitor(v *visit) string  { return v.User }
func notFailed(v *visit) bool  { return v.Status < 500 }

func stringJob(n int, out *tally[window.Result[string, int64]]) *stream.Pipeline {
	p := stream.New("bench-strings")
	p.From(gen.Into(uint64(n), makeVisit), stream.Name("visits")).
		EventTimeMillis(visitTime, watermarks()).
		FilterRef(notFailed).
		KeyByRef(visitor).
		Window(window.Tumbling(windowMillis*time.Millisecond)).
		Count(stream.Name("visits-per-user")).
		To(out, stream.Name("tally"))
	return p
}

func newStringCount() *tally[window.Result[string, int64]] {
	return newTally(func(r *window.Result[string, int64]) uint64 {
		return nameSum(r.Key, int64(r.Window.Start), r.Value)
	})
}

func nameSum(key string, start, n int64) uint64 {
	last := uint64(key[len(key)-1]) | uint64(key[len(key)-2])<<8 | uint64(key[len(key)-3])<<16
	return last * uint64(n) * uint64(start|1)
}

func floorStrings(n int, counts map[string]int64) (int, uint64, error) {
	out := newStringCount()
	w := &tallyWriter[window.Result[string, int64]]{tally: out, sum: out.sum}
	start := int64(firstMillis)
	var r window.Result[string, int64]
	drain := func() {
		r.Window = window.Window{Start: window.Millis(start), End: window.Millis(start + windowMillis)}
		for k, c := range counts {
			r.Key, r.Value = k, c
			_ = w.Write(&r, start+windowMillis-1)
		}
		clear(counts)
	}
	var v visit
	for i := range uint64(n) {
		makeVisit(i, &v)
		if !notFailed(&v) {
			continue
		}
		if v.At >= start+windowMillis {
			drain()
			start += windowMillis
		}
		counts[v.User]++
	}
	drain()
	return n, w.checksum, nil
}

func stringContest() *contest {
	n := scaled(stringRecords)
	counts := make(map[string]int64, stringKeys)
	return &contest{
		name: "E2EStrings",
		contestants: []contestant{
			{name: "map loop", run: func() (int, uint64, error) { return floorStrings(n, counts) }},
			{name: "job", run: func() (int, uint64, error) {
				out := newStringCount()
				if err := execute(stringJob(n, out), 1, 0); err != nil {
					return 0, 0, err
				}
				_, sum := out.total()
				return n, sum, nil
			}},
		},
		rows: func(m measured) []row {
			return []row{versus(m, "E2EStrings, 200 K string keys, 64 B records", "job", "map loop", 0)}
		},
	}
}
