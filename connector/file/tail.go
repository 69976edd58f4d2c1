package file

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cutwater-io/cutwater/connector"
)

// tailReader reads files that may grow, in turns.
type tailReader[T any] struct {
	reader[T] // cur and format are those of the file in hand

	newFormat func() (format[T], error)
	every     time.Duration
	tails     []*tail[T]
	turn      int // the next of tails to read
}

// tail is a file that is followed.
type tail[T any] struct {
	c      *cursor
	format format[T]
	// idle: the end was met; look again at the time in lookAt.
	idle   bool
	lookAt time.Time
	// gone: at the last look another file, or none, had the name. What is
	// written until the next look is still read.
	gone bool
}

var _ connector.Reader[string] = (*tailReader[string])(nil)

func newTailReader[T any](ctx connector.ReaderContext, newFormat func() (format[T], error), maxLine int, every time.Duration) *tailReader[T] {
	r := &tailReader[T]{newFormat: newFormat, every: every}
	r.reader = reader[T]{ctx: ctx, maxLine: maxLine}
	r.at = r.where
	return r
}

// isPacked says whether a file is compressed, so that it cannot grow.
func isPacked(path string) bool {
	return strings.HasSuffix(path, ".gz") || strings.HasSuffix(path, ".zst")
}

// Poll implements [connector.Reader].
func (r *tailReader[T]) Poll(out *connector.Output[T]) (connector.PollResult, error) {
	if r.closed {
		return connector.Finished, errors.New("file source: the reader is closed")
	}
	out.At = r.at
	if !r.asked {
		r.asked = true
		r.ctx.RequestSplit() // see follower.HandleRequest
	}
	if err := r.openWaiting(); err != nil {
		return connector.Wait, err
	}
	now := r.ctx.Env().Clock.Now()
	n := 0
	for range len(r.tails) { // each file gets a turn
		if n == out.Max {
			return connector.More, nil
		}
		r.turn %= len(r.tails)
		k, finished, err := r.readTail(r.tails[r.turn], out, out.Max-n, now)
		n += k
		if err != nil {
			return connector.Wait, err
		}
		if finished {
			r.tails = slices.Delete(r.tails, r.turn, r.turn+1)
		} else {
			r.turn++
		}
	}
	if n > 0 {
		return connector.More, nil
	}
	out.WakeAfter = r.every
	return connector.Wait, nil
}

// readTail gives a file its turn.
func (r *tailReader[T]) readTail(t *tail[T], out *connector.Output[T], limit int, now time.Time) (n int, finished bool, err error) {
	c := t.c
	if t.idle {
		if now.Before(t.lookAt) {
			return 0, false, nil
		}
		over, err := r.lookAgain(t)
		if err != nil {
			return 0, false, fmt.Errorf("file source: look at %s: %w", c.split.path, err)
		}
		if over {
			return 0, true, r.finishTail(t, out)
		}
	}
	if c.buf == nil {
		c.buf, r.buf = r.buf, nil
	}
	r.cur, r.format = c, t.format
	defer func() { r.cur = nil }()
	if out.StartSplit != nil {
		out.StartSplit(c.split.id)
	}
	n, f, err := r.read(out, limit)
	if err != nil {
		return n, false, err
	}
	switch f {
	case foundEnd:
		return n, true, r.finishTail(t, out)
	case foundIdle:
		t.idle, t.lookAt = true, now.Add(r.every)
		if b := c.release(); b != nil {
			r.buf = b
		}
		if out.EmptySplit != nil {
			out.EmptySplit(c.split.id)
		}
	}
	return n, false, nil
}

// lookAgain looks what became of a file at whose end the reader waits. over says
// that this file is no more: it was cut, and what is there is another one.
func (r *tailReader[T]) lookAgain(t *tail[T]) (over bool, err error) {
	c := t.c
	info, err := c.in.file.Stat()
	if err != nil {
		return false, err
	}
	if info.Size() < c.in.at {
		return true, nil
	}
	fits, err := c.split.print.fits(c.in.file)
	if err != nil || !fits {
		return !fits, err
	}
	if c.split.print.length < printBytes {
		p, _, err := takePrint(c.in.file)
		if err != nil {
			return false, err
		}
		c.split.print = p
	}
	c.split.seen = max(c.split.seen, info.Size())
	grown := info.Size() > c.in.at
	c.atEnd = !grown
	if grown {
		t.idle, t.gone = false, false
		return false, nil
	}
	named, err := r.stillNamed(c.split.path, inode(info))
	if err != nil {
		return false, err
	}
	// Gone at two looks, with nothing written between: nobody writes to it.
	c.final = t.gone && !named
	t.gone = !named
	return false, nil
}

// stillNamed says whether a path still leads to a file.
func (r *tailReader[T]) stillNamed(path string, number uint64) (bool, error) {
	info, err := r.ctx.Env().Files.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return inode(info) == number, nil
}

