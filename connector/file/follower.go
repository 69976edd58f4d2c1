package file

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cutwater-io/cutwater/connector"
)

// follower is the enumerator of a source that follows. It looks for files again
// and again and gives each new one to the reader that its name hashes to: such a
// split is never done, so readers cannot ask for one after the other.
//
// What became of a file that is being read is decided by its reader alone, which
// holds it open: it sends a doneEvent when the file was renamed, removed or cut.
// Only then does the follower take something under the same inode for a new
// file. Otherwise both might see the same cut and read the file twice.
type follower struct {
	ctx    connector.EnumeratorContext
	look   *looker
	every  time.Duration
	known  map[string]*knownFile // by split id
	serial uint64                // of the last split
	// pending splits wait for the reader that owns them.
	pending []connector.Split
	ready   map[int]bool // readers; not part of a snapshot
}

// knownFile is a file that was given to a reader.
type knownFile struct {
	id     string
	serial uint64
	path   string // last seen there
	print  fingerprint
	size   int64    // raw bytes, when last seen
	done   bool     // its reader is finished with it,
	pos    position // and came to here
	missed int      // looks on end that did not find it; not part of a snapshot
}

var _ connector.Enumerator = (*follower)(nil)

func newFollower(ctx connector.EnumeratorContext, globs []string, every time.Duration, restored []byte) (*follower, error) {
	f := &follower{
		ctx: ctx, every: every, known: map[string]*knownFile{}, ready: map[int]bool{},
		look: &looker{files: ctx.Env().Files, globs: globs},
	}
	if restored == nil {
		return f, nil
	}
	if err := checkMode(restored, followerVersion); err != nil {
		return nil, err
	}
	d := decoder{data: restored}
	d.version(followerVersion)
	f.serial = d.uint()
	f.pending = decodeSplits(&d)
	for n := d.uint(); n > 0 && d.err == nil; n-- {
		k := &knownFile{id: d.string(), serial: d.uint(), path: d.string()}
		k.print.decode(&d)
		k.size, k.done = d.size(), d.uint() == 1
		k.pos = position{offset: d.size(), line: d.size()}
		f.known[k.id] = k
	}
	if err := d.end(); err != nil {
		return nil, fmt.Errorf("file source: restore the list of followed files: %w: it was written by another version or another source", err)
	}
	return f, nil
}

// followerVersion is the first byte of the encoded state; it differs from
// enumeratorVersion, so that Follow cannot be switched on for an old job unseen.
const followerVersion = 2

// Snapshot implements [connector.Enumerator].
func (f *follower) Snapshot(uint64) ([]byte, error) {
	dst := binary.AppendUvarint([]byte{followerVersion}, f.serial)
	dst = appendSplits(dst, f.pending)
	dst = binary.AppendUvarint(dst, uint64(len(f.known)))
	for _, id := range slices.Sorted(maps.Keys(f.known)) {
		k := f.known[id]
		dst = appendString(dst, k.id)
		dst = binary.AppendUvarint(dst, k.serial)
		dst = appendString(dst, k.path)
		dst = k.print.append(dst)
		dst = binary.AppendUvarint(dst, uint64(k.size))
		done := uint64(0)
		if k.done {
			done = 1
		}
		dst = binary.AppendUvarint(dst, done)
		dst = binary.AppendUvarint(dst, uint64(k.pos.offset))
		dst = binary.AppendUvarint(dst, uint64(k.pos.line))
	}
	return dst, nil
}

// Start implements [connector.Enumerator].
func (f *follower) Start() error {
	f.ctx.CallAsync(
		func(context.Context) (any, error) { return f.look.around() },
		func(result any, err error) {
			if err != nil {
				// It may pass: a directory is being moved, a mount comes back.
				f.ctx.Env().Log.Warn("looking for files failed; trying again", "error", err, "after", f.every)
				return
			}
			seen := result.(looked)
			for _, err := range seen.problems {
				f.ctx.Env().Log.Warn("a file cannot be followed; trying again", "error", err, "after", f.every)
			}
			f.found(seen.all)
		}, f.every)
	return nil
}

