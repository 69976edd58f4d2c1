package transform

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/internal/ident"
	"github.com/cutwater-io/cutwater/internal/manifest"
	"github.com/cutwater-io/cutwater/internal/operator"
)

// diary is a connector's source and sink that writes down what is asked of it.
type diary struct {
	lines []string
	fail  error
	items []string // what Prepare hands over
	ctx   connector.ReaderContext
	poll  func(out *connector.Output[event]) (connector.PollResult, error)
	split []connector.Split
}

func (d *diary) say(format string, args ...any) {
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *diary) took() []string {
	s := d.lines
	d.lines = nil
	return append([]string{}, s...)
}

func (d *diary) Enumerator(connector.EnumeratorContext, []byte) (connector.Enumerator, error) {
	return nil, nil
}
func (d *diary) AddSplits(s []connector.Split) error {
	d.split = append(d.split, s...)
	for _, x := range s {
		d.say("split %s %s", x.ID, x.Data)
	}
	return d.fail
}
func (d *diary) NoMoreSplits()                  { d.say("no more splits") }
func (d *diary) HandleEvent(event []byte) error { d.say("event %s", event); return nil }
func (d *diary) Poll(out *connector.Output[event]) (connector.PollResult, error) {
	return d.poll(out)
}
func (d *diary) NotifyComplete(id uint64) error { d.say("complete %d", id); return nil }
func (d *diary) Close() error                   { d.say("close"); return nil }

type reading struct{ *diary }

func (r reading) Snapshot(id uint64) ([]connector.Split, error) {
	r.say("snapshot %d", id)
	return r.split, r.fail
}
func (r reading) Reader(ctx connector.ReaderContext) (connector.Reader[event], error) {
	r.ctx = ctx
	return r, r.fail
}

// listener tells the diary what it hears of splits.
type listener struct{ d *diary }

func (l listener) AddSplit(id string)    { l.d.say("add %s", id) }
func (l listener) StartSplit(id string)  { l.d.say("start %s", id) }
func (l listener) EmptySplit(id string)  { l.d.say("empty %s", id) }
func (l listener) FinishSplit(id string) { l.d.say("finish %s", id) }
func (l listener) Held(held bool)        { l.d.say("held %t", held) }

func aloneContext(d *diary, restored *operator.Restored) *operator.Context {
	task := &operator.Task{Mail: new(atomic.Bool), Splits: []operator.SplitListener{listener{d}}}
	task.Wake = func() { d.say("wake") }
	task.Coordinator = func(_ ident.OperatorID, kind operator.EventKind, payload []byte) {
		d.say("to coordinator: %d %s", kind, payload)
	}
	return &operator.Context{Name: "op", Subtask: 1, Parallelism: 3, MaxParallelism: rigMax, Task: task, Restored: restored}
}

func lists(name string, elements ...[]byte) *operator.Restored {
	return &operator.Restored{Lists: []manifest.ListState{{Name: name, Elements: elements}}}
}

