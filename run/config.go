package run

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"runtime"
	"time"

	"github.com/cutwater-io/cutwater/internal/checkpoint"
)

// Config of a run. The zero value works: state in .cutwater/<name of the job>, as
// many subtasks as CPUs, a checkpoint every ten seconds, no restarts.
type Config struct {
	// StateDir is the directory that holds the job's log and snapshots. Empty
	// means .cutwater/<name of the job> in the working directory. It belongs to
	// one job, and to one process at a time.
	StateDir string
	// Ephemeral keeps the state in memory instead, and it is gone with Run:
	// for tests. StateDir is not used then.
	Ephemeral bool
	// Parallelism is the number of subtasks of operators that do not set
	// their own. 0 means the number of CPUs the process may use.
	Parallelism int
	// Checkpoints says when snapshots are taken.
	Checkpoints Checkpoints
	// Restore says where to start.
	Restore Restore
	// AllowNonRestored lets a job start although the checkpoint holds state
	// of operators that the program does not have any more. That state is
	// dropped with the next checkpoint. Otherwise it is an error that names
	// them.
	AllowNonRestored bool
	// Restart says whether a failed job starts again from its latest checkpoint
	// within the process before Run returns the failure. The zero value is
	// NoRestart.
	Restart RestartStrategy
	// OnEvent is told what happens: restores, checkpoints, failures. It is
	// called by one goroutine and must not block. It may be nil.
	OnEvent func(Event)
	// Log receives warnings. nil means slog.Default.
	Log *slog.Logger
}

// Checkpoints says when snapshots are taken and how many are kept. The zero
// value takes one every ten seconds.
type Checkpoints struct {
	// Interval between the starts of two checkpoints. Transactional sinks make
	// their output visible with each. 0 means ten seconds, negative that none
	// are taken: then nothing survives the process, and transactional sinks
	// are refused.
	Interval time.Duration
	// Timeout after which a checkpoint that is not complete is given up. 0
	// means ten minutes.
	Timeout time.Duration
	// MinPause is the least time between the end of a checkpoint and the
	// start of the next. 0 means none.
	MinPause time.Duration
	// MaxConcurrent bounds the checkpoints that are under way at a time. 0
	// means one.
	MaxConcurrent int
	// TolerableFailures is how many checkpoints may fail in a row before the
	// job does. 0 means none, negative any number.
	TolerableFailures int
	// Retained is the number of completed checkpoints that are kept. 0 means
	// one.
	Retained int
}

const (
	defaultStateDir = ".cutwater"
	defaultInterval = 10 * time.Second
	minInterval     = 10 * time.Millisecond // as the coordinator's
)

// Restore says where a run starts: [Latest], [None], or the path of another job's
// state directory. A path starts the job from the latest checkpoint there, which
// is copied; the other directory is only read. It is for the first start: a job that
// has a checkpoint of its own continues from that and logs a warning, so that
// whatever restarts the program may keep its flags. The other job should be stopped:
// if it goes on, both write the results that follow that checkpoint.
type Restore string

const (
	// Latest continues from the latest completed checkpoint in the state
	// directory; a new job, and one that had read all its input, starts
	// fresh. It is the default.
	Latest Restore = "latest"
	// None starts fresh and leaves older checkpoints aside for good.
	None Restore = "none"
)

// stateDirOf is the state directory of a job that was given none. Each job has its
// own, so that two programs may run in one working directory. The name is escaped
// to be one element of a path.
func stateDirOf(job string) string {
	name := url.QueryEscape(job)
	if name[0] == '.' {
		name = "%2E" + name[1:]
	}
	return filepath.Join(defaultStateDir, name)
}

func (c Config) withDefaults(job string) Config {
	if c.StateDir == "" && job != "" {
		c.StateDir = stateDirOf(job)
	}
	if c.Parallelism == 0 {
		c.Parallelism = runtime.GOMAXPROCS(0)
	}
	if c.Checkpoints.Interval == 0 {
		c.Checkpoints.Interval = defaultInterval
	}
	if c.Restore == "" {
		c.Restore = Latest
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return c
}

// coordinator is the configuration in the coordinator's words.
func (c *Config) coordinator() checkpoint.Config {
	k := &c.Checkpoints
	cfg := checkpoint.Config{
		Interval: max(k.Interval, 0), Timeout: k.Timeout, MinPause: k.MinPause, MaxConcurrent: k.MaxConcurrent,
		TolerableFailures: k.TolerableFailures, MaxRetained: k.Retained,
	}
	if k.TolerableFailures < 0 {
		cfg.TolerableFailures = checkpoint.UnlimitedFailures
	}
	return cfg
}

func (c *Config) validate() error {
	var errs []error
	if c.Parallelism < 1 {
		errs = append(errs, fmt.Errorf("parallelism %d: it must be at least 1, or 0 for the number of CPUs", c.Parallelism))
	}
	if err := c.Restart.Validate(); err != nil {
		errs = append(errs, err)
	}
	if i := c.Checkpoints.Interval; i > 0 && i < minInterval {
		errs = append(errs, fmt.Errorf("checkpoint interval %v is too short: use at least %v, 0 for the default of %v, or a negative one for no checkpoints", i, minInterval, defaultInterval))
	} else if err := c.coordinator().Validate(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
