package file

import (
	"fmt"

	"github.com/cutwater-io/cutwater/connector"
)

// openCursor opens the file of a split and goes to its position. buf may be nil;
// frame and header are those of the format.
func openCursor(files connector.Files, s split, buf []byte, frame func([]byte, bool) (int, int), header func([]byte) error, maxRecord int) (*cursor, error) {
	in, err := openInput(files, s.path)
	if err != nil {
		return nil, fmt.Errorf("file source: open %s: %w%s", s.path, err, hint(err))
	}
	c := &cursor{split: s, in: in, buf: buf, final: !s.follow || in.unpack != nil}
	if err := c.begin(frame, header, maxRecord); err != nil {
		in.close()
		return nil, fmt.Errorf("file source: read %s: %w", s.path, err)
	}
	return c, nil
}

// begin brings a fresh cursor to the position of its split.
func (c *cursor) begin(frame func([]byte, bool) (int, int), header func([]byte) error, maxRecord int) error {
	if err := c.identify(); err != nil {
		return err
	}
	return c.advanceToPosition(frame, header, maxRecord)
}

// advanceToPosition reads the header, also when the position is behind it,
// because the format needs it, and goes to the position.
func (c *cursor) advanceToPosition(frame func([]byte, bool) (int, int), header func([]byte) error, maxRecord int) error {
	c.needHeader = header != nil
	if err := c.tryHeader(frame, header, maxRecord); err != nil {
		return err
	}
	if want := c.split.pos; want.offset > c.pos.offset {
		if c.buf == nil {
			c.buf = make([]byte, bufferBytes)
		}
		return c.jump(want)
	}
	return nil
}

// tryHeader takes the header, if the format has one and it is there yet.
func (c *cursor) tryHeader(frame func([]byte, bool) (int, int), header func([]byte) error, maxRecord int) error {
	if !c.needHeader {
		return nil
	}
	record, f, err := c.next(frame, maxRecord)
	switch {
	case err != nil:
		return err
	case f == foundBad:
		return fmt.Errorf("the header is longer than %d bytes (see MaxLine)", maxRecord)
	case f == foundRecord:
		c.needHeader = false
		return header(record)
	}
	return nil
}

// jump goes forward to a position.
func (c *cursor) jump(want position) error {
	if c.in.at <= want.offset {
		c.r, c.w, c.atEnd = 0, 0, false
		if err := c.in.skipTo(want.offset, c.buf); err != nil {
			return err
		}
	} else {
		c.r += int(want.offset - c.pos.offset) // it is in the buffer
	}
	c.pos = want
	return nil
}

// identify makes sure that the file is the one to which the position belongs.
func (c *cursor) identify() error {
	s := &c.split
	info, err := c.in.file.Stat()
	if err != nil {
		return err
	}
	if info.IsDir() {
		return fmt.Errorf("it is a directory")
	}
	if s.pos.offset > 0 {
		fits, err := s.print.fits(c.in.file)
		if err != nil {
			return err
		}
		if !fits || c.in.unpack == nil && info.Size() < s.pos.offset {
			return fmt.Errorf("it is not the file that was read up to byte %d before: it was replaced or cut; put the old one back, or start the job without its checkpoint", s.pos.offset)
		}
		return nil
	}
	s.print, info, err = takePrint(c.in.file)
	if err == nil {
		s.seen = max(s.seen, info.Size())
	}
	return err
}
