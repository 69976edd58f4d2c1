package connectortest

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cutwater-io/cutwater/connector"
)

// Disk is a file system in memory that loses what was not synced when it
// crashes, and fails where the test says so. The zero value is not usable; see
// [NewDisk].
//
// Its rules are those of POSIX at their worst:
//
//   - Content of a file is durable after its Sync.
//   - A name (created, renamed, removed) is durable after the SyncDir of its
//     directory. A rename between directories changes two names: after a crash
//     both may be there, and none if the old directory was synced before the
//     new one.
//   - What was not made durable may still have reached the disk, or a part of
//     it: see [Loss].
type Disk struct {
	mu    sync.Mutex // guards all below
	root  *node
	inode uint64
	// life counts restarts; files opened in an earlier one are dead.
	life    int
	crashed bool
	effects int
	faults  map[int]Fault
	trace   []string
}

type node struct {
	inode  uint64
	data   []byte // of a file
	synced []byte
	// entries and durable are the names in a directory, nil for a file: as
	// they are, and as they are on the disk.
	entries, durable map[string]*node
}

// Fault is what goes wrong at an effect (a call that changes the disk).
type Fault struct {
	// Crash stops the machine: this and every later call fails with
	// [ErrCrashed] until Restart.
	Crash bool
	// After lets the effect happen first; else it does not happen.
	After bool
	// Err is returned when the machine does not crash.
	Err error
	// Half lets a write happen by half.
	Half bool
}

// ErrCrashed is returned by every call to a disk that crashed.
var ErrCrashed = errors.New("the machine has crashed")

// NewDisk makes an empty disk with a directory "/". Relative names are taken
// from there.
func NewDisk() *Disk {
	d := &Disk{faults: map[int]Fault{}}
	d.root = d.newDir()
	return d
}

func (d *Disk) newNode() *node {
	d.inode++
	return &node{inode: d.inode}
}

func (d *Disk) newDir() *node {
	n := d.newNode()
	n.entries, n.durable = map[string]*node{}, map[string]*node{}
	return n
}

// FailAt lets the n-th effect from now (the first is 1) go wrong.
func (d *Disk) FailAt(n int, f Fault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults[d.effects+n] = f
}

// Heal forgets the faults that have not been met.
func (d *Disk) Heal() {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.faults)
}

// Effects is the number of calls so far that changed the disk, or tried to.
func (d *Disk) Effects() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.effects
}

// Trace returns the effects so far, one line each.
func (d *Disk) Trace() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.trace)
}

// Crashed says whether the machine is down.
func (d *Disk) Crashed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.crashed
}

// effect counts one change of the disk and applies its fault. do makes the
// change; half, if any, a part of it.
func (d *Disk) effect(life int, what string, do func() error, half func()) error {
	if d.crashed || life != d.life {
		return ErrCrashed
	}
	d.effects++
	f, faulty := d.faults[d.effects]
	if !faulty {
		d.trace = append(d.trace, what)
		return do()
	}
	delete(d.faults, d.effects)
	var err error
	switch {
	case f.After:
		err = do()
	case f.Half && half != nil:
		half()
	}
	if f.Crash {
		d.crashed = true
		d.trace = append(d.trace, what+": crash")
		return ErrCrashed
	}
	d.trace = append(d.trace, what+": "+f.Err.Error())
	if err != nil {
		return err
	}
	return f.Err
}

