package file

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cutwater-io/cutwater/connector"
)

// enumeratorVersion is the first byte of an encoded enumerator state.
const enumeratorVersion = 1

// enumerator hands out the files of a bounded source, in the order of their
// names, one to each reader that asks. So a reader with small files takes more
// of them, and nothing has to be balanced.
type enumerator struct {
	ctx   connector.EnumeratorContext
	globs []string
	// listed: the files were looked for. It happens once in the life of the
	// job, so that a restored job reads the files that it began with.
	listed bool
	// pending holds the splits not yet assigned, sorted by id.
	pending []connector.Split
}

var _ connector.Enumerator = (*enumerator)(nil)

func newEnumerator(ctx connector.EnumeratorContext, globs []string, restored []byte) (*enumerator, error) {
	e := &enumerator{ctx: ctx, globs: globs}
	if restored == nil {
		return e, nil
	}
	if err := checkMode(restored, enumeratorVersion); err != nil {
		return nil, err
	}
	d := decoder{data: restored}
	d.version(enumeratorVersion)
	e.listed = d.uint() == 1
	e.pending = decodeSplits(&d)
	if err := d.end(); err != nil {
		return nil, fmt.Errorf("file source: restore the list of files: %w: it was written by another version or another source", err)
	}
	return e, nil
}

// checkMode finds out that Follow was switched on or off since the checkpoint: the
// positions of one kind mean nothing to the other.
func checkMode(restored []byte, want byte) error {
	if len(restored) > 0 && restored[0] != want && (restored[0] == enumeratorVersion || restored[0] == followerVersion) {
		return errors.New("file source: the checkpoint was taken by a source with Follow, and this one is without, or the other way round: change it back, or give the source another name to start it fresh")
	}
	return nil
}

func appendSplits(dst []byte, splits []connector.Split) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(splits)))
	for _, s := range splits {
		dst = appendString(dst, s.ID)
		dst = appendString(dst, string(s.Data))
	}
	return dst
}

func decodeSplits(d *decoder) []connector.Split {
	var splits []connector.Split
	for n := d.uint(); n > 0 && d.err == nil; n-- {
		splits = append(splits, connector.Split{ID: d.string(), Data: []byte(d.string())})
	}
	return splits
}

// Start implements [connector.Enumerator]. Listing local directories takes
// milliseconds, so it is done here, where an error can be returned.
func (e *enumerator) Start() error {
	if e.listed {
		return nil
	}
	paths, err := e.list()
	if err != nil {
		return err
	}
	for _, p := range paths {
		e.pending = append(e.pending, split{id: p, path: p}.encode())
	}
	e.listed = true
	return nil
}

func (e *enumerator) list() ([]string, error) {
	var paths []string
	for _, g := range e.globs {
		found, err := glob(e.ctx.Env().Files, g)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("file source: no file matches %q: correct the pattern, or use Follow to wait for files", g)
		}
		paths = append(paths, found...)
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

// AddReader implements [connector.Enumerator]. Readers ask by themselves.
func (e *enumerator) AddReader(int) {}

// HandleRequest implements [connector.Enumerator].
func (e *enumerator) HandleRequest(subtask int) {
	if len(e.pending) == 0 {
		e.ctx.NoMoreSplits(subtask)
		return
	}
	next := e.pending[0]
	e.pending = e.pending[1:]
	e.ctx.Assign(subtask, next)
}

// AddSplitsBack implements [connector.Enumerator]. Their reader will be started
// again and ask; readers that were told that there are no more need not.
func (e *enumerator) AddSplitsBack(splits []connector.Split, _ int) {
	e.pending = append(e.pending, splits...)
	slices.SortFunc(e.pending, func(a, b connector.Split) int { return strings.Compare(a.ID, b.ID) })
}

// HandleEvent implements [connector.Enumerator]. Readers of bounded sources send
// none.
func (e *enumerator) HandleEvent(int, []byte) {}

// Snapshot implements [connector.Enumerator].
func (e *enumerator) Snapshot(uint64) ([]byte, error) {
	listed := uint64(0)
	if e.listed {
		listed = 1
	}
	dst := binary.AppendUvarint([]byte{enumeratorVersion}, listed)
	return appendSplits(dst, e.pending), nil
}

// NotifyComplete implements [connector.Enumerator].
func (e *enumerator) NotifyComplete(uint64) {}

// Close implements [connector.Enumerator].
func (e *enumerator) Close() error { return nil }
