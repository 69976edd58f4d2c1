package barrier

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cutwater-io/cutwater/internal/ident"
)

// naiveTask is the specification of a task's checkpoints over its whole history,
// with maps that are never cleaned. It answers what the actions must be.
type naiveTask struct {
	inputs, wait bool
	state        string
	settled      map[ident.CheckpointID]bool // performed or refused
	aborted      map[ident.CheckpointID]bool
	delivered    map[ident.CheckpointID]bool
	cancelled    map[ident.CheckpointID]bool
	parts        map[ident.CheckpointID]string // "running", "closed"
	afterEnd     []ident.CheckpointID          // snapshots taken after the end of data
	finished     bool
	drained      bool
}

func newest[V any](m map[ident.CheckpointID]V) (id ident.CheckpointID) {
	for k := range m {
		id = max(id, k)
	}
	return id
}

func (n *naiveTask) step(ev TaskEvent) (want []string) {
	say := func(f string, a ...any) { want = append(want, fmt.Sprintf(f, a...)) }
	up := n.state == "live" || n.state == "finishing"
	cancel := func(id ident.CheckpointID) {
		if id > newest(n.cancelled) {
			n.cancelled[id] = true
			say("broadcast-cancel checkpoint=%d", id)
		}
	}
	finish := func() {
		if n.state == "finishing" && !n.finished {
			n.finished = true
			say("finish")
		}
	}
	complete := func(id ident.CheckpointID) {
		if id > newest(n.delivered) {
			n.delivered[id] = true
			say("deliver-complete checkpoint=%d", id)
			say("prune-local checkpoint=%d", id)
			if len(n.afterEnd) > 0 && id >= n.afterEnd[0] {
				finish()
			}
		}
	}
	drained := func() {
		if (n.state == "closing" || n.state == "gone") && len(n.parts) == 0 && !n.drained {
			n.drained = true
			say("drained")
		}
	}
	perform := func(id ident.CheckpointID) {
		switch {
		case n.state == "gone" || id <= newest(n.settled):
			return
		case !up:
			cancel(id)
			say("decline checkpoint=%d reason=%s", id, ReasonTaskNotReady)
		case n.aborted[id]:
			cancel(id)
		default:
			say("snapshot checkpoint=%d", id)
			if n.state == "finishing" {
				n.afterEnd = append(n.afterEnd, id)
			}
		}
		n.settled[id] = true
	}
	switch e := ev.(type) {
	case Running:
		n.state = "live"
	case EndOfData:
		n.state = "finishing"
		if !n.wait {
			finish()
		}
	case Closing:
		n.state = "closing"
		drained()
	case Closed:
		n.state = "gone"
		for _, id := range slices.Sorted(keysOf(n.parts)) {
			if n.parts[id] == "running" {
				n.parts[id] = "closed"
				say("close-async checkpoint=%d", id)
			}
		}
		drained()
	case Trigger:
		switch {
		case n.state == "gone":
		case n.state == "starting":
			say("decline checkpoint=%d reason=%s", e.Checkpoint, ReasonTaskNotReady)
		case n.state == "closing":
			say("decline checkpoint=%d reason=%s", e.Checkpoint, ReasonTaskClosing)
		case n.inputs:
			say("align-trigger checkpoint=%d", e.Checkpoint)
		default:
			perform(e.Checkpoint)
		}
	case Perform:
		perform(e.Checkpoint)
	case Abort:
		if n.state != "gone" {
			n.settled[e.Checkpoint] = true
			if e.Reason != ReasonNone {
				say("decline checkpoint=%d reason=%s", e.Checkpoint, e.Reason)
			}
			cancel(e.Checkpoint)
		}
	case SnapshotTaken:
		n.parts[e.Checkpoint] = "running"
		say("start-async checkpoint=%d", e.Checkpoint)
	case AsyncDone:
		if n.parts[e.Checkpoint] == "running" {
			say("acknowledge checkpoint=%d", e.Checkpoint)
		} else {
			say("discard-async checkpoint=%d", e.Checkpoint)
			if n.state != "gone" {
				say("report-metrics checkpoint=%d", e.Checkpoint)
			}
		}
		delete(n.parts, e.Checkpoint)
		drained()
	case AsyncFailed:
		if n.parts[e.Checkpoint] == "running" {
			say("decline checkpoint=%d reason=%s", e.Checkpoint, ReasonAsyncException)
		}
		if n.state != "gone" {
			say("report-metrics checkpoint=%d", e.Checkpoint)
		}
		delete(n.parts, e.Checkpoint)
		drained()
	case Complete:
		switch {
		case up:
			complete(e.Checkpoint)
		case n.state != "gone":
			say("prune-local checkpoint=%d", e.Checkpoint)
		}
	case Aborted:
		if n.state == "gone" {
			break
		}
		n.aborted[e.Checkpoint] = true
		if !up {
			if n.state == "closing" {
				delete(n.aborted, e.Checkpoint)
			}
			say("drop-local checkpoint=%d", e.Checkpoint)
			break
		}
		complete(e.Latest)
		if n.parts[e.Checkpoint] == "running" {
			n.parts[e.Checkpoint] = "closed"
			say("close-async checkpoint=%d", e.Checkpoint)
		}
		if e.Checkpoint > newest(n.delivered) {
			say("deliver-aborted checkpoint=%d", e.Checkpoint)
			say("drop-local checkpoint=%d", e.Checkpoint)
		}
	}
	return want
}

