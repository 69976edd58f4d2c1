package file

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/cutwater-io/cutwater/connector"
)

// reader reads the files of one subtask, one after the other.
type reader[T any] struct {
	ctx     connector.ReaderContext
	format  format[T]
	maxLine int

	waiting []split // not yet opened, in order of their ids
	cur     *cursor // the open file; nil between files
	buf     []byte  // for the next file
	asked   bool    // a split was asked for and has not come
	noMore  bool
	closed  bool
	at      func() string // made once; see where
	v       T             // the record that is being emitted
}

var _ connector.Reader[string] = (*reader[string])(nil)

func newReader[T any](ctx connector.ReaderContext, f format[T], maxLine int) *reader[T] {
	r := &reader[T]{ctx: ctx, format: f, maxLine: maxLine}
	r.at = r.where
	return r
}

// AddSplits implements [connector.Reader].
func (r *reader[T]) AddSplits(splits []connector.Split) error {
	for _, c := range splits {
		s, err := decodeSplit(c)
		if err != nil {
			return err
		}
		r.waiting = append(r.waiting, s)
	}
	slices.SortStableFunc(r.waiting, func(a, b split) int { return cmp.Compare(a.id, b.id) })
	r.asked = false
	r.ctx.Wake()
	return nil
}

// NoMoreSplits implements [connector.Reader].
func (r *reader[T]) NoMoreSplits() {
	r.noMore = true
	r.ctx.Wake()
}

// HandleEvent implements [connector.Reader]. Enumerators of files send none.
func (r *reader[T]) HandleEvent([]byte) error { return nil }

// Poll implements [connector.Reader].
func (r *reader[T]) Poll(out *connector.Output[T]) (connector.PollResult, error) {
	if r.closed {
		return connector.Finished, errors.New("file source: the reader is closed")
	}
	out.At = r.at
	for n := 0; n < out.Max; {
		if r.cur == nil {
			if len(r.waiting) == 0 {
				return r.idle(), nil
			}
			if err := r.openNext(out); err != nil {
				return connector.Wait, err
			}
		}
		k, f, err := r.read(out, out.Max-n)
		n += k
		if err != nil {
			return connector.Wait, err
		}
		if f == foundEnd {
			if err := r.finish(out); err != nil {
				return connector.Wait, err
			}
		}
	}
	return connector.More, nil
}

// idle says what to do without a file: ask for one, once.
func (r *reader[T]) idle() connector.PollResult {
	if r.noMore {
		return connector.Finished
	}
	if !r.asked {
		r.asked = true
		r.ctx.RequestSplit()
	}
	return connector.Wait
}

func (r *reader[T]) openNext(out *connector.Output[T]) error {
	c, err := openCursor(r.ctx.Env().Files, r.waiting[0], r.buf, r.format.frame, r.format.header, r.maxLine)
	if err != nil {
		return err
	}
	r.buf = nil
	r.waiting = r.waiting[1:]
	r.cur = c
	if out.StartSplit != nil {
		out.StartSplit(c.split.id)
	}
	return nil
}

func (r *reader[T]) finish(out *connector.Output[T]) error {
	c := r.cur
	r.buf, r.cur = c.release(), nil
	if out.FinishSplit != nil {
		out.FinishSplit(c.split.id)
	}
	if err := c.in.close(); err != nil {
		return fmt.Errorf("file source: close %s: %w", c.split.path, err)
	}
	return nil
}

// read emits at most limit records of the open file. Bad and blank ones count,
// so that a file full of them does not keep the subtask from its mail.
func (r *reader[T]) read(out *connector.Output[T], limit int) (n int, f found, err error) {
	c := r.cur
	if c.needHeader {
		err := c.tryHeader(r.format.frame, r.format.header, r.maxLine)
		if err != nil {
			return 0, foundEnd, fmt.Errorf("file source: read %s: %w", c.split.path, err)
		}
		if c.needHeader && !c.final {
			return 0, foundIdle, nil
		}
	}
	var zero T
	for n < limit {
		record, f, err := c.next(r.format.frame, r.maxLine)
		if err != nil {
			return n, f, fmt.Errorf("file source: read %s at byte %d: %w", c.split.path, c.pos.offset, err)
		}
		switch f {
		case foundRecord:
			if len(record) == 0 && r.format.skipBlank {
				break
			}
			r.v = zero
			if err := r.format.decode(record, &r.v); err == nil {
				out.Emit(&r.v, connector.NoTimestamp)
			} else if err := r.bad(record, err.Error()); err != nil {
				return n, f, err
			}
		case foundBad:
			if err := r.bad(record, fmt.Sprintf("the record is longer than %d bytes (see MaxLine), or a quoted field in it has no end", r.maxLine)); err != nil {
				return n, f, err
			}
		default:
			return n, f, nil
		}
		n++
	}
	return n, foundRecord, nil
}

// bad hands over a record that cannot be decoded.
func (r *reader[T]) bad(record []byte, cause string) error {
	return r.ctx.BadRecord(connector.BadRecord{
		Split:    r.cur.split.path,
		Position: r.cur.place(),
		Raw:      append([]byte(nil), record[:min(len(record), rawBytes)]...),
		Cause:    cause,
	})
}

// place says where the record returned last begins.
func (c *cursor) place() string {
	return fmt.Sprintf("line %d, byte %d", c.start.line+1, c.start.offset)
}

// where implements [connector.Output.At].
func (r *reader[T]) where() string {
	if r.cur == nil {
		return ""
	}
	return r.cur.split.path + ", " + r.cur.place()
}

// Snapshot implements [connector.Reader].
func (r *reader[T]) Snapshot(uint64) ([]connector.Split, error) {
	var splits []connector.Split
	if r.cur != nil {
		splits = append(splits, r.cur.snapshot())
	}
	for _, s := range r.waiting {
		splits = append(splits, s.encode())
	}
	return splits, nil
}

// NotifyComplete implements [connector.Reader].
func (r *reader[T]) NotifyComplete(uint64) error { return nil }

// Close implements [connector.Reader].
func (r *reader[T]) Close() error {
	r.closed = true
	if r.cur == nil {
		return nil
	}
	c := r.cur
	r.cur = nil
	return c.in.close()
}
