package jobmaster

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/internal/ident"
	"github.com/cutwater-io/cutwater/internal/operator"
	"github.com/cutwater-io/cutwater/internal/rpc"
	"github.com/cutwater-io/cutwater/internal/transform"
)

// gateway stands between the enumerator of a source and its readers, so that each
// event is part of a checkpoint on both sides or on neither (specification 6.4).
//
// When the enumerator was snapshotted for checkpoint N the gateway closes to every
// subtask: events are kept. It opens to a subtask when that subtask has taken its
// snapshot N, and to all when N has ended. Events sent before, also while the
// snapshot was taken, are in the mailbox of the subtask already, and so before the
// trigger of N: mail is in order. Nothing is sent to a reader that has not
// registered yet; readers do before their task counts as running, and so before
// there is a checkpoint.
//
// mu makes "decide and send" one step for enumerators that send from goroutines
// of their own; everything else runs in the JobMaster's loop.
type gateway struct {
	jm     *JobMaster
	node   int
	id     ident.OperatorID
	name   string
	vertex ident.VertexID
	ctx    context.Context
	cancel context.CancelFunc
	enum   connector.Enumerator
	gone   bool // the enumerator was replaced or closed; its late calls are ignored

	mu   sync.Mutex // guards subs
	subs []subtaskGate
}

// subtaskGate is the gate to one subtask.
type subtaskGate struct {
	attempt ident.AttemptID
	closed  ident.CheckpointID // 0: open
	kept    []rpc.OperatorEvent
	ready   bool // the reader has registered: until then events are kept
}

// startEnumerators makes the enumerators of all sources from the state to restore.
func (jm *JobMaster) startEnumerators() error {
	for _, g := range jm.gateways {
		if err := g.close(); err != nil {
			return err
		}
	}
	jm.gateways = nil
	for n := range jm.cfg.Plan.Graph.Nodes {
		f := jm.cfg.Program.Factories[n].Enumerator
		if f == nil {
			continue
		}
		node := &jm.cfg.Plan.Graph.Nodes[n]
		v := &jm.cfg.Plan.Vertices[jm.cfg.Plan.VertexOf[n]]
		g := &gateway{jm: jm, node: n, id: node.ID, name: node.Name, vertex: v.ID, subs: make([]subtaskGate, v.Parallelism)}
		g.ctx, g.cancel = context.WithCancel(jm.ctx)
		jm.gateways = append(jm.gateways, g)
		var restored []byte
		if jm.restore != nil {
			restored = jm.restore.coordinators[node.ID]
		}
		var enum connector.Enumerator
		err := g.guard(func() (err error) { enum, err = f(g, restored); return err })
		if err == nil {
			g.enum = enum
			err = g.guard(enum.Start)
		}
		if err != nil {
			return fmt.Errorf("source %q: start enumerator: %w", node.Name, err)
		}
	}
	return nil
}

// attach names the attempts that events go to.
func (g *gateway) attach(attempt int32) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range g.subs {
		s := &g.subs[i]
		s.attempt = ident.AttemptID{Subtask: ident.SubtaskID{Vertex: g.vertex, Index: int32(i)}, Attempt: attempt}
		for j := range s.kept { // sent by Start
			s.kept[j].Attempt = s.attempt
		}
	}
}

// send delivers an event, or keeps it while the gate is closed.
func (g *gateway) send(subtask int, kind operator.EventKind, payload []byte) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.gone || subtask < 0 || subtask >= len(g.subs) {
		return
	}
	s := &g.subs[subtask]
	m := rpc.OperatorEvent{Token: g.jm.token, Attempt: s.attempt, Operator: g.id, Kind: kind, Payload: payload}
	if s.closed != 0 || !s.ready {
		s.kept = append(s.kept, m)
		return
	}
	g.deliver(m)
}

// deliver sends an event. One that cannot be delivered is a failure if its task
// ended well: the enumerator believes that the reader has it. That there are no
// more splits matters to no reader that has ended.
func (g *gateway) deliver(m rpc.OperatorEvent) {
	if err := g.jm.tm.OperatorEvent(m); err != nil && m.Kind != operator.EventNoMoreSplits {
		g.jm.post(func() { g.jm.undelivered(m.Attempt, fmt.Errorf("source %q: %w", g.name, err)) })
	}
}

