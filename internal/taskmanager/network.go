package taskmanager

import (
	"github.com/cutwater-io/cutwater/internal/exchange"
	"github.com/cutwater-io/cutwater/internal/ident"
	"github.com/cutwater-io/cutwater/internal/plan"
)

// network is the inboxes and channels of one execution of a whole job. A restart
// gets a new one, so that nothing of an old attempt can arrive at a new one.
type network struct {
	plan *plan.Plan
	ends map[ident.SubtaskID]*end
	used int
}

// end is one subtask's inbox and its condition.
type end struct {
	inbox *exchange.Inbox
	waker *exchange.Waker
	// first is the index of each gate's first channel in the inbox.
	first []int
}

func newNetwork(p *plan.Plan) *network {
	n := &network{plan: p, ends: map[ident.SubtaskID]*end{}}
	for i := range p.Vertices {
		v := &p.Vertices[i]
		for s := range int32(v.Parallelism) {
			n.ends[ident.SubtaskID{Vertex: v.ID, Index: s}] = n.newEnd(v, s)
		}
	}
	return n
}

func (n *network) newEnd(v *plan.Vertex, subtask int32) *end {
	w := exchange.NewWaker()
	e := &end{inbox: exchange.NewInbox(w), waker: w}
	for g, x := range v.In {
		ex := &n.plan.Exchanges[x]
		e.first = append(e.first, len(e.inbox.Channels()))
		from, last := int32(0), int32(n.plan.Vertices[ex.From].Parallelism-1)
		if ex.Pointwise {
			from, last = subtask, subtask
		}
		for i := from; i <= last; i++ {
			id := ident.ChannelID{Gate: int32(g), Channel: i - from}
			e.inbox.Add(id, ident.SubtaskID{Vertex: ex.From, Index: i})
		}
	}
	return e
}

func (n *network) end(s ident.SubtaskID) *end {
	n.used++
	return n.ends[s]
}

// complete reports whether every subtask has been deployed once.
func (n *network) complete() bool { return n.used == len(n.ends) }

// outputs are the channels behind a subtask, by exchange.
func (n *network) outputs(s ident.SubtaskID) [][]*exchange.Channel {
	var all [][]*exchange.Channel
	for _, x := range n.plan.Vertices[s.Vertex].Out {
		ex := &n.plan.Exchanges[x]
		var channels []*exchange.Channel
		for i := range int32(n.plan.Vertices[ex.To].Parallelism) {
			to := n.ends[ident.SubtaskID{Vertex: ex.To, Index: i}]
			first := to.first[ex.Gate]
			switch {
			case !ex.Pointwise:
				channels = append(channels, to.inbox.Channels()[first+int(s.Index)])
			case i == s.Index:
				channels = append(channels, to.inbox.Channels()[first])
			}
		}
		all = append(all, channels)
	}
	return all
}
