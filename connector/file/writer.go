package file

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cutwater-io/cutwater/connector"
)

// ageCheckRecords is after how many records the age of the part in use is
// looked at: asking the clock for each would cost more than writing it.
const ageCheckRecords = 256

// writer stages the records of one subtask. Parts go from open (being written)
// to ended (durable, waiting for the barrier) to a committable, which is no
// longer the writer's.
type writer[T any] struct {
	sink    *PartSink[T]
	env     connector.Env
	staging string
	owner   string
	subtask int
	attempt uint64
	after   uint64 // the last prepared checkpoint

	open    map[string]*part // by bucket
	last    *part            // the part of the last record; may be nil
	ended   []*part          // in the order in which they ended
	count   int              // parts begun in this attempt
	records uint64
	free    []byte // a buffer for the next part

	// err is the first error. After it the content of parts is unknown, so
	// every later call returns it: a checkpoint must not contain them.
	err error
}

var _ connector.CommittingWriter[string] = (*writer[string])(nil)

// Write implements [connector.Writer].
func (w *writer[T]) Write(v *T, _ int64) error {
	if w.err != nil {
		return w.err
	}
	p, err := w.partFor(v)
	if err != nil {
		return w.fail(err)
	}
	buf, err := w.sink.encode(p.buf, v)
	if err != nil {
		return w.fail(fmt.Errorf("file sink in %s: encode a record: %w", w.sink.dir, err))
	}
	p.buf = buf
	w.records++
	p.used = w.records
	full := p.size+int64(len(buf)) >= w.sink.maxBytes
	if !full && w.sink.maxAge > 0 && w.records%ageCheckRecords == 0 {
		full = w.old(p)
	}
	if full {
		return w.fail(w.end(p))
	}
	if len(buf) >= writeBytes {
		return w.fail(p.spill())
	}
	return nil
}

func (w *writer[T]) old(p *part) bool {
	return w.env.Clock.Now().Sub(p.begun) >= w.sink.maxAge
}

// fail remembers the first error and returns it.
func (w *writer[T]) fail(err error) error {
	if w.err == nil {
		w.err = err
	}
	return w.err
}

// partFor returns the open part for a value and begins one if there is none.
func (w *writer[T]) partFor(v *T) (*part, error) {
	bucket := ""
	if w.sink.bucket != nil {
		bucket = w.sink.bucket(v)
	}
	if w.last != nil && w.last.bucket == bucket {
		return w.last, nil
	}
	p := w.open[bucket]
	if p == nil {
		var err error
		if p, err = w.begin(bucket); err != nil {
			return nil, err
		}
	}
	w.last = p
	return p, nil
}

func (w *writer[T]) begin(bucket string) (*part, error) {
	if err := checkBucket(bucket); err != nil {
		return nil, fmt.Errorf("file sink in %s: %w", w.sink.dir, err)
	}
	if len(w.open) >= w.sink.maxOpen {
		if err := w.end(w.longestRested()); err != nil {
			return nil, err
		}
	}
	staged := stageName(w.owner, w.subtask, w.attempt, w.after, w.count)
	p := &part{path: filepath.Join(w.staging, staged), staged: staged, bucket: bucket, number: w.count}
	w.count++
	f, err := w.env.Files.Create(p.path)
	if err != nil {
		return nil, fmt.Errorf("file sink: create %s: %w%s", p.path, err, hint(err))
	}
	p.file = f
	if w.sink.maxAge > 0 {
		p.begun = w.env.Clock.Now()
	}
	p.buf = append(w.free[:0], w.sink.header...)
	w.free = nil
	w.open[bucket] = p
	return p, nil
}

func (w *writer[T]) longestRested() *part {
	var oldest *part
	for _, p := range w.open {
		if oldest == nil || p.used < oldest.used {
			oldest = p
		}
	}
	return oldest
}

