package file

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/cutwater-io/cutwater/connector"
)

// committer publishes staged parts.
//
// A commit may be repeated at any time because the state of the directory says
// how far the last one came:
//
//	staged  target   meaning
//	yes     no       not committed: rename
//	no      yes      committed; the size must be the recorded one
//	yes     yes      the crash came after the new name was durable and before
//	                 the old one was gone, or somebody else wrote the target:
//	                 the checksum tells
//	no      no       lost, or taken away by somebody
//
// The target's directory is synced before a commit is reported, and also when
// the rename was found done: the process that did it may have died before. The
// staging directory is not synced: an old name that reappears is swept.
type committer struct {
	env         connector.Env
	dir         string
	staging     string
	owner       string
	taken       bool // PartsMayBeTaken
	subtask     int
	parallelism int
	made        map[string]bool // target directories known to be durable
}

var _ connector.Committer = (*committer)(nil)

// Commit implements [connector.Committer]. The error explains every outcome
// that is not Committed.
func (c *committer) Commit(checkpoint uint64, restored bool, cs []connector.Committable) ([]connector.Outcome, error) {
	outcomes := make([]connector.Outcome, len(cs))
	inDir := map[string][]int{} // published, by target directory
	var dirs []string           // the keys of inDir, in order
	var errs []error
	for i := range cs {
		k, err := decodeCommittable(cs[i].Data)
		if err != nil {
			outcomes[i] = connector.Failed
			errs = append(errs, fmt.Errorf("checkpoint %d: %w", checkpoint, err))
			continue
		}
		outcome, err := c.publish(k, restored)
		outcomes[i] = outcome
		if err != nil {
			errs = append(errs, fmt.Errorf("checkpoint %d: file sink: publish %s: %w%s", checkpoint, c.target(k), err, hint(err)))
			continue
		}
		d := filepath.Dir(c.target(k))
		if inDir[d] == nil {
			dirs = append(dirs, d)
		}
		inDir[d] = append(inDir[d], i)
	}
	for _, d := range dirs {
		err := c.env.Files.SyncDir(d)
		if c.taken && errors.Is(err, fs.ErrNotExist) {
			err = nil // taken away with its directory
		}
		if err == nil {
			continue
		}
		for _, i := range inDir[d] {
			outcomes[i] = connector.RetryLater
		}
		errs = append(errs, fmt.Errorf("checkpoint %d: file sink: sync directory %s: %w%s", checkpoint, d, err, hint(err)))
	}
	return outcomes, errors.Join(errs...)
}

func (c *committer) target(k committable) string {
	return filepath.Join(c.dir, filepath.FromSlash(k.target))
}

// publish brings one part to its target, or finds it there. Errors of the file
// system may pass, so they are to be tried again.
func (c *committer) publish(k committable, restored bool) (connector.Outcome, error) {
	staged, target := filepath.Join(c.staging, k.staged), c.target(k)
	stagedSize, isStaged, err := c.size(staged)
	if err != nil {
		return connector.RetryLater, err
	}
	targetSize, isThere, err := c.size(target)
	if err != nil {
		return connector.RetryLater, err
	}
	switch {
	case isStaged && !isThere:
		if stagedSize != k.size {
			return connector.Failed, fmt.Errorf("the staged file %s has %d bytes, %d were written: the disk lost data that it had confirmed, or somebody changed the file", staged, stagedSize, k.size)
		}
		return c.rename(staged, target)
	case isThere && targetSize != k.size:
		return connector.Failed, fmt.Errorf("it exists already with %d bytes, not %d: another job, or an earlier run that this one was not restored from, writes to the same directory: use another directory or Prefix", targetSize, k.size)
	case isThere && isStaged:
		return c.sameContent(staged, target, k)
	case isThere:
		return connector.Committed, nil
	case restored && c.taken:
		return connector.Committed, nil
	default:
		return connector.Failed, fmt.Errorf("it is neither there nor staged as %s: it was lost, or published and then removed (see PartsMayBeTaken), or written on another machine (the directory must be shared)", staged)
	}
}

func (c *committer) rename(staged, target string) (connector.Outcome, error) {
	if d := filepath.Dir(target); !c.made[d] {
		if err := makeDirs(c.env.Files, c.dir, d); err != nil {
			return connector.RetryLater, err
		}
		c.made[d] = true
	}
	if err := c.env.Files.Rename(staged, target); err != nil {
		return connector.RetryLater, err
	}
	return connector.Committed, nil
}

// sameContent decides between a rename that a crash cut in two and a stranger's
// file of the same name and size.
func (c *committer) sameContent(staged, target string, k committable) (connector.Outcome, error) {
	crc, err := c.checksum(target)
	if err != nil {
		return connector.RetryLater, err
	}
	if crc != k.crc {
		return connector.Failed, errors.New("it exists already with other content: another job, or an earlier run that this one was not restored from, writes to the same directory: use another directory or Prefix")
	}
	// The new name must be durable before the old one goes.
	if err := c.env.Files.SyncDir(filepath.Dir(target)); err != nil {
		return connector.RetryLater, err
	}
	if err := c.env.Files.Remove(staged); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return connector.RetryLater, err
	}
	return connector.Committed, nil
}

func (c *committer) checksum(name string) (uint32, error) {
	f, err := c.env.Files.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	h := crc32.New(castagnoli)
	if _, err := io.CopyBuffer(h, struct{ io.Reader }{f}, make([]byte, writeBytes)); err != nil {
		return 0, err
	}
	return h.Sum32(), nil
}

func (c *committer) size(name string) (size int64, exists bool, err error) {
	info, err := c.env.Files.Stat(name)
	switch {
	case err == nil && info.IsDir():
		return 0, false, fmt.Errorf("%s is a directory", name)
	case err == nil:
		return info.Size(), true, nil
	case errors.Is(err, fs.ErrNotExist):
		return 0, false, nil
	}
	return 0, false, err
}

// Sweep implements [connector.Committer]: it removes the staged files of this
// job, operator and share that are not in live.
func (c *committer) Sweep(live []connector.Committable) error {
	keep := map[string]bool{}
	for _, l := range live {
		k, err := decodeCommittable(l.Data)
		if err != nil {
			return err // what cannot be read could name any file: remove none
		}
		keep[k.staged] = true
	}
	entries, err := c.env.Files.ReadDir(c.staging)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("file sink: sweep %s: %w%s", c.staging, err, hint(err))
	}
	var errs []error
	for _, e := range entries {
		subtask, ours := stageSubtask(c.owner, e.Name())
		if !ours || subtask%c.parallelism != c.subtask || keep[e.Name()] {
			continue
		}
		if err := c.env.Files.Remove(filepath.Join(c.staging, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("file sink: sweep: %w%s", err, hint(err)))
		}
	}
	return errors.Join(errs...)
}

// Close implements [connector.Committer].
func (c *committer) Close() error { return nil }
