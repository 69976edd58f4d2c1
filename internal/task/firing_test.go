package task

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/internal/barrier"
	"github.com/cutwater-io/cutwater/internal/blob"
	"github.com/cutwater-io/cutwater/internal/exchange"
	"github.com/cutwater-io/cutwater/internal/host"
	"github.com/cutwater-io/cutwater/internal/ident"
	"github.com/cutwater-io/cutwater/internal/operator"
	"github.com/cutwater-io/cutwater/internal/plan"
	"github.com/cutwater-io/cutwater/internal/transform"
	"github.com/cutwater-io/cutwater/internal/watermark"
	"github.com/cutwater-io/cutwater/window"
)

// num is a record: its key and its event time.
type num struct{ Key, Ts int64 }

// nums is a source that emits a slice, and calls at before each record.
type nums struct {
	records []num
	before  func(i int)
	next    int
}

func (s *nums) Enumerator(connector.EnumeratorContext, []byte) (connector.Enumerator, error) {
	panic("the task alone is tested")
}
func (s *nums) Reader(connector.ReaderContext) (connector.Reader[num], error) { return s, nil }
func (s *nums) AddSplits([]connector.Split) error                             { return nil }
func (s *nums) NoMoreSplits()                                                 {}
func (s *nums) HandleEvent([]byte) error                                      { return nil }
func (s *nums) Snapshot(uint64) ([]connector.Split, error)                    { return nil, nil }
func (s *nums) NotifyComplete(uint64) error                                   { return nil }
func (s *nums) Close() error                                                  { return nil }
func (s *nums) Poll(out *connector.Output[num]) (connector.PollResult, error) {
	for range out.Max {
		if s.next == len(s.records) {
			return connector.Finished, nil
		}
		if s.before != nil {
			s.before(s.next)
		}
		v := s.records[s.next]
		s.next++
		out.Emit(&v, v.Ts)
	}
	return connector.More, nil
}

type count = window.Result[int64, int64]

// end is the operator at the tail of the chain: it sees results, time and
// notifications in the order they come.
type end struct {
	operator.Base
	ctx      *operator.Context
	results  int
	log      []string // watermarks and notifications, with the number of results before
	each     func(e *end)
	perStart map[int64]int // results by window start
}

func (e *end) note(format string, args ...any) {
	e.log = append(e.log, fmt.Sprintf(format, args...)+fmt.Sprintf(" after %d", e.results))
}

func (e *end) record(v *count, _ int64) {
	e.results++
	e.perStart[int64(v.Window.Start)]++
	if e.each != nil {
		e.each(e)
	}
}

func (e *end) Watermark(ts int64) { e.note("watermark %d", ts) }
func (e *end) Status(bool)        {}
func (e *end) NotifyComplete(id ident.CheckpointID) error {
	e.note("complete %d", id)
	return nil
}
func (e *end) Snapshot(id ident.CheckpointID, _ *operator.Snapshot) error {
	e.note("snapshot %d", id)
	return nil
}

// bench is a task with the chain source, event time, keyed edge, window, end; and
// the JobMaster's part of the end of a job.
type bench struct {
	t    *testing.T
	task *Task
	end  *end
}

func (b *bench) Initializing() {}
func (b *bench) Running()      {}
func (b *bench) Decline(id ident.CheckpointID, r barrier.Reason, why string) {
	b.t.Errorf("checkpoint %d declined: %v %s", id, r, why)
}
func (b *bench) SnapshotTaken(ident.CheckpointID)                           {}
func (b *bench) OperatorEvent(ident.OperatorID, operator.EventKind, []byte) {}
func (b *bench) EndOfData()                                                 { b.task.Trigger(lastCheckpoint, 0) }

// Acknowledge completes the last checkpoint, which ends the job; the tests complete
// the others.
func (b *bench) Acknowledge(id ident.CheckpointID, _ []OperatorState, _ Metrics) {
	if id == lastCheckpoint {
		b.task.Complete(id, 0)
		b.task.Finish(0)
	}
}

const lastCheckpoint = 1000

