package file

import (
	"encoding/binary"
	"errors"
)

// The encodings of this package (splits, enumerator state, committables, reader
// events) are a version byte followed by unsigned varints and by strings with
// their length in front. The engine stores them inside checksummed objects, so
// they carry no checksum of their own.

var errMalformed = errors.New("malformed data")

func appendString(dst []byte, s string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

// decoder takes values from the front of data. After the first error it returns
// zero values; err tells.
type decoder struct {
	data []byte
	err  error
}

func (d *decoder) fail() {
	d.data, d.err = nil, errMalformed
}

func (d *decoder) version(want byte) {
	if len(d.data) == 0 || d.data[0] != want {
		d.fail()
		return
	}
	d.data = d.data[1:]
}

func (d *decoder) uint() uint64 {
	v, n := binary.Uvarint(d.data)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.data = d.data[n:]
	return v
}

// size is an unsigned number that has to fit an int64: a length or an offset.
func (d *decoder) size() int64 {
	v := d.uint()
	if v > 1<<63-1 {
		d.fail()
		return 0
	}
	return int64(v)
}

func (d *decoder) string() string {
	n := d.uint()
	if n > uint64(len(d.data)) {
		d.fail()
		return ""
	}
	s := string(d.data[:n])
	d.data = d.data[n:]
	return s
}

// end returns the first error; bytes left over are one.
func (d *decoder) end() error {
	if d.err == nil && len(d.data) != 0 {
		d.fail()
	}
	return d.err
}
