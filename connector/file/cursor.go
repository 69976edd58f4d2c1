package file

import (
	"bytes"

	"github.com/cutwater-io/cutwater/connector"
)

const (
	// bufferBytes is how much is read with one call.
	bufferBytes = 256 << 10
	// rawBytes is how much of a bad record is handed over.
	rawBytes = 1024
)

// found is what cursor.next met.
type found int

const (
	foundRecord found = iota
	// foundBad is a record that is too long; it is passed over.
	foundBad
	// foundIdle: the record is not complete; the file may grow.
	foundIdle
	// foundEnd: there is no more, and there will be none.
	foundEnd
)

// cursor cuts one open file into records.
//
//	      pos.offset                     in.at
//	          v                            v
//	file ...  |== record ==|== record ==|==|   ...
//	buf       r                            w
//
// Invariant: pos is the position of buf[r], except while a record that is too
// long is passed over: then it stays at the begin of the record, and over counts
// the bytes between pos.offset and buf[r].
type cursor struct {
	split split
	in    *input
	pos   position
	buf   []byte // nil when nothing is buffered: an idle file costs no memory
	r, w  int
	atEnd bool // the last read met the end of the file
	final bool // nothing will be appended: what is there without a newline is a record
	over  int64
	raw   []byte // begin of the record that is passed over
	// needHeader: the header has not been met; a followed file may be empty.
	needHeader bool

	// start is where the record returned last begins, for error messages.
	start position
}

// next returns the next record of at most maxRecord bytes and moves behind it.
// The record is valid until the next call.
func (c *cursor) next(frame func([]byte, bool) (int, int), maxRecord int) (record []byte, f found, err error) {
	if frame == nil && c.over == 0 {
		// What nearly every call meets: a line that is in the buffer.
		if n := bytes.IndexByte(c.buf[c.r:c.w], '\n'); n >= 0 && n <= maxRecord {
			record = c.buf[c.r : c.r+n]
			c.start = c.pos
			c.r += n + 1
			c.pos.offset += int64(n) + 1
			c.pos.line++
			if n > 0 && record[n-1] == '\r' {
				record = record[:n-1]
			}
			return record, foundRecord, nil
		}
	}
	for {
		if c.over > 0 {
			return c.passOver(maxRecord)
		}
		if data := c.buf[c.r:c.w]; len(data) > 0 {
			var length, content int
			if frame == nil {
				length, content = frameLine(data, c.atEnd && c.final)
			} else {
				length, content = frame(data, c.atEnd && c.final)
			}
			if length > 0 {
				record = data[:content]
				c.advance(data[:length])
				if content > maxRecord {
					return record, foundBad, nil
				}
				return record, foundRecord, nil
			}
			if len(data) > maxRecord+1 { // a "\r" does not count
				return c.tooLong(data, maxRecord)
			}
		}
		if c.atEnd {
			if c.final {
				return nil, foundEnd, nil
			}
			return nil, foundIdle, nil
		}
		if err := c.fill(maxRecord); err != nil {
			return nil, foundEnd, err
		}
	}
}

// frameLine cuts the first line: to "\n", and at the end of the file to there. A
// "\r" before the end of a line belongs to the end.
func frameLine(data []byte, atEnd bool) (length, content int) {
	n := bytes.IndexByte(data, '\n')
	length = n + 1
	if n < 0 {
		if !atEnd {
			return 0, 0
		}
		n = len(data)
		length = n
	}
	if n > 0 && data[n-1] == '\r' {
		n--
	}
	return length, n
}

// advance moves behind a record of which all bytes are buffered.
func (c *cursor) advance(whole []byte) {
	c.start = c.pos
	c.r += len(whole)
	c.pos.offset += int64(len(whole))
	c.pos.line += lines(whole)
}

// lines counts the lines of a record; the last may lack its newline.
func lines(whole []byte) int64 {
	if n := len(whole) - 1; bytes.IndexByte(whole[:n], '\n') < 0 {
		return 1
	}
	return int64(bytes.Count(whole[:len(whole)-1], newline)) + 1
}

var newline = []byte{'\n'}

// tooLong begins to pass over a record that does not fit. When the frame spans
// several lines, only its first line is given up: an unclosed quote must not
// swallow the rest of the file.
func (c *cursor) tooLong(data []byte, maxRecord int) ([]byte, found, error) {
	if n := bytes.IndexByte(data, '\n'); n >= 0 {
		c.advance(data[:n+1])
		return data[:n], foundBad, nil
	}
	c.raw = append([]byte(nil), data[:min(len(data), rawBytes)]...)
	c.over = int64(len(data))
	c.r, c.w = 0, 0
	return c.passOver(maxRecord)
}

// passOver looks for the end of the line that is too long.
func (c *cursor) passOver(maxRecord int) ([]byte, found, error) {
	for {
		data := c.buf[c.r:c.w]
		n := bytes.IndexByte(data, '\n')
		if n >= 0 || c.atEnd && c.final {
			if n < 0 {
				n = len(data) - 1
			}
			c.start = c.pos
			c.r += n + 1
			c.pos = position{offset: c.pos.offset + c.over + int64(n) + 1, line: c.pos.line + 1}
			c.over = 0
			raw := c.raw
			c.raw = nil
			return raw, foundBad, nil
		}
		c.over += int64(len(data))
		c.r, c.w = 0, 0
		if c.atEnd {
			return nil, foundIdle, nil
		}
		if err := c.fill(maxRecord); err != nil {
			return nil, foundEnd, err
		}
	}
}

// fill reads more behind what is buffered. The buffer grows when one record
// fills it, up to the longest record that is allowed.
func (c *cursor) fill(maxRecord int) error {
	switch {
	case c.buf == nil:
		c.buf = make([]byte, bufferBytes)
	case c.r > 0:
		c.w = copy(c.buf, c.buf[c.r:c.w])
		c.r = 0
	case c.w == len(c.buf):
		// +2 for the end of a line of just maxRecord bytes.
		grown := make([]byte, max(min(2*len(c.buf), maxRecord+2), len(c.buf)+1))
		copy(grown, c.buf[:c.w])
		c.buf = grown
	}
	n, err := c.in.read(c.buf[c.w:])
	c.atEnd = n < len(c.buf)-c.w
	c.w += n
	return err
}

// release gives the buffer back when nothing is in it; nil when something is.
func (c *cursor) release() []byte {
	if c.r != c.w || c.buf == nil {
		return nil
	}
	b := c.buf
	c.buf, c.r, c.w = nil, 0, 0
	if len(b) > bufferBytes {
		return nil // grown by a long record; the next file hardly needs it
	}
	return b
}

// snapshot is the split with the position after the last record.
func (c *cursor) snapshot() connector.Split {
	s := c.split
	s.pos = c.pos
	return s.encode()
}
