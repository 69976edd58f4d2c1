package checkpoint

import (
	"fmt"
	"time"
)

// Retention says when completed checkpoints outlive their job. Whatever it says,
// a suspended coordinator deletes nothing, and a failover of the process is not
// an end of the job.
type Retention uint8

const (
	// RetainUnlessFinished keeps the retained checkpoints when the job is
	// canceled or fails, so that the next run continues from them.
	RetainUnlessFinished Retention = iota
	// RetainOnFailure keeps them only when the job fails.
	RetainOnFailure
	// RetainNever deletes them whenever the job ends for good.
	RetainNever
)

func (r Retention) String() string {
	return [...]string{"unless-finished", "on-failure", "never"}[r]
}

// keeps reports whether checkpoints survive a job that ended with s.
func (r Retention) keeps(s JobStatus) bool {
	switch s {
	case Canceled:
		return r == RetainUnlessFinished
	case JobFailed:
		return r != RetainNever
	default:
		return false
	}
}

// Limits of [Config] (specification 3.1 and 3.2).
const (
	DefaultTimeout      = 10 * time.Minute
	MinInterval         = 10 * time.Millisecond
	MaxMinPause         = 365 * 24 * time.Hour
	DefaultIDBlock      = 64
	UnlimitedFailures   = -1
	maxQueuedRequests   = 1000
	rememberedExpired   = 16
	firstResolveBackoff = time.Second
	maxResolveBackoff   = time.Minute
)

// Config of the checkpoints of one job. The zero value works and means: no
// periodic checkpoints, everything else as in the comments.
type Config struct {
	// Interval between the starts of periodic checkpoints. 0: none; requests
	// still work. Otherwise at least MinInterval. The effective interval is
	// never below MinPause.
	Interval time.Duration
	// Timeout of a checkpoint, from the moment it has an id until its last
	// acknowledgement. 0: DefaultTimeout.
	Timeout time.Duration
	// MinPause between the completion of a checkpoint and the start of the next
	// periodic one. 0: none. Clamped to MaxMinPause. Requests do not wait for it.
	MinPause time.Duration
	// MaxConcurrent bounds pending checkpoints. 0: 1.
	MaxConcurrent int
	// Unaligned: barriers may overtake records. Needs MaxConcurrent 1. When it
	// is off, savepoints start at once, beyond MaxConcurrent.
	Unaligned bool
	// TolerableFailures is how many counted failures in a row the job survives.
	// 0: none, the first fails the job. UnlimitedFailures: all.
	TolerableFailures int
	// MaxRetained completed checkpoints. 0: 1.
	MaxRetained int
	// Retention of completed checkpoints when the job ends.
	Retention Retention
	// NoCheckpointsAfterFinish makes checkpoints impossible once a task has
	// finished. Only for jobs that must stay readable by older programs.
	NoCheckpointsAfterFinish bool
	// BlockingOutputs: the graph has an exchange that does not stream; there
	// are no checkpoints, and requests are refused.
	BlockingOutputs bool
	// IDBlock is how many ids are reserved in the job log at a time. Those left
	// over at a restart are never used. 0: DefaultIDBlock.
	IDBlock uint64
}

// Effective returns the configuration that is really used, and a sentence for
// every setting that was changed rather than refused, for the shell to log. [New]
// applies it.
func (c Config) Effective() (effective Config, warnings []string) {
	warn := func(format string, args ...any) { warnings = append(warnings, fmt.Sprintf(format, args...)) }
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.MaxConcurrent == 0 {
		c.MaxConcurrent = 1
	}
	if c.MaxRetained < 0 {
		warn("at least one completed checkpoint is retained: %d is treated as 1", c.MaxRetained)
	}
	if c.MaxRetained <= 0 {
		c.MaxRetained = 1
	}
	if c.IDBlock == 0 {
		c.IDBlock = DefaultIDBlock
	}
	if c.Unaligned && c.MaxConcurrent > 1 {
		warn("unaligned checkpoints are switched off: they need at most one checkpoint at a time, and %d are allowed", c.MaxConcurrent)
		c.Unaligned = false
	}
	if c.MinPause > MaxMinPause {
		warn("the minimum pause between checkpoints is cut from %v to one year", c.MinPause)
		c.MinPause = MaxMinPause
	}
	if c.Interval > 0 {
		c.Interval = max(c.Interval, c.MinPause)
	}
	return c, warnings
}

// Validate says what cannot be meant. The shell calls it before [New].
func (c Config) Validate() error {
	switch {
	case c.Interval != 0 && c.Interval < MinInterval:
		return fmt.Errorf("checkpoint interval %v is too short: use at least %v, or 0 for no periodic checkpoints", c.Interval, MinInterval)
	case c.Timeout < 0:
		return fmt.Errorf("checkpoint timeout %v is negative: use 0 for the default of %v", c.Timeout, DefaultTimeout)
	case c.MinPause < 0:
		return fmt.Errorf("minimum pause between checkpoints %v is negative: use 0 for none", c.MinPause)
	case c.MaxConcurrent < 0:
		return fmt.Errorf("%d concurrent checkpoints are not possible: use 1 or more, or 0 for the default of 1", c.MaxConcurrent)
	case c.TolerableFailures < UnlimitedFailures:
		return fmt.Errorf("%d tolerable checkpoint failures are not possible: use 0 or more, or %d for unlimited", c.TolerableFailures, UnlimitedFailures)
	case c.Retention > RetainNever:
		return fmt.Errorf("checkpoint retention %d is unknown", c.Retention)
	}
	return nil
}
