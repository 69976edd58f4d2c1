package plan

import (
	"errors"
	"fmt"
	"hash/fnv"

	"github.com/cutwater-io/cutwater/internal/ident"
	"github.com/cutwater-io/cutwater/internal/keygroup"
)

// Plan is a graph made ready to run.
type Plan struct {
	Graph    *Graph
	Vertices []Vertex // in topological order; the index is the VertexID
	// Exchanges are the edges that are not inside a chain.
	Exchanges []Exchange
	// VertexOf maps nodes to vertices.
	VertexOf []ident.VertexID
	// Max is the number of key groups by node.
	Max []int
	// Chained tells by edge whether it lies inside a chain.
	Chained []bool
	// Partition is the effective partition by edge: a forward edge between
	// different parallelisms is a rebalance.
	Partition []Partition
}

// Vertex is a chain of operators that run together in one task per subtask.
type Vertex struct {
	ID          ident.VertexID
	Nodes       []int // topological order; the first is the head
	Parallelism int
	In, Out     []int // indices of Exchanges; the position in In is the gate
	Source      bool
}

// Exchange is an edge between two vertices.
type Exchange struct {
	Edge     int
	From, To ident.VertexID
	Gate     int // index in the consumer's In
	// Pointwise exchanges have one channel per subtask; others lead from each
	// subtask to each.
	Pointwise bool
}

// Options of a plan.
type Options struct {
	Parallelism int // default of operators that set none; at least 1
	// AdoptMax gives the number of key groups stored in the checkpoint the
	// job is restored from, 0 when the operator has none. It is used for
	// operators whose number the user did not set.
	AdoptMax func(ident.OperatorID) int
}

