package run

import (
	"time"

	"github.com/cutwater-io/cutwater/internal/schedule"
)

// RestartStrategy says whether and when a job that failed starts again, within the
// process, from its latest checkpoint. Make one with [NoRestart], [FixedDelay],
// [FailureRate] or [ExponentialDelay]. Failures that no restart can heal, such as a
// transaction that can never be committed, end the job whatever it says.
type RestartStrategy = schedule.Strategy

// NoRestart makes the first failure the last. It is the zero value: an error of user
// code usually repeats itself, and whatever starts the program starts it again.
func NoRestart() RestartStrategy { return RestartStrategy{} }

// FixedDelay allows so many restarts over the whole run, each after a delay.
func FixedDelay(restarts int, delay time.Duration) RestartStrategy {
	return RestartStrategy{Kind: schedule.Fixed, Attempts: restarts, Delay: delay}
}

// FailureRate restarts after a delay, as long as no more than failures of them lie
// within the given time.
func FailureRate(failures int, within, delay time.Duration) RestartStrategy {
	return RestartStrategy{Kind: schedule.Rate, Attempts: failures, Within: within, Delay: delay}
}

// ExponentialDelay always restarts: after first, then after 1.5 times as long each
// time, up to longest, give or take a tenth, so that jobs which fail together do not
// return together. After an hour without failure it begins with first again.
func ExponentialDelay(first, longest time.Duration) RestartStrategy {
	return RestartStrategy{
		Kind: schedule.Exponential, Delay: first, MaxDelay: longest, Multiplier: 1.5, Jitter: 0.1, ResetAfter: time.Hour,
	}
}
