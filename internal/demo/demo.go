package demo

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cutwater-io/cutwater/internal/oracle"
)

// Config of the demo. The zero value is what `cutwater demo` runs.
type Config struct {
	// Records is the least number of bids. 0 means 20 million.
	Records uint64
	// Rate bounds the events a second of every child but the last, so that
	// there is something left to kill. 0 means 400,000. The last child runs as
	// fast as it can.
	Rate float64
	// Interval between checkpoints. 0 means 200 ms.
	Interval time.Duration
	// Dir is where state and output go. Empty means a temporary directory that
	// is removed at the end.
	Dir string
	// Exe and Prefix are the command that runs RunJob in a child. Empty means
	// this program's own executable with "demo-job".
	Exe    string
	Prefix []string
	Out    io.Writer // progress for people

	// BetweenKills and BeforeVerify are called with the demo's directories;
	// tests use them to do harm.
	BetweenKills func(kill int, j Job)
	BeforeVerify func(j Job)
}

// kill is one entry of the schedule: when, in words, and how.
type kill struct {
	hold    string // the moment to hold the child at; empty: at any moment
	command string // what arms it
	words   string
}

// schedule is the worst moments, and some at random.
var schedule = []kill{
	{words: "at a random moment"},
	{hold: "triggered", command: "hold", words: "while a checkpoint was pending"},
	{hold: "published", command: "hold", words: "between the publication of a checkpoint and the commit of its output"},
	{hold: "restoring", command: "fail", words: "during a restore, after a failure inside it"},
	{words: "at a random moment"},
	{hold: "published", command: "hold", words: "between the publication of a checkpoint and the commit of its output, again"},
}

// checkpointsPerLife is how many checkpoints a child completes before its turn
// comes, so that the kills are spread over the input.
const checkpointsPerLife = 6

// ErrDifferent is returned when the output is not what it should be.
var ErrDifferent = errors.New("the output is wrong")

// Run runs the demo to its verdict: nil when the output is exact.
func Run(cfg Config) error {
	if cfg.Records == 0 {
		cfg.Records = 20_000_000
	}
	if cfg.Rate == 0 {
		cfg.Rate = 400_000
	}
	if cfg.Interval == 0 {
		cfg.Interval = 200 * time.Millisecond
	}
	if cfg.Exe == "" {
		exe, err := os.Executable()
		if err != nil {
			return fmt.Errorf("find this program's file: %w", err)
		}
		cfg.Exe, cfg.Prefix = exe, []string{"demo-job"}
	}
	if cfg.Dir == "" {
		dir, err := os.MkdirTemp("", "cutwater-demo-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		cfg.Dir = dir
	}
	// 46 of 50 events are bids; a whole number of epochs makes the count exact.
	epochs := (cfg.Records + 45) / 46
	d := &demo{cfg: cfg, begin: time.Now(), job: Job{
		State: filepath.Join(cfg.Dir, "state"), Output: filepath.Join(cfg.Dir, "output"),
		Events: epochs * 50, Rate: cfg.Rate, Interval: cfg.Interval,
	}}
	return d.run(epochs * 46)
}

type demo struct {
	cfg      Config
	job      Job
	begin    time.Time
	restored []uint64
}

func (d *demo) say(format string, args ...any) {
	fmt.Fprintf(d.cfg.Out, "%5.1fs  "+format+"\n", append([]any{time.Since(d.begin).Seconds()}, args...)...)
}

func (d *demo) run(records uint64) error {
	d.say("job: %d bids, %d subtasks, windows of %v per auction, a checkpoint every %v", records, parallelism, windowSize, d.job.Interval)
	for i := range schedule {
		if err := d.life(i); err != nil {
			return err
		}
		if d.cfg.BetweenKills != nil {
			d.cfg.BetweenKills(i, d.job)
		}
	}
	if err := d.last(); err != nil {
		return err
	}
	if d.cfg.BeforeVerify != nil {
		d.cfg.BeforeVerify(d.job)
	}
	return d.verify(records)
}

// start starts a child and checks that it goes on where the last one was.
func (d *demo) start(n int, hold string) (*child, error) {
	j := d.job
	j.Hold = hold
	c, err := startChild(d.cfg.Exe, d.cfg.Prefix, &j)
	if err != nil {
		return nil, err
	}
	for len(c.sources) < parallelism {
		if _, ok := c.next(); !ok {
			return c, c.failure()
		}
	}
	if n == 0 {
		d.say("child 1: started fresh (pid %d)", c.cmd.Process.Pid)
		return c, nil
	}
	d.say("child %d: restored checkpoint %d, sources go on at events %s (pid %d)", n+1, c.restored, list(c.sources), c.cmd.Process.Pid)
	last := uint64(0)
	if len(d.restored) > 0 {
		last = d.restored[len(d.restored)-1]
	}
	if c.restored <= last {
		return c, fmt.Errorf("%w: child %d restored checkpoint %d, which is not newer than %d", ErrDifferent, n+1, c.restored, last)
	}
	for _, at := range c.sources {
		if at < parallelism {
			return c, fmt.Errorf("%w: child %d restored checkpoint %d and a source began at event %d", ErrDifferent, n+1, c.restored, at)
		}
	}
	d.restored = append(d.restored, c.restored)
	return c, nil
}

// life is one child from its start to its SIGKILL.
func (d *demo) life(n int) error {
	k := schedule[n]
	c, err := d.start(n, k.hold)
	if c != nil {
		defer c.kill()
	}
	if err != nil {
		return err
	}
	for c.count < checkpointsPerLife {
		if _, ok := c.next(); !ok {
			return c.failure()
		}
	}
	if k.hold == "" {
		time.Sleep(rand.N(2 * d.job.Interval))
	} else {
		if err := c.say(k.command); err != nil {
			return err
		}
		for word := ""; word != "holding"; {
			var ok bool
			if word, ok = c.next(); !ok {
				return c.failure()
			}
		}
	}
	c.kill()
	d.say("child %d: killed %s, after checkpoint %d", n+1, k.words, c.completed)
	return nil
}

// last is the child that is left alone.
func (d *demo) last() error {
	d.job.Rate = 0
	begin := time.Now()
	c, err := d.start(len(schedule), "")
	if c != nil {
		defer c.kill()
	}
	if err != nil {
		return err
	}
	told := time.Now()
	for {
		word, ok := c.next()
		if !ok {
			return c.failure()
		}
		if word == "finished" {
			break
		}
		if word == "completed" && time.Since(told) > time.Second {
			told = time.Now()
			d.say("child %d: checkpoint %d", len(schedule)+1, c.completed)
		}
	}
	rest := float64(d.job.Events)
	for _, at := range c.sources {
		rest -= float64(at) / parallelism
	}
	d.say("child %d: read the rest and finished, %.1f million events a second", len(schedule)+1, rest/1e6/time.Since(begin).Seconds())
	return nil
}

func (d *demo) verify(records uint64) error {
	d.say("counting again in a plain loop that has no part of the engine")
	want, err := d.job.answer()
	if err != nil {
		return err
	}
	r, err := oracle.Compare(want, d.job.Output)
	if err != nil {
		return err
	}
	if !r.OK() {
		fmt.Fprintln(d.cfg.Out, r)
		return ErrDifferent
	}
	fmt.Fprintf(d.cfg.Out, "verified: %d records, %d windows, restored from %s, 0 lost, 0 duplicated\n", records, len(want), list(d.restored))
	return nil
}

func list(ns []uint64) string {
	words := make([]string, len(ns))
	for i, n := range ns {
		words[i] = fmt.Sprint(n)
	}
	return strings.Join(words, ", ")
}
