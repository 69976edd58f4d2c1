package manifest

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
)

// Format of the encoding, drawn in doc/format/manifest.md.
const (
	magic      = "CWMF"
	version    = 1
	headerSize = 4 + 2 + 2 + 8 // magic, version, reserved, size of the body
	crcSize    = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Encode returns the encoding of m. Equal manifests have equal encodings. It
// fails if m is not well formed: then Decode would refuse it too.
func Encode(m *Manifest) ([]byte, error) {
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("encode manifest of checkpoint %d: %w", m.Checkpoint, err)
	}
	b := make([]byte, headerSize, 4096)
	copy(b, magic)
	binary.LittleEndian.PutUint16(b[4:], version)
	b = append(b, m.Job[:]...)
	b = appendString(b, m.JobName)
	b = binary.LittleEndian.AppendUint64(b, uint64(m.Checkpoint))
	b = binary.LittleEndian.AppendUint64(b, uint64(m.Token))
	b = appendString(b, m.HashName)
	for _, v := range m.Stats.fields() {
		b = binary.AppendVarint(b, *v)
	}
	b = binary.AppendUvarint(b, uint64(len(m.Operators)))
	for i := range m.Operators {
		b = appendOperator(b, &m.Operators[i])
	}
	binary.LittleEndian.PutUint64(b[8:], uint64(len(b)-headerSize))
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli)), nil
}

// fields lists the statistics in the order of the encoding.
func (s *Stats) fields() [7]*int64 {
	return [...]*int64{&s.TriggeredMillis, &s.DurationMillis, &s.AlignmentMillis,
		&s.StartDelayMillis, &s.SyncMillis, &s.AsyncMillis, &s.Bytes}
}

func appendOperator(b []byte, o *OperatorState) []byte {
	b = append(b, o.ID[:]...)
	b = appendString(b, o.Name)
	b = binary.AppendUvarint(b, uint64(o.Parallelism))
	b = binary.AppendUvarint(b, uint64(o.MaxParallelism))
	b = appendPresent(b, o.Coordinator != nil)
	if o.Coordinator != nil {
		b = appendBytes(b, o.Coordinator)
	}
	b = binary.AppendUvarint(b, uint64(len(o.Subtasks)))
	for i := range o.Subtasks {
		b = appendSubtask(b, &o.Subtasks[i])
	}
	return b
}

func appendSubtask(b []byte, s *SubtaskState) []byte {
	b = binary.AppendUvarint(b, uint64(s.Subtask))
	b = binary.AppendUvarint(b, uint64(len(s.Lists)))
	for i := range s.Lists {
		l := &s.Lists[i]
		b = appendString(b, l.Name)
		b = append(b, byte(l.Mode))
		b = binary.AppendUvarint(b, uint64(len(l.Elements)))
		for _, e := range l.Elements {
			b = appendBytes(b, e)
		}
	}
	b = appendPresent(b, s.Keyed != nil)
	if s.Keyed != nil {
		b = appendHandle(b, s.Keyed)
		b = binary.LittleEndian.AppendUint16(b, s.Range.First)
		b = binary.LittleEndian.AppendUint16(b, s.Range.Last)
	}
	return b
}

func appendHandle(b []byte, h *Handle) []byte {
	inObject := h.Object != ""
	b = appendPresent(b, inObject)
	if inObject {
		b = appendString(b, h.Object)
	} else {
		b = appendBytes(b, h.Inline)
	}
	return binary.AppendUvarint(b, uint64(h.Size))
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendBytes(b, p []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(p))), p...)
}

func appendPresent(b []byte, present bool) []byte {
	if present {
		return append(b, 1)
	}
	return append(b, 0)
}

// maxKeyGroups bounds max parallelism (specification 5.2).
const maxKeyGroups = 32768

// check returns why m is not well formed. Both sides of the codec call it, so
// that nothing can be written that cannot be read, and nothing is restored that
// would lose or repeat state.
func (m *Manifest) check() error {
	for i := range m.Operators {
		o := &m.Operators[i]
		if i > 0 && m.Operators[i-1].Name >= o.Name {
			return fmt.Errorf("operator %q does not follow %q: names must ascend", o.Name, m.Operators[i-1].Name)
		}
		if err := o.check(); err != nil {
			return fmt.Errorf("operator %q: %w", o.Name, err)
		}
	}
	return nil
}

func (o *OperatorState) check() error {
	if o.MaxParallelism < 1 || o.MaxParallelism > maxKeyGroups {
		return fmt.Errorf("max parallelism %d is not between 1 and %d", o.MaxParallelism, maxKeyGroups)
	}
	if o.Parallelism < 1 || o.Parallelism > o.MaxParallelism {
		return fmt.Errorf("parallelism %d is not between 1 and the max parallelism %d", o.Parallelism, o.MaxParallelism)
	}
	last := int32(-1)
	keyed := int32(-1) // last key group that some subtask has
	for i := range o.Subtasks {
		s := &o.Subtasks[i]
		if s.Subtask <= last || s.Subtask >= o.Parallelism {
			return fmt.Errorf("subtask %d after %d at parallelism %d", s.Subtask, last, o.Parallelism)
		}
		last = s.Subtask
		if err := s.check(); err != nil {
			return fmt.Errorf("subtask %d: %w", s.Subtask, err)
		}
		if s.Keyed == nil {
			continue
		}
		// Ranges ascend with the subtask, so one comparison finds any overlap.
		if int32(s.Range.First) <= keyed || int32(s.Range.Last) >= o.MaxParallelism {
			return fmt.Errorf("subtask %d: key groups %d to %d overlap those of another subtask or exceed the max parallelism %d",
				s.Subtask, s.Range.First, s.Range.Last, o.MaxParallelism)
		}
		keyed = int32(s.Range.Last)
	}
	return nil
}

func (s *SubtaskState) check() error {
	names := make(map[string]bool, len(s.Lists))
	for i := range s.Lists {
		l := &s.Lists[i]
		if names[l.Name] {
			return fmt.Errorf("list state %q is there twice", l.Name)
		}
		names[l.Name] = true
		if l.Mode > Broadcast {
			return fmt.Errorf("list state %q has the unknown mode %d", l.Name, l.Mode)
		}
	}
	if s.Keyed == nil {
		if s.Range != (Range{}) {
			return fmt.Errorf("key groups without keyed state")
		}
		return nil
	}
	if s.Range.First > s.Range.Last {
		return fmt.Errorf("key groups %d to %d are not a range", s.Range.First, s.Range.Last)
	}
	h := s.Keyed
	if (h.Inline != nil) == (h.Object != "") {
		return fmt.Errorf("keyed state must be either inline or an object")
	}
	if h.Size < 0 || h.Size == math.MaxInt64 || h.Inline != nil && h.Size != int64(len(h.Inline)) {
		return fmt.Errorf("keyed state has the wrong size %d", h.Size)
	}
	return nil
}
