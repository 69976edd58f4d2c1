package transform

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/internal/exchange"
	"github.com/cutwater-io/cutwater/internal/ident"
	"github.com/cutwater-io/cutwater/internal/manifest"
	"github.com/cutwater-io/cutwater/internal/operator"
)

// target is the other side of a two-phase sink: what is visible there, what
// Commit answers, and everything that was asked, in order.
type target struct {
	visible map[string]int
	calls   []string
	answer  func(checkpoint uint64, data string) (connector.Outcome, error)
	live    [][]string
}

func (g *target) Writer(connector.WriterContext, [][]byte) (connector.Writer[string], error) {
	panic("the writer is not tested here")
}

func (g *target) Committer(connector.CommitterContext) (connector.Committer, error) {
	return &targetCommitter{g}, nil
}

type targetCommitter struct{ g *target }

func (c *targetCommitter) Commit(checkpoint uint64, restored bool, cs []connector.Committable) ([]connector.Outcome, error) {
	var outcomes []connector.Outcome
	for _, x := range cs {
		data := string(x.Data)
		call := fmt.Sprint("commit ", data, " of ", checkpoint)
		if restored {
			call += " again"
		}
		c.g.calls = append(c.g.calls, call)
		o := connector.Committed
		if c.g.answer != nil {
			var err error
			if o, err = c.g.answer(checkpoint, data); err != nil {
				return outcomes, err
			}
		}
		if o == connector.Committed {
			c.g.visible[data] = 1 // idempotent: a second commit of the same id changes nothing
		}
		outcomes = append(outcomes, o)
	}
	return outcomes, nil
}

func (c *targetCommitter) Sweep(live []connector.Committable) error {
	c.g.calls = append(c.g.calls, "sweep")
	s := []string{}
	for _, x := range live {
		s = append(s, string(x.Data))
	}
	slices.Sort(s)
	c.g.live = append(c.g.live, s)
	return nil
}

func (c *targetCommitter) Close() error { c.g.calls = append(c.g.calls, "close"); return nil }

func (g *target) took() []string {
	calls := g.calls
	g.calls = nil
	return append([]string{}, calls...)
}

// desk is one committer with a clock that is told the time.
type desk struct {
	t      *testing.T
	op     operator.Operator
	in     operator.In[Committables]
	ctx    *operator.Context
	alarms []alarm
	slept  []time.Duration
	done   chan struct{}
	deaf   bool // After never comes
}

func (d *desk) Now() time.Time { return time.UnixMilli(d.ctx.Task.NowMillis) }
func (d *desk) After(after time.Duration) <-chan time.Time {
	d.slept = append(d.slept, after)
	c := make(chan time.Time, 1)
	if !d.deaf {
		c <- d.Now().Add(after)
	}
	return c
}

func newDesk(t *testing.T, g *target, subtask, parallelism int, from uint64, restored *manifest.Restored) *desk {
	t.Helper()
	d := &desk{t: t, done: make(chan struct{})}
	task := &operator.Task{NowMillis: 1000, Done: d.done}
	task.At = func(millis int64, f func() error) { d.alarms = append(d.alarms, alarm{millis, f}) }
	d.ctx = &operator.Context{Name: "out/committer", Subtask: subtask, Parallelism: parallelism, MaxParallelism: rigMax,
		Task: task, Env: connector.Env{Clock: d}, RestoredFrom: ident.CheckpointID(from)}
	if restored != nil {
		d.ctx.Restored = &operator.Restored{Lists: restored.Lists}
	}
	op, ins, err := Committer[string](g, "out").Build(d.ctx)
	if err != nil {
		t.Fatal(err)
	}
	d.op, d.in = op, ins[0].(operator.In[Committables])
	return d
}

func (d *desk) open() *desk {
	d.t.Helper()
	if err := d.op.Open(); err != nil {
		d.t.Fatal(err)
	}
	return d
}

func (d *desk) prepare(checkpoint uint64, items ...string) {
	c := Committables{Checkpoint: checkpoint}
	for _, s := range items {
		c.Items = append(c.Items, connector.Committable{Data: []byte(s)})
	}
	d.in.Record(&c, connector.NoTimestamp)
}

func (d *desk) complete(checkpoint uint64) {
	d.t.Helper()
	if err := d.op.NotifyComplete(ident.CheckpointID(checkpoint)); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) clock(millis int64) error {
	d.ctx.Task.NowMillis = millis
	for {
		i := slices.IndexFunc(d.alarms, func(a alarm) bool { return a.millis <= millis })
		if i < 0 {
			return nil
		}
		f := d.alarms[i].f
		d.alarms = slices.Delete(d.alarms, i, i+1)
		if err := f(); err != nil {
			return err
		}
	}
}

