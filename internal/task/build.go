package task

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/cutwater-io/cutwater/internal/barrier"
	"github.com/cutwater-io/cutwater/internal/exchange"
	"github.com/cutwater-io/cutwater/internal/ident"
	"github.com/cutwater-io/cutwater/internal/keygroup"
	"github.com/cutwater-io/cutwater/internal/manifest"
	"github.com/cutwater-io/cutwater/internal/operator"
	"github.com/cutwater-io/cutwater/internal/plan"
	"github.com/cutwater-io/cutwater/internal/segment"
)

const defaultBufferTimeout = 10 * time.Millisecond

// build makes the chain from its end backwards, so that each operator gets what
// stands behind it as func values.
func (t *Task) build() error {
	t.shared = &operator.Task{
		Arena: t.arena,
		Post:  func(f func() error) { t.mail.post(f) },
		At:    t.timers.add,
		Wake:  t.cfg.Waker.Wake,
		Mail:  t.mail.waiting,
		Done:  t.done,
		Coordinator: func(op ident.OperatorID, kind operator.EventKind, payload []byte) {
			t.cfg.Reporter.OperatorEvent(op, kind, payload)
		},
	}
	t.tick()
	t.shared.Where = t.whereFromChannel
	b := builder{t: t, ins: map[int][]any{}}
	for i := len(t.vertex.Nodes) - 1; i >= 0; i-- {
		if err := b.node(t.vertex.Nodes[i]); err != nil {
			return err
		}
	}
	slices.Reverse(t.chain)
	t.buildInputs(b.ins[t.vertex.Nodes[0]])
	t.snapshots = barrier.NewSnapshots(barrier.TaskConfig{
		HasInputs: t.aligner != nil, Restored: t.cfg.RestoredFrom,
	})
	return nil
}

// builder makes the operators of a chain.
type builder struct {
	t   *Task
	ins map[int][]any // inputs by node and port, as made by the node's factory
}

func (b *builder) node(n int) error {
	t, g := b.t, b.t.cfg.Plan.Graph
	node := &g.Nodes[n]
	ctx := t.context(n)
	var between []link
	for i := range g.Edges {
		e := &g.Edges[i]
		if e.From != n {
			continue
		}
		in, local := b.edge(ctx, i, e)
		for len(ctx.Outputs) <= e.FromPort {
			ctx.Outputs = append(ctx.Outputs, nil)
		}
		ctx.Outputs[e.FromPort] = append(ctx.Outputs[e.FromPort], in)
		if local != nil {
			between = append(between, link{op: local, name: node.Name, ctx: ctx})
		}
	}
	restored, err := t.restored(node.ID)
	if err != nil {
		return fmt.Errorf("operator %q: %w", node.Name, err)
	}
	ctx.Restored = restored
	op, ins, err := t.cfg.Program.Factories[n].Build(ctx)
	if err != nil {
		return err
	}
	b.ins[n] = ins
	// The chain is collected from tail to head.
	t.chain = append(t.chain, between...)
	t.chain = append(t.chain, link{op: op, id: node.ID, name: node.Name, ctx: ctx})
	if len(t.vertex.Nodes) > 0 && t.vertex.Nodes[0] == n {
		if pull, ok := op.(operator.Pull); ok {
			t.pull = pull
			t.sourceOut = operator.Controls(ctx)
		}
	}
	return nil
}

// edge makes what the producer's output is connected to: the consumer in the same
// chain, or a writer.
func (b *builder) edge(ctx *operator.Context, i int, e *plan.Edge) (in any, between operator.Operator) {
	t, p := b.t, b.t.cfg.Plan
	l := &t.cfg.Program.Links[i]
	consumer := *ctx
	consumer.MaxParallelism = p.Max[e.To]
	if p.Chained[i] {
		return l.Chain(&consumer, b.ins[e.To][e.ToPort])
	}
	channels := t.cfg.Outputs[slices.IndexFunc(t.vertex.Out, func(x int) bool { return p.Exchanges[x].Edge == i })]
	out, in := l.Writer(&consumer, exchange.Task{
		Waker: t.cfg.Waker, Done: t.done, NowNanos: &t.shared.NowNanos, Overdrawn: &t.overdrawn,
	}, channels)
	timeout := p.Graph.Nodes[e.From].BufferTimeout
	if timeout == 0 {
		timeout = defaultBufferTimeout
	}
	t.outputs = append(t.outputs, timedOutput{out, int64(max(timeout, 0))})
	return in, nil
}

