package blob

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"

	"github.com/cutwater-io/cutwater/internal/host"
)

// temporary returns an unused path for a file that is being written. The first
// call makes the store's directory and sweeps those of dead processes.
func (d *DirStore) temporary() (string, error) {
	if err := d.makeDir(d.root); err != nil {
		return "", err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.tmp == "" {
		if err := d.claimTemporary(); err != nil {
			return "", err
		}
		d.sweep()
	}
	d.next++
	return filepath.Join(d.tmp, strconv.FormatUint(d.next, 10)), nil
}

// claimTemporary makes a directory below .tmp and locks it.
//
// The race with another process's sweep: it may lock our directory before we
// do, and remove it. We see that here and take another name; once the lock is
// ours and the file still has its name, nobody can take it any more.
func (d *DirStore) claimTemporary() error {
	var last error
	for range 10 {
		dir := filepath.Join(d.root, ".tmp", fmt.Sprintf("%016x", host.Random()))
		if err := d.fs.MkdirAll(dir); err != nil {
			return err
		}
		lockFile := filepath.Join(dir, "lock")
		unlock, err := d.fs.TryLock(lockFile)
		if err != nil {
			if !errors.Is(err, host.ErrLocked) && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			last = err
			continue
		}
		if _, err := d.fs.Stat(lockFile); err != nil {
			unlock()
			last = err
			continue
		}
		d.tmp, d.unlock = dir, unlock
		return nil
	}
	return fmt.Errorf("make a directory for temporary files: other processes keep removing it: %w", last)
}

// sweep removes what dead processes left. It is best effort: what cannot be
// removed now is tried again by the next process. REQUIRES: mu.
func (d *DirStore) sweep() {
	parent := filepath.Join(d.root, ".tmp")
	entries, err := d.fs.ReadDir(parent)
	if err != nil {
		return
	}
	for _, e := range entries {
		dir := filepath.Join(parent, e.Name())
		if dir == d.tmp {
			continue
		}
		// This makes the lock file where there is none: after a power failure
		// it may be the only one lost, and a process that has not yet made its
		// own notices.
		unlock, err := d.fs.TryLock(filepath.Join(dir, "lock"))
		if err != nil {
			continue // alive, or being swept
		}
		removeTemporary(d.fs, dir)
		unlock()
	}
}

// removeTemporary removes a directory below .tmp, the lock file last: as long
// as anything is left, it can be found and locked again.
func removeTemporary(fsys FS, dir string) error {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if e.Name() != "lock" {
			errs = append(errs, fsys.Remove(filepath.Join(dir, e.Name())))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return errors.Join(fsys.Remove(filepath.Join(dir, "lock")), fsys.Remove(dir))
}