func newBench(t *testing.T, src *nums, a window.Assigner, perRecord bool) *bench {
	t.Helper()
	b := &bench{t: t, end: &end{perStart: map[int64]int{}}}
	kt, err := transform.NewKeyType[int64]()
	if err != nil {
		t.Fatal(err)
	}
	build, err := transform.Panes(transform.Windowing[num]{Assigner: a}, transform.Counting[int64, num](), kt)
	if err != nil {
		t.Fatal(err)
	}
	clocking := transform.Clocking{Strategy: watermark.Ascending(), Every: time.Hour}
	if perRecord {
		clocking.Every = -1
	}
	g := &plan.Graph{Name: "job"}
	for i, name := range []string{"source", "event-time", "window", "end"} {
		g.Nodes = append(g.Nodes, plan.Node{ID: ident.OperatorIDOf(name), Name: name, Named: true, Source: i == 0})
	}
	g.Edges = []plan.Edge{{From: 0, To: 1}, {From: 1, To: 2, Partition: plan.Hash}, {From: 2, To: 3}}
	keying := transform.Keying(kt, func(n num) int64 { return n.Key }, nil)
	prog := &operator.Program{
		Graph: g,
		Factories: []operator.Factory{
			transform.Source[num](src, nil),
			{Build: transform.EventTime(func(n *num) int64 { return n.Ts }, clocking)},
			{Build: build},
			{Build: func(ctx *operator.Context) (operator.Operator, []any, error) {
				b.end.ctx = ctx
				return b.end, []any{operator.In[count]{Record: b.end.record, Control: b.end}}, nil
			}},
		},
		Links: []operator.Link{transform.Unkeyed[num](false, false), transform.Keyed(keying, false, true), transform.Unkeyed[count](false, false)},
	}
	p, err := plan.Make(g, plan.Options{Parallelism: 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Vertices) != 1 {
		t.Fatalf("the operators are in %d tasks, want 1", len(p.Vertices))
	}
	waker := exchange.NewWaker()
	b.task = New(Config{
		Program: prog, Plan: p, Env: host.Env(nil), Store: blob.Memory(), Checkpoints: true,
		Inbox: exchange.NewInbox(waker), Waker: waker, Reporter: b,
	})
	return b
}

func (b *bench) run() {
	b.t.Helper()
	if err := b.task.Run(context.Background()); err != nil {
		b.t.Fatal(err)
	}
}

// listen posts mail again and again, and returns the greatest number of results
// that one had to wait for.
func (b *bench) listen() *int {
	longest, waiting, since := 0, false, 0
	b.end.each = func(e *end) {
		since++
		if !waiting {
			waiting, since = true, 0
			e.ctx.Task.Post(func() error {
				waiting = false
				longest = max(longest, since)
				return nil
			})
		}
	}
	return &longest
}

func keys(n int, ts int64) []num {
	s := make([]num, n)
	for i := range s {
		s[i] = num{int64(i), ts}
	}
	return s
}

func TestMailIsHeardWhileAMillionKeysFire(t *testing.T) {
	n := 1_000_000
	if testing.Short() {
		n = 50_000
	}
	b := newBench(t, &nums{records: keys(n, 7)}, window.EndOfStream(), false)
	longest := b.listen()
	b.run()
	if b.end.results != n {
		t.Errorf("%d results, want %d", b.end.results, n)
	}
	// Posted while one key fires, it is heard before the next.
	if *longest > 0 {
		t.Errorf("mail waited for %d results, want none", *longest)
	}
}

func TestANotificationIsHeardInAFiringAndABarrierComesBehindIt(t *testing.T) {
	const n = 5000
	src := &nums{records: keys(n, 7)}
	b := newBench(t, src, window.EndOfStream(), false)
	src.before = func(i int) {
		if i == 100 {
			b.task.Trigger(1, 0)
		}
	}
	b.end.each = func(e *end) {
		if e.results == 1000 {
			b.task.Complete(1, 0)
			b.task.Trigger(2, 0)
		}
	}
	b.run()
	want := []string{
		"snapshot 1 after 0",
		"complete 1 after 1000",
		"watermark 9223372036854775807 after 5000",
		"snapshot 2 after 5000",
		"snapshot 1000 after 5000",
		"complete 1000 after 5000",
	}
	if d := cmp.Diff(want, b.end.log); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestRecordsOfTheSamePollDoNotHurryAFiring(t *testing.T) {
	// A watermark after every record: the firing of [0, 1000) begins in the middle
	// of a Poll, whose other records and watermarks come while it is under way.
	const n = 20_000
	records := append(keys(n, 7), keys(200, 1500)...)
	records = append(records, keys(200, 2500)...)
	b := newBench(t, &nums{records: records}, window.Tumbling(time.Second), true)
	longest := b.listen()
	b.run()
	if *longest > 0 {
		t.Errorf("mail waited for %d results, want none", *longest)
	}
	if d := cmp.Diff(map[int64]int{0: n, 1000: 200, 2000: 200}, b.end.perStart); d != "" {
		t.Errorf("results by window (-want +got):\n%s", d)
	}
	// Time behind the window: each watermark after what it made due.
	var times []string
	for _, s := range b.end.log {
		var ts int64
		var after int
		if k, _ := fmt.Sscanf(s, "watermark %d after %d", &ts, &after); k == 2 {
			want := 0
			switch {
			case ts == watermark.EndOfTime:
				want = n + 400
			case ts >= 1999:
				want = n + 200
			case ts >= 999:
				want = n
			}
			if after != want {
				times = append(times, s)
			}
		}
	}
	if len(times) > 0 {
		t.Errorf("watermarks out of place: %v", times[:min(len(times), 5)])
	}
}

func TestACancelledTaskDoesNotFinishItsFiring(t *testing.T) {
	const n = 100_000
	b := newBench(t, &nums{records: keys(n, 7)}, window.EndOfStream(), false)
	ctx, cancel := context.WithCancel(context.Background())
	b.end.each = func(e *end) {
		if e.results == 10 {
			cancel()
		}
	}
	if err := b.task.Run(ctx); !errors.Is(err, ErrCanceled) {
		t.Errorf("error %v", err)
	}
	if b.end.results > 1000 {
		t.Errorf("%d results were emitted after the task was cancelled", b.end.results-10)
	}
}
