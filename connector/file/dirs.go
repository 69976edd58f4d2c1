package file

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"

	"github.com/cutwater-io/cutwater/connector"
)

// makeDirs makes base and dir, a directory below it or base itself, and makes
// their names durable. The levels from the parent of base down are synced even
// when they are there already: whoever made them may have died before its sync.
func makeDirs(files connector.Files, base, dir string) error {
	base, dir = filepath.Clean(base), filepath.Clean(dir)
	parents, err := missingAbove(files, base)
	if err != nil {
		return err
	}
	if err := files.MkdirAll(dir); err != nil {
		return err
	}
	if len(parents) == 0 {
		err := files.SyncDir(filepath.Dir(base))
		// Who may not read a directory hardly made base in it.
		if err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	for ; dir != base; dir = filepath.Dir(dir) {
		parents = append(parents, filepath.Dir(dir))
	}
	for _, p := range parents {
		if err := files.SyncDir(p); err != nil {
			return err
		}
	}
	return nil
}

// missingAbove returns the parents in which making dir will make a name, lowest
// first; none when the parent of dir exists.
func missingAbove(files connector.Files, dir string) ([]string, error) {
	var parents []string
	for {
		parent := filepath.Dir(dir)
		_, err := files.Stat(parent)
		switch {
		case err == nil && len(parents) == 0, parent == dir:
			return nil, nil
		case err == nil:
			return append(parents, parent), nil
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
		parents = append(parents, parent)
		dir = parent
	}
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
