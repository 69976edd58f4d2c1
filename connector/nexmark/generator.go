package nexmark

import (
	"math/bits"
	"strconv"
)

// Generator makes events by their number. It belongs to one goroutine: it caches
// the channels and reuses a buffer.
type Generator struct {
	cfg     Config
	delayUs float64

	hotURLs  [4]string
	channels []channel // made when first used
	buf      []byte
}

// channel is one of the channels that are not hot, with the URL it has for the
// whole run.
type channel struct{ name, url string }

// New returns a generator of the stream cfg describes, or what is wrong with it.
func New(cfg Config) (*Generator, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	g := &Generator{cfg: cfg, delayUs: 1_000_000 / cfg.EventsPerSecond, channels: make([]channel, channels)}
	for i := range g.hotURLs {
		r := newRng(cfg.Seed, 1<<62+uint64(i))
		g.buf = appendURL(g.buf[:0], &r)
		g.hotURLs[i] = string(g.buf)
	}
	return g, nil
}

// number returns the event number of the k-th event emitted: within a group the
// order is a fixed permutation.
func (g *Generator) number(k uint64) uint64 {
	group := g.cfg.OutOfOrderGroup
	if group == 1 {
		return k
	}
	return k/group*group + k*shuffleStep%group
}

// timeOf returns the event time of event number n.
func (g *Generator) timeOf(n uint64) int64 {
	return g.cfg.BaseMillis + int64(float64(n)*g.delayUs)/1000
}

// TimeMillis returns the event time of the k-th event.
func (g *Generator) TimeMillis(k uint64) int64 { return g.timeOf(g.number(k)) }

// Kind returns the kind of the k-th event.
func (g *Generator) Kind(k uint64) Kind {
	switch off := g.number(k) % epoch; {
	case off < people:
		return KindPerson
	case off < people+auctions:
		return KindAuction
	}
	return KindBid
}

// WatermarkMillis returns the perfect watermark after the first k events: no
// later event is older.
func (g *Generator) WatermarkMillis(k uint64) int64 {
	return g.timeOf(k / g.cfg.OutOfOrderGroup * g.cfg.OutOfOrderGroup)
}

// Event writes the k-th event, counted from 0 in the order of emission, to *e.
// REQUIRES: k < 2^53.
func (g *Generator) Event(k uint64, e *Event) {
	n := g.number(k)
	switch off := n % epoch; {
	case off < people:
		e.Kind, e.Auction, e.Bid = KindPerson, Auction{}, Bid{}
		g.person(n, &e.Person)
	case off < people+auctions:
		e.Kind, e.Person, e.Bid = KindAuction, Person{}, Bid{}
		g.auction(n, &e.Auction)
	default:
		e.Kind, e.Person, e.Auction = KindBid, Person{}, Auction{}
		g.bid(n, &e.Bid)
	}
}

// Bid writes the k-th event to *b and returns true if it is a bid; else it leaves
// *b alone. With Config.NoPadding it allocates nothing once the channels are
// cached. REQUIRES: k < 2^53.
func (g *Generator) Bid(k uint64, b *Bid) bool {
	n := g.number(k)
	if n%epoch < people+auctions {
		return false
	}
	g.bid(n, b)
	return true
}

// BidKey returns auction and event time of the k-th event if it is a bid: what
// counting bids needs, without the rest of the bid.
func (g *Generator) BidKey(k uint64) (auction, timeMillis int64, ok bool) {
	n := g.number(k)
	if n%epoch < people+auctions {
		return 0, 0, false
	}
	r := newRng(g.cfg.Seed, n)
	return bidAuction(n, &r), g.timeOf(n), true
}

// lastPerson returns the newest person, from 0, as seen by event n.
func lastPerson(n uint64) uint64 { return n/epoch*people + min(n%epoch, people-1) }

// lastAuction returns the newest auction, from 0, as seen by event n: the event's
// own if it is an auction. REQUIRES: event n is no person.
func lastAuction(n uint64) int64 {
	return int64(n/epoch*auctions + min(n%epoch-people, auctions-1))
}

// somePerson returns one of the newest people or of those soon to come.
func somePerson(n uint64, r *rng) uint64 {
	count := lastPerson(n) + 1
	active := min(count, activePeople)
	return count - active + r.below(active+lead)
}

// someAuction returns one of the newest auctions or of those soon to come.
func someAuction(n uint64, r *rng) int64 {
	high := lastAuction(n)
	low := max(high-inFlight, 0)
	return low + int64(r.below(uint64(high-low+1+lead)))
}

