package blob

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/cutwater-io/cutwater/connector"
)

// errNotDir: an element of a path is a file.
var errNotDir = error(syscall.ENOTDIR)

// dirWriter writes one object. Write and Commit are called by one goroutine,
// Abort by any.
type dirWriter struct {
	store   *DirStore
	name    string
	temp    string
	file    connector.File
	publish func(from, to string) error

	mu    sync.Mutex // guards ended
	ended bool       // the file is closed, by Commit or Abort
}

// Write appends to the object. After an error only Abort makes sense; Commit
// then fails.
func (w *dirWriter) Write(p []byte) (int, error) {
	n, err := w.file.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return n, w.store.explain("write object", w.name, err)
	}
	return n, nil
}

// writeAll writes a whole object and ends the writer.
func (w *dirWriter) writeAll(data []byte) error {
	if _, err := w.Write(data); err != nil {
		w.Abort()
		return err
	}
	return w.Commit()
}

// end returns true for the one caller that must close the file.
func (w *dirWriter) end() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	first := !w.ended
	w.ended = true
	return first
}

// Abort drops what was written.
func (w *dirWriter) Abort() {
	if !w.end() {
		return
	}
	w.file.Close()
	w.store.fs.Remove(w.temp)
}

// Commit makes the object durable and visible. An error without ErrUnknown
// says that it is not visible and never will be.
func (w *dirWriter) Commit() error {
	if !w.end() {
		return fmt.Errorf("commit object %s: the writer was aborted", w.name)
	}
	err := errors.Join(w.file.Sync(), w.file.Close())
	if err == nil {
		err = w.link()
	}
	if err != nil {
		w.store.fs.Remove(w.temp)
		return w.store.explain("commit object", w.name, err)
	}
	return nil
}

// link gives the synced file its final name.
//
// A concurrent Delete may remove the directory while it is empty. If that comes
// before the file gets its name, the name cannot be given and we begin again.
// The trap is another writer that makes the directory again, so that the name
// can be given although the directory itself is not yet durable. So if any
// directory was removed meanwhile, all above the file are synced once more.
func (w *dirWriter) link() error {
	d := w.store
	target := d.path(w.name)
	dir := filepath.Dir(target)
	// Each round is another object's deletion, so this ends; the bound is
	// against a file system that lies.
	for try := 0; ; try++ {
		quiet := d.watchRemovals()
		if err := d.makeDir(dir); err != nil {
			// MkdirAll says "exists" of a directory that was there when it
			// tried and was gone when it looked again.
			if (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist)) && try < 100 {
				continue
			}
			return err
		}
		err := w.publish(w.temp, target)
		if errors.Is(err, fs.ErrNotExist) && try < 100 {
			d.forgetDir(dir)
			continue
		}
		exists := errors.Is(err, fs.ErrExist)
		if err != nil && !exists {
			return err
		}
		err = d.syncDir(dir)
		if err == nil && !quiet() {
			err = d.syncAbove(dir)
		}
		if err != nil {
			return fmt.Errorf("%w (%w)", err, ErrUnknown)
		}
		if exists {
			return ErrExists
		}
		d.fs.Remove(w.temp) // the second name a link leaves; gone after a rename
		return nil
	}
}

// below reports whether dir is a directory inside root.
func (d *DirStore) below(dir string) bool {
	return len(dir) > len(d.root) && strings.HasPrefix(dir, d.root)
}

// syncAbove syncs the parents of dir up to root.
func (d *DirStore) syncAbove(dir string) error {
	for d.below(dir) {
		dir = filepath.Dir(dir)
		if err := d.syncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// watchRemovals returns a function that tells whether no directory was removed
// between the two calls.
func (d *DirStore) watchRemovals() (quiet func() bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	before, calm := d.removals, d.removing == 0
	return func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return calm && d.removing == 0 && d.removals == before
	}
}

// makeDir makes a directory with its parents, durably.
func (d *DirStore) makeDir(dir string) error {
	d.mu.Lock()
	known := d.known[dir]
	d.mu.Unlock()
	if known {
		return nil
	}
	if parent := filepath.Dir(dir); parent != dir {
		_, err := d.fs.Stat(dir)
		missing := errors.Is(err, fs.ErrNotExist)
		if err != nil && !missing {
			return err
		}
		if missing {
			// One level at a time: when a directory is there, those above it
			// are durable already, also after a kill in the middle.
			if err := d.makeDir(parent); err != nil {
				return err
			}
			if err := d.fs.MkdirAll(dir); err != nil {
				return err
			}
		}
		if missing && d.below(dir) {
			// All parents, because another process may have removed one that
			// we know to be durable, and MkdirAll has made it again.
			err = d.syncAbove(dir)
		} else {
			// A directory that was there may not be durable either: its maker
			// may stand, or have died, between mkdir and fsync.
			err = d.syncDir(parent)
		}
		if !missing && !d.below(dir) && errors.Is(err, fs.ErrPermission) {
			err = nil // the parent of root is somebody else's
		}
		if err != nil {
			return err
		}
	}
	d.mu.Lock()
	d.known[dir] = true
	d.mu.Unlock()
	return nil
}

func (d *DirStore) forgetDir(dir string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.known, dir)
}

// syncDir syncs a directory unless that failed once: see "A failed fsync of a
// directory" at [DirStore].
func (d *DirStore) syncDir(dir string) error {
	d.mu.Lock()
	err := d.failed[dir]
	d.mu.Unlock()
	if err != nil {
		return fmt.Errorf("an earlier fsync of directory %s failed, restart the process after checking the disk: %w", dir, err)
	}
	if err := d.fs.SyncDir(dir); err != nil {
		// A directory that could not be opened (it is gone, or there are too
		// many open files) had no fsync that could fail.
		var at *fs.PathError
		opened := !errors.As(err, &at) || at.Op != "open"
		if opened && !errors.Is(err, fs.ErrNotExist) {
			d.mu.Lock()
			d.failed[dir] = err
			d.mu.Unlock()
		}
		return fmt.Errorf("fsync of directory %s: %w", dir, err)
	}
	return nil
}

// dirReader reads one object.
type dirReader struct {
	file connector.File
	size int64
}

// ReadAt reads until p is full or the object ends: a file system may return
// fewer bytes than asked for (D40).
func (r *dirReader) ReadAt(p []byte, off int64) (int, error) {
	n := 0
	for n < len(p) {
		m, err := r.file.ReadAt(p[n:], off+int64(n))
		n += m
		if err != nil {
			return n, err
		}
		if m == 0 {
			return n, io.ErrNoProgress
		}
	}
	return n, nil
}

func (r *dirReader) Size() int64  { return r.size }
func (r *dirReader) Close() error { return r.file.Close() }

// explain turns an error of the file system into one sentence with the class
// callers branch on.
func (d *DirStore) explain(what, name string, err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%s %s in %s: the disk or the quota is full, free space there and go on: %w", what, name, d.root, err)
	case errors.Is(err, syscall.EPERM) || errors.Is(err, errors.ErrUnsupported):
		return fmt.Errorf("%s %s in %s: the file system refuses, it must have hard links, file locks and fsync: %w", what, name, d.root, err)
	}
	return fmt.Errorf("%s %s in %s: %w", what, name, d.root, err)
}