func keysOf(m map[ident.CheckpointID]string) func(func(ident.CheckpointID) bool) {
	return func(yield func(ident.CheckpointID) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// snapshotsRun throws events at the core in an order that only keeps what the
// task loop guarantees: a snapshot is answered at once, a part ends once.
type snapshotsRun struct {
	t       fatal
	rnd     *rand.Rand
	s       *Snapshots
	n       *naiveTask
	ends    map[ident.CheckpointID][]string // how a part ended, in order
	actions []TaskAction
}

func newSnapshotsRun(t fatal, seed uint64, cfg TaskConfig) *snapshotsRun {
	return &snapshotsRun{
		t: t, rnd: rand.New(rand.NewPCG(seed, 2)), s: NewSnapshots(cfg), ends: map[ident.CheckpointID][]string{},
		n: &naiveTask{
			inputs: cfg.HasInputs, wait: cfg.WaitForFinal, state: "starting",
			settled: map[ident.CheckpointID]bool{}, aborted: map[ident.CheckpointID]bool{}, cancelled: map[ident.CheckpointID]bool{},
			delivered: map[ident.CheckpointID]bool{}, parts: map[ident.CheckpointID]string{},
		},
	}
}

func (r *snapshotsRun) run(steps int) {
	for range steps {
		r.step(r.next())
	}
	for _, id := range slices.Sorted(keysOf(r.n.parts)) {
		r.step(AsyncDone{id})
	}
	for id, ends := range r.ends {
		if len(ends) != 1 {
			r.t.Fatalf("the part of checkpoint %d ended in %d ways: %v", id, len(ends), ends)
		}
	}
}

// next draws an event. Ids are near the newest one, so that they are repeated and
// reordered, and stay within the exact memory of aborts.
func (r *snapshotsRun) next() TaskEvent {
	top := newest(r.n.settled)
	id := max(1, top+3-min(top+2, ident.CheckpointID(r.rnd.IntN(8))))
	parts := slices.Sorted(keysOf(r.n.parts))
	switch p := r.rnd.IntN(100); {
	case p < 5 && r.n.state == "starting":
		return Running{}
	case p < 3 && r.n.state == "live":
		return EndOfData{}
	case p < 2 && r.n.finished:
		return Closing{}
	case p < 1:
		return Closed{}
	case p < 30:
		return Trigger{Checkpoint: id}
	case p < 45 && r.n.inputs:
		return Perform{Checkpoint: id}
	case p < 50 && r.n.inputs:
		return Abort{id, []Reason{ReasonNone, ReasonSubsumed}[r.rnd.IntN(2)]}
	case p < 70 && len(parts) > 0:
		return AsyncDone{parts[r.rnd.IntN(len(parts))]}
	case p < 78 && len(parts) > 0:
		return AsyncFailed{Checkpoint: parts[r.rnd.IntN(len(parts))]}
	case p < 88:
		return Aborted{id, ident.CheckpointID(r.rnd.IntN(int(id)))}
	}
	return Complete{Checkpoint: id}
}

func (r *snapshotsRun) step(ev TaskEvent) {
	want := r.n.step(ev)
	r.actions = r.s.Step(r.actions[:0], ev)
	got := make([]string, len(r.actions))
	var taken ident.CheckpointID
	for i, act := range r.actions {
		got[i] = act.String()
		switch act := act.(type) {
		case Snapshot:
			taken = act.Checkpoint
		case Acknowledge:
			r.ends[act.Checkpoint] = append(r.ends[act.Checkpoint], "acknowledged")
		case CloseAsync:
			r.ends[act.Checkpoint] = append(r.ends[act.Checkpoint], "closed")
		case Decline:
			if act.Reason == ReasonAsyncException {
				r.ends[act.Checkpoint] = append(r.ends[act.Checkpoint], "declined")
			}
		}
	}
	if !slices.Equal(got, want) {
		r.t.Fatalf("%s in state %s leads to\n%q, want\n%q", ev, r.n.state, got, want)
	}
	if r.s.Running() != len(r.n.parts) {
		r.t.Fatalf("after %s: %d parts run, want %d", ev, r.s.Running(), len(r.n.parts))
	}
	if taken != 0 {
		r.step(SnapshotTaken{taken})
	}
}

func TestSnapshotsAgreesWithTheNaiveModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg := TaskConfig{HasInputs: rapid.Bool().Draw(rt, "inputs"), WaitForFinal: rapid.Bool().Draw(rt, "wait for final")}
		newSnapshotsRun(rt, rapid.Uint64().Draw(rt, "seed"), cfg).run(rapid.IntRange(1, 400).Draw(rt, "steps"))
	})
}