// bidAuction makes the first two draws of a bid: its auction.
func bidAuction(n uint64, r *rng) int64 {
	if r.below(hotAuction) > 0 {
		return firstID + lastAuction(n)/hotBatch*hotBatch
	}
	return firstID + someAuction(n, r)
}

func (g *Generator) bid(n uint64, b *Bid) {
	r := newRng(g.cfg.Seed, n)
	b.Auction = bidAuction(n, &r)
	if r.below(hotBidder) > 0 {
		b.Bidder = int64(firstID + lastPerson(n)/hotBatch*hotBatch + 1)
	} else {
		b.Bidder = int64(firstID + somePerson(n, &r))
	}
	b.Price = r.price()
	if r.below(hotChannel) > 0 {
		i := r.below(uint64(len(hotChannels)))
		b.Channel, b.URL = hotChannels[i], g.hotURLs[i]
	} else {
		c := g.channel(r.below(channels))
		b.Channel, b.URL = c.name, c.url
	}
	b.DateTimeMillis = g.timeOf(n)
	b.Extra = g.extra(&r, 32, bidBytes)
}

func (g *Generator) auction(n uint64, a *Auction) {
	r, t := newRng(g.cfg.Seed, n), g.timeOf(n)
	var seller uint64
	if r.below(hotSeller) > 0 {
		seller = lastPerson(n) / hotBatch * hotBatch
	} else {
		seller = somePerson(n, &r)
	}
	a.ID, a.Seller = firstID+lastAuction(n), int64(firstID+seller)
	a.Category = int64(firstCategory + r.below(categories))
	a.InitialBid = r.price()
	a.DateTimeMillis = t
	a.ExpiresMillis = t + 1 + int64(r.below(uint64(max(2*(g.timeOf(n+ahead)-t), 1))))
	a.ItemName = g.word(&r, 20)
	a.Description = g.word(&r, 100)
	a.Reserve = a.InitialBid + r.price()
	a.Extra = g.extra(&r, 8+len(a.ItemName)+len(a.Description)+40, auctionBytes)
}

func (g *Generator) person(n uint64, p *Person) {
	r := newRng(g.cfg.Seed, n)
	p.ID = int64(firstID + lastPerson(n))
	first := firstNames[r.below(uint64(len(firstNames)))]
	p.Name = first + " " + lastNames[r.below(uint64(len(lastNames)))]
	b := r.word(g.buf[:0], 7, ' ')
	b = append(b, '@')
	b = append(r.word(b, 5, ' '), ".com"...)
	p.Email = string(b)
	b = b[:0]
	for i := range 4 {
		if i > 0 {
			b = append(b, ' ')
		}
		d := r.below(10_000)
		b = append(b, '0'+byte(d/1000), '0'+byte(d/100%10), '0'+byte(d/10%10), '0'+byte(d%10))
	}
	p.CreditCard = string(b)
	g.buf = b
	p.City = cities[r.below(uint64(len(cities)))]
	p.State = states[r.below(uint64(len(states)))]
	p.DateTimeMillis = g.timeOf(n)
	p.Extra = g.extra(&r, 8+len(p.Name)+len(p.Email)+len(p.CreditCard)+len(p.City)+len(p.State), personBytes)
}

func (g *Generator) word(r *rng, limit uint64) string {
	g.buf = r.word(g.buf[:0], limit, ' ')
	return string(g.buf)
}

// extra is the last draw of each event, so leaving it out changes nothing else.
func (g *Generator) extra(r *rng, used, nominal int) string {
	if g.cfg.NoPadding {
		return ""
	}
	g.buf = r.extra(g.buf[:0], used, nominal)
	return string(g.buf)
}

// channel returns channel i. Its URL comes from a random stream of its own, so
// that it is the same in every bid.
func (g *Generator) channel(i uint64) *channel {
	c := &g.channels[i]
	if c.name != "" {
		return c
	}
	r := newRng(g.cfg.Seed, 1<<63+i)
	b := appendURL(g.buf[:0], &r)
	if r.below(10) > 0 {
		id := int64(int32(bits.Reverse32(uint32(i))))
		b = strconv.AppendInt(append(b, "&channel_id="...), max(id, -id), 10)
	}
	c.name, c.url = "channel-"+strconv.FormatUint(i, 10), string(b)
	g.buf = b
	return c
}

func appendURL(b []byte, r *rng) []byte {
	b = append(b, "https://www.nexmark.com/"...)
	for range 3 {
		b = append(r.word(b, 5, '_'), '/')
	}
	return append(b, "item.htm?query=1"...)
}