func pathError(op, name string, err error) error {
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// walk returns the node of a name.
func (d *Disk) walk(name string) (*node, error) {
	n := d.root
	for e := range strings.SplitSeq(filepath.ToSlash(filepath.Clean(name)), "/") {
		if e == "" || e == "." {
			continue
		}
		if n.entries == nil {
			return nil, errors.New("not a directory")
		}
		if n = n.entries[e]; n == nil {
			return nil, fs.ErrNotExist
		}
	}
	return n, nil
}

// parent returns the directory of a name and its last element.
func (d *Disk) parent(name string) (*node, string, error) {
	dir, err := d.walk(filepath.Dir(filepath.Clean(name)))
	if err == nil && dir.entries == nil {
		err = errors.New("not a directory")
	}
	return dir, filepath.Base(filepath.Clean(name)), err
}

// Open implements [connector.Files].
func (d *Disk) Open(name string) (connector.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.crashed {
		return nil, ErrCrashed
	}
	n, err := d.walk(name)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	return &diskFile{d: d, n: n, name: name, life: d.life}, nil
}

// Create implements [connector.Files].
func (d *Disk) Create(name string) (connector.File, error) { return d.openWrite("create", name, true) }

// OpenAppend implements [connector.Files].
func (d *Disk) OpenAppend(name string) (connector.File, error) {
	return d.openWrite("append", name, false)
}

func (d *Disk) openWrite(op, name string, exclusive bool) (connector.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := &diskFile{d: d, name: name, life: d.life, write: true}
	err := d.effect(d.life, op+" "+name, func() error {
		dir, base, err := d.parent(name)
		if err != nil {
			return pathError(op, name, err)
		}
		f.n = dir.entries[base]
		if f.n != nil && exclusive {
			return pathError(op, name, fs.ErrExist)
		}
		if f.n == nil {
			f.n = d.newNode()
			dir.entries[base] = f.n
		}
		return nil
	}, nil)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Stat implements [connector.Files].
func (d *Disk) Stat(name string) (fs.FileInfo, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.crashed {
		return nil, ErrCrashed
	}
	n, err := d.walk(name)
	if err != nil {
		return nil, pathError("stat", name, err)
	}
	return diskInfo{filepath.Base(name), n, int64(len(n.data))}, nil
}

// ReadDir implements [connector.Files].
func (d *Disk) ReadDir(name string) ([]fs.DirEntry, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.crashed {
		return nil, ErrCrashed
	}
	dir, err := d.walk(name)
	if err == nil && dir.entries == nil {
		err = errors.New("not a directory")
	}
	if err != nil {
		return nil, pathError("read directory", name, err)
	}
	var entries []fs.DirEntry
	for _, base := range slices.Sorted(maps.Keys(dir.entries)) {
		n := dir.entries[base]
		entries = append(entries, fs.FileInfoToDirEntry(diskInfo{base, n, int64(len(n.data))}))
	}
	return entries, nil
}

// MkdirAll implements [connector.Files].
func (d *Disk) MkdirAll(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n, err := d.walk(name); err == nil && n.entries != nil && !d.crashed {
		return nil // no effect
	}
	return d.effect(d.life, "mkdir "+name, func() error {
		n := d.root
		for e := range strings.SplitSeq(filepath.ToSlash(filepath.Clean(name)), "/") {
			if e == "" || e == "." {
				continue
			}
			if n.entries == nil {
				return pathError("mkdir", name, errors.New("not a directory"))
			}
			if n.entries[e] == nil {
				n.entries[e] = d.newDir()
			}
			n = n.entries[e]
		}
		if n.entries == nil {
			return pathError("mkdir", name, errors.New("not a directory"))
		}
		return nil
	}, nil)
}

// Rename implements [connector.Files]. It renames files only.
func (d *Disk) Rename(oldName, newName string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.effect(d.life, "rename "+oldName+" "+newName, func() error {
		from, oldBase, err := d.parent(oldName)
		if err != nil {
			return pathError("rename", oldName, err)
		}
		to, newBase, err := d.parent(newName)
		if err != nil {
			return pathError("rename", newName, err)
		}
		n := from.entries[oldBase]
		if n == nil {
			return pathError("rename", oldName, fs.ErrNotExist)
		}
		if old := to.entries[newBase]; old != nil && old.entries != nil {
			return pathError("rename", newName, fs.ErrExist)
		}
		if n.entries != nil {
			return pathError("rename", oldName, errors.New("is a directory"))
		}
		delete(from.entries, oldBase)
		to.entries[newBase] = n
		return nil
	}, nil)
}

// Remove implements [connector.Files].
func (d *Disk) Remove(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.effect(d.life, "remove "+name, func() error {
		dir, base, err := d.parent(name)
		if err != nil {
			return pathError("remove", name, err)
		}
		n := dir.entries[base]
		if n == nil {
			return pathError("remove", name, fs.ErrNotExist)
		}
		if len(n.entries) > 0 {
			return pathError("remove", name, syscall.ENOTEMPTY)
		}
		delete(dir.entries, base)
		return nil
	}, nil)
}

// SyncDir implements [connector.Files].
func (d *Disk) SyncDir(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.effect(d.life, "syncdir "+name, func() error {
		dir, err := d.walk(name)
		if err == nil && dir.entries == nil {
			err = errors.New("not a directory")
		}
		if err != nil {
			return pathError("sync directory", name, err)
		}
		dir.durable = maps.Clone(dir.entries)
		return nil
	}, nil)
}

// diskInfo describes a file at the moment of the call.
type diskInfo struct {
	name string
	n    *node
	size int64
}

func (i diskInfo) Name() string       { return i.name }
func (i diskInfo) Size() int64        { return i.size }
func (i diskInfo) IsDir() bool        { return i.n.entries != nil }
func (i diskInfo) ModTime() time.Time { return epoch }
func (i diskInfo) Sys() any           { return inodeNumber(i.n.inode) }
func (i diskInfo) Mode() fs.FileMode {
	if i.IsDir() {
		return fs.ModeDir | 0o755
	}
	return 0o644
}

// inodeNumber offers the number of a file as the file connector asks for it.
type inodeNumber uint64

func (n inodeNumber) Inode() uint64 { return uint64(n) }

// String keeps fmt from printing a bare number.
func (n inodeNumber) String() string { return fmt.Sprintf("inode %d", uint64(n)) }