func TestASourceTellsOfAllRestoredSplitsBeforeItReadsOne(t *testing.T) {
	d := &diary{}
	ctx := aloneContext(d, lists(splitsState, AppendSplit(nil, connector.Split{ID: "a", Data: []byte("7")}), AppendSplit(nil, connector.Split{ID: "b"})))
	ctx.Outputs = [][]any{{operator.In[event]{Record: func(e *event, ts int64) { d.say("record %d at %d", e.ID, ts) }, Control: spoken(func(string) {})}}}
	op, _, err := Source[event](reading{d}, nil).Build(ctx)
	if err != nil {
		t.Fatal(err)
	}
	src := op.(operator.Pull)
	if err := src.Open(); err != nil {
		t.Fatal(err)
	}
	d.poll = func(out *connector.Output[event]) (connector.PollResult, error) {
		out.StartSplit("a")
		out.At = func() string { return "a, line 8" }
		out.Emit(&event{ID: 5}, 50)
		out.EmptySplit("b")
		out.FinishSplit("a")
		out.WakeAfter = 3 * time.Second
		d.say("at most %d", out.Max)
		return connector.Wait, nil
	}
	result, wake, err := src.Poll()
	if result != connector.Wait || wake != 3e9 || err != nil {
		t.Errorf("Poll = %v, %d, %v", result, wake, err)
	}
	if at := ctx.Task.Where(); at != "a, line 8" {
		t.Errorf("a record of the source comes from %q", at)
	}
	d.ctx.RequestSplit()
	d.ctx.Send([]byte("x"))
	d.ctx.Wake()
	for kind, payload := range map[operator.EventKind][]byte{operator.EventAddSplits: EncodeSplits([]connector.Split{{ID: "c", Data: []byte("0")}, {ID: "d"}})} {
		if err := src.HandleEvent(kind, payload); err != nil {
			t.Fatal(err)
		}
	}
	src.HandleEvent(operator.EventCustom, []byte("y"))
	src.HandleEvent(operator.EventNoMoreSplits, nil)
	src.NotifyComplete(9)
	src.Close()
	want := []string{
		"add a", "add b", "split a 7", "split b ",
		"start a", "record 5 at 50", "empty b", "finish a", "at most 512",
		"to coordinator: 0 ", "to coordinator: 1 x", "wake",
		"add c", "add d", "split c 0", "split d ", "event y", "no more splits", "complete 9", "close",
	}
	if diff := cmp.Diff(want, d.took()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	snap := &operator.Snapshot{}
	if err := src.Snapshot(9, snap); err != nil {
		t.Fatal(err)
	}
	if n := len(snap.Lists[0].Elements); n != 4 || snap.Lists[0].Mode != manifest.Split {
		t.Errorf("the snapshot has %d splits in mode %s", n, snap.Lists[0].Mode)
	}
}

func TestErrorsOfASourceNameOperatorAndSubtask(t *testing.T) {
	boom := errors.New("boom")
	d := &diary{poll: func(*connector.Output[event]) (connector.PollResult, error) { return 0, boom }}
	op, _, err := Source[event](reading{d}, nil).Build(aloneContext(d, nil))
	if err != nil {
		t.Fatal(err)
	}
	src := op.(operator.Pull)
	if err := src.Open(); err != nil {
		t.Fatal(err)
	}
	_, _, polled := src.Poll()
	d.fail = boom
	for what, err := range map[string]error{
		"poll":     polled,
		"add":      src.HandleEvent(operator.EventAddSplits, nil),
		"snapshot": src.Snapshot(1, &operator.Snapshot{}),
	} {
		if !errors.Is(err, boom) || !strings.Contains(err.Error(), `source "op", subtask 1`) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := src.HandleEvent(operator.EventAddSplits, []byte{1, 2}); err == nil || !strings.Contains(err.Error(), "cut off") {
		t.Errorf("damaged splits: %v", err)
	}
	op, _, _ = Source[event](reading{&diary{}}, nil).Build(aloneContext(d, lists(splitsState, EncodeSplits([]connector.Split{{ID: "a"}, {ID: "b"}}))))
	if err := op.Open(); err == nil || !strings.Contains(err.Error(), "2 found in one element") {
		t.Errorf("damaged state: %v", err)
	}
}

func TestBadRecordsGoToTheirOutputOrFailTheJob(t *testing.T) {
	bad := connector.BadRecord{Split: "a", Position: "line 3", Cause: "not a number"}
	d := &diary{}
	ctx := aloneContext(d, nil)
	if _, _, err := Source[event](reading{d}, nil).Build(ctx); err != nil {
		t.Fatal(err)
	}
	if err := d.ctx.BadRecord(bad); err == nil || !strings.Contains(err.Error(), "a, line 3: not a number") {
		t.Errorf("without an output: %v", err)
	}
	if _, _, err := Source[event](reading{d}, func(*operator.Context) func(connector.BadRecord) {
		return func(r connector.BadRecord) { d.say("bad %s", r.Position) }
	}).Build(ctx); err != nil {
		t.Fatal(err)
	}
	if err := d.ctx.BadRecord(bad); err != nil || ctx.Task.BadRecords != 1 {
		t.Errorf("with an output: %v, %d counted", err, ctx.Task.BadRecords)
	}
}

func FuzzDecodeSplits(f *testing.F) {
	f.Add([]byte{})
	f.Add(EncodeSplits([]connector.Split{{ID: "a", Data: []byte("7")}, {}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		splits, err := DecodeSplits(b)
		if err == nil && !slices.Equal(EncodeSplits(splits), b) {
			t.Errorf("%x became %x", b, EncodeSplits(splits))
		}
	})
}

// writing is the diary as a sink of two phases.
type writing struct{ *diary }

func (w writing) Writer(ctx connector.WriterContext, restored [][]byte) (connector.Writer[event], error) {
	w.say("open %d of %d with %v (%t), from %d", ctx.Subtask(), ctx.Parallelism(), restored, restored == nil, ctx.RestoredFrom())
	return w, w.fail
}
func (w writing) Write(e *event, ts int64) error { w.say("write %d at %d", e.ID, ts); return w.fail }
func (w writing) Flush(end bool) error           { w.say("flush %t", end); return w.fail }
func (w writing) Snapshot(id uint64) ([][]byte, error) {
	w.say("snapshot %d", id)
	return [][]byte{[]byte("s")}, w.fail
}
func (w writing) Prepare(id uint64) ([]connector.Committable, error) {
	w.say("prepare %d", id)
	var cs []connector.Committable
	for _, s := range w.items {
		cs = append(cs, connector.Committable{Data: []byte(s)})
	}
	return cs, w.fail
}

func newWriter(t *testing.T, d *diary, from uint64, restored *operator.Restored) (operator.Operator, operator.In[event]) {
	t.Helper()
	ctx := aloneContext(d, restored)
	ctx.RestoredFrom = ident.CheckpointID(from)
	ctx.Outputs = [][]any{{operator.In[Committables]{
		Record: func(c *Committables, _ int64) { d.say("committables of %d: %s", c.Checkpoint, c.Items) }, Control: spoken(func(string) {}),
	}}}
	op, ins, err := Sink[event](writing{d}).Build(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return op, ins[0].(operator.In[event])
}

func TestS373AWriterHandsOverItsCommittablesBeforeTheBarrierAndNoneWithoutData(t *testing.T) {
	d := &diary{items: []string{"tx1"}}
	op, in := newWriter(t, d, 0, nil)
	in.Record(&event{ID: 1}, 10)
	op.PrepareBarrier(1)
	op.Snapshot(1, &operator.Snapshot{})
	d.items = nil
	op.PrepareBarrier(2)
	op.Snapshot(2, &operator.Snapshot{})
	d.items = []string{"tx3"}
	op.Finish()
	op.PrepareBarrier(3) // the final checkpoint
	want := []string{
		"open 1 of 3 with [] (true), from 0", "write 1 at 10",
		"flush false", "prepare 1", "committables of 1: [{tx1}]", "snapshot 1",
		"flush false", "prepare 2", "snapshot 2",
		"flush true", "flush true", "prepare 3", "committables of 3: [{tx3}]",
	}
	if diff := cmp.Diff(want, d.took()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAWriterKnowsARestoreFromAFreshStart(t *testing.T) {
	d := &diary{}
	newWriter(t, d, 0, nil)
	newWriter(t, d, 7, nil) // restored, and there was nothing to keep
	newWriter(t, d, 7, lists(writerState, []byte("x")))
	want := []string{"open 1 of 3 with [] (true), from 0", "open 1 of 3 with [] (false), from 7", "open 1 of 3 with [[120]] (false), from 7"}
	if diff := cmp.Diff(want, d.took()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestS367AnErrorOfAWriterFailsTheCheckpointAndNamesTheSink(t *testing.T) {
	boom := errors.New("boom")
	d := &diary{}
	op, in := newWriter(t, d, 0, nil)
	d.fail = boom
	for what, err := range map[string]error{
		"barrier":  op.PrepareBarrier(1),
		"snapshot": op.Snapshot(1, &operator.Snapshot{}),
		"finish":   op.Finish(),
	} {
		if !errors.Is(err, boom) || !strings.Contains(err.Error(), `sink "op", subtask 1`) {
			t.Errorf("%s: %v", what, err)
		}
	}
	defer func() {
		if f, ok := recover().(*operator.Failure); !ok || !errors.Is(f, boom) {
			t.Errorf("write: %v", f)
		}
	}()
	in.Record(&event{}, 0)
}