func snapshotOf(t *testing.T, id uint64, desks ...*desk) *manifest.OperatorState {
	t.Helper()
	o := &manifest.OperatorState{Name: "out/committer", Parallelism: int32(len(desks)), MaxParallelism: rigMax}
	for i, d := range desks {
		s := &operator.Snapshot{}
		if err := d.op.Snapshot(ident.CheckpointID(id), s); err != nil {
			t.Fatal(err)
		}
		if state := subtaskState(t, i, manifest.Range{}, s); !state.Empty() {
			o.Subtasks = append(o.Subtasks, state)
		}
	}
	return o
}

func restoredDesks(t *testing.T, g *target, o *manifest.OperatorState, parallelism int, from uint64) []*desk {
	t.Helper()
	restored, _, err := manifest.Assign(o, parallelism, rigMax, true)
	if err != nil {
		t.Fatal(err)
	}
	desks := make([]*desk, parallelism)
	for i := range desks {
		desks[i] = newDesk(t, g, i, parallelism, from, &restored[i])
	}
	return desks
}

func newTarget() *target { return &target{visible: map[string]int{}} }

func wantCalls(t *testing.T, g *target, want ...string) {
	t.Helper()
	if d := cmp.Diff(append([]string{}, want...), g.took()); d != "" {
		t.Fatalf("(-want +got):\n%s", d)
	}
}

func TestS358OnlyWhatACompleteCheckpointHoldsBecomesVisible(t *testing.T) {
	g := newTarget()
	d := newDesk(t, g, 0, 1, 0, nil).open()
	wantCalls(t, g, "sweep")
	d.prepare(1, "a")
	d.prepare(2, "b")
	wantCalls(t, g)
	d.complete(1)
	wantCalls(t, g, "commit a of 1")
	d.complete(1) // a duplicate
	wantCalls(t, g)
}

func TestS359ALostNotificationIsMadeGoodByTheNextInOrder(t *testing.T) {
	g := newTarget()
	d := newDesk(t, g, 0, 1, 0, nil).open()
	g.took()
	d.prepare(2, "b")
	d.prepare(1, "a")
	d.prepare(1, "c") // of another writer
	d.complete(2)
	wantCalls(t, g, "commit a of 1", "commit c of 1", "commit b of 2")
}

func TestS360WhatALaterCheckpointHoldsStaysPending(t *testing.T) {
	g := newTarget()
	d := newDesk(t, g, 0, 1, 0, nil).open()
	g.took()
	d.prepare(2, "b")
	d.prepare(3, "c")
	d.complete(2)
	wantCalls(t, g, "commit b of 2")
	d.complete(1) // it comes late
	wantCalls(t, g)
	d.complete(3)
	wantCalls(t, g, "commit c of 3")
}

func TestS361S377WhatIsRestoredIsCommittedBeforeAnythingElse(t *testing.T) {
	g := newTarget()
	d := newDesk(t, g, 0, 1, 0, nil).open()
	d.prepare(6, "a")
	d.prepare(7, "b")
	o := snapshotOf(t, 7, d) // it completes, and the process dies before it hears
	g.took()
	restoredDesks(t, g, o, 1, 7)[0].open()
	wantCalls(t, g, "commit a of 6 again", "commit b of 7 again", "sweep")
}

func TestS362WhatNoCheckpointHoldsIsSweptAndNotCommitted(t *testing.T) {
	g := newTarget()
	d := newDesk(t, g, 0, 1, 0, nil).open()
	d.prepare(6, "a")
	o := snapshotOf(t, 6, d)
	d.prepare(7, "b") // of a checkpoint that does not complete
	g.took()
	restoredDesks(t, g, o, 1, 6)[0].open()
	wantCalls(t, g, "commit a of 6 again", "sweep")
	if d := cmp.Diff([][]string{{}, {}}, g.live); d != "" {
		t.Errorf("live at the sweeps (-want +got):\n%s", d)
	}
}

