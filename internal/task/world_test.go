package task

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/internal/barrier"
	"github.com/cutwater-io/cutwater/internal/batch"
	"github.com/cutwater-io/cutwater/internal/blob"
	"github.com/cutwater-io/cutwater/internal/exchange"
	"github.com/cutwater-io/cutwater/internal/host"
	"github.com/cutwater-io/cutwater/internal/ident"
	"github.com/cutwater-io/cutwater/internal/manifest"
	"github.com/cutwater-io/cutwater/internal/operator"
	"github.com/cutwater-io/cutwater/internal/plan"
	"github.com/cutwater-io/cutwater/internal/segment"
	"github.com/cutwater-io/cutwater/internal/transform"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is everything around one task: two channels in front of it, two behind
// it, a chain of hand-made operators, and a JobMaster and a store that write down
// what happens. It lives in a synctest bubble: time is virtual, and after
// synctest.Wait the task has done all it can.
//
//	in.0 ══▶ ┌─────────────┐ ══▶ out.0
//	in.1 ══▶ │ a ─▶ b ─▶ c │ ══▶ out.1
//	         └─────────────┘
type world struct {
	t     *testing.T
	task  *Task
	store *countingStore
	in    []*exchange.Channel
	out   []*exchange.Inbox
	home  chan *batch.Batch[struct{}, int64] // where input batches come back to
	sent  int

	cancel context.CancelFunc
	doneC  chan struct{}
	err    error

	mu       sync.Mutex // guards the fields below
	lines    []string
	acks     map[ident.CheckpointID][]OperatorState
	metrics  map[ident.CheckpointID]Metrics
	captures []*capture
	probes   map[string]*probe
}

// setup says how a world differs from the usual one.
type setup struct {
	operators []string // names of the chain; default a, b, c
	source    bool     // the chain's head is a source
	sink      bool     // the chain has no output
	// hooks run inside the operator's method of that name, "b.snapshot"; an
	// error is the method's.
	hooks       map[string]func(p *probe) error
	stateBytes  int  // of the keyed state of each operator; 0: none
	noLists     bool // operators have no list state either
	store       blob.Store
	newStore    func() blob.Store // for a store with channels: they must be the bubble's
	states      map[ident.OperatorID]manifest.Restored
	restored    ident.CheckpointID
	checkpoints bool
	poll        func(p *probe) (connector.PollResult, int64, error)
}

// bubble runs a test with one task. When f returns the task is canceled if it
// still runs, and everything that was given out must be back.
func bubble(t *testing.T, s setup, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, s)
		synctest.Wait()
		f(w)
		w.cancel()
		<-w.doneC
		w.checkNothingIsLeft()
	})
}

func newWorld(t *testing.T, s setup) *world {
	if s.operators == nil {
		s.operators = []string{"a", "b", "c"}
	}
	switch {
	case s.newStore != nil:
		s.store = s.newStore()
	case s.store == nil:
		s.store = blob.Memory()
	}
	w := &world{
		t: t, store: &countingStore{Store: s.store}, home: make(chan *batch.Batch[struct{}, int64], 1024), doneC: make(chan struct{}),
		acks: map[ident.CheckpointID][]OperatorState{}, metrics: map[ident.CheckpointID]Metrics{}, probes: map[string]*probe{},
	}
	prog, vertex := w.program(s)
	pl, err := plan.Make(prog.Graph, plan.Options{Parallelism: 1})
	if err != nil {
		t.Fatal(err)
	}
	waker := exchange.NewWaker()
	inbox := exchange.NewInbox(waker)
	if !s.source {
		for i := range int32(2) {
			w.in = append(w.in, inbox.Add(ident.ChannelID{Channel: i}, ident.SubtaskID{Index: i}))
		}
	}
	var outputs [][]*exchange.Channel
	if !s.sink {
		var channels []*exchange.Channel
		for range 2 {
			out := exchange.NewInbox(exchange.NewWaker())
			w.out = append(w.out, out)
			channels = append(channels, out.Add(ident.ChannelID{}, ident.SubtaskID{Vertex: vertex}))
		}
		outputs = append(outputs, channels)
	}
	w.task = New(Config{
		Program: prog, Plan: pl, Attempt: ident.AttemptID{Subtask: ident.SubtaskID{Vertex: vertex}, Attempt: 1}, Unique: 77,
		RestoredFrom: s.restored, States: s.states, Env: quietEnv(), Store: w.store, Checkpoints: s.checkpoints,
		Inbox: inbox, Waker: waker, Outputs: outputs, Reporter: reporter{w},
	})
	ctx, cancel := context.WithCancel(t.Context())
	w.cancel = cancel
	go func() {
		defer close(w.doneC)
		w.err = w.task.Run(ctx)
	}()
	return w
}

