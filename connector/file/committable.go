package file

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"strings"
)

// committableVersion is the first byte of an encoded committable.
const committableVersion = 1

// committable names one staged part and where it belongs. Both names are
// relative to the sink's directory, so that the directory may be mounted
// elsewhere when the job is restored.
type committable struct {
	staged string // file name inside .staging
	target string // slash-separated path below the directory
	size   int64  // bytes
	crc    uint32 // CRC-32C of the content
}

func (c committable) encode() []byte {
	dst := []byte{committableVersion}
	dst = appendString(dst, c.staged)
	dst = appendString(dst, c.target)
	dst = binary.AppendUvarint(dst, uint64(c.size))
	return binary.AppendUvarint(dst, uint64(c.crc))
}

func decodeCommittable(data []byte) (committable, error) {
	d := decoder{data: data}
	d.version(committableVersion)
	c := committable{staged: d.string(), target: d.string(), size: d.size()}
	crc := d.uint()
	if err := d.end(); err != nil {
		return committable{}, fmt.Errorf("file sink: committable of %d bytes: %w: it was written by another version or another sink", len(data), err)
	}
	c.crc = uint32(crc)
	// Names come from a snapshot and end in Rename and Remove: they must not
	// lead out of the directory.
	inStaging := fs.ValidPath(c.staged) && c.staged != "." && !strings.ContainsAny(c.staged, `/\`)
	if uint64(c.crc) != crc || !inStaging || !fs.ValidPath(c.target) || c.target == "." || strings.Contains(c.target, `\`) {
		return committable{}, fmt.Errorf("file sink: committable for %q at %q: %w", c.staged, c.target, errMalformed)
	}
	return c, nil
}
