package nexmark_test

import (
	"testing"

	"github.com/cutwater-io/cutwater/connector/nexmark"
)

func generator(tb interface{ Fatal(...any) }, cfg nexmark.Config) *nexmark.Generator {
	g, err := nexmark.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

func BenchmarkEvent(b *testing.B) {
	g := generator(b, nexmark.Config{})
	var e nexmark.Event
	b.ReportAllocs()
	for k := uint64(0); b.Loop(); k++ {
		g.Event(k, &e)
	}
}

func BenchmarkEventNoPadding(b *testing.B) {
	g := generator(b, nexmark.Config{NoPadding: true})
	var e nexmark.Event
	b.ReportAllocs()
	for k := uint64(0); b.Loop(); k++ {
		g.Event(k, &e)
	}
}

func BenchmarkBidNoPadding(b *testing.B) {
	g := generator(b, nexmark.Config{NoPadding: true})
	var bid nexmark.Bid
	b.ReportAllocs()
	for k := uint64(0); b.Loop(); k++ {
		g.Bid(k, &bid)
	}
}

func BenchmarkBidKey(b *testing.B) {
	g := generator(b, nexmark.Config{})
	for k := uint64(0); b.Loop(); k++ {
		g.BidKey(k)
	}
}
