package crashfs

import (
	"io"
	"io/fs"
	"slices"
	"time"
)

// file is an open file.
type file struct {
	fs       *FS
	node     *node
	path     string
	off      int
	append   bool
	readOnly bool
}

func (h *file) Read(p []byte) (int, error) {
	n, err := h.ReadAt(p, int64(h.off))
	h.off += n
	if n > 0 {
		err = nil
	}
	return n, err
}

// ReadAt returns at most half of what it could, and at least one byte, so that
// a reader which does not repeat is found (D40).
func (h *file) ReadAt(p []byte, off int64) (int, error) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if h.fs.killed {
		return 0, ErrKilled
	}
	if len(p) == 0 {
		return 0, nil
	}
	if off >= int64(len(h.node.data)) {
		return 0, io.EOF
	}
	return copy(p[:(len(p)+1)/2], h.node.data[off:]), nil
}

func (h *file) Write(p []byte) (int, error) {
	written := 0
	err := h.fs.do("write", h.path, func(error) error {
		if h.readOnly && !h.append {
			return pathError("write", h.path, fs.ErrPermission)
		}
		if h.append {
			h.off = len(h.node.data)
		}
		// A new slice: what was synced keeps its content.
		data := slices.Clone(h.node.data)
		if end := h.off + len(p); end > len(data) {
			data = append(data, make([]byte, end-len(data))...)
		}
		copy(data[h.off:], p)
		h.node.data = data
		h.off += len(p)
		written = len(p)
		return nil
	})
	return written, err
}

func (h *file) Truncate(size int64) error {
	return h.fs.do("truncate", h.path, func(error) error {
		data := make([]byte, size)
		copy(data, h.node.data)
		h.node.data = data
		return nil
	})
}

func (h *file) Sync() error {
	return h.fs.do("sync", h.path, func(injected error) error {
		if injected != nil {
			h.node.poisoned = true
			return injected
		}
		if !h.node.poisoned {
			h.node.synced = h.node.data
		}
		return nil
	})
}

func (h *file) Stat() (fs.FileInfo, error) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if h.fs.killed {
		return nil, ErrKilled
	}
	return h.node.info(h.path), nil
}

func (h *file) Close() error {
	if h.fs.Killed() {
		return ErrKilled
	}
	return nil
}

// info is what is known of a file. There is no clock here: all files are as old
// as the epoch.
type info struct {
	name string
	size int64
	dir  bool
}

func (n *node) info(name string) fs.FileInfo {
	return info{name: name, size: int64(len(n.data)), dir: n.dir}
}

func (i info) Name() string { return i.name }
func (i info) Size() int64  { return i.size }
func (i info) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o755
	}
	return 0o644
}
func (i info) ModTime() time.Time { return time.Unix(0, 0) }
func (i info) IsDir() bool        { return i.dir }
func (i info) Sys() any           { return nil }
