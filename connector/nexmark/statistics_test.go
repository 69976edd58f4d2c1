package nexmark_test

import (
	"math"
	"strings"
	"testing"

	"github.com/cutwater-io/cutwater/connector/nexmark"
)

// tally counts what section "Statistical equality" of the specification lists.
type tally struct {
	people, auctions, bids                            float64
	hotSellers, hotBidders, hotAuctions, hotChannels  float64
	cheap, middle, dear, q14, q2, q21, other, otherID float64
	unannounced, alive, dead                          float64
	categories                                        [5]float64
	length, longest                                   float64
	personBytes, auctionBytes, bidBytes               float64
	expires, opens                                    map[int64]int64
	valid                                             map[int64]bool
}

func (y *tally) add(e *nexmark.Event, lastPerson, lastAuction int64) {
	switch e.Kind {
	case nexmark.KindPerson:
		p := &e.Person
		y.people++
		y.personBytes += float64(16 + len(p.Name) + len(p.Email) + len(p.CreditCard) + len(p.City) + len(p.State) + len(p.Extra))
	case nexmark.KindAuction:
		a := &e.Auction
		y.auctions++
		y.categories[a.Category-10]++
		if a.Seller == 1000+lastPerson/100*100 {
			y.hotSellers++
		}
		y.length += float64(a.ExpiresMillis - a.DateTimeMillis)
		y.longest = max(y.longest, float64(a.ExpiresMillis-a.DateTimeMillis))
		y.opens[a.ID], y.expires[a.ID] = a.DateTimeMillis, a.ExpiresMillis
		y.auctionBytes += float64(56 + len(a.ItemName) + len(a.Description) + len(a.Extra))
	case nexmark.KindBid:
		y.addBid(&e.Bid, lastPerson, lastAuction)
	}
}

func (y *tally) addBid(b *nexmark.Bid, lastPerson, lastAuction int64) {
	count := func(n *float64, yes bool) {
		if yes {
			*n++
		}
	}
	y.bids++
	y.bidBytes += float64(32 + len(b.Extra))
	hot := !strings.HasPrefix(b.Channel, "channel-")
	id := strings.Contains(b.URL, "&channel_id=")
	opens, announced := y.opens[b.Auction]
	alive := announced && b.DateTimeMillis >= opens && b.DateTimeMillis <= y.expires[b.Auction]
	count(&y.hotBidders, b.Bidder == 1001+lastPerson/100*100)
	count(&y.hotAuctions, b.Auction == 1000+lastAuction/100*100)
	count(&y.hotChannels, hot)
	count(&y.other, !hot)
	count(&y.otherID, id)
	count(&y.q21, hot || id)
	count(&y.q2, b.Auction%123 == 0)
	count(&y.cheap, b.Price < 10_000)
	count(&y.middle, b.Price >= 10_000 && b.Price < 1_000_000)
	count(&y.dear, b.Price >= 1_000_000)
	count(&y.q14, 908*b.Price > 1_000_000_000 && 908*b.Price < 50_000_000_000)
	count(&y.unannounced, !announced)
	count(&y.alive, alive)
	count(&y.dead, announced && !alive)
	if alive {
		y.valid[b.Auction] = true
	}
}

func TestTheStreamIsStatisticallyEqualToTheSpecification(t *testing.T) {
	const events = 600_000
	g, err := nexmark.New(nexmark.Config{})
	if err != nil {
		t.Fatal(err)
	}
	y := tally{opens: map[int64]int64{}, expires: map[int64]int64{}, valid: map[int64]bool{}}
	var e nexmark.Event
	lastPerson, lastAuction := int64(-1), int64(-1)
	for k := range uint64(events) {
		g.Event(k, &e)
		switch e.Kind {
		case nexmark.KindPerson:
			lastPerson++
			if e.Person.ID != 1000+lastPerson {
				t.Fatalf("person %d has id %d", lastPerson, e.Person.ID)
			}
		case nexmark.KindAuction:
			lastAuction++
			if e.Auction.ID != 1000+lastAuction {
				t.Fatalf("auction %d has id %d", lastAuction, e.Auction.ID)
			}
		}
		y.add(&e, lastPerson, lastAuction)
	}
	for _, c := range []struct {
		what                 string
		got, want, tolerance float64
	}{
		{"people per 50 events", y.people * 50 / events, 1, 0},
		{"auctions per 50 events", y.auctions * 50 / events, 3, 0},
		{"bids per 50 events", y.bids * 50 / events, 46, 0},
		{"auctions of the hot seller", y.hotSellers / y.auctions, 0.755, 0.012},
		{"bids of the hot bidder", y.hotBidders / y.bids, 0.7516, 0.003},
		{"bids on the hot auction", y.hotAuctions / y.bids, 0.5045, 0.004},
		{"bids below 100 dollars", y.cheap / y.bids, 1. / 3, 0.004},
		{"bids from 100 to 10,000 dollars", y.middle / y.bids, 1. / 3, 0.004},
		{"bids above", y.dear / y.bids, 1. / 3, 0.004},
		{"bids in the band of q14", y.q14 / y.bids, 0.2827, 0.004},
		{"bids on a hot channel", y.hotChannels / y.bids, 0.5, 0.004},
		{"other channels with an id", y.otherID / y.other, 0.9, 0.02},
		{"bids q21 keeps", y.q21 / y.bids, 0.95, 0.01},
		{"bids q2 keeps", y.q2 / y.bids, 0.0082, 0.004},
		{"bids for an auction not announced", y.unannounced / y.bids, 0.0449, 0.002},
		{"bids within their auction's life", y.alive / y.bids, 0.7006, 0.02},
		{"bids after it", y.dead / y.bids, 0.2544, 0.02},
		{"auctions with a valid bid", float64(len(y.valid)) / y.auctions, 0.933, 0.01},
		{"mean auction length", y.length / y.auctions, 166.65, 2.6},
		{"longest auction", max(y.longest, 332), 332, 0},
		{"bytes of a person", y.personBytes / y.people, 207.6, 1},
		{"bytes of an auction", y.auctionBytes / y.auctions, 507.7, 1},
		{"bytes of a bid", y.bidBytes / y.bids, 99.5, 1},
		{"category 10", y.categories[0] / y.auctions, 0.2, 0.011},
		{"category 11", y.categories[1] / y.auctions, 0.2, 0.011},
		{"category 12", y.categories[2] / y.auctions, 0.2, 0.011},
		{"category 13", y.categories[3] / y.auctions, 0.2, 0.011},
		{"category 14", y.categories[4] / y.auctions, 0.2, 0.011},
	} {
		if math.Abs(c.got-c.want) > c.tolerance {
			t.Errorf("%s: %.4f, want %.4f +- %.4f", c.what, c.got, c.want, c.tolerance)
		}
	}
}