// context makes what the operator of a node knows of the world.
func (t *Task) context(n int) *operator.Context {
	node := &t.cfg.Plan.Graph.Nodes[n]
	max := t.cfg.Plan.Max[n]
	first, last := keygroup.RangeOf(int(t.cfg.Attempt.Subtask.Index), t.vertex.Parallelism, max)
	return &operator.Context{
		ID: node.ID, Name: node.Name, Job: t.cfg.Job,
		Subtask: int(t.cfg.Attempt.Subtask.Index), Parallelism: t.vertex.Parallelism,
		MaxParallelism: max, Groups: manifest.Range{First: first, Last: last},
		Attempt: t.cfg.Unique, RestoredFrom: t.cfg.RestoredFrom, Env: t.cfg.Env, Task: t.shared,
	}
}

// buildInputs makes the gates of a task that is not a source.
func (t *Task) buildInputs(ins []any) {
	if t.pull != nil {
		return
	}
	p := t.cfg.Plan
	gates := len(t.vertex.In)
	gatePorts, channels := make([]int, gates), make([]int, gates)
	for _, c := range t.cfg.Inbox.Channels() {
		channels[c.ID.Gate]++
	}
	for g, x := range t.vertex.In {
		e := p.Exchanges[x].Edge
		port := p.Graph.Edges[e].ToPort
		gatePorts[g] = port
		t.receivers = append(t.receivers, t.cfg.Program.Links[e].Receiver(ins[port]))
	}
	controls := make([]operator.Control, len(ins))
	for i, in := range ins {
		controls[i] = in.(operator.Control)
	}
	head := t.chain[0].ctx
	t.inputs = newInputs(gatePorts, channels, controls, restoredTimes(head.Restored.List(watermarkState), len(ins)))
	t.mark = func(ts int64) bool {
		t.inputs.mark(ts)
		return t.shared.Firing > 0
	}
	counts := make([]int32, gates)
	for g, n := range channels {
		counts[g] = int32(n)
	}
	t.aligner = barrier.NewAligner(barrier.Config{Channels: counts, AfterFinish: true, Restored: t.cfg.RestoredFrom})
}

// restored opens what a checkpoint holds for an operator.
func (t *Task) restored(id ident.OperatorID) (*operator.Restored, error) {
	state, ok := t.cfg.States[id]
	if !ok {
		return nil, nil
	}
	r := &operator.Restored{Lists: state.Lists}
	for _, part := range state.Keyed {
		reader, err := t.openSegment(part.Handle)
		if err != nil {
			return nil, fmt.Errorf("restore checkpoint %d: %w", t.cfg.RestoredFrom, err)
		}
		r.Keyed = append(r.Keyed, operator.KeyedPart{Segment: reader, Read: part.Read})
	}
	return r, nil
}

func (t *Task) openSegment(h manifest.Handle) (*segment.Reader, error) {
	var at io.ReaderAt = bytes.NewReader(h.Inline)
	size := int64(len(h.Inline))
	if h.Object != "" {
		obj, err := t.cfg.Store.Open(context.Background(), h.Object)
		if err != nil {
			return nil, err
		}
		t.opened = append(t.opened, obj)
		at, size = obj, obj.Size()
	}
	s, err := segment.NewReader(at, size)
	if err != nil {
		return nil, fmt.Errorf("object %q: %w", h.Object, err)
	}
	return s, nil
}

// closeRestored releases what restoring has opened, also when it failed.
func (t *Task) closeRestored() {
	for _, c := range t.opened {
		c.Close()
	}
	t.opened = nil
	for i := range t.chain {
		if t.chain[i].ctx != nil {
			t.chain[i].ctx.Restored = nil
		}
	}
}

// whereFromChannel says where the record being processed comes from in a task
// that is not a source's.
func (t *Task) whereFromChannel() string {
	if t.inputs == nil || t.inputs.current == nil {
		return ""
	}
	from := t.inputs.current.From
	return fmt.Sprintf("%s (%d)", t.cfg.Plan.VertexName(from.Vertex), from.Index+1)
}
