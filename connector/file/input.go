package file

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/cutwater-io/cutwater/connector"
)

// maxWindowBytes bounds the memory that a zstd file may ask for.
const maxWindowBytes = 256 << 20

// input is an open file as a sequence of (decompressed) bytes.
type input struct {
	file connector.File
	// at is the offset of the next byte. A plain file can be read at any.
	at int64
	// unpack reads a compressed file; nil for a plain one.
	unpack io.Reader
	stop   func() // ends unpack
}

func openInput(files connector.Files, path string) (*input, error) {
	f, err := files.Open(path)
	if err != nil {
		return nil, err
	}
	in := &input{file: f}
	switch {
	case strings.HasSuffix(path, ".gz"):
		z, err := gzip.NewReader(struct{ io.Reader }{f})
		if errors.Is(err, io.EOF) {
			in.unpack = strings.NewReader("") // no byte at all: an empty file
			return in, nil
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("unpack gzip: %w", err), f.Close())
		}
		in.unpack, in.stop = z, func() { z.Close() }
	case strings.HasSuffix(path, ".zst"):
		// One block at a time in our own goroutine.
		z, err := zstd.NewReader(struct{ io.Reader }{f}, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindowBytes))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("unpack zstd: %w", err), f.Close())
		}
		in.unpack, in.stop = z, z.Close
	}
	return in, nil
}

// read fills p as far as the file goes. Fewer bytes without an error mean that
// the end was met.
func (in *input) read(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var k int
		if in.unpack != nil {
			k, err = in.unpack.Read(p[n:])
		} else {
			k, err = in.file.ReadAt(p[n:], in.at)
		}
		n += k
		in.at += int64(k)
	}
	if err == io.EOF {
		return n, nil
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the compressed file is cut off: was it still being written? move files into place when they are complete")
	}
	return n, err
}

// skipTo goes forward to an offset; scratch is a buffer to read into.
func (in *input) skipTo(offset int64, scratch []byte) error {
	if in.unpack == nil {
		in.at = offset
		return nil
	}
	for in.at < offset {
		n, err := in.read(scratch[:min(int64(len(scratch)), offset-in.at)])
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("it ends at byte %d, before the position %d that was read: another file took its place", in.at, offset)
		}
	}
	return nil
}

func (in *input) close() error {
	if in.stop != nil {
		in.stop()
	}
	return in.file.Close()
}
