package joblog

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/cutwater-io/cutwater/internal/blob"
	"github.com/cutwater-io/cutwater/internal/ident"
)

// Format of an entry, drawn in doc/format/joblog.md.
const (
	magic      = "CWLE"
	version    = 1
	headerSize = 4 + 2 + 1 + 1 + 8 + 8 + 16 // magic, version, kind, reserved, slot, token, writer
	crcSize    = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// record is an entry with who wrote it and where.
type record struct {
	slot  uint64
	token ident.FencingToken
	// writer is drawn at each Open. It makes entries of two processes differ
	// even if they say the same, so that each can tell whose is in the slot.
	writer [16]byte
	entry  Entry
}

func (r *record) encode() []byte {
	b := make([]byte, 0, 128)
	b = append(b, magic...)
	b = binary.LittleEndian.AppendUint16(b, version)
	b = append(b, byte(r.entry.kind()), 0)
	b = binary.LittleEndian.AppendUint64(b, r.slot)
	b = binary.LittleEndian.AppendUint64(b, uint64(r.token))
	b = append(b, r.writer[:]...)
	b = appendEntry(b, r.entry)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func appendEntry(b []byte, e Entry) []byte {
	switch e := e.(type) {
	case Created:
		b = append(b, e.Job[:]...)
		b = appendString(b, e.JobName)
	case Claim: // the token is in the header
	case Reserve:
		b = binary.LittleEndian.AppendUint64(b, uint64(e.First))
		b = binary.LittleEndian.AppendUint32(b, e.Count)
	case Completed:
		b = appendCompleted(b, e)
	case Removed:
		b = binary.LittleEndian.AppendUint64(b, uint64(e.Checkpoint))
	case Stopped:
		b = append(b, byte(e.Status))
		b = appendString(b, e.Message)
	case Fresh, void:
	case snapshot:
		b = appendState(b, &e.state)
	default:
		panic(fmt.Sprintf("joblog: entry of type %T", e))
	}
	return b
}

func appendCompleted(b []byte, c Completed) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(c.Checkpoint))
	b = append(b, byte(c.Kind))
	return appendString(b, c.Manifest)
}

func appendState(b []byte, s *state) []byte {
	b = append(b, s.job[:]...)
	b = appendString(b, s.jobName)
	b = binary.LittleEndian.AppendUint64(b, uint64(s.token))
	b = binary.LittleEndian.AppendUint64(b, uint64(s.nextID))
	finished := byte(0)
	if s.finished {
		finished = 1
	}
	b = append(b, byte(s.lastStop), finished)
	for _, list := range [][]Completed{s.completed, s.former} {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(list)))
		for _, c := range list {
			b = appendCompleted(b, c)
		}
	}
	return b
}

func appendString(b []byte, s string) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(s)))
	return append(b, s...)
}

// decode reads the entry that was found in a slot. Errors are blob.ErrCorrupt,
// except for a newer version of the format.
func decode(slot uint64, b []byte) (*record, error) {
	r, err := decodeRecord(b)
	if err == nil && r.slot != slot {
		err = fmt.Errorf("it was written for slot %d: %w", r.slot, blob.ErrCorrupt)
	}
	if err != nil {
		return nil, fmt.Errorf("job log entry %s: %w", nameOf(slot), err)
	}
	return r, nil
}

func decodeRecord(b []byte) (*record, error) {
	if len(b) < headerSize+crcSize || string(b[:4]) != magic {
		return nil, fmt.Errorf("it does not begin with an entry header: %w", blob.ErrCorrupt)
	}
	body, sum := b[:len(b)-crcSize], binary.LittleEndian.Uint32(b[len(b)-crcSize:])
	if got := crc32.Checksum(body, castagnoli); got != sum {
		return nil, fmt.Errorf("checksum is %08x, stored is %08x: %w", got, sum, blob.ErrCorrupt)
	}
	if v := binary.LittleEndian.Uint16(b[4:]); v != version {
		return nil, fmt.Errorf("it has format version %d and this program reads version %d: use a newer version of Cutwater", v, version)
	}
	r := &record{
		slot:   binary.LittleEndian.Uint64(b[8:]),
		token:  ident.FencingToken(binary.LittleEndian.Uint64(b[16:])),
		writer: [16]byte(b[24:40]),
	}
	d := &decoder{b: body[headerSize:]}
	r.entry = d.entry(kind(b[6]), r.token)
	if r.entry == nil || d.bad || len(d.b) > 0 || b[7] != 0 {
		return nil, fmt.Errorf("its content of kind %d is not well formed: %w", b[6], blob.ErrCorrupt)
	}
	return r, nil
}

// decoder reads fields off the front of b. After the first that is not there,
// bad is set and everything reads as zero.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) entry(k kind, token ident.FencingToken) Entry {
	switch k {
	case kindCreated:
		return Created{Job: ident.JobID(d.fixed(16)), JobName: d.string()}
	case kindClaim:
		return Claim{Token: token}
	case kindReserve:
		return Reserve{First: ident.CheckpointID(d.uint64()), Count: d.uint32()}
	case kindCompleted:
		return d.completed()
	case kindRemoved:
		return Removed{Checkpoint: ident.CheckpointID(d.uint64())}
	case kindFresh:
		return Fresh{}
	case kindStopped:
		return Stopped{Status: Status(d.byte()), Message: d.string()}
	case kindVoid:
		return void{}
	case kindSnapshot:
		return snapshot{d.state(token)}
	}
	return nil
}

func (d *decoder) completed() Completed {
	return Completed{
		Checkpoint: ident.CheckpointID(d.uint64()),
		Kind:       CheckpointKind(d.byte()),
		Manifest:   d.string(),
	}
}

func (d *decoder) state(writer ident.FencingToken) state {
	s := state{job: ident.JobID(d.fixed(16)), jobName: d.string()}
	s.token = ident.FencingToken(d.uint64())
	s.nextID = ident.CheckpointID(d.uint64())
	s.lastStop = Status(d.byte())
	finished := d.byte()
	s.finished = finished == 1
	s.completed = d.list()
	s.former = d.list()
	// A snapshot is written by the leader it tells of.
	d.bad = d.bad || finished > 1 || s.lastStop > Suspended || s.token != writer ||
		s.nextID == 0 || uint64(s.nextID) > math.MaxInt64
	return s
}

// list reads checkpoints. It grows with what is there, not with what the count
// says.
func (d *decoder) list() []Completed {
	var list []Completed
	for n := d.uint32(); n > 0 && !d.bad; n-- {
		c := d.completed()
		if len(list) > 0 && list[len(list)-1].Checkpoint >= c.Checkpoint {
			d.bad = true
		}
		list = append(list, c)
	}
	return list
}

// fixed returns the next n bytes, zeros if they are not there.
func (d *decoder) fixed(n int) []byte {
	if n > len(d.b) {
		d.bad, d.b = true, nil
		return make([]byte, n)
	}
	p := d.b[:n]
	d.b = d.b[n:]
	return p
}

func (d *decoder) byte() byte     { return d.fixed(1)[0] }
func (d *decoder) uint32() uint32 { return binary.LittleEndian.Uint32(d.fixed(4)) }
func (d *decoder) uint64() uint64 { return binary.LittleEndian.Uint64(d.fixed(8)) }

func (d *decoder) string() string {
	n := d.uint32()
	if uint64(n) > uint64(len(d.b)) {
		d.bad, d.b = true, nil
		return ""
	}
	return string(bytes.Clone(d.fixed(int(n))))
}
