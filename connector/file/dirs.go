package file

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"

	"github.com/cutwater-io/cutwater/connector"
)

// makeDirs makes a directory and its parents durable. The parent of dir is
// synced even when dir is there already: another subtask may have made it just
// now and not have synced yet.
func makeDirs(files connector.Files, dir string) error {
	dir = filepath.Clean(dir)
	var unsynced []string // deepest first
	for d := dir; ; {
		parent := filepath.Dir(d)
		if parent == d {
			break
		}
		unsynced = append(unsynced, parent)
		_, err := files.Stat(parent)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		d = parent
	}
	if err := files.MkdirAll(dir); err != nil {
		return err
	}
	for i := len(unsynced) - 1; i >= 0; i-- {
		if err := files.SyncDir(unsynced[i]); err != nil {
			return err
		}
	}
	return nil
}

// hint says what to do about an error of the file system, for the end of a
// message; "" when there is nothing to add.
func hint(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return ": the disk is full: free some space and start the job again, nothing is lost"
	case errors.Is(err, syscall.EROFS):
		return ": the file system is mounted read-only"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return ": too many open files: raise the limit (ulimit -n) or lower MaxOpenBuckets"
	case errors.Is(err, fs.ErrPermission):
		return ": the user that runs the job lacks the right to do that"
	}
	return ""
}
