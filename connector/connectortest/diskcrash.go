package connectortest

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// Loss says what a crash does to what was not synced.
type Loss uint64

const (
	// LoseAll: nothing of it is there.
	LoseAll Loss = 0
	// LoseNothing: all of it is there.
	LoseNothing Loss = 1
	// Any other number is the seed by which some of it is there and some not.
)

// Restart crashes the machine, if it has not crashed, and starts it again.
// Faults not yet met are forgotten.
func (d *Disk) Restart(loss Loss) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.life++
	d.crashed = false
	clear(d.faults)
	var coin func() bool
	switch loss {
	case LoseAll:
		coin = func() bool { return false }
	case LoseNothing:
		coin = func() bool { return true }
	default:
		r := rand.New(rand.NewPCG(uint64(loss), 1))
		coin = func() bool { return r.IntN(2) == 0 }
	}
	c := &crash{coin: coin, alive: map[*node]bool{}, kept: map[*node]bool{}}
	c.names(d.root)
	c.removals(d.root)
	c.settle(d.root)
}

// crash decides what a crash leaves.
type crash struct {
	coin  func() bool
	alive map[*node]bool // files that had a name before the crash
	kept  map[*node]bool // files of which a present name survives
}

// names adds to the durable names of a directory some that were not synced.
func (c *crash) names(dir *node) {
	for _, name := range slices.Sorted(maps.Keys(dir.entries)) {
		n := dir.entries[name]
		c.alive[n] = true
		if dir.durable[name] != n && c.coin() {
			dir.durable[name] = n
		}
		if dir.durable[name] == n {
			c.kept[n] = true
		}
		if n.entries != nil {
			c.names(n)
		}
	}
}

// removals takes from the durable names some whose removal was not synced. The
// old name of a renamed file goes only if the new one is there.
func (c *crash) removals(dir *node) {
	for _, name := range slices.Sorted(maps.Keys(dir.durable)) {
		n := dir.durable[name]
		if n.entries != nil {
			c.removals(n)
			continue
		}
		if dir.entries[name] == nil && (c.kept[n] || !c.alive[n]) && c.coin() {
			delete(dir.durable, name)
		}
	}
}

// settle makes what is durable the present.
func (c *crash) settle(dir *node) {
	dir.entries = maps.Clone(dir.durable)
	for _, name := range slices.Sorted(maps.Keys(dir.entries)) {
		n := dir.entries[name]
		if n.entries != nil {
			c.settle(n)
			continue
		}
		if !slices.Equal(n.data, n.synced) {
			n.data = c.content(n)
		}
		n.synced = n.data
	}
}

// content of a file that was not synced: all, none, or a piece of what was
// appended.
func (c *crash) content(n *node) []byte {
	switch keep, half := c.coin(), c.coin(); {
	case !keep:
		return n.synced
	case half || len(n.data) < len(n.synced):
		return n.data
	default:
		return n.data[:len(n.synced)+(len(n.data)-len(n.synced))/2]
	}
}
