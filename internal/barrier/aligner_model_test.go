package barrier

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cutwater-io/cutwater/internal/ident"
)

// naiveAligner is the table of doc.go written down with maps over everything that
// ever happened. It knows no blocked channels: they follow from the rest.
type naiveAligner struct {
	afterFinish bool
	ended       map[ident.ChannelID]bool
	all         []ident.ChannelID
	current     ident.CheckpointID
	arrived     map[ident.CheckpointID]map[ident.ChannelID]bool // barriers
	awaited     map[ident.CheckpointID][]ident.ChannelID        // open at the first barrier
	outcome     map[ident.CheckpointID]string
	aborted     map[ident.CheckpointID]bool
}

func newNaive(all []ident.ChannelID, afterFinish bool) *naiveAligner {
	return &naiveAligner{
		afterFinish: afterFinish, all: all, ended: map[ident.ChannelID]bool{},
		arrived: map[ident.CheckpointID]map[ident.ChannelID]bool{}, awaited: map[ident.CheckpointID][]ident.ChannelID{},
		outcome: map[ident.CheckpointID]string{}, aborted: map[ident.CheckpointID]bool{},
	}
}

func (n *naiveAligner) pending() bool {
	return n.awaited[n.current] != nil && n.outcome[n.current] == ""
}

// see starts id, if it is newer, and reports whether it is what is being aligned.
func (n *naiveAligner) see(id ident.CheckpointID) bool {
	if id > n.current {
		if n.pending() {
			n.outcome[n.current] = "abort " + ReasonSubsumed.String()
		}
		n.current = id
		if n.aborted[id] {
			n.outcome[id] = "abort NONE"
		}
	}
	return id == n.current && n.outcome[id] == ""
}

func (n *naiveAligner) step(ev Event) {
	switch e := ev.(type) {
	case Barrier:
		if n.see(e.Checkpoint) {
			n.await(e.Checkpoint)
			n.arrived[e.Checkpoint][e.Channel] = true
		}
	case CancelMarker:
		delete(n.aborted, e.Checkpoint) // the marker has its own reason
		if n.see(e.Checkpoint) {
			n.outcome[e.Checkpoint] = "abort " + ReasonOnCancellationBarrier.String()
		}
	case Trigger:
		if n.see(e.Checkpoint) {
			n.outcome[e.Checkpoint] = "perform"
		}
	case Aborted:
		if n.pending() && n.current == e.Checkpoint {
			n.outcome[e.Checkpoint] = "abort NONE"
		}
		n.aborted[e.Checkpoint] = true
	case EndOfPartition:
		n.ended[e.Channel] = true
		if n.pending() && !n.afterFinish {
			n.outcome[n.current] = "abort " + ReasonInputEndOfStream.String()
		}
	}
	if n.pending() && !slices.ContainsFunc(n.awaited[n.current], func(c ident.ChannelID) bool {
		return !n.arrived[n.current][c] && !n.ended[c]
	}) {
		n.outcome[n.current] = "perform"
	}
}

func (n *naiveAligner) await(id ident.CheckpointID) {
	if n.awaited[id] != nil {
		return
	}
	n.arrived[id] = map[ident.ChannelID]bool{}
	for _, c := range n.all {
		if !n.ended[c] {
			n.awaited[id] = append(n.awaited[id], c)
		}
	}
}

func (n *naiveAligner) blocked() map[ident.ChannelID]bool {
	if !n.pending() {
		return map[ident.ChannelID]bool{}
	}
	return n.arrived[n.current]
}

// element is what travels in a channel of the fuzz: a record, or an event.
type element struct {
	record int
	event  Event
}

// fatal is *testing.T or *rapid.T, which shrinks what fails.
type fatal interface{ Fatalf(string, ...any) }

// alignerRun feeds an aligner from channels with random contents in random order,
// and checks every step against the naive model and against what a snapshot means.
type alignerRun struct {
	t       fatal
	rnd     *rand.Rand
	a       *Aligner
	n       *naiveAligner
	all     []ident.ChannelID
	queues  map[ident.ChannelID][]element
	cut     map[ident.ChannelID]map[ident.CheckpointID]int // records before the barrier
	read    map[ident.ChannelID]int
	blocked map[ident.ChannelID]bool
	outcome map[ident.CheckpointID]string
	newest  ident.CheckpointID
	actions []Action
}

