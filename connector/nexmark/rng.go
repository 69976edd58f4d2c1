package nexmark

import (
	"math"
	"math/bits"
	"strings"
)

// rng is SplitMix64 (Steele, Lea, Flood 2014), begun anew for each event, so that
// an event depends on nothing but its number. Its constants and the order of
// draws are part of the specification: to change them changes every event.
type rng struct{ s uint64 }

func newRng(seed, stream uint64) rng {
	return rng{seed*0x9E3779B97F4A7C15 + stream*0xD1342543DE82EF95 + 0x632BE59BD9B4E019}
}

func (r *rng) u64() uint64 {
	r.s += 0x9E3779B97F4A7C15
	z := r.s
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
	z = (z ^ (z >> 27)) * 0x94D049BB133111EB
	return z ^ (z >> 31)
}

// below returns a number from 0 to n-1: the high word of a 128-bit product.
func (r *rng) below(n uint64) uint64 {
	hi, _ := bits.Mul64(r.u64(), n)
	return hi
}

// price returns round(100 * 10^(6u)) cents, u uniform with 53 bits.
//
// The exponent is cut in three: two table look-ups of 8 bits, and a rest below
// 6*ln(10)/2^16 = 2.1e-4 where four terms of the exponential series are exact to
// 1e-16. That is 5 ns where math.Pow takes 40; prices are a third of the cost of
// a bid without padding.
func (r *rng) price() int64 {
	m := r.u64() >> 11
	z := float64(m&(1<<37-1)) * (6 * math.Ln10 / (1 << 53))
	rest := 1 + z*(1+z*(0.5+z*(1.0/6)))
	return int64(math.Floor(100*(powHigh[m>>45]*powLow[m>>37&255]*rest) + 0.5))
}

// powHigh and powLow hold 10^(6*i/2^8) and 10^(6*i/2^16).
var powHigh, powLow = func() (hi, lo [256]float64) {
	for i := range 256 {
		hi[i] = math.Pow(10, 6*float64(i)/(1<<8))
		lo[i] = math.Pow(10, 6*float64(i)/(1<<16))
	}
	return hi, lo
}()

// word appends 3 to limit-1 letters, of which one in 13 is special, without
// special blanks at both ends; so a word can be shorter than three letters.
func (r *rng) word(b []byte, limit uint64, special byte) []byte {
	start := len(b)
	for n := 3 + r.below(limit-3); n > 0; n-- {
		if r.below(13) == 0 {
			b = append(b, special)
		} else {
			b = append(b, 'a'+byte(r.below(26)))
		}
	}
	if special != ' ' {
		return b
	}
	for len(b) > start && b[len(b)-1] == ' ' {
		b = b[:len(b)-1]
	}
	cut := start
	for cut < len(b) && b[cut] == ' ' {
		cut++
	}
	return append(b[:start], b[cut:]...)
}

// extra appends the padding that brings an event from used to about nominal
// bytes.
func (r *rng) extra(b []byte, used, nominal int) []byte {
	if used > nominal {
		return b
	}
	d := nominal - used
	delta := int(math.Floor(0.2*float64(d) + 0.5))
	n := d - delta
	if delta > 0 {
		n += int(r.below(uint64(2 * delta)))
	}
	for ; n > 0; n-- {
		b = append(b, 'a'+byte(r.below(26)))
	}
	return b
}

var (
	firstNames  = strings.Split("Peter,Paul,Luke,John,Saul,Vicky,Kate,Julie,Sarah,Deiter,Walter", ",")
	lastNames   = strings.Split("Shultz,Abrams,Spencer,White,Bartels,Walton,Smith,Jones,Noris", ",")
	cities      = strings.Split("Phoenix,Los Angeles,San Francisco,Boise,Portland,Bend,Redmond,Seattle,Kent,Cheyenne", ",")
	states      = strings.Split("AZ,CA,ID,OR,WA,WY", ",")
	hotChannels = strings.Split("Google,Facebook,Baidu,Apple", ",")
)
