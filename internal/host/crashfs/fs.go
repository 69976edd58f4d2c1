package crashfs

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/internal/host"
)

// ErrKilled is what every operation returns after the process was killed.
var ErrKilled = errors.New("crashfs: the process was killed")

// Op is one operation that changes something.
type Op struct {
	N    int    // from 1
	Name string // mkdir, create, write, truncate, sync, link, rename, remove, syncdir, lock
	Path string
}

func (o Op) String() string { return fmt.Sprintf("%d %s %s", o.N, o.Name, o.Path) }

// FS is a file system of which each process life has its own; see [FS.Restart].
// It implements blob.FS.
type FS struct {
	// Inject, when set, is asked before each operation. An error becomes the
	// operation's result and it has no effect, but that of a failed sync. It
	// is called with the file system locked and must not call it.
	Inject func(Op) error

	mu      sync.Mutex
	root    *node
	pending []*change // changes of names that are not durable, in order
	locked  map[*node]bool
	ops     []Op
	killAt  int // 0: never
	killed  bool
	effect  bool // whether the operation killAt takes effect
}

// node is a file or a directory.
type node struct {
	dir     bool
	entries map[string]*node // of a directory, as processes see it
	durable map[string]*node // of a directory, on disk for sure
	data    []byte           // of a file, as processes see it
	synced  []byte           // of a file, on disk for sure
	// poisoned: a sync failed. Later ones succeed without effect.
	poisoned bool
}

// change is one change of names: name of dir becomes target (nil: removed), and
// for a rename fromName of from is removed with it.
type change struct {
	dir      *node
	name     string
	target   *node
	from     *node
	fromName string
	poisoned bool
}

func newDir() *node {
	return &node{dir: true, entries: make(map[string]*node), durable: make(map[string]*node)}
}

// New returns an empty file system: the directory "/".
func New() *FS { return &FS{root: newDir(), locked: make(map[*node]bool)} }

// KillAt kills the process at operation n, counted from 1 in this process life.
// With effect the operation takes place and only its answer is lost.
func (f *FS) KillAt(n int, effect bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.killAt, f.effect = n, effect
}

// Ops returns the operations of this process life so far.
func (f *FS) Ops() []Op {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.ops)
}

// Killed reports whether the process was killed.
func (f *FS) Killed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.killed
}

// do runs one changing operation under the lock. effect is the change; sync
// operations get the injected error and decide themselves.
func (f *FS) do(name, path string, effect func(injected error) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.killed {
		return ErrKilled
	}
	op := Op{N: len(f.ops) + 1, Name: name, Path: path}
	f.ops = append(f.ops, op)
	if op.N == f.killAt {
		f.killed = true
		if f.effect {
			effect(nil)
		}
		return ErrKilled
	}
	var injected error
	if f.Inject != nil {
		injected = f.Inject(op)
	}
	if injected != nil {
		injected = &fs.PathError{Op: name, Path: path, Err: injected}
		if !strings.HasPrefix(name, "sync") {
			return injected
		}
	}
	return effect(injected)
}

// clean makes a path absolute; elements are separated by slashes.
func clean(name string) string { return path.Clean("/" + filepath.ToSlash(name)) }

// find returns the node of a path. REQUIRES: mu.
func (f *FS) find(name string) (*node, error) {
	n := f.root
	for element := range strings.SplitSeq(strings.Trim(clean(name), "/"), "/") {
		if element == "" {
			continue
		}
		if !n.dir {
			return nil, syscall.ENOTDIR
		}
		if n = n.entries[element]; n == nil {
			return nil, syscall.ENOENT
		}
	}
	return n, nil
}

// parent returns the directory of a path and the last element. REQUIRES: mu.
func (f *FS) parent(name string) (*node, string, error) {
	dir, base := path.Split(clean(name))
	n, err := f.find(dir)
	if err == nil && !n.dir {
		err = syscall.ENOTDIR
	}
	return n, base, err
}

// set changes a name now and remembers that it is not durable. REQUIRES: mu.
func (f *FS) set(c *change) {
	if c.from != nil {
		delete(c.from.entries, c.fromName)
	}
	if c.target == nil {
		delete(c.dir.entries, c.name)
	} else {
		c.dir.entries[c.name] = c.target
	}
	f.pending = append(f.pending, c)
}

