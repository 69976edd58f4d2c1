package statedir

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/cutwater-io/cutwater/internal/host"
)

const (
	lockName  = ".lock"
	ownerName = ".owner.json"
)

// ErrHeld says that another process owns the directory. The error around it
// says which.
var ErrHeld = errors.New("the state directory is in use")

// Owner says who holds a directory. It is information for people; only the lock
// decides.
type Owner struct {
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Started time.Time `json:"started"` // when the lock was taken
	Command string    `json:"command"` // the program's path
}

// Lock is the ownership of a state directory.
type Lock struct {
	dir     string
	release func() error
}

// Acquire makes this process the owner of dir, which is made if needed. If it
// has an owner, the error is [ErrHeld] and says which process that is. It does
// not wait.
func Acquire(dir string) (*Lock, error) {
	files := host.Files{}
	if err := makeDir(files, dir); err != nil {
		return nil, explain(dir, err)
	}
	unlock, err := files.TryLock(filepath.Join(dir, lockName))
	if errors.Is(err, host.ErrLocked) {
		return nil, held(dir)
	}
	if err != nil {
		return nil, explain(dir, err)
	}
	if err := writeOwner(dir); err != nil {
		unlock()
		return nil, explain(dir, err)
	}
	return &Lock{dir: dir, release: sync.OnceValue(unlock)}, nil
}

// makeDir makes dir and the parents it lacks, durably: a checkpoint must not be
// lost with the directory it lies in.
func makeDir(files host.Files, dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if _, err := files.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(dir)
	if err := makeDir(files, parent); err != nil {
		return err
	}
	if err := files.MkdirAll(dir); err != nil {
		return err
	}
	return files.SyncDir(parent)
}

// Release gives the directory up. Further calls do nothing.
func (l *Lock) Release() error {
	if err := l.release(); err != nil {
		return fmt.Errorf("release state directory %s: %w", l.dir, err)
	}
	return nil
}

// writeOwner replaces the owner file as a whole, so that a second process never
// reads half of it. It is not synced: after a crash of the machine nobody holds
// the lock, and the file means nothing.
func writeOwner(dir string) error {
	hostName, err := os.Hostname()
	if err != nil {
		hostName = "unknown"
	}
	b, err := json.Marshal(Owner{PID: os.Getpid(), Host: hostName, Started: time.Now().UTC().Truncate(time.Second), Command: os.Args[0]})
	if err != nil {
		return err
	}
	temp := filepath.Join(dir, ownerName+".new")
	if err := os.WriteFile(temp, append(b, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(temp, filepath.Join(dir, ownerName))
}

// held describes the owner as far as its file tells. Between an owner's lock
// and its writing of the file, the file is the former owner's; the sentence
// says "according to" for that reason.
func held(dir string) error {
	var o Owner
	b, err := os.ReadFile(filepath.Join(dir, ownerName))
	if err != nil || json.Unmarshal(b, &o) != nil {
		return fmt.Errorf("lock state directory %s: %w by a process that has not yet written its name; stop that process, or give this one another directory", dir, ErrHeld)
	}
	return fmt.Errorf("lock state directory %s: %w, according to %s by process %d (%s) on host %s since %s; stop that process, or give this one another directory",
		dir, ErrHeld, ownerName, o.PID, o.Command, o.Host, o.Started.Format(time.RFC3339))
}

func explain(dir string, err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("lock state directory %s: the disk is full, free space and start again: %w", dir, err)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("lock state directory %s: this user may not write there, change its owner or give another directory: %w", dir, err)
	}
	return fmt.Errorf("lock state directory %s: %w", dir, err)
}
