package gen

import (
	"encoding/binary"
	"fmt"

	"github.com/cutwater-io/cutwater/connector"
)

// split is every of-th number from index on, of which count are done.
//
// Invariant: index < of <= MaxSplits.
type split struct {
	id        string
	index, of uint64
	count     uint64
}

// An encoded split is 25 bytes: format 1, then index, of and count as 64-bit
// little-endian numbers.
const (
	splitFormat = 1
	splitBytes  = 1 + 3*8
)

func newSplit(index, of, count uint64) split {
	return split{id: fmt.Sprintf("%d/%d", index, of), index: index, of: of, count: count}
}

// next returns the number that comes next.
func (s *split) next() uint64 { return s.index + s.count*s.of }

// total returns how many numbers below end the split has.
func (s *split) total(end uint64) uint64 {
	if end <= s.index {
		return 0
	}
	return (end-1-s.index)/s.of + 1
}

func (s *split) encode() connector.Split {
	return connector.Split{ID: s.id, Data: s.appendTo(make([]byte, 0, splitBytes))}
}

func (s *split) appendTo(b []byte) []byte {
	b = append(b, splitFormat)
	for _, n := range [...]uint64{s.index, s.of, s.count} {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	return b
}

func decodeSplit(b []byte) (split, error) {
	if len(b) != splitBytes {
		return split{}, fmt.Errorf("gen: decode a split: %d bytes, want %d; the checkpoint belongs to another source or is damaged", len(b), splitBytes)
	}
	if b[0] != splitFormat {
		return split{}, fmt.Errorf("gen: decode a split: format %d is not known, only %d; restore with the program version that wrote it", b[0], splitFormat)
	}
	index, of, count := binary.LittleEndian.Uint64(b[1:]), binary.LittleEndian.Uint64(b[9:]), binary.LittleEndian.Uint64(b[17:])
	if of == 0 || of > MaxSplits || index >= of || count > ^uint64(0)/of-1 {
		return split{}, fmt.Errorf("gen: decode a split: number %d of %d at count %d is impossible; the checkpoint is damaged", index, of, count)
	}
	return newSplit(index, of, count), nil
}