func pathError(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// MkdirAll makes a directory and its parents; each new one is an operation.
func (f *FS) MkdirAll(name string) error {
	full := clean(name)
	for i := 1; i <= len(full); i++ {
		if i < len(full) && full[i] != '/' {
			continue
		}
		step := full[:i]
		f.mu.Lock()
		n, err := f.find(step)
		f.mu.Unlock()
		if err == nil {
			if !n.dir {
				return pathError("mkdir", step, syscall.ENOTDIR)
			}
			continue
		}
		err = f.do("mkdir", step, func(error) error {
			dir, base, err := f.parent(step)
			if err == nil && dir.entries[base] == nil {
				f.set(&change{dir: dir, name: base, target: newDir()})
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Create makes a new file.
func (f *FS) Create(name string) (connector.File, error) {
	var n *node
	err := f.do("create", name, func(error) error {
		dir, base, err := f.parent(name)
		if err != nil {
			return pathError("create", name, err)
		}
		if dir.entries[base] != nil {
			return pathError("create", name, syscall.EEXIST)
		}
		n = &node{}
		f.set(&change{dir: dir, name: base, target: n})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &file{fs: f, node: n, path: name}, nil
}

// OpenAppend opens an existing or new file for writing at its end.
func (f *FS) OpenAppend(name string) (connector.File, error) {
	h, err := f.Create(name)
	if errors.Is(err, fs.ErrExist) {
		h, err = f.Open(name)
	}
	if err != nil {
		return nil, err
	}
	h.(*file).append = true
	return h, nil
}

// Open opens a file.
func (f *FS) Open(name string) (connector.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.killed {
		return nil, ErrKilled
	}
	n, err := f.find(name)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	return &file{fs: f, node: n, path: name, readOnly: true}, nil
}

// Stat describes a file.
func (f *FS) Stat(name string) (fs.FileInfo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.killed {
		return nil, ErrKilled
	}
	n, err := f.find(name)
	if err != nil {
		return nil, pathError("stat", name, err)
	}
	return n.info(path.Base(clean(name))), nil
}

// ReadDir returns the entries of a directory, ascending by name.
func (f *FS) ReadDir(name string) ([]fs.DirEntry, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.killed {
		return nil, ErrKilled
	}
	n, err := f.find(name)
	if err == nil && !n.dir {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return nil, pathError("readdir", name, err)
	}
	entries := make([]fs.DirEntry, 0, len(n.entries))
	for base, child := range n.entries {
		entries = append(entries, fs.FileInfoToDirEntry(child.info(base)))
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// Rename replaces newName if it exists.
func (f *FS) Rename(oldName, newName string) error {
	return f.do("rename", newName, func(error) error {
		from, fromBase, err := f.parent(oldName)
		if err == nil && from.entries[fromBase] == nil {
			err = syscall.ENOENT
		}
		if err != nil {
			return pathError("rename", oldName, err)
		}
		to, base, err := f.parent(newName)
		if err == nil && to.entries[base] != nil && to.entries[base].dir {
			err = syscall.EISDIR
		}
		if err != nil {
			return pathError("rename", newName, err)
		}
		if to == from && base == fromBase {
			return nil
		}
		f.set(&change{dir: to, name: base, target: from.entries[fromBase], from: from, fromName: fromBase})
		return nil
	})
}

// Link gives a file a second name.
func (f *FS) Link(oldName, newName string) error {
	return f.do("link", newName, func(error) error {
		n, err := f.find(oldName)
		if err == nil && n.dir {
			err = syscall.EPERM
		}
		if err != nil {
			return pathError("link", oldName, err)
		}
		dir, base, err := f.parent(newName)
		if err == nil && dir.entries[base] != nil {
			err = syscall.EEXIST
		}
		if err != nil {
			return pathError("link", newName, err)
		}
		f.set(&change{dir: dir, name: base, target: n})
		return nil
	})
}

// Remove removes a file or an empty directory.
func (f *FS) Remove(name string) error {
	return f.do("remove", name, func(error) error {
		dir, base, err := f.parent(name)
		if err == nil {
			switch n := dir.entries[base]; {
			case n == nil:
				err = syscall.ENOENT
			case n.dir && len(n.entries) > 0:
				err = syscall.ENOTEMPTY
			default:
				f.set(&change{dir: dir, name: base})
			}
		}
		return pathError("remove", name, err)
	})
}

// TryLock locks a file, which is made if needed.
func (f *FS) TryLock(name string) (unlock func() error, err error) {
	h, err := f.OpenAppend(name)
	if err != nil {
		return nil, err
	}
	n := h.(*file).node
	err = f.do("lock", name, func(error) error {
		if f.locked[n] {
			return pathError("lock", name, host.ErrLocked)
		}
		f.locked[n] = true
		return nil
	})
	if err != nil {
		return nil, err
	}
	return func() error {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.locked, n)
		return nil
	}, nil
}