func newAlignerRun(t fatal, seed uint64, gates []int32, ids int, afterFinish bool, badness int) *alignerRun {
	r := &alignerRun{
		t: t, rnd: rand.New(rand.NewPCG(seed, 1)), a: NewAligner(Config{Channels: gates, AfterFinish: afterFinish}),
		queues: map[ident.ChannelID][]element{}, cut: map[ident.ChannelID]map[ident.CheckpointID]int{},
		read: map[ident.ChannelID]int{}, blocked: map[ident.ChannelID]bool{}, outcome: map[ident.CheckpointID]string{},
	}
	for g, n := range gates {
		for c := range n {
			r.all = append(r.all, ident.ChannelID{Gate: int32(g), Channel: c})
		}
	}
	r.n = newNaive(r.all, afterFinish)
	for _, c := range r.all {
		r.fill(c, ids, badness)
	}
	return r
}

// fill writes what one upstream sends: records, and for each checkpoint a barrier
// or, in badness of 1000 cases, a cancel marker, both, nothing, or its end.
func (r *alignerRun) fill(c ident.ChannelID, ids, badness int) {
	records := 0
	put := func(ev Event) { r.queues[c] = append(r.queues[c], element{event: ev}) }
	r.cut[c] = map[ident.CheckpointID]int{}
	for id := ident.CheckpointID(1); id <= ident.CheckpointID(ids); id++ {
		for range r.rnd.IntN(3) {
			records++
			r.queues[c] = append(r.queues[c], element{record: records})
		}
		what := 3
		if r.rnd.IntN(1000) < badness {
			what = r.rnd.IntN(4)
		}
		if what == 0 && r.rnd.IntN(4) == 0 {
			break // ends early
		}
		if what >= 2 {
			r.cut[c][id] = records
			put(Barrier{Channel: c, Checkpoint: id})
		}
		if what == 1 || what == 2 {
			put(CancelMarker{Channel: c, Checkpoint: id})
		}
	}
	put(EndOfPartition{Channel: c})
}

func (r *alignerRun) run(noise int) {
	for {
		var ready []ident.ChannelID
		for _, c := range r.all {
			if len(r.queues[c]) > 0 && !r.blocked[c] {
				ready = append(ready, c)
			}
		}
		if len(ready) == 0 {
			break
		}
		if r.rnd.IntN(1000) < noise {
			r.step(Aborted{Checkpoint: max(1, r.a.current+ident.CheckpointID(r.rnd.IntN(3)))})
		}
		if r.rnd.IntN(4000) < noise {
			r.step(Trigger{Checkpoint: max(1, r.a.current+ident.CheckpointID(r.rnd.IntN(2)))})
		}
		c := ready[r.rnd.IntN(len(ready))]
		head := r.queues[c][0]
		r.queues[c] = r.queues[c][1:]
		if head.event != nil {
			r.step(head.event)
			continue
		}
		r.read[c]++
		if r.read[c] != head.record {
			r.t.Fatalf("channel %s: record %d read as number %d", c, head.record, r.read[c])
		}
	}
	for c, q := range r.queues {
		if len(q) > 0 || r.blocked[c] {
			r.t.Fatalf("channel %s is blocked at the end, %d elements were never read", c, len(q))
		}
	}
}

func (r *alignerRun) step(ev Event) {
	r.n.step(ev)
	r.actions = r.a.Step(r.actions[:0], ev)
	for _, act := range r.actions {
		switch act := act.(type) {
		case Block:
			r.check(!r.blocked[act.Channel], ev, act)
			r.blocked[act.Channel] = true
		case Unblock:
			r.check(r.blocked[act.Channel], ev, act)
			delete(r.blocked, act.Channel)
		case Perform:
			r.settle(act.Checkpoint, "perform")
			r.consistent(act.Checkpoint, ev)
		case Abort:
			r.settle(act.Checkpoint, "abort "+act.Reason.String())
		}
	}
	if !maps.Equal(r.blocked, r.n.blocked()) {
		r.t.Fatalf("after %s: blocked %v, want %v", ev, r.blocked, r.n.blocked())
	}
	if !maps.Equal(r.outcome, r.n.outcome) {
		r.t.Fatalf("after %s: outcomes %v, want %v", ev, r.outcome, r.n.outcome)
	}
}

func (r *alignerRun) settle(id ident.CheckpointID, outcome string) {
	if id <= r.newest {
		r.t.Fatalf("checkpoint %d gets outcome %q after checkpoint %d got one", id, outcome, r.newest)
	}
	r.newest, r.outcome[id] = id, outcome
}