// found compares what there is with what is known.
func (f *follower) found(all []sighting) {
	index := f.index()
	there := map[*knownFile]bool{}
	for _, s := range all {
		k := f.recognise(index[s.key()], s)
		if k == nil {
			k = f.add(s, position{})
		} else if k.done && s.size > k.size && !isPacked(s.path) {
			// Somebody wrote to a file after it was renamed.
			pos := k.pos
			delete(f.known, k.id)
			k = f.add(s, pos)
		}
		index[s.key()] = k // it may be seen again, under another name
		there[k] = true
	}
	for id, k := range f.known {
		if !k.done || there[k] {
			k.missed = 0
			continue
		}
		if k.missed++; k.missed >= forgetAfter {
			delete(f.known, id)
		}
	}
	f.assign()
}

// forgetAfter is in how many looks on end a file must be missing to be forgotten.
// One is not enough: a file that is renamed between the listing and the look at
// it is missed, and would be read again if it were forgotten.
const forgetAfter = 10

// index finds known files by what a sighting has in common with them. Of several
// with one inode it holds the living one, or the latest.
func (f *follower) index() map[fileKey]*knownFile {
	index := map[fileKey]*knownFile{}
	for _, k := range f.known {
		key := keyOf(k.print.inode, k.path)
		old := index[key]
		if old == nil || old.done && !k.done || old.done == k.done && old.serial < k.serial {
			index[key] = k
		}
	}
	return index
}

// fileKey is the inode of a file; on a file system without them, its path.
type fileKey struct {
	inode uint64
	path  string
}

func keyOf(inode uint64, path string) fileKey {
	if inode != 0 {
		path = ""
	}
	return fileKey{inode, path}
}

// recognise says whether a file that was seen is the known one with its inode,
// and notes what is new about it; nil for a new file.
func (f *follower) recognise(k *knownFile, s sighting) *knownFile {
	if k == nil {
		return nil
	}
	fits := k.print.fitsBegin(s.begin)
	if k.done {
		if !fits || s.size < k.size {
			return nil
		}
		return k
	}
	if fits && s.size >= k.size {
		k.path, k.size, k.print = s.path, s.size, printOf(s.inode, s.begin)
	}
	return k
}

// add makes a split of a new file. Its id has a number, because files of one name
// may follow each other.
func (f *follower) add(s sighting, pos position) *knownFile {
	f.serial++
	k := &knownFile{id: fmt.Sprintf("%s#%d", s.path, f.serial), serial: f.serial, path: s.path, print: printOf(s.inode, s.begin), size: s.size}
	f.known[k.id] = k
	f.pending = append(f.pending, split{id: k.id, path: s.path, pos: pos, follow: true, print: k.print, seen: s.size}.encode())
	return k
}

// owner is the reader of a file.
func (f *follower) owner(id string) int {
	h := fnv.New32a()
	io.WriteString(h, id)
	return int(h.Sum32() % uint32(f.ctx.Parallelism()))
}

// assign gives pending splits to readers that are ready.
func (f *follower) assign() {
	var rest []connector.Split
	for _, s := range f.pending {
		if o := f.owner(s.ID); f.ready[o] {
			f.ctx.Assign(o, s)
		} else {
			rest = append(rest, s)
		}
	}
	f.pending = rest
}

// AddReader implements [connector.Enumerator].
func (f *follower) AddReader(subtask int) {
	f.ready[subtask] = true
	f.assign()
}

// HandleRequest implements [connector.Enumerator]. A reader asks once, when it
// starts: so it gets splits that came back after it was added.
func (f *follower) HandleRequest(subtask int) { f.AddReader(subtask) }

// AddSplitsBack implements [connector.Enumerator]. The reader failed: nothing is
// assigned to it until it is there again.
func (f *follower) AddSplitsBack(splits []connector.Split, subtask int) {
	delete(f.ready, subtask)
	f.pending = append(f.pending, splits...)
	slices.SortFunc(f.pending, func(a, b connector.Split) int { return strings.Compare(a.ID, b.ID) })
	f.assign()
}

