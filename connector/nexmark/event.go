package nexmark

import "fmt"

// Kind tells what an [Event] is.
type Kind uint8

const (
	// KindPerson is a person who signs up.
	KindPerson Kind = 1 + iota
	// KindAuction is an auction that opens.
	KindAuction
	// KindBid is a bid on an auction.
	KindBid
)

// String returns the kind as in the type field of the JSON form.
func (k Kind) String() string {
	switch k {
	case KindPerson:
		return "person"
	case KindAuction:
		return "auction"
	case KindBid:
		return "bid"
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Event is one event: of Person, Auction and Bid the one that Kind names; the
// others are zero.
type Event struct {
	Kind    Kind
	Person  Person
	Auction Auction
	Bid     Bid
}

// TimeMillis returns the event time in milliseconds since 1970; 0 for the zero
// Event.
func (e *Event) TimeMillis() int64 {
	switch e.Kind {
	case KindPerson:
		return e.Person.DateTimeMillis
	case KindAuction:
		return e.Auction.DateTimeMillis
	case KindBid:
		return e.Bid.DateTimeMillis
	}
	return 0
}

// Person is somebody who signs up: an ID from 1000 on, a made-up Name, Email,
// CreditCard, City and State (of the United States), and the event time
// DateTimeMillis, in milliseconds since 1970. Extra is padding.
type Person struct {
	ID             int64  `json:"id"`
	Name           string `json:"name"`
	Email          string `json:"email"`
	CreditCard     string `json:"creditCard"`
	City           string `json:"city"`
	State          string `json:"state"`
	DateTimeMillis int64  `json:"dateTime"`
	Extra          string `json:"extra"`
}

// Auction is an item put up for auction: an ID from 1000 on, ItemName,
// Description, the prices InitialBid and Reserve in cents, the event time
// DateTimeMillis and the end ExpiresMillis, both in milliseconds since 1970, and
// one of five values of Category. Seller is a person's id, perhaps of one who
// signs up only later; Extra is padding.
type Auction struct {
	ID             int64  `json:"id"`
	ItemName       string `json:"itemName"`
	Description    string `json:"description"`
	InitialBid     int64  `json:"initialBid"`
	Reserve        int64  `json:"reserve"`
	DateTimeMillis int64  `json:"dateTime"`
	ExpiresMillis  int64  `json:"expires"`
	Seller         int64  `json:"seller"`
	Category       int64  `json:"category"`
	Extra          string `json:"extra"`
}

// Bid is a bid on an auction: Auction is its id, and it may open only later or
// have ended; Bidder is a person's id; Price is cents; Channel and URL say where
// the bid came from; DateTimeMillis is the event time, in milliseconds since
// 1970. Extra is padding.
type Bid struct {
	Auction        int64  `json:"auction"`
	Bidder         int64  `json:"bidder"`
	Price          int64  `json:"price"`
	Channel        string `json:"channel"`
	URL            string `json:"url"`
	DateTimeMillis int64  `json:"dateTime"`
	Extra          string `json:"extra"`
}
