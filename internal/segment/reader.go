package segment

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"sort"

	"github.com/cutwater-io/cutwater/internal/blob"
)

// StateInfo is what the index says about one state.
type StateInfo struct {
	ID     StateID
	Schema Schema
	Groups []GroupInfo // ascending by KeyGroup
}

// Entries is the number of entries in all groups.
func (s *StateInfo) Entries() int64 {
	var n int64
	for _, g := range s.Groups {
		n += g.Entries
	}
	return n
}

// Bytes is the size of all groups.
func (s *StateInfo) Bytes() int64 {
	var n int64
	for _, g := range s.Groups {
		n += g.Length
	}
	return n
}

// GroupInfo is where the entries of one key group of a state lie.
type GroupInfo struct {
	KeyGroup uint16
	Offset   int64 // in the segment, bytes
	Length   int64 // bytes
	Entries  int64
	CRC      uint32 // CRC-32C of the bytes
}

// Reader reads a segment by state and key group. Its methods may be called from
// any goroutine if the ReaderAt allows it.
type Reader struct {
	r      io.ReaderAt
	states []StateInfo
	byID   map[StateID]int
}

// NewReader opens a segment of size bytes and verifies header, index and footer.
// Groups are verified when they are read. An error that wraps blob.ErrCorrupt
// says that the bytes are damaged; any other is of r.
func NewReader(r io.ReaderAt, size int64) (*Reader, error) {
	if size < headerSize+footerSize {
		return nil, corrupt("%d bytes are too few for a segment", size)
	}
	var head [headerSize]byte
	if err := readFull(r, head[:], 0); err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	if [8]byte(head[:8]) != headerMagic {
		return nil, corrupt("it does not begin as a segment does")
	}
	if v := le.Uint32(head[8:]); v != Version {
		return nil, corrupt("its format version is %d, this program reads %d", v, Version)
	}
	if le.Uint32(head[12:]) != 0 {
		return nil, corrupt("reserved bytes of the header are set")
	}
	var foot [footerSize]byte
	if err := readFull(r, foot[:], size-footerSize); err != nil {
		return nil, err
	}
	if [8]byte(foot[24:]) != footerMagic {
		return nil, corrupt("it does not end as a segment does: it was cut off, or the size %d is wrong", size)
	}
	if crc32.Checksum(foot[:20], castagnoli) != le.Uint32(foot[20:]) {
		return nil, corrupt("the checksum of the footer does not match")
	}
	indexOff, indexLen := le.Uint64(foot[:]), le.Uint64(foot[8:])
	if indexOff < headerSize || indexOff > uint64(size) || indexLen != uint64(size)-footerSize-indexOff {
		return nil, corrupt("the index [%d, +%d) does not fit in %d bytes", indexOff, indexLen, size)
	}
	index, err := readChecked(r, int64(indexOff), int64(indexLen), le.Uint32(foot[16:]))
	if err != nil {
		return nil, fmt.Errorf("segment: read index: %w", err)
	}
	states, err := parseIndex(index, int64(indexOff))
	if err != nil {
		return nil, err
	}
	sr := &Reader{r: r, states: states, byID: map[StateID]int{}}
	for i, s := range states {
		if _, ok := sr.byID[s.ID]; ok {
			return nil, corrupt("state %q with namespace %d is there twice", s.ID.Name, s.ID.Namespace)
		}
		sr.byID[s.ID] = i
	}
	return sr, nil
}

// States lists the states in the order they were written. The caller must not
// change the result.
func (r *Reader) States() []StateInfo { return r.states }

// State finds a state.
func (r *Reader) State(id StateID) (StateInfo, bool) {
	i, ok := r.byID[id]
	if !ok {
		return StateInfo{}, false
	}
	return r.states[i], true
}

// Group reads the entries of one key group and verifies them. A state or group
// that is not there has no entries: nil, 0, nil.
func (r *Reader) Group(id StateID, keyGroup uint16) (data []byte, entries int, err error) {
	i, ok := r.byID[id]
	if !ok {
		return nil, 0, nil
	}
	groups := r.states[i].Groups
	j := sort.Search(len(groups), func(j int) bool { return groups[j].KeyGroup >= keyGroup })
	if j == len(groups) || groups[j].KeyGroup != keyGroup {
		return nil, 0, nil
	}
	g := groups[j]
	data, err = readChecked(r.r, g.Offset, g.Length, g.CRC)
	if err != nil {
		return nil, 0, fmt.Errorf("segment: state %q: read key group %d: %w", id.Name, keyGroup, err)
	}
	return data, int(g.Entries), nil
}

// readChecked reads n bytes in pieces, so that a wrong n ends at the end of the
// object instead of in a huge allocation, and compares the checksum.
func readChecked(r io.ReaderAt, off, n int64, crc uint32) ([]byte, error) {
	const piece = 4 << 20
	b := make([]byte, 0, min(n, piece))
	for int64(len(b)) < n {
		have := len(b)
		more := int(min(n-int64(have), piece))
		b = slices.Grow(b, more)[:have+more]
		if err := readFull(r, b[have:], off+int64(have)); err != nil {
			return nil, err
		}
	}
	if got := crc32.Checksum(b, castagnoli); got != crc {
		return nil, corrupt("the checksum of bytes [%d, +%d) is %08x instead of %08x", off, n, got, crc)
	}
	return b, nil
}

// readFull fills b. Storage may return less than was asked for, with or without
// an error (an io.ReaderAt should not, but S303).
func readFull(r io.ReaderAt, b []byte, off int64) error {
	empty := 0
	for len(b) > 0 {
		n, err := r.ReadAt(b, off)
		b, off = b[n:], off+int64(n)
		switch {
		case len(b) == 0:
			return nil
		case err == io.EOF && n == 0:
			return corrupt("it ends at byte %d, %d bytes early", off, len(b))
		case err != nil && err != io.EOF:
			return fmt.Errorf("segment: read at %d: %w", off, err)
		case n > 0:
			empty = 0
		default:
			if empty++; empty == 100 {
				return fmt.Errorf("segment: read at %d: %w", off, io.ErrNoProgress)
			}
		}
	}
	return nil
}

func corrupt(format string, args ...any) error {
	return fmt.Errorf("segment: %s: %w", fmt.Sprintf(format, args...), blob.ErrCorrupt)
}
