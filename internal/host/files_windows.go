package host

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lock locks one byte far beyond the end: a locked range cannot be read by
// others on Windows, and the content of a lock file is there to be read.
func lock(f *os.File) error {
	o := &windows.Overlapped{OffsetHigh: 1 << 30}
	err := windows.LockFileEx(windows.Handle(f.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, o)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrLocked
	}
	return err
}

// syncDir only checks that the directory is there: NTFS keeps directory changes
// in its journal, in order, and offers no call to flush one directory.
func syncDir(name string) error {
	_, err := os.Stat(name)
	return err
}
