package host

import (
	"errors"
	"io/fs"
	"os"
	"sync"

	"github.com/cutwater-io/cutwater/connector"
)

// ErrLocked says that another process, or another open of the same file in
// this one, holds the lock.
var ErrLocked = errors.New("locked by another process")

// Files is the machine's file system. It implements [connector.Files], and
// with Link and TryLock also what package blob needs.
type Files struct{}

// Open opens a file for reading.
func (Files) Open(name string) (connector.File, error) { return file(os.Open(name)) }

// Create makes a new file for writing and fails with fs.ErrExist when it is
// there already.
func (Files) Create(name string) (connector.File, error) {
	return file(os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644))
}

// OpenAppend opens an existing or new file for writing at its end.
func (Files) OpenAppend(name string) (connector.File, error) {
	return file(os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644))
}

// file keeps a nil *os.File from becoming a non-nil interface.
func file(f *os.File, err error) (connector.File, error) {
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Stat describes a file.
func (Files) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) }

// ReadDir returns the entries of a directory, ascending by name.
func (Files) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }

// MkdirAll makes a directory and its parents. To make them durable, call
// SyncDir on the parent of each new one.
func (Files) MkdirAll(name string) error { return os.MkdirAll(name, 0o755) }

// Rename replaces newName if it exists.
func (Files) Rename(oldName, newName string) error { return os.Rename(oldName, newName) }

// Link gives a file a second name. It fails with fs.ErrExist when newName is
// taken: of several callers, in whatever processes, exactly one succeeds.
func (Files) Link(oldName, newName string) error { return os.Link(oldName, newName) }

// Remove removes a file or an empty directory.
func (Files) Remove(name string) error { return os.Remove(name) }

// SyncDir makes renames, links, creations and removals in a directory durable.
func (Files) SyncDir(name string) error { return syncDir(name) }

// TryLock locks a file, which is made if needed, without waiting. While
// another holds it, the error is [ErrLocked]. The lock ends with unlock or with
// the process, however it ends; the file stays.
func (Files) TryLock(name string) (unlock func() error, err error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		f.Close()
		return nil, &fs.PathError{Op: "lock", Path: name, Err: err}
	}
	held.Store(f, true)
	// Closing the only descriptor gives the lock back: descriptors are not
	// inherited by child processes (Go opens with O_CLOEXEC).
	return func() error {
		held.Delete(f)
		return f.Close()
	}, nil
}

// held keeps the files of all locks reachable. Otherwise the lock of a caller
// that drops unlock would end with a garbage collection.
var held sync.Map // *os.File