func quietEnv() connector.Env { return host.Env(slog.New(slog.NewTextHandler(io.Discard, nil))) }

// program makes a graph whose vertex under test is the chain of the operators.
func (w *world) program(s setup) (*operator.Program, ident.VertexID) {
	g := &plan.Graph{Name: "world"}
	prog := &operator.Program{Graph: g}
	add := func(n plan.Node, f operator.Factory) {
		n.ID, n.Named = ident.OperatorIDOf(n.Name), true
		g.Nodes = append(g.Nodes, n)
		prog.Factories = append(prog.Factories, f)
	}
	edge := func(p plan.Partition) {
		g.Edges = append(g.Edges, plan.Edge{From: len(g.Nodes) - 2, To: len(g.Nodes) - 1, Partition: p})
		prog.Links = append(prog.Links, transform.Unkeyed[int64](false, false))
	}
	vertex := ident.VertexID(0)
	if !s.source {
		add(plan.Node{Name: "in", Source: true, NoChain: true, Parallelism: 2}, operator.Factory{})
		vertex = 1
	}
	for i, name := range s.operators {
		add(plan.Node{Name: name, Source: s.source && i == 0, BufferTimeout: time.Hour}, w.factory(name, s))
		if len(g.Nodes) > 1 {
			edge(plan.Forward)
		}
	}
	if !s.sink {
		add(plan.Node{Name: "down", NoChain: true, Parallelism: 2}, operator.Factory{})
		edge(plan.Rebalance)
	}
	return prog, vertex
}

func (w *world) factory(name string, s setup) operator.Factory {
	return operator.Factory{Build: func(ctx *operator.Context) (operator.Operator, []any, error) {
		p := &probe{w: w, s: &s, name: name, ctx: ctx, out: operator.OutputOf[int64](ctx, 0)}
		for _, e := range ctx.Restored.List("sum") {
			p.sum += int64(binary.LittleEndian.Uint64(e))
		}
		w.mu.Lock()
		w.probes[name] = p
		w.mu.Unlock()
		if s.source && name == s.operators[0] {
			return polled{p}, nil, nil
		}
		return p, []any{operator.In[int64]{Record: p.record, Control: p}}, nil
	}}
}

// probe is an operator that writes down what is done to it and adds up what goes
// through it.
type probe struct {
	w    *world
	s    *setup
	name string
	ctx  *operator.Context
	out  operator.In[int64]
	sum  int64

	closed int
}

func (p *probe) does(what string) error {
	p.w.log(p.name + "." + what)
	name, _, _ := strings.Cut(what, " ")
	if hook := p.s.hooks[p.name+"."+name]; hook != nil {
		return hook(p)
	}
	return nil
}