// checkBucket keeps user keys from leading out of the directory or into a place
// that readers do not look at.
func checkBucket(bucket string) error {
	if bucket == "" {
		return nil
	}
	ok := fs.ValidPath(bucket) && !strings.ContainsAny(bucket, "\\\x00") && len(bucket) <= 1024
	for e := range strings.SplitSeq(bucket, "/") {
		ok = ok && e[:min(1, len(e))] != "." && len(e) <= 255
	}
	if !ok {
		return fmt.Errorf("bucket %.100q: it must be a relative path of names that do not begin with a dot: change the function given to BucketBy", bucket)
	}
	return nil
}

// end finishes an open part; it goes out with the next checkpoint.
func (w *writer[T]) end(p *part) error {
	delete(w.open, p.bucket)
	if w.last == p {
		w.last = nil
	}
	w.ended = append(w.ended, p) // also on error, so that Close removes it
	if err := p.finish(); err != nil {
		return err
	}
	w.free, p.buf = p.buf, nil
	return nil
}

// Flush implements [connector.Writer]. What was collected stays collected until
// Prepare: the file sink has no asynchronous writes, but errors of earlier ones
// are reported again.
func (w *writer[T]) Flush(bool) error { return w.err }

// Prepare implements [connector.CommittingWriter]: it ends all parts and makes
// them durable, content and names.
func (w *writer[T]) Prepare(checkpoint uint64) ([]connector.Committable, error) {
	if w.err != nil {
		return nil, w.err
	}
	for len(w.open) > 0 {
		// By age and not by map order: runs must be repeatable.
		if err := w.end(w.longestRested()); err != nil {
			return nil, w.fail(err)
		}
	}
	w.after = checkpoint
	if len(w.ended) == 0 {
		return nil, nil
	}
	if err := w.env.Files.SyncDir(w.staging); err != nil {
		return nil, w.fail(fmt.Errorf("file sink: sync directory %s: %w%s", w.staging, err, hint(err)))
	}
	slices.SortFunc(w.ended, func(a, b *part) int { return cmp.Compare(a.number, b.number) })
	cs := make([]connector.Committable, 0, len(w.ended))
	for n, p := range w.ended {
		if err := w.checkStaged(p); err != nil {
			return nil, w.fail(err)
		}
		name := fmt.Sprintf("%s-%d-%d-%d%s", w.sink.prefix, w.subtask, checkpoint, n, w.sink.ext)
		c := committable{staged: p.staged, target: path.Join(p.bucket, name), size: p.size, crc: p.crc}
		cs = append(cs, connector.Committable{Data: c.encode()})
	}
	w.ended = nil
	return cs, nil
}

// checkStaged looks whether a part is still where it was written. It is not when
// somebody cleaned up the directory, or when another process took this attempt
// for dead and swept: better to fail here than at the commit, when the
// checkpoint counts on it.
func (w *writer[T]) checkStaged(p *part) error {
	info, err := w.env.Files.Stat(p.path)
	if err == nil && info.Size() != p.size {
		err = fmt.Errorf("it has %d bytes of %d", info.Size(), p.size)
	}
	if err != nil {
		return fmt.Errorf("file sink: staged part %s is damaged: %w: something else than this sink changes %s", p.path, err, w.staging)
	}
	return nil
}

// Snapshot implements [connector.Writer]. Committables are the whole state.
func (w *writer[T]) Snapshot(uint64) ([][]byte, error) { return nil, w.err }

// Close implements [connector.Writer]: it removes parts that no checkpoint can
// hold. A crash leaves them to Sweep.
func (w *writer[T]) Close() error {
	var errs []error
	for len(w.open) > 0 {
		p := w.longestRested()
		delete(w.open, p.bucket)
		w.ended = append(w.ended, p)
	}
	for _, p := range w.ended {
		if p.file != nil {
			errs = append(errs, p.file.Close())
			p.file = nil
		}
		if err := w.env.Files.Remove(p.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	w.last, w.ended = nil, nil
	if w.err == nil {
		w.err = errors.New("file sink: the writer is closed")
	}
	return errors.Join(errs...)
}
