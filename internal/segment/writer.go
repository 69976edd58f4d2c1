package segment

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

const bufferSize = 1 << 20

// Writer writes a segment front to back. It is used by one goroutine: WriteState
// for each state, then Close. After an error the segment is worthless.
type Writer struct {
	w      *bufio.Writer
	off    int64
	states []StateInfo
	seen   map[StateID]bool
	open   *GroupInfo // of the state being written; nil: none
	err    error
	closed bool
}

// NewWriter starts a segment in w, which receives at most 1 MiB at a time. The
// caller makes the object durable after Close.
func NewWriter(w io.Writer) *Writer {
	sw := &Writer{w: bufio.NewWriterSize(w, bufferSize), seen: map[StateID]bool{}}
	h := append([]byte{}, headerMagic[:]...)
	h = binary.LittleEndian.AppendUint32(h, Version)
	h = binary.LittleEndian.AppendUint32(h, 0) // reserved
	sw.put(h)
	return sw
}

// WriteState writes one state. It does not release src. Each state may be
// written once.
func (w *Writer) WriteState(src Source) error {
	if w.err != nil {
		return w.err
	}
	id := src.ID()
	if w.seen[id] {
		return w.fail(fmt.Errorf("segment: state %q with namespace %d is written twice", id.Name, id.Namespace))
	}
	w.seen[id] = true
	w.states = append(w.states, StateInfo{ID: id, Schema: src.Schema()})
	w.open = nil
	err := src.WriteGroups((*groupWriter)(w))
	w.open = nil
	if err != nil {
		return w.fail(fmt.Errorf("segment: write state %q: %w", id.Name, err))
	}
	return w.err
}

// Close writes index and footer and returns the size of the segment in bytes.
// It does not close the writer beneath.
func (w *Writer) Close() (size int64, err error) {
	if w.err != nil {
		return w.off, w.err
	}
	if w.closed {
		return w.off, w.fail(errors.New("segment: closed twice"))
	}
	w.closed = true
	indexOff := w.off
	index := appendIndex(nil, w.states)
	w.put(index)
	f := binary.LittleEndian.AppendUint64(nil, uint64(indexOff))
	f = binary.LittleEndian.AppendUint64(f, uint64(len(index)))
	f = binary.LittleEndian.AppendUint32(f, crc32.Checksum(index, castagnoli))
	f = binary.LittleEndian.AppendUint32(f, crc32.Checksum(f, castagnoli))
	f = append(f, footerMagic[:]...)
	w.put(f)
	if w.err == nil {
		if err := w.w.Flush(); err != nil {
			w.fail(fmt.Errorf("segment: write: %w", err))
		}
	}
	return w.off, w.err
}

// Size is the number of bytes so far.
func (w *Writer) Size() int64 { return w.off }

func (w *Writer) fail(err error) error {
	if w.err == nil {
		w.err = err
	}
	return w.err
}

func (w *Writer) put(p []byte) {
	if w.err != nil {
		return
	}
	if _, err := w.w.Write(p); err != nil {
		w.fail(fmt.Errorf("segment: write: %w", err))
		return
	}
	w.off += int64(len(p))
}

// groupWriter is the side of a Writer that a Source sees.
type groupWriter Writer

func (g *groupWriter) Begin(keyGroup uint16) error {
	w := (*Writer)(g)
	if w.err != nil {
		return w.err
	}
	s := &w.states[len(w.states)-1]
	if n := len(s.Groups); n > 0 && s.Groups[n-1].KeyGroup >= keyGroup {
		return w.fail(fmt.Errorf("segment: state %q: key group %d begins after group %d", s.ID.Name, keyGroup, s.Groups[n-1].KeyGroup))
	}
	s.Groups = append(s.Groups, GroupInfo{KeyGroup: keyGroup, Offset: w.off})
	w.open = &s.Groups[len(s.Groups)-1]
	return nil
}

func (g *groupWriter) Write(p []byte) (int, error) {
	w := (*Writer)(g)
	if w.open == nil {
		return 0, w.fail(errors.New("segment: write outside of a key group"))
	}
	w.open.CRC = crc32.Update(w.open.CRC, castagnoli, p)
	w.open.Length += int64(len(p))
	w.put(p)
	if w.err != nil {
		return 0, w.err
	}
	return len(p), nil
}

func (g *groupWriter) AddEntries(n int) {
	if w := (*Writer)(g); w.open != nil {
		w.open.Entries += int64(n)
	}
}

func appendIndex(b []byte, states []StateInfo) []byte {
	le := binary.LittleEndian
	text := func(s string) {
		b = le.AppendUint32(b, uint32(len(s)))
		b = append(b, s...)
	}
	b = le.AppendUint32(b, uint32(len(states)))
	for _, s := range states {
		text(s.ID.Name)
		b = le.AppendUint64(b, uint64(s.ID.Namespace))
		text(s.Schema.Key)
		text(s.Schema.Value)
		text(s.Schema.Layout)
		b = le.AppendUint32(b, uint32(len(s.Groups)))
		for _, g := range s.Groups {
			b = le.AppendUint16(b, g.KeyGroup)
			b = le.AppendUint64(b, uint64(g.Offset))
			b = le.AppendUint64(b, uint64(g.Length))
			b = le.AppendUint64(b, uint64(g.Entries))
			b = le.AppendUint32(b, g.CRC)
		}
	}
	return b
}
