package schedule

import (
	"fmt"
	"math"
	"time"
)

// Kind of a strategy.
type Kind uint8

const (
	// Never: the first failure is the last.
	Never Kind = iota
	// Fixed: so many restarts over the job's whole life.
	Fixed
	// Rate: as long as not more than so many failures lie within a stretch of
	// time.
	Rate
	// Exponential: for ever, waiting longer each time.
	Exponential
)

// Strategy says when a failed job starts again. The zero value is Never.
type Strategy struct {
	Kind Kind
	// Attempts is the number of restarts (Fixed), or of failures within Within
	// that are survived (Rate).
	Attempts int
	Within   time.Duration
	// Delay is waited before each restart; with Exponential before the first,
	// and Multiplier times longer before each one after that, up to MaxDelay.
	Delay, MaxDelay time.Duration
	Multiplier      float64
	// Jitter makes each delay longer or shorter by up to this part of it.
	Jitter float64
	// ResetAfter is how long the job must run well until Exponential begins
	// with Delay again.
	ResetAfter time.Duration
}

// Validate says what cannot be meant, or returns nil.
func (s Strategy) Validate() error {
	switch {
	case s.Delay < 0 || s.Attempts < 0:
		return fmt.Errorf("restart strategy: %d restarts with a delay of %v: neither may be negative", s.Attempts, s.Delay)
	case s.Kind == Rate && (s.Attempts < 1 || s.Within <= 0):
		return fmt.Errorf("restart strategy: at most %d failures within %v: give at least one failure and a positive time", s.Attempts, s.Within)
	case s.Kind == Exponential && (s.Delay <= 0 || s.MaxDelay < s.Delay || s.Multiplier < 1 || s.Jitter < 0 || s.Jitter >= 1):
		return fmt.Errorf("restart strategy: delays from %v to %v, growing %v times with a jitter of %v: give a positive first delay, a last one that is not shorter, a multiplier of at least 1 and a jitter from 0 to below 1",
			s.Delay, s.MaxDelay, s.Multiplier, s.Jitter)
	}
	return nil
}

// String says the strategy as a person would.
func (s Strategy) String() string {
	switch s.Kind {
	case Fixed:
		return fmt.Sprintf("at most %d restarts, %v after each failure", s.Attempts, s.Delay)
	case Rate:
		return fmt.Sprintf("restarts %v after each failure, as long as no more than %d lie within %v", s.Delay, s.Attempts, s.Within)
	case Exponential:
		return fmt.Sprintf("restarts after %v, %v times longer each time up to %v", s.Delay, s.Multiplier, s.MaxDelay)
	}
	return "no restarts"
}

// Restarts counts the failures of one job. It belongs to one goroutine.
type Restarts struct {
	strategy Strategy
	restarts int
	recent   []time.Duration // Rate: failures within Within, oldest first
	delay    time.Duration   // Exponential: before the last restart
	planned  time.Duration   // Exponential: when the last restart was due
}

// New begins to count.
func New(s Strategy) *Restarts { return &Restarts{strategy: s} }

// Count is the number of restarts so far.
func (r *Restarts) Count() int { return r.restarts }

// Failure tells that the job failed. It returns how long to wait before the restart,
// or false when there is none. now is monotonic, random in [0, 1) places the delay
// within its jitter.
func (r *Restarts) Failure(now time.Duration, random float64) (delay time.Duration, restart bool) {
	s := &r.strategy
	delay = s.Delay
	switch s.Kind {
	case Fixed:
		restart = r.restarts < s.Attempts
	case Rate:
		kept := r.recent[:0]
		for _, at := range r.recent {
			if now-at < s.Within {
				kept = append(kept, at)
			}
		}
		r.recent = append(kept, now)
		restart = len(r.recent) <= s.Attempts
	case Exponential:
		restart = true
		if r.delay == 0 || now-r.planned >= s.ResetAfter && s.ResetAfter > 0 {
			r.delay = s.Delay
		} else {
			r.delay = time.Duration(math.Min(float64(r.delay)*s.Multiplier, float64(s.MaxDelay)))
		}
		delay = r.delay + time.Duration(float64(r.delay)*s.Jitter*(2*random-1))
		r.planned = now + delay
	}
	if !restart {
		return 0, false
	}
	r.restarts++
	return delay, true
}