// HandleEvent implements [connector.Enumerator].
func (f *follower) HandleEvent(_ int, event []byte) {
	e, err := decodeDone(event)
	if err != nil {
		f.ctx.Env().Log.Error("event of a reader of files", "error", err)
		return
	}
	if k := f.known[e.id]; k != nil {
		k.done, k.pos, k.size, k.print = true, e.pos, e.size, e.print
	}
}

// NotifyComplete implements [connector.Enumerator].
func (f *follower) NotifyComplete(uint64) {}

// Close implements [connector.Enumerator].
func (f *follower) Close() error { return nil }

// doneEvent tells the follower that a reader is finished with a file.
type doneEvent struct {
	id    string
	pos   position
	size  int64
	print fingerprint
}

func (e doneEvent) encode() []byte {
	dst := appendString([]byte{1}, e.id)
	dst = binary.AppendUvarint(dst, uint64(e.pos.offset))
	dst = binary.AppendUvarint(dst, uint64(e.pos.line))
	dst = binary.AppendUvarint(dst, uint64(e.size))
	return e.print.append(dst)
}

func decodeDone(data []byte) (doneEvent, error) {
	d := decoder{data: data}
	d.version(1)
	e := doneEvent{id: d.string(), pos: position{offset: d.size(), line: d.size()}, size: d.size()}
	e.print.decode(&d)
	return e, d.end()
}

// looker lists files. Only the one CallAsync of the follower uses it.
type looker struct {
	files connector.Files
	globs []string
	last  map[string]sighting // by path
}

// sighting is a file as it was seen.
type sighting struct {
	path  string
	inode uint64
	size  int64
	mod   time.Time
	begin []byte // the first printBytes bytes
}

// looked is the result of one look.
type looked struct {
	all      []sighting // sorted by path
	problems []error    // files that could not be looked at
}

// around looks for all files that match. Begins are read only of files that
// changed.
func (l *looker) around() (looked, error) {
	var paths []string
	for _, g := range l.globs {
		found, err := glob(l.files, g)
		if err != nil {
			return looked{}, err
		}
		paths = append(paths, found...)
	}
	slices.Sort(paths)
	var result looked
	last := map[string]sighting{}
	for _, p := range slices.Compact(paths) {
		s, err := l.see(p)
		switch {
		case errors.Is(err, fs.ErrNotExist): // renamed or removed in this moment
		case err != nil:
			result.problems = append(result.problems, fmt.Errorf("file source: look at %s: %w%s", p, err, hint(err)))
		case s.size == 0 && isPacked(p): // about to be written; it cannot be followed
		default:
			result.all = append(result.all, s)
			last[p] = s
		}
	}
	l.last = last
	return result, nil
}

func (l *looker) see(path string) (sighting, error) {
	info, err := l.files.Stat(path)
	if err != nil {
		return sighting{}, err
	}
	old := l.last[path]
	if old.path != "" && old.inode == inode(info) && old.size == info.Size() && old.mod.Equal(info.ModTime()) {
		return old, nil
	}
	f, err := l.files.Open(path)
	if err != nil {
		return sighting{}, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil { // what was opened may be another file
		return sighting{}, err
	}
	begin, err := io.ReadAll(io.NewSectionReader(f, 0, printBytes))
	return sighting{path: path, inode: inode(info), size: info.Size(), mod: info.ModTime(), begin: begin}, err
}

func (s sighting) key() fileKey { return keyOf(s.inode, s.path) }

func printOf(inode uint64, begin []byte) fingerprint {
	h := fnv.New64a()
	h.Write(begin)
	return fingerprint{inode: inode, length: int64(len(begin)), hash: h.Sum64()}
}

// fitsBegin says whether a file with that begin may be the one of the print.
func (p fingerprint) fitsBegin(begin []byte) bool {
	return int64(len(begin)) >= p.length && printOf(0, begin[:p.length]).hash == p.hash
}
