package file

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"

	"github.com/cutwater-io/cutwater/connector"
)

// splitVersion is the first byte of an encoded split.
const splitVersion = 1

// position is where a reader stands in a file: after the last emitted record.
type position struct {
	offset int64 // bytes, decompressed
	line   int64 // lines before offset
}

// split is one file with its position. It is what a checkpoint keeps.
type split struct {
	id   string // unique within the source
	path string
	pos  position
	// follow: the file may grow, be renamed or be replaced.
	follow bool
	// print tells whether the file at path is still the one that was begun.
	print fingerprint
	// seen is the greatest size at which the file was found, raw bytes.
	seen int64
}

func (s split) encode() connector.Split {
	dst := []byte{splitVersion}
	dst = appendString(dst, s.path)
	dst = binary.AppendUvarint(dst, uint64(s.pos.offset))
	dst = binary.AppendUvarint(dst, uint64(s.pos.line))
	follow := uint64(0)
	if s.follow {
		follow = 1
	}
	dst = binary.AppendUvarint(dst, follow)
	dst = s.print.append(dst)
	dst = binary.AppendUvarint(dst, uint64(s.seen))
	return connector.Split{ID: s.id, Data: dst}
}

func decodeSplit(c connector.Split) (split, error) {
	d := decoder{data: c.Data}
	d.version(splitVersion)
	s := split{id: c.ID, path: d.string()}
	s.pos = position{offset: d.size(), line: d.size()}
	follow := d.uint()
	s.follow = follow == 1
	s.print.decode(&d)
	s.seen = d.size()
	if err := d.end(); err != nil || follow > 1 || s.path == "" {
		return split{}, fmt.Errorf("file source: split %q: %w: it was written by another version or another source", c.ID, errMalformed)
	}
	return s, nil
}

// printBytes is how much of a file's begin its fingerprint covers.
const printBytes = 1024

// fingerprint identifies a file by its begin. It covers as many bytes as the
// file had when it was taken, at most printBytes, so that it still fits after
// the file grew. Length 0 fits every file.
type fingerprint struct {
	inode  uint64 // 0: the file system has none
	length int64
	hash   uint64 // FNV-1a of the first length bytes
}

func (p fingerprint) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, p.inode)
	dst = binary.AppendUvarint(dst, uint64(p.length))
	return binary.AppendUvarint(dst, p.hash)
}

func (p *fingerprint) decode(d *decoder) {
	*p = fingerprint{inode: d.uint(), length: d.size(), hash: d.uint()}
	if p.length > printBytes {
		d.fail()
	}
}

// takePrint takes the fingerprint of an open file.
func takePrint(f connector.File) (fingerprint, fs.FileInfo, error) {
	info, err := f.Stat()
	if err != nil {
		return fingerprint{}, nil, err
	}
	hash, n, err := hashBegin(f, printBytes)
	return fingerprint{inode: inode(info), length: n, hash: hash}, info, err
}

// fits says whether an open file begins as the print does. The inode is not
// compared: a copied or restored file has another one.
func (p fingerprint) fits(f connector.File) (bool, error) {
	hash, n, err := hashBegin(f, p.length)
	return n == p.length && hash == p.hash, err
}

// hashBegin hashes the first limit bytes of a file, or as many as it has.
func hashBegin(f connector.File, limit int64) (hash uint64, n int64, err error) {
	h := fnv.New64a()
	if limit == 0 {
		return h.Sum64(), 0, nil
	}
	n, err = io.Copy(h, io.NewSectionReader(f, 0, limit))
	return h.Sum64(), n, err
}
