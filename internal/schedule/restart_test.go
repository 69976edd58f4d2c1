package schedule

import (
	"testing"
	"time"
)

// failures tells a strategy of failures at the given times and returns the delays,
// -1 where there is no restart.
func failures(s Strategy, at ...time.Duration) (delays []time.Duration) {
	r := New(s)
	for _, now := range at {
		d, ok := r.Failure(now, 0.5)
		if !ok {
			d = -1
		}
		delays = append(delays, d)
	}
	return delays
}

func expect(t *testing.T, got []time.Duration, want ...time.Duration) {
	t.Helper()
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("failure %d: delay %v, want %v (all: %v)", i+1, got[i], want[i], got)
		}
	}
}

const s = time.Second

func TestWithoutAStrategyTheFirstFailureIsTheLast(t *testing.T) {
	expect(t, failures(Strategy{}, 0), -1)
}

func TestS383AFixedDelayAllowsSoManyRestartsOverTheWholeLife(t *testing.T) {
	fixed := Strategy{Kind: Fixed, Attempts: 3, Delay: 2 * s}
	expect(t, failures(fixed, 0, 1000*s, 2000*s, 9000*s), 2*s, 2*s, 2*s, -1)
}

func TestS384AFailureRateForgetsWhatIsLongAgo(t *testing.T) {
	rate := Strategy{Kind: Rate, Attempts: 2, Within: time.Minute, Delay: s}
	expect(t, failures(rate, 0, 20*s, 40*s), s, s, -1)
	expect(t, failures(rate, 0, 20*s, 60*s, 80*s, 200*s), s, s, s, s, s)
	expect(t, failures(rate, 0, 20*s, 60*s, 79*s), s, s, s, -1)
}

func TestS385ExponentialDelaysGrowToTheirLimitAndBeginAnewAfterALongTime(t *testing.T) {
	exp := Strategy{Kind: Exponential, Delay: s, MaxDelay: 5 * s, Multiplier: 2, ResetAfter: time.Hour}
	expect(t, failures(exp, 0, 10*s, 20*s, 30*s, 40*s, 3600*s, 2*3600*s+6*s), s, 2*s, 4*s, 5*s, 5*s, 5*s, s)
}

func TestJitterKeepsDelaysWithinItsPart(t *testing.T) {
	r := New(Strategy{Kind: Exponential, Delay: 10 * s, MaxDelay: 10 * s, Multiplier: 1, Jitter: 0.1})
	for _, c := range []struct {
		random float64
		want   time.Duration
	}{{0, 9 * s}, {0.5, 10 * s}, {0.999999999, 11 * s}} {
		if d, _ := r.Failure(0, c.random); d < c.want-time.Millisecond || d > c.want+time.Millisecond {
			t.Errorf("chance %v gives %v, want %v", c.random, d, c.want)
		}
	}
}

func TestAStrategyThatCannotBeMeantIsRefused(t *testing.T) {
	for _, bad := range []Strategy{
		{Kind: Fixed, Attempts: -1}, {Kind: Fixed, Attempts: 1, Delay: -1},
		{Kind: Rate, Attempts: 0, Within: s}, {Kind: Rate, Attempts: 1},
		{Kind: Exponential, MaxDelay: s, Multiplier: 2}, {Kind: Exponential, Delay: 2, MaxDelay: 1, Multiplier: 2},
		{Kind: Exponential, Delay: 1, MaxDelay: 1, Multiplier: 0.5}, {Kind: Exponential, Delay: 1, MaxDelay: 1, Multiplier: 1, Jitter: 1},
	} {
		if bad.Validate() == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}
