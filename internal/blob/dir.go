package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/cutwater-io/cutwater/internal/host"
)

// DirStore keeps objects as files of a directory.
//
// Idea: a file is written under a name of its own in root/.tmp, synced, and
// only then given its final name; then the directory is synced. So under its
// final name a file is absent or complete at every moment, whatever dies, and
// durable once the call has returned nil.
//
//	root/log/0000000000000007      an object
//	root/.tmp/4f0c.../lock         held by a living process
//	root/.tmp/4f0c.../17           what that process is writing now
//
// [Store.Create] and [Store.Put] end with rename, which replaces; PutIfAbsent
// ends with link(2), which does not: exactly one caller wins, also between
// processes.
//
// # Leftovers
//
// A killed process leaves its directory below .tmp behind. The rule: such a
// directory may be removed by whoever can take the lock in it, because the lock
// lives exactly as long as its process. No published object is ever there (a
// temporary name that remains beside a link is only a second name). The first
// write through a DirStore sweeps; reading never writes anything.
//
// # A failed fsync of a directory
//
// After a failed fsync the kernel may have dropped what was dirty, and the
// next fsync succeeds without it (F023). A file is then abandoned and its
// temporary name never used again. For a directory that is not possible, so
// the directory is given up by this process: every later write to it returns
// ErrUnknown. Other directories are not affected.
//
// # Cost
//
// An object costs two fsyncs, of the file and of its directory, and one more
// for each directory that has to be made.
type DirStore struct {
	root string
	fs   FS

	// mu guards the fields below. It is not held during writes of objects.
	mu     sync.Mutex
	tmp    string // this store's directory below root/.tmp; "" before the first write
	unlock func() error
	next   uint64           // number of the next temporary file
	failed map[string]error // directories whose fsync failed
	known  map[string]bool  // directories known to be durable
	// removals counts attempts to remove an empty directory, removing those
	// that are going on: see [dirWriter.link].
	removals uint64
	removing int
}

// Dir returns the store of the objects below root, which is made by the first
// write. A nil fs is the machine's file system.
func Dir(root string, fsys FS) *DirStore {
	if fsys == nil {
		fsys = host.Files{}
	}
	// Absolute, so that the program may change its directory, and so that every
	// path of an object begins with root. Abs only fails if there is no current
	// directory; then opening files says so.
	if abs, err := filepath.Abs(root); err == nil {
		root = abs
	}
	return &DirStore{root: filepath.Clean(root), fs: fsys,
		failed: make(map[string]error), known: make(map[string]bool)}
}

var _ Store = (*DirStore)(nil)

// Close removes the store's temporary files. Writers must have ended. A store
// that is not closed leaves that to the next process.
func (d *DirStore) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.tmp == "" {
		return nil
	}
	err := errors.Join(removeTemporary(d.fs, d.tmp), d.unlock())
	d.tmp, d.unlock = "", nil
	return err
}

func (d *DirStore) path(name string) string {
	return filepath.Join(d.root, filepath.FromSlash(name))
}

// Create starts a new object; see [Store]. Several writers may write the same
// name: the last Commit replaces the others.
func (d *DirStore) Create(ctx context.Context, name string) (Writer, error) {
	return d.create(ctx, name, d.fs.Rename)
}

// Put writes a whole object; see [Store].
func (d *DirStore) Put(ctx context.Context, name string, data []byte) error {
	w, err := d.create(ctx, name, d.fs.Rename)
	if err != nil {
		return err
	}
	return w.writeAll(data)
}

// PutIfAbsent writes a whole object unless the name is taken; see [Store]. The
// answer ErrExists is given only after the directory was synced: whoever acts
// on it acts on something that stays.
func (d *DirStore) PutIfAbsent(ctx context.Context, name string, data []byte) error {
	w, err := d.create(ctx, name, d.fs.Link)
	if err != nil {
		return err
	}
	return w.writeAll(data)
}

func (d *DirStore) create(ctx context.Context, name string, publish func(from, to string) error) (*dirWriter, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("create object %s: %w", name, err)
	}
	temp, err := d.temporary()
	if err != nil {
		return nil, d.explain("create object", name, err)
	}
	f, err := d.fs.Create(temp)
	if err != nil {
		return nil, d.explain("create object", name, err)
	}
	return &dirWriter{store: d, name: name, temp: temp, file: f, publish: publish}, nil
}

// Open opens an object; see [Store].
func (d *DirStore) Open(ctx context.Context, name string) (Reader, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("open object %s: %w", name, err)
	}
	f, err := d.fs.Open(d.path(name))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotDir) {
		err = ErrNotFound
	}
	if err != nil {
		return nil, d.explain("open object", name, err)
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = ErrNotFound
	}
	if err != nil {
		f.Close()
		return nil, d.explain("open object", name, err)
	}
	return &dirReader{file: f, size: info.Size()}, nil
}

// Get reads a whole object; see [Store].
func (d *DirStore) Get(ctx context.Context, name string) ([]byte, error) {
	r, err := d.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data := make([]byte, r.Size())
	if _, err := r.ReadAt(data, 0); err != nil && err != io.EOF {
		return nil, d.explain("read object", name, err)
	}
	return data, nil
}

// List returns names by prefix; see [Store]. A name that exists during the
// whole call is in the result.
func (d *DirStore) List(ctx context.Context, prefix string) ([]string, error) {
	// Only directories that can hold the prefix are read: "log/" reads one.
	dir := ""
	if i := strings.LastIndexByte(prefix, '/'); i >= 0 {
		dir = prefix[:i]
		if dir == "" || CheckName(dir) != nil {
			return nil, nil // no object has such a name
		}
	}
	names, err := d.list(ctx, nil, dir, prefix)
	if err != nil {
		return nil, d.explain("list objects", prefix, err)
	}
	slices.Sort(names)
	return names, nil
}

func (d *DirStore) list(ctx context.Context, dst []string, dir, prefix string) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	entries, err := d.fs.ReadDir(d.path(dir))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotDir) {
		return dst, nil // never made, or removed while we walked
	}
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue // ours, or the file system's
		}
		name := e.Name()
		if dir != "" {
			name = dir + "/" + name
		}
		switch {
		case e.IsDir() && (strings.HasPrefix(name+"/", prefix) || strings.HasPrefix(prefix, name+"/")):
			if dst, err = d.list(ctx, dst, name, prefix); err != nil {
				return nil, err
			}
		case !e.IsDir() && strings.HasPrefix(name, prefix):
			dst = append(dst, name)
		}
	}
	return dst, nil
}

// Delete removes an object, and its directory when nothing else is in it. It
// does not sync: a deletion that a crash undoes is repeated or swept later.
func (d *DirStore) Delete(ctx context.Context, name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("delete object %s: %w", name, err)
	}
	path := d.path(name)
	if err := d.fs.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return d.explain("delete object", name, err)
	}
	d.removeEmpty(filepath.Dir(path))
	return nil
}

// removeEmpty removes dir and its parents below root as far as they are empty.
// Removing a directory that is not empty fails, and one that a writer needs is
// made again by that writer.
func (d *DirStore) removeEmpty(dir string) {
	d.mu.Lock()
	d.removing++
	d.mu.Unlock()
	for removed := true; removed && d.below(dir); dir = filepath.Dir(dir) {
		removed = d.fs.Remove(dir) == nil
		d.mu.Lock()
		d.removals++
		if removed {
			delete(d.known, dir)
		}
		d.mu.Unlock()
	}
	d.mu.Lock()
	d.removing--
	d.mu.Unlock()
}
