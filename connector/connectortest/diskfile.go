package connectortest

import (
	"io"
	"io/fs"
	"path/filepath"
)

// diskFile is an open file of a [Disk]. It stays usable when its name is gone.
type diskFile struct {
	d      *Disk
	n      *node
	name   string
	life   int
	write  bool
	closed bool
	at     int64 // of Read
}

// check returns why the file cannot be used. d.mu is held.
func (f *diskFile) check(op string) error {
	switch {
	case f.d.crashed || f.life != f.d.life:
		return ErrCrashed
	case f.closed:
		return pathError(op, f.name, fs.ErrClosed)
	}
	return nil
}

func (f *diskFile) Read(p []byte) (int, error) {
	n, err := f.ReadAt(p, f.at)
	f.at += int64(n)
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

func (f *diskFile) ReadAt(p []byte, off int64) (int, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if err := f.check("read"); err != nil {
		return 0, err
	}
	if off >= int64(len(f.n.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.n.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *diskFile) Write(p []byte) (int, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if err := f.check("write"); err != nil {
		return 0, err
	}
	if !f.write {
		return 0, pathError("write", f.name, fs.ErrPermission)
	}
	written := 0
	put := func(n int) {
		// Never in place: synced may share the array.
		f.n.data = append(f.n.data[:len(f.n.data):len(f.n.data)], p[:n]...)
		written = n
	}
	err := f.d.effect(f.life, "write "+f.name, func() error { put(len(p)); return nil }, func() { put(len(p) / 2) })
	return written, err
}

func (f *diskFile) Truncate(size int64) error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if err := f.check("truncate"); err != nil {
		return err
	}
	return f.d.effect(f.life, "truncate "+f.name, func() error {
		data := make([]byte, size)
		copy(data, f.n.data)
		f.n.data = data
		return nil
	}, nil)
}

func (f *diskFile) Sync() error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if err := f.check("sync"); err != nil {
		return err
	}
	return f.d.effect(f.life, "sync "+f.name, func() error {
		f.n.synced = f.n.data
		return nil
	}, nil)
}

func (f *diskFile) Stat() (fs.FileInfo, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if err := f.check("stat"); err != nil {
		return nil, err
	}
	return diskInfo{filepath.Base(f.name), f.n, int64(len(f.n.data))}, nil
}

func (f *diskFile) Close() error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if err := f.check("close"); err != nil {
		return err
	}
	f.closed = true
	return nil
}