func TestS259ClosingDuringUploadsAThousandTimesHasExactlyOneOutcomeEach(t *testing.T) {
	ends := map[string]int{}
	for seed := range uint64(1000) {
		r := newSnapshotsRun(t, seed, TaskConfig{})
		r.step(Running{})
		r.run(60)
		r.step(Closed{})
		for _, e := range r.ends {
			ends[e[0]]++
		}
	}
	for _, how := range []string{"acknowledged", "closed", "declined"} {
		if ends[how] < 100 {
			t.Errorf("the fuzz has become blind: only %d parts ended %s", ends[how], how)
		}
	}
}

func TestS222AThousandAbortsWithoutBarriersTakeNoMemory(t *testing.T) {
	s := NewSnapshots(TaskConfig{})
	dst := s.Step(nil, Running{})
	allocs := testing.AllocsPerRun(1, func() {
		for id := range ident.CheckpointID(1000) {
			if _, known := s.aborted.has(id + 1); id > s.aborted.highest && known {
				t.Fatal("known before it was aborted")
			}
			s.aborted.add(id + 1)
		}
	})
	if allocs != 0 {
		t.Errorf("remembering aborts allocates %v objects", allocs)
	}
	if got := lines(s.Step(dst[:0], Trigger{Checkpoint: 5})); got !=
		"broadcast-cancel checkpoint=5\ndecline checkpoint=5 reason=CHECKPOINT_DECLINED_SUBSUMED\n" {
		t.Errorf("the barrier of an id that was aborted long ago leads to %q", got)
	}
	if got := lines(s.Step(dst[:0], Trigger{Checkpoint: 1000})); got != "broadcast-cancel checkpoint=1000\n" {
		t.Errorf("the barrier of an id that was aborted leads to %q", got)
	}
	if got := lines(s.Step(dst[:0], Trigger{Checkpoint: 1001})); got != "snapshot checkpoint=1001\n" {
		t.Errorf("the barrier of an id that was not aborted leads to %q", got)
	}
}

func TestAbortedIDsAgreeWithASetInTheirReach(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a abortedIDs
		set := map[ident.CheckpointID]bool{}
		for _, v := range rapid.SliceOf(rapid.Uint64Range(1, 200)).Draw(t, "aborted") {
			id := ident.CheckpointID(v)
			a.add(id)
			set[id] = true
		}
		for id := ident.CheckpointID(1); id < 300; id++ {
			tooOld := newest(set) >= id+abortedReach
			known, guessed := a.has(id)
			if known != (set[id] || tooOld) || guessed != tooOld {
				t.Fatalf("checkpoint %d: known %v, guessed %v; aborted %v", id, known, guessed, set)
			}
		}
	})
}

func TestReasonsAreParsedAsTheyAreSpelled(t *testing.T) {
	for r := range reasonEnd {
		got, err := ParseReason(r.String())
		if err != nil || got != r || r.String() == "" {
			t.Errorf("reason %d is spelled %q and parsed as %d, %v", r, r, got, err)
		}
	}
	if _, err := ParseReason("NO_SUCH_REASON"); err == nil {
		t.Error("a reason that does not exist is parsed")
	}
}

func BenchmarkSnapshotsWholeCheckpoint(b *testing.B) {
	s := NewSnapshots(TaskConfig{HasInputs: true})
	dst := make([]TaskAction, 0, 8)
	dst = s.Step(dst[:0], Running{})
	b.ReportAllocs()
	for id := ident.CheckpointID(1); b.Loop(); id++ {
		dst = s.Step(dst[:0], Perform{Checkpoint: id})
		dst = s.Step(dst[:0], SnapshotTaken{id})
		dst = s.Step(dst[:0], AsyncDone{id})
		dst = s.Step(dst[:0], Complete{Checkpoint: id, Subsumed: id - 1})
	}
}
