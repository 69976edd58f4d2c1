package task

import (
	"encoding/binary"

	"github.com/cutwater-io/cutwater/internal/exchange"
	"github.com/cutwater-io/cutwater/internal/operator"
	"github.com/cutwater-io/cutwater/internal/watermark"
)

// inputs tracks time and the end of data over all channels of a task. Each input
// port of the head operator has a time of its own: the least of its channels.
type inputs struct {
	current *exchange.Channel // being read
	ports   []port
	gates   []gate
	open    int  // channels whose data has not ended
	drain   bool // every ended channel wanted final results
}

// port is one input of the head operator.
type port struct {
	time    *watermark.Combiner
	control operator.Control
	idle    bool // as told to control
}

type gate struct {
	port  int
	first int // number of the gate's first channel among the port's inputs
	ended []bool
}

// newInputs makes the tracker. gatePorts gives each gate's port, channels its
// number of channels, controls what stands behind each port.
func newInputs(gatePorts, channels []int, controls []operator.Control, restored []int64) *inputs {
	in := &inputs{drain: true}
	counts := make([]int, len(controls))
	for g, p := range gatePorts {
		in.gates = append(in.gates, gate{port: p, first: counts[p], ended: make([]bool, channels[g])})
		counts[p] += channels[g]
		in.open += channels[g]
	}
	for p, c := range controls {
		in.ports = append(in.ports, port{control: c, time: watermark.NewCombiner(watermark.Config{Inputs: counts[p], Restored: restored[p]})})
	}
	return in
}

func (in *inputs) find(c *exchange.Channel) (*port, int) {
	g := &in.gates[c.ID.Gate]
	return &in.ports[g.port], g.first + int(c.ID.Channel)
}

// mark takes a watermark from the channel being read.
func (in *inputs) mark(ts int64) {
	p, i := in.find(in.current)
	if p.time.Update(i, ts) {
		p.control.Watermark(p.time.Watermark())
	}
}

func (in *inputs) status(c *exchange.Channel, idle bool) {
	p, i := in.find(c)
	if p.time.SetIdle(i, idle) {
		p.control.Watermark(p.time.Watermark())
	}
	p.tell()
}

func (p *port) tell() {
	if idle := p.time.Idle(); idle != p.idle {
		p.idle = idle
		p.control.Status(idle)
	}
}

// endOfData reports whether it was the last channel's.
func (in *inputs) endOfData(c *exchange.Channel, drain bool) (all bool) {
	g := &in.gates[c.ID.Gate]
	if g.ended[c.ID.Channel] {
		return false
	}
	g.ended[c.ID.Channel] = true
	p, i := in.find(c)
	if p.time.End(i) {
		p.control.Watermark(p.time.Watermark())
	}
	p.tell()
	in.drain = in.drain && drain
	in.open--
	return in.open == 0
}

// watermarkState is the list state of a chain's head in which its time is kept,
// one element per port, as a union: after a restore time starts from the least of
// all subtasks, so that a window that has fired does not come back (D58).
const watermarkState = "time"

func (in *inputs) snapshot() [][]byte {
	var elements [][]byte
	for p := range in.ports {
		wm := in.ports[p].time.Watermark() // also None: the least of all counts
		elements = append(elements, binary.LittleEndian.AppendUint64([]byte{byte(p)}, uint64(wm)))
	}
	return elements
}

// restoredTimes is the least time of each port among the former subtasks.
func restoredTimes(elements [][]byte, ports int) []int64 {
	saved := make([][]int64, ports)
	for _, e := range elements {
		if len(e) == 9 && int(e[0]) < ports {
			saved[e[0]] = append(saved[e[0]], int64(binary.LittleEndian.Uint64(e[1:])))
		}
	}
	times := make([]int64, ports)
	for p := range times {
		times[p] = watermark.RestoredBound(saved[p])
	}
	return times
}
