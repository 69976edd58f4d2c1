package watermark

import (
	"fmt"
	"math"
)

// None is the watermark of an input that has not reported one.
const None = int64(math.MinInt64)

// EndOfTime is the watermark of a drained input: no record will follow.
const EndOfTime = int64(math.MaxInt64)

// Policy says what time does when all inputs are idle.
type Policy uint8

const (
	// Keep leaves the watermark where it is.
	Keep Policy = iota
	// AdvanceToMax takes the watermark of the most advanced idle input: none of
	// them is waited for, so none of them holds back time. Records that come
	// later to a slower one may be late.
	AdvanceToMax
)

// Config says what a combiner combines.
type Config struct {
	// Inputs is the number of inputs, which are numbered from zero on.
	Inputs int
	// Restored is the lower bound to start from, [None] on a fresh start. The
	// zero value is 1970, so it must be set.
	Restored int64
	AllIdle  Policy
}

// Combiner holds the watermark of a task: the least of its active inputs.
//
// The inputs are the leaves of a tournament tree whose inner nodes hold the lesser
// of their two children, so that an update costs log n steps whichever input it
// comes from, and most end at the first node that does not change. An input that
// is idle or has ended plays with EndOfTime.
//
// Invariant: Watermark() >= least watermark of the active inputs, if there are
// any; and it never goes back.
//
// A Combiner belongs to the task loop.
type Combiner struct {
	tree   []int64 // tree[1] is the root, tree[leaves+i] is input i
	leaves int
	inputs []input
	active int // inputs that are neither idle nor ended
	open   int // inputs that have not ended
	out    int64
	policy Policy
}

type input struct {
	watermark int64
	idle      bool
	ended     bool
}

// NewCombiner makes a combiner whose inputs are all active and have reported
// nothing.
func NewCombiner(cfg Config) *Combiner {
	leaves := 1
	for leaves < cfg.Inputs {
		leaves *= 2
	}
	c := &Combiner{
		tree: make([]int64, 2*leaves), leaves: leaves, inputs: make([]input, cfg.Inputs),
		active: cfg.Inputs, open: cfg.Inputs, out: cfg.Restored, policy: cfg.AllIdle,
	}
	for i := range c.inputs {
		c.inputs[i].watermark = None
	}
	for i := range c.tree {
		c.tree[i] = None
	}
	for i := cfg.Inputs; i < leaves; i++ {
		c.play(i, EndOfTime)
	}
	return c
}

// Watermark returns the combined watermark.
func (c *Combiner) Watermark() int64 { return c.out }

// Idle tells whether there are open inputs and all of them are idle.
func (c *Combiner) Idle() bool { return c.active == 0 && c.open > 0 }

// Update takes a watermark that input i sent and reports whether the combined one
// advanced. A watermark that does not advance its input is ignored. A watermark
// of an idle input is kept but does not wake it: it may come from a source that
// goes idle, in either order.
func (c *Combiner) Update(i int, watermark int64) bool {
	in := c.openInput(i)
	if watermark <= in.watermark {
		return false
	}
	in.watermark = watermark
	if in.idle {
		return c.active == 0 && c.advance()
	}
	c.play(i, watermark)
	return c.advance()
}

// SetIdle takes the status that input i sent and reports whether the combined
// watermark advanced. Ask Idle before and after to see whether the status did.
func (c *Combiner) SetIdle(i int, idle bool) bool {
	in := c.openInput(i)
	if in.idle == idle {
		return false
	}
	in.idle = idle
	if idle {
		c.active--
		c.play(i, EndOfTime)
	} else {
		c.active++
		c.play(i, in.watermark) // it may have reported while it was idle
	}
	return c.advance()
}

// End says that input i ended and reports whether the combined watermark advanced.
func (c *Combiner) End(i int) bool {
	in := c.openInput(i)
	in.ended = true
	c.open--
	if !in.idle {
		c.active--
		c.play(i, EndOfTime)
	}
	return c.advance()
}

func (c *Combiner) openInput(i int) *input {
	in := &c.inputs[i]
	if in.ended {
		panic(fmt.Sprintf("watermark: input %d has ended and nothing can come from it", i))
	}
	return in
}

func (c *Combiner) play(i int, watermark int64) {
	n := c.leaves + i
	c.tree[n] = watermark
	for n > 1 {
		n /= 2
		least := min(c.tree[2*n], c.tree[2*n+1])
		if c.tree[n] == least {
			return
		}
		c.tree[n] = least
	}
}

func (c *Combiner) advance() bool {
	next := c.tree[1]
	if c.active == 0 {
		if next = c.out; c.policy == AdvanceToMax {
			next = c.mostAdvanced()
		}
	}
	if next <= c.out {
		return false
	}
	c.out = next
	return true
}

func (c *Combiner) mostAdvanced() int64 {
	most := None
	for i := range c.inputs {
		if in := &c.inputs[i]; !in.ended {
			most = max(most, in.watermark)
		}
	}
	return most
}

// RestoredBound merges the watermarks that the former subtasks of an operator
// saved: the least of them, [None] if there are none.
func RestoredBound(saved []int64) int64 {
	if len(saved) == 0 {
		return None
	}
	least := EndOfTime
	for _, w := range saved {
		least = min(least, w)
	}
	return least
}
