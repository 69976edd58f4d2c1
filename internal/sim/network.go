package main

import "github.com/cutwater-io/cutwater/internal/ident"

// network is the channels of one execution, made anew with each: what was in
// flight in a former one never reaches the next.
type network struct {
	w     *world
	par   []int
	from  *cut
	chans []*channel
	tasks []*task
}

// channel leads from one subtask to another, first in first out.
type channel struct {
	gate, v     int // of the consumer: its input, its vertex
	from, to    *task
	source, dst int // their subtasks
	src         int // vertex of the sender
	id          ident.ChannelID
	queue       []element
	head        int
	ended       bool // its data has
}

// capacity is how many records a channel holds before its sender waits.
const capacity = 6

type elementKind uint8

const (
	record elementKind = iota
	transaction
	barrierMark
	cancelMark
	endOfDataMark
	endOfPartition
)

type element struct {
	kind elementKind
	n    int32 // record or transaction
	id   ident.CheckpointID
	ts   int64
}

func newNetwork(jm *jobMaster) *network {
	n := &network{w: jm.w, par: jm.exec.par, from: jm.restore}
	for v := range jm.w.g.vertices {
		for gate, e := range jm.w.g.vertices[v].in {
			for d := range n.par[v] {
				one := e.how == pointwise && n.par[e.from] == n.par[v]
				next := int32(0)
				for s := range n.par[e.from] {
					if !one || s == d {
						n.chans = append(n.chans, &channel{gate: gate, v: v, src: e.from, source: s, dst: d, id: ident.ChannelID{Gate: int32(gate), Channel: next}})
						next++
					}
				}
			}
		}
	}
	return n
}

// gates are the input channels of a task, by gate.
func (n *network) gates(t *task) [][]*channel {
	gates := make([][]*channel, len(n.w.g.vertices[t.v].in))
	for _, c := range n.chans {
		if c.v == t.v && c.dst == int(t.attempt.Subtask.Index) {
			gates[c.gate] = append(gates[c.gate], c)
		}
	}
	return gates
}

// join connects the outputs of a task: per consumer edge, a list of channels.
func (n *network) join(t *task) {
	for v := range n.w.g.vertices {
		for gate, e := range n.w.g.vertices[v].in {
			if e.from != t.v {
				continue
			}
			o := output{how: e.how, par: n.par[v]}
			for _, c := range n.chans {
				if c.v == v && c.gate == gate && c.source == int(t.attempt.Subtask.Index) {
					c.from = t
					o.chans = append(o.chans, c)
				}
			}
			t.out = append(t.out, o)
		}
	}
}

// output is one edge to a consumer.
type output struct {
	how   pattern
	par   int
	next  int
	chans []*channel
}

func (c *channel) push(e element) {
	if c.to != nil && c.to.over {
		return
	}
	c.queue = append(c.queue, e)
	if c.to != nil {
		c.to.wake()
	}
}

func (c *channel) empty() bool { return c.head == len(c.queue) }
func (c *channel) full() bool {
	return len(c.queue)-c.head >= capacity && (c.to == nil || !c.to.over)
}

func (c *channel) pop() element {
	e := c.queue[c.head]
	c.head++
	if c.head == len(c.queue) {
		c.queue, c.head = c.queue[:0], 0
	}
	if c.from != nil && c.from.held {
		c.from.wake()
	}
	return e
}

func (o *output) full() bool {
	for _, c := range o.chans {
		if c.full() {
			return true
		}
	}
	return false
}

// emit sends a record to the subtasks it is for.
func (t *task) emit(r int32) {
	for i := range t.out {
		o := &t.out[i]
		switch {
		case o.how == broadcast:
			for _, c := range o.chans {
				c.push(element{kind: record, n: r})
			}
		case o.how == hashed:
			o.chans[owner(t.w.g.recs[r].group, o.par)].push(element{kind: record, n: r})
		default:
			o.next++
			o.chans[o.next%len(o.chans)].push(element{kind: record, n: r})
		}
	}
}

// all sends a mark to every channel.
func (t *task) all(e element) {
	for i := range t.out {
		for _, c := range t.out[i].chans {
			c.push(e)
		}
	}
}
