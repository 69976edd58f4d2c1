package nexmark

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// AppendJSON appends the event as one JSON object without a line end: a type
// field and the fields of its kind, in the order of the specification. & < > stay
// as they are, unlike in json.Marshal's output.
func (e *Event) AppendJSON(b []byte) ([]byte, error) {
	b = append(b, `{"type":"`...)
	b = append(append(b, e.Kind.String()...), '"')
	switch e.Kind {
	case KindPerson:
		p := &e.Person
		b = appendInt(b, "id", p.ID)
		b = appendString(b, "name", p.Name)
		b = appendString(b, "email", p.Email)
		b = appendString(b, "creditCard", p.CreditCard)
		b = appendString(b, "city", p.City)
		b = appendString(b, "state", p.State)
		b = appendInt(b, "dateTime", p.DateTimeMillis)
		b = appendString(b, "extra", p.Extra)
	case KindAuction:
		a := &e.Auction
		b = appendInt(b, "id", a.ID)
		b = appendString(b, "itemName", a.ItemName)
		b = appendString(b, "description", a.Description)
		b = appendInt(b, "initialBid", a.InitialBid)
		b = appendInt(b, "reserve", a.Reserve)
		b = appendInt(b, "dateTime", a.DateTimeMillis)
		b = appendInt(b, "expires", a.ExpiresMillis)
		b = appendInt(b, "seller", a.Seller)
		b = appendInt(b, "category", a.Category)
		b = appendString(b, "extra", a.Extra)
	case KindBid:
		d := &e.Bid
		b = appendInt(b, "auction", d.Auction)
		b = appendInt(b, "bidder", d.Bidder)
		b = appendInt(b, "price", d.Price)
		b = appendString(b, "channel", d.Channel)
		b = appendString(b, "url", d.URL)
		b = appendInt(b, "dateTime", d.DateTimeMillis)
		b = appendString(b, "extra", d.Extra)
	default:
		return nil, fmt.Errorf("nexmark: write an event as JSON: its kind is %s; set Kind to KindPerson, KindAuction or KindBid", e.Kind)
	}
	return append(b, '}'), nil
}

func appendName(b []byte, name string) []byte {
	return append(append(append(b, `,"`...), name...), `":`...)
}

func appendInt(b []byte, name string, n int64) []byte {
	return strconv.AppendInt(appendName(b, name), n, 10)
}

func appendString(b []byte, name, s string) []byte {
	b = appendName(b, name)
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return appendEscaped(b, s)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

// appendEscaped is for strings that no generator makes.
func appendEscaped(b []byte, s string) []byte {
	var w bytes.Buffer
	enc := json.NewEncoder(&w)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic(fmt.Sprintf("nexmark: a string cannot be encoded: %v", err)) // any string can
	}
	return append(b, bytes.TrimSuffix(w.Bytes(), []byte{'\n'})...)
}

// MarshalJSON implements json.Marshaler with the form of AppendJSON.
func (e *Event) MarshalJSON() ([]byte, error) { return e.AppendJSON(nil) }

// UnmarshalJSON implements json.Unmarshaler. Unknown fields are ignored.
func (e *Event) UnmarshalJSON(b []byte) error {
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return fmt.Errorf("nexmark: read an event: %w", err)
	}
	var out Event
	var err error
	switch head.Type {
	case "person":
		out.Kind, err = KindPerson, json.Unmarshal(b, &out.Person)
	case "auction":
		out.Kind, err = KindAuction, json.Unmarshal(b, &out.Auction)
	case "bid":
		out.Kind, err = KindBid, json.Unmarshal(b, &out.Bid)
	default:
		return fmt.Errorf("nexmark: read an event: its type is %q; want person, auction or bid", head.Type)
	}
	if err != nil {
		return fmt.Errorf("nexmark: read a %s: %w", head.Type, err)
	}
	*e = out
	return nil
}
