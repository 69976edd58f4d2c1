package segment

import "encoding/binary"

// parseIndex reads the index of a segment whose groups end at end. The groups
// must cover the bytes between header and index without a gap, so that every
// byte of a segment stands under a checksum.
func parseIndex(b []byte, end int64) ([]StateInfo, error) {
	p := indexParser{b: b}
	n := p.count(minStateSize)
	states := make([]StateInfo, 0, n)
	next := int64(headerSize)
	for range n {
		var s StateInfo
		s.ID.Name = p.text()
		s.ID.Namespace = int64(p.u64())
		s.Schema = Schema{Key: p.text(), Value: p.text(), Layout: p.text()}
		groups := p.count(groupRecordSize)
		s.Groups = make([]GroupInfo, 0, groups)
		for i := range groups {
			g := GroupInfo{KeyGroup: p.u16(), Offset: int64(p.u64()), Length: int64(p.u64()), Entries: int64(p.u64()), CRC: p.u32()}
			if p.failed {
				break
			}
			if i > 0 && s.Groups[i-1].KeyGroup >= g.KeyGroup {
				return nil, corrupt("key groups of state %q are not ascending", s.ID.Name)
			}
			if g.Offset != next || g.Length < 0 || g.Length > end-next {
				return nil, corrupt("key group %d of state %q is at [%d, +%d) instead of from %d to at most %d", g.KeyGroup, s.ID.Name, g.Offset, g.Length, next, end)
			}
			if g.Entries < 0 {
				return nil, corrupt("key group %d of state %q has %d entries", g.KeyGroup, s.ID.Name, g.Entries)
			}
			next += g.Length
			s.Groups = append(s.Groups, g)
		}
		states = append(states, s)
	}
	if p.failed || len(p.b) > 0 {
		return nil, corrupt("the index does not have the length of its content")
	}
	if next != end {
		return nil, corrupt("bytes [%d, %d) belong to no key group", next, end)
	}
	return states, nil
}

// indexParser reads from the front of b. After a read beyond the end it has
// failed and returns zeros.
type indexParser struct {
	b      []byte
	failed bool
}

func (p *indexParser) bytes(n uint64) []byte {
	if n > uint64(len(p.b)) {
		p.failed = true
		p.b = nil
		return nil
	}
	b := p.b[:n]
	p.b = p.b[n:]
	return b
}

func (p *indexParser) u16() uint16 {
	if b := p.bytes(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (p *indexParser) u32() uint32 {
	if b := p.bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (p *indexParser) u64() uint64 {
	if b := p.bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (p *indexParser) text() string { return string(p.bytes(uint64(p.u32()))) }

// count reads a number of records of at least size bytes each, all of which
// must still follow: a damaged number never decides about an allocation.
func (p *indexParser) count(size int) int {
	n := p.u32()
	if uint64(n)*uint64(size) > uint64(len(p.b)) {
		p.failed = true
		p.b = nil
		return 0
	}
	return int(n)
}