func (p *probe) emit(v int64) { p.out.Record(&v, 0) }
func (p *probe) record(v *int64, ts int64) {
	p.sum += *v
	if hook := p.s.hooks[p.name+".record"]; hook != nil {
		if err := hook(p); err != nil {
			p.ctx.Fail("", err)
		}
	}
	p.out.Record(v, ts)
}
func (p *probe) Watermark(ts int64) { p.out.Watermark(ts) }
func (p *probe) Status(idle bool)   { p.out.Status(idle) }
func (p *probe) Open() error        { return p.does("open") }
func (p *probe) PrepareBarrier(id ident.CheckpointID) error {
	return p.does(fmt.Sprint("prepare ", id))
}
func (p *probe) Snapshot(id ident.CheckpointID, s *operator.Snapshot) error {
	if !p.s.noLists {
		s.AddList("sum", manifest.Split, [][]byte{binary.LittleEndian.AppendUint64(nil, uint64(p.sum))})
	}
	if p.s.stateBytes > 0 {
		c := &capture{name: p.name, bytes: p.s.stateBytes}
		p.w.mu.Lock()
		p.w.captures = append(p.w.captures, c)
		p.w.mu.Unlock()
		s.AddKeyed(c)
	}
	return p.does(fmt.Sprint("snapshot ", id))
}
func (p *probe) NotifyComplete(id ident.CheckpointID) error {
	return p.does(fmt.Sprint("complete ", id))
}
func (p *probe) NotifyAborted(id ident.CheckpointID) error { return p.does(fmt.Sprint("aborted ", id)) }
func (p *probe) Finish() error                             { return p.does("finish") }
func (p *probe) Idle()                                     {}
func (p *probe) Close() error {
	p.closed++
	return p.does("close")
}

// polled is a probe at the head of a source.
type polled struct{ *probe }

func (p polled) Poll() (connector.PollResult, int64, error) {
	if p.s.poll == nil {
		return connector.Wait, 0, nil
	}
	return p.s.poll(p.probe)
}
func (p polled) HandleEvent(kind operator.EventKind, payload []byte) error {
	return p.does("event " + string(payload))
}

// capture is keyed state in a snapshot.
type capture struct {
	name     string
	bytes    int
	released int // guarded by the bubble: read when the task has ended
}

func (c *capture) ID() segment.StateID    { return segment.StateID{Name: c.name} }
func (c *capture) Schema() segment.Schema { return segment.Schema{Key: "k", Value: "v", Layout: "l"} }
func (c *capture) Release()               { c.released++ }
func (c *capture) WriteGroups(w segment.GroupWriter) error {
	if err := w.Begin(0); err != nil {
		return err
	}
	w.AddEntries(1)
	_, err := w.Write(make([]byte, c.bytes))
	return err
}

// reporter is the JobMaster.
type reporter struct{ w *world }

func (r reporter) Initializing() {}
func (r reporter) Running()      { r.w.log("running") }
func (r reporter) Acknowledge(id ident.CheckpointID, states []OperatorState, m Metrics) {
	r.w.mu.Lock()
	r.w.acks[id], r.w.metrics[id] = states, m
	r.w.mu.Unlock()
	r.w.log(fmt.Sprint("ack ", id))
}
func (r reporter) Decline(id ident.CheckpointID, reason barrier.Reason, cause string) {
	r.w.log(strings.TrimSpace(fmt.Sprintf("decline %d %v %s", id, reason, cause)))
}
func (r reporter) SnapshotTaken(id ident.CheckpointID) { r.w.log(fmt.Sprint("taken ", id)) }
func (r reporter) OperatorEvent(ident.OperatorID, operator.EventKind, []byte) {
}
func (r reporter) EndOfData() { r.w.log("end of data") }

func (w *world) log(line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, line)
}

// happened returns what was written down since the last call, only the lines that
// contain one of the words if any are given.
func (w *world) happened(words ...string) []string {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	var lines []string
	for _, l := range w.lines {
		if len(words) == 0 || slices.ContainsFunc(words, func(word string) bool { return strings.Contains(l, word) }) {
			lines = append(lines, l)
		}
	}
	w.lines = nil
	return lines
}

