package main

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/cutwater-io/cutwater/internal/ident"
)

// world is one seed: everything that exists, on one queue, in virtual time. It
// starts no goroutine and reads no clock, so a seed is the same run each time.
type world struct {
	seed uint64
	bug  bug
	// rng decides schedules, dice decide faults: to take a fault away when a
	// trace is shrunk disturbs the rest as little as possible.
	rng, dice *rand.Rand

	now   time.Duration
	seq   uint64
	queue []item // a binary heap by time, then by age
	hash  uint64
	steps int
	err   error

	rates   [faultKinds]float64
	rolls   int
	fired   []int        // the rolls that became faults
	only    map[int]bool // when shrinking: the rolls that may; nil: all
	healed  bool
	healAt  time.Duration
	tracing bool
	trace   []string

	g     *graph
	log   jobLog
	store []object
	saved []*cut // savepoints: the user's, kept for ever
	// forUser are the ids of savepoints: what is written for them has a place of
	// its own. It is looked up only, so its order reaches nothing.
	forUser map[ident.CheckpointID]bool
	sink    external
	jms     []*jobMaster // the last one leads, if it is alive
	tms     []*taskManager
	done    bool // the log says FINISHED
	seen    [seenKinds]int
}

type item struct {
	at  time.Duration
	seq uint64
	do  func()
}

// after runs do later. Of two that are due at the same time the older is first.
func (w *world) after(d time.Duration, do func()) { w.at(w.now+d, do) }

func (w *world) at(t time.Duration, do func()) {
	w.seq++
	q := append(w.queue, item{t, w.seq, do})
	i := len(q) - 1
	for i > 0 {
		p := (i - 1) / 2
		if !q[i].before(&q[p]) {
			break
		}
		q[i], q[p] = q[p], q[i]
		i = p
	}
	w.queue = q
}

func (a *item) before(b *item) bool { return a.at < b.at || a.at == b.at && a.seq < b.seq }

func (w *world) pop() item {
	q := w.queue
	top, n := q[0], len(q)-1
	q[0] = q[n]
	q[n] = item{}
	q = q[:n]
	for i := 0; ; {
		c := 2*i + 1
		if c >= n {
			break
		}
		if c+1 < n && q[c+1].before(&q[c]) {
			c++
		}
		if !q[c].before(&q[i]) {
			break
		}
		q[i], q[c] = q[c], q[i]
		i = c
	}
	w.queue = q
	return top
}

// micros is a random time.
func (w *world) micros(lo, hi int) time.Duration {
	return time.Duration(lo+w.rng.IntN(hi-lo)) * time.Microsecond
}

func (w *world) chance(p float64) bool { return w.rng.Float64() < p }

// note makes what happens part of the trace's hash.
func (w *world) note(kind byte, a, b uint64) {
	h := w.hash ^ uint64(kind) ^ uint64(w.now)
	h = (h ^ a) * 0x9E3779B97F4A7C15
	h = (h ^ h>>29 ^ b) * 0xBF58476D1CE4E5B9
	w.hash = h ^ h>>32
}

func (w *world) say(format string, args ...any) {
	if w.tracing {
		w.trace = append(w.trace, fmt.Sprintf("%9.3fms ", float64(w.now)/1e6)+fmt.Sprintf(format, args...))
	}
}

// violate ends the run: an invariant does not hold.
func (w *world) violate(which, format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf("%s: %s", which, fmt.Sprintf(format, args...))
		w.say("VIOLATION %v", w.err)
	}
}

// Limits of one seed. A job that has not ended by then after the faults is stuck.
const (
	maxSteps = 400_000
	maxHeal  = 15 * time.Minute
)

// live runs the seed to its end and returns what was violated.
func (w *world) live() (err error) {
	defer func() {
		if r := recover(); r != nil {
			w.violate("panic", "%v", r)
			err = w.err
		}
	}()
	w.begin()
	for w.err == nil && !w.over() {
		if !w.healed && (len(w.queue) == 0 || w.queue[0].at >= w.healAt) {
			w.now = max(w.now, w.healAt)
			w.heal()
			continue
		}
		if len(w.queue) == 0 || w.steps > maxSteps || w.now > w.healAt+maxHeal {
			w.violate("liveness", "after healing the job does not end: %s", w.stuck())
			break
		}
		it := w.pop()
		w.now = max(w.now, it.at)
		w.steps++
		it.do()
	}
	if w.err == nil {
		w.checkEnd()
	}
	return w.err
}

// newWorld draws a job and the faults it will live with.
func newWorld(seed uint64, b bug) *world {
	w := &world{seed: seed, bug: b, rng: rand.New(rand.NewPCG(seed, 1)), dice: rand.New(rand.NewPCG(seed, 2))}
	w.hash = seed
	w.g = newGraph(w.rng)
	w.sink.count = make([]int16, len(w.g.recs))
	w.healAt = time.Duration(50+w.rng.IntN(700)) * time.Millisecond
	// Each seed has some of the faults only, now rare, now frequent: where all
	// happen all the time nothing gets far enough to go wrong in new ways.
	for k := range w.rates {
		if f := &faults[k]; w.chance(0.55) {
			w.rates[k] = f.rate * (0.3 + 1.7*w.rng.Float64())
		}
	}
	for i := range 1 + w.rng.IntN(3) {
		w.tms = append(w.tms, &taskManager{w: w, n: i, tasks: map[taskKey]*task{}})
	}
	w.log.nextID = 1
	w.forUser = map[ident.CheckpointID]bool{}
	return w
}

func (w *world) begin() {
	w.newJobMaster(nil)
	w.chaos()
}

func (w *world) over() bool { return w.done && w.leader() == nil }

// leader is the JobMaster that was started last, nil if it is dead.
func (w *world) leader() *jobMaster {
	if jm := w.jms[len(w.jms)-1]; jm.alive {
		return jm
	}
	return nil
}

type taskKey struct {
	token   ident.FencingToken
	attempt ident.AttemptID
}
