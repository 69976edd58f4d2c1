package crashfs

import (
	"maps"
	"math/rand/v2"
	"slices"
	"syscall"
)

// SyncDir makes all changes of names in a directory durable, in their order.
func (f *FS) SyncDir(name string) error {
	return f.do("syncdir", name, func(injected error) error {
		n, err := f.find(name)
		if err == nil && !n.dir {
			err = syscall.ENOTDIR
		}
		if err != nil {
			return pathError("syncdir", name, err)
		}
		kept := f.pending[:0:0]
		for _, c := range f.pending {
			switch {
			case c.dir != n && c.from != n || c.poisoned:
				kept = append(kept, c)
			case injected != nil:
				c.poisoned = true
				kept = append(kept, c)
			default:
				c.applyDurable()
			}
		}
		f.pending = kept
		return injected
	})
}

func (c *change) applyDurable() {
	if c.from != nil {
		delete(c.from.durable, c.fromName)
	}
	if c.target == nil {
		delete(c.dir.durable, c.name)
	} else {
		c.dir.durable[c.name] = c.target
	}
}

// Restart returns the file system as the next process sees it after this one
// was killed: everything is there, what was not synced is still not synced, and
// nothing is locked. The receiver is dead afterwards.
func (f *FS) Restart() *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.killed = true
	next := New()
	copies := make(map[*node]*node)
	next.root = f.root.copy(copies)
	for _, c := range f.pending {
		d := *c
		d.dir, d.target, d.from = c.dir.copy(copies), c.target.copy(copies), c.from.copy(copies)
		next.pending = append(next.pending, &d)
	}
	return next
}

func (n *node) copy(copies map[*node]*node) *node {
	if n == nil || copies[n] != nil {
		return copies[n]
	}
	c := &node{}
	copies[n] = c
	*c = *n // contents are never changed in place, so they may be shared
	if n.dir {
		c.entries = make(map[string]*node, len(n.entries))
		c.durable = make(map[string]*node, len(n.durable))
		for name, child := range n.entries {
			c.entries[name] = child.copy(copies)
		}
		for name, child := range n.durable {
			c.durable[name] = child.copy(copies)
		}
	}
	return c
}

// PowerLoss returns the file system as it may be after the machine lost power.
// Seed 0 loses all that was not synced; any other decides by chance, for each
// change of a name and each block of content, whether it was on disk. What is
// there then is durable. The receiver is dead afterwards.
func (f *FS) PowerLoss(seed uint64) *FS {
	next := f.Restart()
	rng := rand.New(rand.NewPCG(seed, 1))
	for _, c := range next.pending {
		if seed != 0 && rng.IntN(2) == 0 {
			c.applyDurable()
		}
	}
	next.pending = nil
	next.root.reboot(seed, rng, make(map[*node]bool))
	return next
}

// reboot makes what is on disk what processes see. The order of visits follows
// names, so that a seed replays.
func (n *node) reboot(seed uint64, rng *rand.Rand, done map[*node]bool) {
	if done[n] {
		return
	}
	done[n] = true
	n.poisoned = false
	if !n.dir {
		if seed != 0 && !slices.Equal(n.synced, n.data) {
			n.synced = torn(n.synced, n.data, rng)
		}
		n.data = n.synced
		return
	}
	n.entries = make(map[string]*node, len(n.durable))
	for _, name := range slices.Sorted(maps.Keys(n.durable)) {
		n.entries[name] = n.durable[name]
		n.durable[name].reboot(seed, rng, done)
	}
}

// block is what a disk writes as a whole.
const block = 512

// torn returns one of the contents a file may have that was durable with one
// content and then written to another.
func torn(synced, data []byte, rng *rand.Rand) []byte {
	switch rng.IntN(4) {
	case 0:
		return synced
	case 1:
		return data
	}
	size := len(synced)
	if rng.IntN(2) == 0 {
		size = len(data)
	}
	mixed := make([]byte, size)
	for at := 0; at < size; at += block {
		from := synced
		if rng.IntN(2) == 0 {
			from = data
		}
		if at < len(from) {
			copy(mixed[at:min(at+block, size)], from[at:])
		}
	}
	// Bytes synced before and not written since are certain.
	for i := range min(len(synced), len(data), size) {
		if synced[i] == data[i] {
			mixed[i] = data[i]
		}
	}
	return mixed
}

// Errors for Inject.
var (
	// DiskFull is what writes return on a full disk.
	DiskFull error = syscall.ENOSPC
	// BadDisk is what a sync returns that could not write.
	BadDisk error = syscall.EIO
)