// consistent is what alignment is for: at the snapshot, exactly the records before
// the barrier have been read from every channel.
func (r *alignerRun) consistent(id ident.CheckpointID, ev Event) {
	if _, triggered := ev.(Trigger); triggered {
		return
	}
	for _, c := range r.all {
		want, sent := r.cut[c][id]
		if !sent && r.n.ended[c] {
			continue // ended without this barrier: all it had has been read
		}
		if !sent || r.read[c] != want {
			r.t.Fatalf("checkpoint %d is taken after %d records of channel %s, its barrier is after %d", id, r.read[c], c, want)
		}
	}
}

func (r *alignerRun) check(ok bool, ev Event, act Action) {
	if !ok {
		r.t.Fatalf("%s leads to %s of a channel that is that already", ev, act)
	}
}

func (r *alignerRun) performed() (n int) {
	for _, o := range r.outcome {
		if o == "perform" {
			n++
		}
	}
	return n
}

func TestS163S164HundredChannelsInRandomOrderWithRandomCancels(t *testing.T) {
	var performed, aborted int
	for seed := range uint64(30) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			r := newAlignerRun(t, seed, []int32{60, 39, 1}, 12, seed%2 == 0, 2)
			r.run(2)
			performed += r.performed()
			aborted += len(r.outcome) - r.performed()
		})
	}
	if performed < 30 || aborted < 30 {
		t.Fatalf("the fuzz has become blind: %d performed, %d aborted", performed, aborted)
	}
}

func TestAlignerAgreesWithTheNaiveModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		gates := rapid.SliceOfN(rapid.Int32Range(0, 3), 1, 3).Draw(rt, "gates")
		ids := rapid.IntRange(1, 8).Draw(rt, "ids")
		badness := rapid.SampledFrom([]int{0, 50, 300}).Draw(rt, "badness")
		noise := rapid.SampledFrom([]int{0, 30, 200}).Draw(rt, "noise")
		seed := rapid.Uint64().Draw(rt, "seed")
		newAlignerRun(rt, seed, gates, ids, rapid.Bool().Draw(rt, "after finish"), badness).run(noise)
	})
}

// Without faults every checkpoint is performed: the aligner does not stay safe by
// aborting.
func TestS146EveryCheckpointIsPerformedWhenNothingGoesWrong(t *testing.T) {
	for seed := range uint64(20) {
		r := newAlignerRun(t, seed, []int32{3, 2}, 20, true, 0)
		r.run(0)
		if r.performed() != 20 || len(r.outcome) != 20 {
			t.Fatalf("seed %d: outcomes %v", seed, r.outcome)
		}
	}
}

func TestAStepDoesNotAllocateForBarriers(t *testing.T) {
	a := NewAligner(Config{Channels: []int32{100}})
	dst := make([]Action, 0, 128)
	id := ident.CheckpointID(0)
	round := func() {
		id++
		for c := range int32(100) {
			dst = a.Step(dst[:0], Barrier{Channel: ident.ChannelID{Channel: c}, Checkpoint: id})
		}
	}
	// One object a checkpoint is the Perform; the other 199 actions are made once.
	if n := testing.AllocsPerRun(100, round); n > 1 {
		t.Fatalf("a checkpoint over 100 channels allocates %v objects, want 1", n)
	}
	aborts := func() {
		id++
		dst = a.Step(dst[:0], Barrier{Checkpoint: id})
		dst = a.Step(dst[:0], Barrier{Checkpoint: id - 1, Channel: ident.ChannelID{Channel: 1}})
		dst = a.Step(dst[:0], CancelMarker{Channel: ident.ChannelID{Channel: 1}, Checkpoint: id})
		dst = a.Step(dst[:0], CancelMarker{Channel: ident.ChannelID{Channel: 2}, Checkpoint: id})
	}
	if n := testing.AllocsPerRun(100, aborts); n > 1 {
		t.Fatalf("an aborted checkpoint allocates %v objects, want 1", n)
	}
}

func BenchmarkAlignerStep(b *testing.B) {
	for _, channels := range []int32{1, 4, 100} {
		b.Run(fmt.Sprint("channels=", channels), func(b *testing.B) {
			a := NewAligner(Config{Channels: []int32{channels}})
			dst := make([]Action, 0, 128)
			b.ReportAllocs()
			c, id := int32(0), ident.CheckpointID(1)
			for b.Loop() {
				dst = a.Step(dst[:0], Barrier{Channel: ident.ChannelID{Channel: c}, Checkpoint: id})
				if c++; c == channels {
					c, id = 0, id+1
				}
			}
		})
	}
}