// snapshot takes the enumerator's state and closes the gate to every subtask.
func (g *gateway) snapshot(id ident.CheckpointID) ([]byte, error) {
	var state []byte
	err := g.guard(func() (err error) { state, err = g.enum.Snapshot(uint64(id)); return err })
	if err != nil {
		return nil, fmt.Errorf("source %q: snapshot enumerator: %w", g.name, err)
	}
	g.mu.Lock()
	for i := range g.subs {
		g.subs[i].closed = id
	}
	g.mu.Unlock()
	if state == nil {
		state = []byte{} // nil means a fresh start
	}
	return state, nil
}

// keeps reports whether an event waits for a reader's snapshot of a checkpoint.
func (g *gateway) keeps() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.ContainsFunc(g.subs, func(s subtaskGate) bool { return s.closed != 0 && len(s.kept) > 0 })
}

// taken opens the gate to a subtask that took its snapshot.
func (g *gateway) taken(a ident.AttemptID, id ident.CheckpointID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := int(a.Subtask.Index); i < len(g.subs) && g.subs[i].attempt == a && g.subs[i].closed <= id {
		g.open(i)
	}
}

// reopen opens the gates that are closed for a checkpoint that has ended.
func (g *gateway) reopen(id ident.CheckpointID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range g.subs {
		if c := g.subs[i].closed; c != 0 && c <= id {
			g.open(i)
		}
	}
}

// open delivers what was kept, in order.
func (g *gateway) open(i int) {
	s := &g.subs[i]
	s.closed = 0
	if !s.ready {
		return
	}
	kept := s.kept
	s.kept = nil
	for _, m := range kept {
		g.deliver(m)
	}
}

func (g *gateway) complete(id ident.CheckpointID) {
	g.reopen(id)
	g.tell("be told of a checkpoint", func() { g.enum.NotifyComplete(uint64(id)) })
}

// register opens the gate to a reader for the first time.
func (g *gateway) register(i int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.subs[i].ready = true
	if g.subs[i].closed == 0 {
		g.open(i)
	}
}

// guard turns a panic of the enumerator into an error. The tasks of the job must
// be stopped in order whatever a connector does.
func (g *gateway) guard(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return f()
}

// tell calls the enumerator; if it panics the job fails.
func (g *gateway) tell(what string, f func()) {
	if err := g.guard(func() error { f(); return nil }); err != nil {
		g.jm.fail(fmt.Errorf("source %q: the enumerator was to %s: %w", g.name, what, err))
	}
}

// event takes what a reader sent.
func (g *gateway) event(m rpc.OperatorEvent) {
	i := int(m.Attempt.Subtask.Index)
	if g.gone || i >= len(g.subs) || g.subs[i].attempt != m.Attempt {
		return
	}
	switch m.Kind {
	case operator.EventReaderReady:
		g.register(i)
		g.tell("add a reader", func() { g.enum.AddReader(i) })
	case operator.EventRequestSplit:
		g.tell("handle a request", func() { g.enum.HandleRequest(i) })
	case operator.EventCustom:
		g.tell("handle an event", func() { g.enum.HandleEvent(i, m.Payload) })
	}
}

func (g *gateway) close() error {
	if g.gone {
		return nil
	}
	g.mu.Lock()
	g.gone = true
	g.mu.Unlock()
	g.cancel()
	if g.enum == nil {
		return nil
	}
	if err := g.guard(g.enum.Close); err != nil {
		return fmt.Errorf("source %q: close enumerator: %w", g.name, err)
	}
	return nil
}

// The enumerator's side, connector.EnumeratorContext.

func (g *gateway) Env() connector.Env { return g.jm.cfg.Env }
func (g *gateway) Parallelism() int   { return len(g.subs) }
func (g *gateway) Assign(subtask int, splits ...connector.Split) {
	if len(splits) > 0 {
		g.send(subtask, operator.EventAddSplits, transform.EncodeSplits(splits))
	}
}
func (g *gateway) NoMoreSplits(subtask int)       { g.send(subtask, operator.EventNoMoreSplits, nil) }
func (g *gateway) Send(subtask int, event []byte) { g.send(subtask, operator.EventCustom, event) }

func (g *gateway) CallAsync(work func(context.Context) (any, error), done func(any, error), every time.Duration) {
	g.jm.wg.Go(func() {
		for {
			finished := make(chan struct{})
			var result any
			err := g.guard(func() (err error) { result, err = work(g.ctx); return err })
			g.jm.post(func() {
				if !g.gone {
					g.tell("take a result", func() { done(result, err) })
				}
				close(finished)
			})
			if every <= 0 {
				return
			}
			select {
			case <-finished:
			case <-g.ctx.Done():
				return
			}
			select {
			case <-g.jm.cfg.Env.Clock.After(every):
			case <-g.ctx.Done():
				return
			}
		}
	})
}
