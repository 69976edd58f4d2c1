package nexmark_test

import (
	"fmt"

	"github.com/cutwater-io/cutwater/connector/gen"
	"github.com/cutwater-io/cutwater/connector/nexmark"
)

func ExampleGenerator_Event() {
	g, err := nexmark.New(nexmark.Config{NoPadding: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	var e nexmark.Event
	for _, k := range []uint64{0, 4} {
		g.Event(k, &e)
		line, err := e.AppendJSON(nil)
		fmt.Println(string(line), err)
	}
	// Output:
	// {"type":"person","id":1000,"name":"Paul Noris","email":"nohte@wcyv.com","creditCard":"2320 3234 8836 3499","city":"Seattle","state":"AZ","dateTime":1436918400000,"extra":""} <nil>
	// {"type":"bid","auction":1000,"bidder":1006,"price":1340,"channel":"Google","url":"https://www.nexmark.com/hds/vgy/dzrh/item.htm?query=1","dateTime":1436918400000,"extra":""} <nil>
}

func ExampleGenerator_Bid() {
	g, err := nexmark.New(nexmark.Config{NoPadding: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	var b nexmark.Bid
	fmt.Println(g.Kind(3), g.Bid(3, &b))
	fmt.Println(g.Kind(4), g.Bid(4, &b), b.Auction, b.Price)
	// Output:
	// auction false
	// bid true 1000 1340
}

func ExampleConfig() {
	_, err := nexmark.New(nexmark.Config{OutOfOrderGroup: 953})
	fmt.Println(err)
	// Output: nexmark: OutOfOrderGroup is 953, a multiple of 953, with which events would repeat; choose another size
}

func ExampleBids() {
	// A thousand events a second of the wall clock, ready for up to 16 readers.
	src := nexmark.Bids(nexmark.Config{NoPadding: true}, gen.Rate(1000), gen.Splits(16))
	fmt.Println(src.Validate())
	// Output: <nil>
}

func ExampleEvents() {
	src := nexmark.Events(nexmark.Config{Events: 1_000_000, Seed: 7})
	fmt.Println(src.Validate())
	// Output: <nil>
}
