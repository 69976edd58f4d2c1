package nexmark_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/cutwater-io/cutwater/connector/nexmark"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestAnEventDependsOnNothingButItsNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := nexmark.Config{
			Seed:            rapid.Uint64().Draw(t, "seed"),
			OutOfOrderGroup: rapid.SampledFrom([]uint64{1, 2, 50, 952, 954}).Draw(t, "group"),
		}
		k := rapid.Uint64Range(0, 1<<40).Draw(t, "number")
		var fresh, used nexmark.Event
		generator(t, cfg).Event(k, &fresh)
		g := generator(t, cfg)
		for _, earlier := range rapid.SliceOfN(rapid.Uint64Range(0, 1<<20), 0, 5).Draw(t, "earlier") {
			g.Event(earlier, &used)
		}
		g.Event(k, &used)
		if d := cmp.Diff(fresh, used); d != "" {
			t.Fatal(d)
		}
		if g.TimeMillis(k) != fresh.TimeMillis() || g.Kind(k) != fresh.Kind {
			t.Fatalf("time %d kind %s without the event, %d %s with it", g.TimeMillis(k), g.Kind(k), fresh.TimeMillis(), fresh.Kind)
		}
	})
}

func TestNoPaddingChangesNothingButThePadding(t *testing.T) {
	full, lean := generator(t, nexmark.Config{}), generator(t, nexmark.Config{NoPadding: true})
	var a, b nexmark.Event
	padding := 0
	for k := range uint64(500) {
		full.Event(k, &a)
		lean.Event(k, &b)
		padding += len(a.Bid.Extra) + len(a.Auction.Extra) + len(a.Person.Extra)
		a.Bid.Extra, a.Auction.Extra, a.Person.Extra = "", "", ""
		if d := cmp.Diff(a, b); d != "" {
			t.Fatalf("event %d: %s", k, d)
		}
	}
	if padding == 0 {
		t.Error("the full events have no padding")
	}
}

func TestTheShortWaysToABidGiveTheSameBid(t *testing.T) {
	g := generator(t, nexmark.Config{OutOfOrderGroup: 50})
	var e nexmark.Event
	for k := range uint64(2000) {
		g.Event(k, &e)
		b := nexmark.Bid{Price: -1}
		isBid := g.Bid(k, &b)
		auction, at, ok := g.BidKey(k)
		if isBid != (e.Kind == nexmark.KindBid) || ok != isBid {
			t.Fatalf("event %d is a %s; Bid says %v, BidKey %v", k, e.Kind, isBid, ok)
		}
		if !isBid && b != (nexmark.Bid{Price: -1}) {
			t.Fatalf("event %d is no bid but was written: %v", k, b)
		}
		if isBid && (b != e.Bid || auction != b.Auction || at != b.DateTimeMillis) {
			t.Fatalf("event %d: %v, %v, key %d at %d", k, e.Bid, b, auction, at)
		}
	}
}

func TestAGroupIsEmittedInAnotherOrderAndNothingIsOlderThanTheWatermark(t *testing.T) {
	ordered, shuffled := generator(t, nexmark.Config{}), generator(t, nexmark.Config{OutOfOrderGroup: 50})
	var a, b []int64
	moved := false
	for k := range uint64(1000) {
		a, b = append(a, ordered.TimeMillis(k)), append(b, shuffled.TimeMillis(k))
		moved = moved || a[k] != b[k]
	}
	for k := range uint64(1000) {
		if w := shuffled.WatermarkMillis(k); slices.Min(b[k:]) < w {
			t.Fatalf("the watermark after %d events is %d, but an older one comes", k, w)
		}
	}
	slices.Sort(b)
	if !moved || !slices.Equal(a, b) {
		t.Errorf("moved %v, equal as sets %v", moved, slices.Equal(a, b))
	}
}

func TestBidsAllocateNothingWithoutPadding(t *testing.T) {
	g := generator(t, nexmark.Config{NoPadding: true})
	var b nexmark.Bid
	for k := range uint64(300_000) { // all channels are cached after so many
		g.Bid(k, &b)
	}
	k := uint64(1_000_000)
	if n := testing.AllocsPerRun(1000, func() { g.Bid(k, &b); k++ }); n != 0 {
		t.Errorf("%v allocations per bid", n)
	}
}

func TestEventsWithAnyTextSurviveJSON(t *testing.T) {
	for _, s := range []string{"", `"quoted" \ back`, "tab\tline\n", "süß <&> \u2028"} {
		e := nexmark.Event{Kind: nexmark.KindBid, Bid: nexmark.Bid{Price: -5, URL: s, Extra: s}}
		text, err := json.Marshal(&e)
		if err != nil {
			t.Fatal(err)
		}
		var back nexmark.Event
		if err := json.Unmarshal(text, &back); err != nil || back != e {
			t.Errorf("%s: %v, %v", text, back, err)
		}
	}
}

func TestEventsThatAreNoneSayWhatIsWrong(t *testing.T) {
	var e nexmark.Event
	if _, err := e.AppendJSON(nil); err == nil || !strings.Contains(err.Error(), "its kind is Kind(0)") {
		t.Errorf("got %v", err)
	}
	for in, want := range map[string]string{
		`{"type":"sale"}`:           `its type is "sale"`,
		`{"type":"bid","price":""}`: "read a bid",
		`[]`:                        "read an event",
	} {
		if err := json.Unmarshal([]byte(in), &e); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", in, err, want)
		}
	}
}

func TestWrongConfigurationsSayWhatIsWrong(t *testing.T) {
	for want, c := range map[string]nexmark.Config{
		"EventsPerSecond is -1":   {EventsPerSecond: -1},
		"EventsPerSecond is NaN":  {EventsPerSecond: math.NaN()},
		"EventsPerSecond is +Inf": {EventsPerSecond: math.Inf(1)},
		"a multiple of 953":       {OutOfOrderGroup: 1906},
		"at most 2^32":            {OutOfOrderGroup: 1<<32 + 1},
		"too many":                {Events: 1 << 54},
		"the end of time":         {Events: 1 << 53, EventsPerSecond: 1},
	} {
		if _, err := nexmark.New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
	if _, err := nexmark.New(nexmark.Config{Events: 1 << 53, OutOfOrderGroup: 952}); err != nil {
		t.Error(err)
	}
}

func FuzzEventJSON(f *testing.F) {
	g := generator(f, nexmark.Config{NoPadding: true})
	for k := range uint64(6) {
		var e nexmark.Event
		g.Event(k, &e)
		text, err := e.AppendJSON(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var e, back nexmark.Event
		if json.Unmarshal(text, &e) != nil {
			return
		}
		again, err := e.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(again, &back); err != nil || back != e {
			t.Errorf("%s reads as %v, written as %s, read as %v, %v", text, e, again, back, err)
		}
	})
}