func (w *world) want(got []string, want ...string) {
	w.t.Helper()
	if !slices.Equal(got, want) {
		w.t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// records sends a batch of records on a channel.
func (w *world) records(channel int, values ...int64) {
	b := batch.New[struct{}, int64](batch.Shape{Limit: max(1, len(values)), Values: true}, w.home, nil)
	for _, v := range values {
		b.V, b.Ts = append(b.V, v), append(b.Ts, 0)
	}
	w.sent++
	w.in[channel].Send(batch.Element{Kind: batch.KindRecords, Records: b})
}

func (w *world) watermark(channel int, ts int64) {
	b := batch.New[struct{}, int64](batch.Shape{Limit: 1, Values: true}, w.home, nil)
	b.AddMark(ts)
	w.sent++
	w.in[channel].Send(batch.Element{Kind: batch.KindRecords, Records: b})
}

func (w *world) barrier(channel int, id ident.CheckpointID) {
	w.in[channel].Send(batch.Element{Kind: batch.KindBarrier, Checkpoint: id, TimestampMillis: time.Now().UnixMilli()})
}

func (w *world) barriers(id ident.CheckpointID) {
	w.barrier(0, id)
	w.barrier(1, id)
	synctest.Wait()
}

func (w *world) endOfData() {
	for _, c := range w.in {
		c.Send(batch.Element{Kind: batch.KindEndOfData, Drain: true})
	}
}

// received takes what has arrived behind the task on a channel: records as their
// values, marks as "<time", events by name.
func (w *world) received(channel int) []string {
	synctest.Wait()
	var got []string
	for {
		_, e, ok := w.out[channel].Next()
		if !ok {
			return got
		}
		switch e.Kind {
		case batch.KindRecords:
			b := e.Records.(*batch.Batch[struct{}, int64])
			marks := b.Marks
			for i := 0; i <= len(b.V); i++ {
				for len(marks) > 0 && int(marks[0].Pos) == i {
					got = append(got, fmt.Sprint("<", marks[0].Watermark))
					marks = marks[1:]
				}
				if i < len(b.V) {
					got = append(got, fmt.Sprint(b.V[i]))
				}
			}
			b.Release()
		case batch.KindBarrier:
			got = append(got, fmt.Sprint("barrier ", e.Checkpoint))
		case batch.KindCancelMarker:
			got = append(got, fmt.Sprint("cancel ", e.Checkpoint))
		default:
			got = append(got, e.Kind.String())
		}
	}
}

// sum is the sum that the acknowledgement of a checkpoint holds for an operator.
func (w *world) sum(id ident.CheckpointID, name string) int64 {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.acks[id] {
		if s.Operator != ident.OperatorIDOf(name) {
			continue
		}
		for _, l := range s.State.Lists {
			if l.Name == "sum" {
				return int64(binary.LittleEndian.Uint64(l.Elements[0]))
			}
		}
	}
	w.t.Fatalf("checkpoint %d holds no sum of operator %q", id, name)
	return 0
}

// ended waits for the end of the task and returns its error.
func (w *world) ended() error {
	synctest.Wait()
	select {
	case <-w.doneC:
		return w.err
	default:
		w.t.Fatal("the task still runs")
		return nil
	}
}

func (w *world) failed(words ...string) {
	w.t.Helper()
	err := w.ended()
	if err == nil || errors.Is(err, ErrCanceled) {
		w.t.Fatalf("the task ended with %v, want a failure", err)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			w.t.Errorf("the error is\n  %v\nand does not contain %q", err, word)
		}
	}
}

// checkNothingIsLeft: everything that was given out is back, exactly once.
func (w *world) checkNothingIsLeft() {
	w.t.Helper()
	if n := len(w.home); n != w.sent {
		w.t.Errorf("%d of %d input batches came back", n, w.sent)
	}
	for i, c := range w.captures {
		if c.released != 1 {
			w.t.Errorf("snapshot %d of operator %q was released %d times", i, c.name, c.released)
		}
	}
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	if w.store.writers != 0 || w.store.readers != 0 {
		w.t.Errorf("%d writers and %d readers of objects are left open", w.store.writers, w.store.readers)
	}
	for name, p := range w.probes {
		if p.closed != 1 {
			w.t.Errorf("operator %q was closed %d times", name, p.closed)
		}
	}
}

// objects are the names of all objects in the store.
func (w *world) objects() []string {
	names, err := w.store.List(context.Background(), "")
	if err != nil {
		w.t.Fatal(err)
	}
	return names
}