// Make plans a graph. All errors of the graph are returned together.
func Make(g *Graph, o Options) (*Plan, error) {
	if err := validate(g); err != nil {
		return nil, err
	}
	p := &Plan{
		Graph: g, VertexOf: make([]ident.VertexID, len(g.Nodes)), Max: make([]int, len(g.Nodes)),
		Chained: make([]bool, len(g.Edges)), Partition: make([]Partition, len(g.Edges)),
	}
	parallelism := make([]int, len(g.Nodes))
	var errs []error
	for i := range g.Nodes {
		n := &g.Nodes[i]
		parallelism[i] = n.Parallelism
		if n.Parallelism == 0 {
			parallelism[i] = max(1, o.Parallelism)
		}
		p.Max[i] = n.MaxParallelism
		if p.Max[i] == 0 && o.AdoptMax != nil {
			p.Max[i] = o.AdoptMax(n.ID)
		}
		if p.Max[i] == 0 {
			p.Max[i] = keygroup.DefaultMax(parallelism[i])
		}
		if parallelism[i] > p.Max[i] {
			errs = append(errs, fmt.Errorf("operator %q (%s): parallelism %d is larger than its %d key groups: lower Parallelism, or start without the old state and a larger MaxParallelism",
				n.Name, n.Where, parallelism[i], p.Max[i]))
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	inputs := make([]int, len(g.Nodes))
	for _, e := range g.Edges {
		inputs[e.To]++
	}
	for i, e := range g.Edges {
		p.Partition[i] = e.Partition
		from, to := parallelism[e.From], parallelism[e.To]
		if e.Partition == Forward && from != to {
			p.Partition[i] = Rebalance
		}
		// A keyed edge from one subtask to one is a straight line: it stays in
		// the chain. State is in key groups all the same, so that a later run
		// at another parallelism finds it.
		straight := p.Partition[i] == Forward || e.Partition == Hash && from == 1 && to == 1
		apart := (g.Nodes[e.To].NoChain || g.Nodes[e.From].NoChain) && !g.Nodes[e.To].Committer
		// A committer stays with its writer: it removes what earlier attempts
		// left behind before the writer begins, and barriers cannot part them.
		p.Chained[i] = straight && inputs[e.To] == 1 && !apart
	}
	p.makeVertices(parallelism)
	p.makeExchanges()
	return p, nil
}

func (p *Plan) makeVertices(parallelism []int) {
	chainedInto := make([]int, len(p.Graph.Nodes)) // 1 + index of the chained edge into the node
	for i, e := range p.Graph.Edges {
		if p.Chained[i] {
			chainedInto[e.To] = i + 1
		}
	}
	for i := range p.Graph.Nodes {
		if in := chainedInto[i]; in > 0 {
			id := p.VertexOf[p.Graph.Edges[in-1].From]
			p.VertexOf[i] = id
			p.Vertices[id].Nodes = append(p.Vertices[id].Nodes, i)
			continue
		}
		id := ident.VertexID(len(p.Vertices))
		p.VertexOf[i] = id
		p.Vertices = append(p.Vertices, Vertex{ID: id, Nodes: []int{i}, Parallelism: parallelism[i], Source: p.Graph.Nodes[i].Source})
	}
}

func (p *Plan) makeExchanges() {
	for i, e := range p.Graph.Edges {
		if p.Chained[i] {
			continue
		}
		from, to := p.VertexOf[e.From], p.VertexOf[e.To]
		x := len(p.Exchanges)
		p.Exchanges = append(p.Exchanges, Exchange{
			Edge: i, From: from, To: to, Gate: len(p.Vertices[to].In), Pointwise: p.Partition[i] == Forward,
		})
		p.Vertices[from].Out = append(p.Vertices[from].Out, x)
		p.Vertices[to].In = append(p.Vertices[to].In, x)
	}
}

func validate(g *Graph) error {
	var errs []error
	seen := map[ident.OperatorID]*Node{}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		// Two committers of one name are two sinks of one name, which is said already.
		if other := seen[n.ID]; other != nil && !(n.Committer && other.Committer) {
			errs = append(errs, fmt.Errorf("operator %q (%s): the operator at %s has this name already: state is found by name, so names must differ; give one of them another stream.Name", n.Name, n.Where, other.Where))
		}
		seen[n.ID] = n
		if n.Stateful && !n.Named {
			errs = append(errs, fmt.Errorf("operator %q (%s): it keeps state and has no name: add stream.Name(...), by which its state is found after a restart", n.Name, n.Where))
		}
		if n.Parallelism < 0 || n.MaxParallelism < 0 || n.MaxParallelism > keygroup.Limit {
			errs = append(errs, fmt.Errorf("operator %q (%s): parallelism must be at least 1 and max parallelism between 1 and %d", n.Name, n.Where, keygroup.Limit))
		}
	}
	for _, e := range g.Edges {
		if e.From >= e.To || e.From < 0 || e.To >= len(g.Nodes) {
			panic("plan: edge does not point forward")
		}
	}
	if len(g.Nodes) == 0 {
		errs = append(errs, errors.New("the pipeline is empty: begin with From"))
	}
	return errors.Join(errs...)
}

// Fingerprint identifies the shape of the graph: two programs with equal
// fingerprints build the same tasks.
func (p *Plan) Fingerprint() uint64 {
	h := fnv.New64a()
	for i := range p.Graph.Nodes {
		fmt.Fprintf(h, "%s/%d/%d;", p.Graph.Nodes[i].ID, p.Vertices[p.VertexOf[i]].Parallelism, p.Max[i])
	}
	for i, e := range p.Graph.Edges {
		fmt.Fprintf(h, "%d.%d>%d.%d:%s:%t;", e.From, e.FromPort, e.To, e.ToPort, p.Partition[i], p.Chained[i])
	}
	return h.Sum64()
}

// Subtasks is the number of subtasks of all vertices.
func (p *Plan) Subtasks() int {
	n := 0
	for i := range p.Vertices {
		n += p.Vertices[i].Parallelism
	}
	return n
}

// VertexName joins the names of a chain's operators.
func (p *Plan) VertexName(id ident.VertexID) string {
	s := ""
	for i, n := range p.Vertices[id].Nodes {
		if i > 0 {
			s += " → "
		}
		s += p.Graph.Nodes[n].Name
	}
	return s
}
