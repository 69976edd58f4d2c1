package file

import (
	"fmt"
	"hash/crc32"
	"time"

	"github.com/cutwater-io/cutwater/connector"
)

// writeBytes is how much is collected for one write call.
const writeBytes = 64 << 10

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// part is a staged file that is being written.
type part struct {
	file   connector.File
	path   string // for errors and for Remove
	bucket string
	number int // in the order in which the writer began its parts
	begun  time.Time
	used   uint64 // the writer's record number of the last use
	buf    []byte // what is not yet written

	// What becomes the committable. Invariant: size and crc describe what was
	// written to file, without buf.
	staged string
	size   int64
	crc    uint32
}

// spill writes what was collected.
func (p *part) spill() error {
	if len(p.buf) == 0 {
		return nil
	}
	n, err := p.file.Write(p.buf)
	if err == nil && n != len(p.buf) {
		err = fmt.Errorf("%d of %d bytes written", n, len(p.buf))
	}
	if err != nil {
		return fmt.Errorf("file sink: write %s at byte %d: %w%s", p.path, p.size, err, hint(err))
	}
	p.size += int64(len(p.buf))
	p.crc = crc32.Update(p.crc, castagnoli, p.buf)
	p.buf = p.buf[:0]
	return nil
}

// finish makes the content durable and closes the file. The name becomes
// durable later, with one sync of the directory for all parts.
func (p *part) finish() error {
	if err := p.spill(); err != nil {
		return err
	}
	// After a failed sync nobody knows what the file holds, and a second sync
	// may succeed without having written: the error ends the attempt, and the
	// records are written again to a file of another name.
	if err := p.file.Sync(); err != nil {
		return fmt.Errorf("file sink: sync %s: %w%s", p.path, err, hint(err))
	}
	f := p.file
	p.file = nil
	if err := f.Close(); err != nil {
		return fmt.Errorf("file sink: close %s: %w%s", p.path, err, hint(err))
	}
	return nil
}