func (r *tailReader[T]) finishTail(t *tail[T], out *connector.Output[T]) error {
	c := t.c
	e := doneEvent{id: c.split.id, pos: c.pos, size: c.in.at, print: c.split.print}
	if c.in.unpack != nil {
		e.size = c.split.seen
	}
	r.ctx.Send(e.encode())
	if out.FinishSplit != nil {
		out.FinishSplit(c.split.id)
	}
	if err := c.in.close(); err != nil {
		return fmt.Errorf("file source: close %s: %w", c.split.path, err)
	}
	return nil
}

// openWaiting opens the files of new splits.
func (r *tailReader[T]) openWaiting() error {
	for len(r.waiting) > 0 {
		s := r.waiting[0]
		f, err := r.newFormat()
		if err != nil {
			return err
		}
		in, err := r.locate(&s)
		if err != nil {
			return err
		}
		r.waiting = r.waiting[1:]
		if in == nil {
			r.ctx.Send(doneEvent{id: s.id, pos: s.pos, size: s.seen, print: s.print}.encode())
			continue
		}
		c := &cursor{split: s, in: in, final: in.unpack != nil}
		if err := c.advanceToPosition(f.frame, f.header, r.maxLine); err != nil {
			in.close()
			return fmt.Errorf("file source: read %s: %w", s.path, err)
		}
		r.tails = append(r.tails, &tail[T]{c: c, format: f})
	}
	slices.SortStableFunc(r.tails, func(a, b *tail[T]) int { return cmp.Compare(a.c.split.id, b.c.split.id) })
	return nil
}

// locate opens the file of a split, under the name that it has now. It returns
// nil when the file is gone and was read to the end that was last seen, or was
// not begun: then it is as if it had gone before it was seen.
func (r *tailReader[T]) locate(s *split) (*input, error) {
	for _, path := range r.candidates(*s) {
		if isPacked(path) != isPacked(s.path) {
			continue
		}
		in, err := openInput(r.ctx.Env().Files, path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("file source: open %s: %w%s", path, err, hint(err))
		}
		ok, err := s.is(in)
		if err != nil {
			in.close()
			return nil, fmt.Errorf("file source: read %s: %w", path, err)
		}
		if ok {
			// s.path stays: under its name another file may be by now, so
			// this one has ended as soon as nobody writes to it any more.
			return in, nil
		}
		in.close()
	}
	if s.pos.offset > 0 && s.pos.offset < s.seen && !isPacked(s.path) {
		return nil, fmt.Errorf("file source: %s is gone, and only %d of its %d bytes were read: put the file back into its directory, under any name, or start the job without its checkpoint", s.path, s.pos.offset, s.seen)
	}
	r.ctx.Env().Log.Warn("a followed file is gone", "path", s.path, "bytes read", s.pos.offset)
	return nil, nil
}

// candidates lists where the file of a split may be: where it was, else under
// another name in the same directory, known by its inode.
func (r *tailReader[T]) candidates(s split) []string {
	info, err := r.ctx.Env().Files.Stat(s.path)
	if err == nil && inode(info) == s.print.inode {
		return []string{s.path}
	}
	var paths []string
	dir := filepath.Dir(s.path)
	entries, _ := r.ctx.Env().Files.ReadDir(dir) // absent: no candidates
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && !e.IsDir() && s.print.inode != 0 && inode(info) == s.print.inode {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	if s.print.length > 0 {
		paths = append(paths, s.path) // a copy, on another disk, has another inode
	}
	return paths
}

// is says whether an open file is that of the split.
func (s *split) is(in *input) (bool, error) {
	info, err := in.file.Stat()
	if err != nil || info.IsDir() {
		return false, err
	}
	if in.unpack == nil && info.Size() < s.pos.offset {
		return false, nil
	}
	fits, err := s.print.fits(in.file)
	if err != nil || !fits {
		return false, err
	}
	s.print, _, err = takePrint(in.file)
	s.seen = max(s.seen, info.Size())
	return true, err
}

// Snapshot implements [connector.Reader].
func (r *tailReader[T]) Snapshot(uint64) ([]connector.Split, error) {
	var splits []connector.Split
	for _, t := range r.tails {
		splits = append(splits, t.c.snapshot())
	}
	for _, s := range r.waiting {
		splits = append(splits, s.encode())
	}
	return splits, nil
}

// AddSplits implements [connector.Reader].
func (r *tailReader[T]) AddSplits(splits []connector.Split) error {
	asked := r.asked
	err := r.reader.AddSplits(splits)
	r.asked = asked
	return err
}

// Close implements [connector.Reader].
func (r *tailReader[T]) Close() error {
	r.closed = true
	var errs []error
	for _, t := range r.tails {
		errs = append(errs, t.c.in.close())
	}
	r.tails, r.cur = nil, nil
	return errors.Join(errs...)
}