func TestS363CommittingAgainAfterARestoreDoesNoHarm(t *testing.T) {
	g := newTarget()
	d := newDesk(t, g, 0, 1, 0, nil).open()
	d.prepare(1, "a")
	o := snapshotOf(t, 1, d)
	d.complete(1) // committed outside; the state of checkpoint 1 still has it
	restoredDesks(t, g, o, 1, 1)[0].open()
	if d := cmp.Diff(map[string]int{"a": 1}, g.visible); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestS364OneFailureDoesNotKeepTheOthersFromBeingCommitted(t *testing.T) {
	g := newTarget()
	boom := errors.New("boom")
	broken := true
	g.answer = func(_ uint64, data string) (connector.Outcome, error) {
		if data == "b" && broken {
			return 0, boom
		}
		return connector.Committed, nil
	}
	d := newDesk(t, g, 0, 1, 0, nil).open()
	d.prepare(1, "a")
	d.prepare(2, "b")
	d.prepare(3, "c")
	err := d.op.NotifyComplete(3)
	if !errors.Is(err, boom) || !strings.Contains(err.Error(), `"out"`) || !strings.Contains(err.Error(), "checkpoint 2") {
		t.Errorf("error %v", err)
	}
	if d := cmp.Diff(map[string]int{"a": 1, "c": 1}, g.visible); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	// The failed one is still in the state, and the restore tries it again.
	o := snapshotOf(t, 3, d)
	broken = false
	g.took()
	restoredDesks(t, g, o, 1, 3)[0].open()
	wantCalls(t, g, "commit b of 2 again", "sweep")
}

func TestS365ACommitOfUnknownOutcomeIsRepeatedWithTheSameID(t *testing.T) {
	g := newTarget()
	lost := true
	g.answer = func(_ uint64, data string) (connector.Outcome, error) {
		g.visible[data] = 1
		if lost {
			return connector.RetryLater, nil // it was done, and the answer was lost
		}
		return connector.Committed, nil
	}
	d := newDesk(t, g, 0, 1, 0, nil).open()
	g.took()
	d.prepare(1, "a")
	d.complete(1)
	lost = false
	if err := d.clock(2000); err != nil {
		t.Fatal(err)
	}
	wantCalls(t, g, "commit a of 1", "commit a of 1")
	if d := cmp.Diff(map[string]int{"a": 1}, g.visible); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestS366ATransactionThatCanNeverBeCommittedFailsTheJob(t *testing.T) {
	g := newTarget()
	g.answer = func(_ uint64, data string) (connector.Outcome, error) {
		if data == "b" {
			return connector.Failed, nil
		}
		return connector.Committed, nil
	}
	d := newDesk(t, g, 0, 1, 0, nil).open()
	d.prepare(1, "a", "b", "c")
	if err := d.op.NotifyComplete(1); err == nil || !strings.Contains(err.Error(), "can never be committed") {
		t.Errorf("error %v", err)
	}
	if d := cmp.Diff(map[string]int{"a": 1, "c": 1}, g.visible); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestS368WhatAnAbortedCheckpointPreparedIsCommittedWithTheNext(t *testing.T) {
	g := newTarget()
	d := newDesk(t, g, 0, 1, 0, nil).open()
	g.took()
	d.prepare(1, "a")
	if err := d.op.NotifyAborted(1); err != nil {
		t.Fatal(err)
	}
	d.prepare(2, "b")
	wantCalls(t, g)
	d.complete(2)
	wantCalls(t, g, "commit a of 1", "commit b of 2")
}

func TestS371ARestoreAtAnotherParallelismCommitsEverythingAndSweepsNothingOfIt(t *testing.T) {
	for _, to := range []int{1, 2, 3, 4, 7} {
		t.Run(fmt.Sprint("4 to ", to), func(t *testing.T) {
			g := newTarget()
			var desks []*desk
			want := map[string]int{}
			for i := range 4 {
				d := newDesk(t, g, i, 4, 0, nil).open()
				for c := range uint64(3) {
					data := fmt.Sprint("w", i, "c", c+1)
					d.prepare(c+1, data)
					want[data] = 1
				}
				desks = append(desks, d)
			}
			o := snapshotOf(t, 3, desks...)
			g.took()
			g.live = nil
			committed := 0
			for i, d := range restoredDesks(t, g, o, to, 3) {
				d.open()
				var order []string
				for _, c := range g.took() {
					if strings.HasPrefix(c, "commit") {
						committed++
						order = append(order, c)
					}
				}
				// A writer's transactions stay with one committer, in order.
				for w := range 4 {
					last := -1
					for c := range uint64(3) {
						at := slices.Index(order, fmt.Sprint("commit w", w, "c", c+1, " of ", c+1, " again"))
						if at >= 0 && (at < last || w%to != i) {
							t.Errorf("committer %d: %v", i, order)
						}
						last = at
					}
				}
				// When it sweeps, those of the others may not be committed yet.
				if live := g.live[len(g.live)-1]; len(live) != 12-len(order) {
					t.Errorf("committer %d sweeps while %d of %d restored transactions are told as live", i, len(live), 12-len(order))
				}
			}
			if d := cmp.Diff(want, g.visible); d != "" {
				t.Errorf("visible (-want +got):\n%s", d)
			}
			if committed != 12 {
				t.Errorf("%d commits, want 12", committed)
			}
		})
	}
}

func TestS374CloseCommitsNothing(t *testing.T) {
	g := newTarget()
	d := newDesk(t, g, 0, 1, 0, nil).open()
	d.prepare(1, "a")
	g.took()
	if err := d.op.Close(); err != nil {
		t.Fatal(err)
	}
	wantCalls(t, g, "close")
}

func TestS378TryingLaterIsBoundedAlsoWhenCheckpointsGoOn(t *testing.T) {
	g := newTarget()
	g.answer = func(_ uint64, data string) (connector.Outcome, error) {
		if data == "a" {
			return connector.RetryLater, nil
		}
		return connector.Committed, nil
	}
	d := newDesk(t, g, 0, 1, 0, nil).open()
	d.prepare(1, "a", "x")
	d.complete(1)
	var err error
	var waits []int64
	next := uint64(2)
	for err == nil && len(waits) < 100 {
		if len(d.alarms) != 1 {
			t.Fatalf("%d retries are scheduled, want 1", len(d.alarms))
		}
		at := d.alarms[0].millis
		waits = append(waits, at-d.ctx.Task.NowMillis)
		d.prepare(next, fmt.Sprint("n", next))
		d.complete(next) // other checkpoints complete and are committed meanwhile
		next++
		err = d.clock(at)
	}
	if err == nil || !strings.Contains(err.Error(), "checkpoint 1 could not be committed in 11 attempts") {
		t.Fatalf("error %v after %d waits", err, len(waits))
	}
	if d := cmp.Diff([]int64{100, 200, 400, 800, 1600, 3200, 6400, 10000, 10000, 10000}, waits); d != "" {
		t.Errorf("milliseconds between attempts (-want +got):\n%s", d)
	}
	if g.visible["n2"] != 1 || g.visible["x"] != 1 || g.visible["a"] != 0 {
		t.Errorf("visible: %v", g.visible)
	}
}

func TestS378TryingLaterAfterARestoreIsBoundedAndEndsWithTheTask(t *testing.T) {
	g := newTarget()
	d := newDesk(t, g, 0, 1, 0, nil).open()
	d.prepare(1, "a")
	o := snapshotOf(t, 1, d)
	g.answer = func(uint64, string) (connector.Outcome, error) { return connector.RetryLater, nil }
	r := restoredDesks(t, g, o, 1, 1)[0]
	if err := r.op.Open(); err == nil || !strings.Contains(err.Error(), "in 11 attempts") {
		t.Errorf("error %v", err)
	}
	if len(r.slept) != commitRetries {
		t.Errorf("it waited %d times, want %d", len(r.slept), commitRetries)
	}
	r = restoredDesks(t, g, o, 1, 1)[0]
	r.deaf = true
	close(r.done)
	defer func() {
		if _, ok := recover().(exchange.Canceled); !ok {
			t.Error("a cancelled task goes on waiting")
		}
	}()
	r.op.Open()
}

func TestAWrongNumberOfOutcomesIsAnError(t *testing.T) {
	d := newDesk(t, newTarget(), 0, 1, 0, nil).open()
	d.op.(*committer).committer = short{}
	d.prepare(1, "a", "b")
	if err := d.op.NotifyComplete(1); err == nil || !strings.Contains(err.Error(), "1 outcomes for 2") {
		t.Errorf("error %v", err)
	}
}

type short struct{ connector.Committer }

func (short) Commit(uint64, bool, []connector.Committable) ([]connector.Outcome, error) {
	return []connector.Outcome{connector.Committed}, nil
}

func FuzzDecodePending(f *testing.F) {
	f.Add([]byte{})
	f.Add(encodePending(pendingCommit{7, 3, []connector.Committable{{Data: []byte("a")}, {}}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := decodePending(b)
		if err != nil {
			return
		}
		if again := encodePending(p); !slices.Equal(again, b) {
			t.Errorf("%x became %x", b, again)
		}
	})
}
