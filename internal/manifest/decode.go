package manifest

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/cutwater-io/cutwater/internal/blob"
	"github.com/cutwater-io/cutwater/internal/ident"
)

// Decode reads an encoding. Any damage is found by the checksum over all of it;
// the error is then blob.ErrCorrupt. The result shares memory with b. It
// allocates no more than a small multiple of len(b), also for hostile input.
func Decode(b []byte) (*Manifest, error) {
	m, err := decode(b)
	if err != nil {
		return nil, fmt.Errorf("decode manifest of %d bytes: %w", len(b), err)
	}
	return m, nil
}

func decode(b []byte) (*Manifest, error) {
	if len(b) < headerSize+crcSize || string(b[:4]) != magic {
		return nil, fmt.Errorf("it does not begin with a manifest header: %w", blob.ErrCorrupt)
	}
	// The checksum is at the end and covers everything before it in every
	// version, so damage of the version itself is not mistaken for a newer one.
	body, sum := b[:len(b)-crcSize], binary.LittleEndian.Uint32(b[len(b)-crcSize:])
	if got := crc32.Checksum(body, castagnoli); got != sum {
		return nil, fmt.Errorf("checksum is %08x, stored is %08x: %w", got, sum, blob.ErrCorrupt)
	}
	if v := binary.LittleEndian.Uint16(b[4:]); v != version {
		return nil, fmt.Errorf("it has format version %d and this program reads version %d: use a newer version of Cutwater", v, version)
	}
	if binary.LittleEndian.Uint16(b[6:]) != 0 {
		return nil, fmt.Errorf("its reserved bytes are not zero: %w", blob.ErrCorrupt)
	}
	if size := binary.LittleEndian.Uint64(b[8:]); size != uint64(len(body)-headerSize) {
		return nil, fmt.Errorf("its header says %d bytes: %w", size, blob.ErrCorrupt)
	}
	d := &decoder{b: body[headerSize:]}
	m := d.manifest()
	if d.err == nil && len(d.b) > 0 {
		d.fail("%d bytes too many", len(d.b))
	}
	if d.err == nil {
		if err := m.check(); err != nil {
			d.fail("%w", err)
		}
	}
	if d.err != nil {
		return nil, d.err
	}
	return m, nil
}

// decoder reads fields off the front of b. After an error every read returns
// zero, so callers check once at the end.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: %w", blob.ErrCorrupt, fmt.Errorf(format, args...))
	}
	d.b = nil
}

func (d *decoder) manifest() *Manifest {
	m := &Manifest{}
	copy(m.Job[:], d.take(16))
	m.JobName = d.string()
	m.Checkpoint = ident.CheckpointID(d.uint64())
	m.Token = ident.FencingToken(d.uint64())
	m.HashName = d.string()
	for _, v := range m.Stats.fields() {
		*v = d.varint()
	}
	// 16 bytes of id and at least one byte each for five fields more.
	for range d.count(16 + 5) {
		m.Operators = append(m.Operators, d.operator())
		if d.err != nil {
			break
		}
	}
	return m
}

func (d *decoder) operator() OperatorState {
	var o OperatorState
	copy(o.ID[:], d.take(16))
	o.Name = d.string()
	o.Parallelism = d.int32()
	o.MaxParallelism = d.int32()
	if d.present() {
		o.Coordinator = d.bytes()
	}
	for range d.count(3) {
		o.Subtasks = append(o.Subtasks, d.subtask())
		if d.err != nil {
			break
		}
	}
	return o
}

func (d *decoder) subtask() SubtaskState {
	s := SubtaskState{Subtask: d.int32()}
	for range d.count(3) {
		l := ListState{Name: d.string(), Mode: Mode(d.byte())}
		for range d.count(1) {
			l.Elements = append(l.Elements, d.bytes())
			if d.err != nil {
				break
			}
		}
		s.Lists = append(s.Lists, l)
		if d.err != nil {
			break
		}
	}
	if d.present() {
		s.Keyed = d.handle()
		s.Range.First = d.uint16()
		s.Range.Last = d.uint16()
	}
	return s
}

func (d *decoder) handle() *Handle {
	h := &Handle{}
	if d.present() {
		h.Object = d.string()
	} else {
		h.Inline = d.bytes()
	}
	size := d.uvarint()
	if size > math.MaxInt64 {
		d.fail("size %d", size)
	}
	h.Size = int64(size)
	return h
}

// take returns the next n bytes; they cannot be appended to by accident.
func (d *decoder) take(n uint64) []byte {
	if n > uint64(len(d.b)) {
		d.fail("%d bytes wanted where %d are left", n, len(d.b))
		return nil
	}
	p := d.b[:n:n]
	d.b = d.b[n:]
	return p
}

// count reads a number of elements, each of which takes at least minBytes.
func (d *decoder) count(minBytes int) uint64 {
	n := d.uvarint()
	if n > uint64(len(d.b)/minBytes) {
		d.fail("%d elements in %d bytes", n, len(d.b))
		return 0
	}
	return n
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	// A longer form of the same number is refused: one value, one encoding.
	if n <= 0 || n > 1 && d.b[n-1] == 0 {
		d.fail("a number is damaged")
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) varint() int64 {
	u := d.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

func (d *decoder) int32() int32 {
	v := d.uvarint()
	if v > math.MaxInt32 {
		d.fail("number %d is too large", v)
		return 0
	}
	return int32(v)
}

func (d *decoder) byte() byte {
	if p := d.take(1); p != nil {
		return p[0]
	}
	return 0
}

func (d *decoder) present() bool {
	v := d.byte()
	if v > 1 {
		d.fail("flag is %d", v)
	}
	return v == 1
}

func (d *decoder) uint16() uint16 {
	if p := d.take(2); p != nil {
		return binary.LittleEndian.Uint16(p)
	}
	return 0
}

func (d *decoder) uint64() uint64 {
	if p := d.take(8); p != nil {
		return binary.LittleEndian.Uint64(p)
	}
	return 0
}

func (d *decoder) bytes() []byte  { return d.take(d.uvarint()) }
func (d *decoder) string() string { return string(d.bytes()) }
