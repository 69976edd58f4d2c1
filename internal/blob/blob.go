package blob

import (
	"context"
	"errors"
	"io"
)

var (
	// ErrExists: PutIfAbsent found the name taken.
	ErrExists = errors.New("object exists already")
	// ErrNotFound: no object of that name.
	ErrNotFound = errors.New("object not found")
	// ErrUnknown marks an outcome that is not known: the write may have
	// happened. The caller must read back to find out.
	ErrUnknown = errors.New("outcome unknown")
	// ErrCorrupt marks content that does not match its checksum. It survives
	// wrapping.
	ErrCorrupt = errors.New("corrupt")
)

// Store is an object store. All methods may be called from any goroutine.
// Names are slash-separated paths without "." or ".." elements.
type Store interface {
	// Create starts a new object. It is absent until Writer.Commit returns
	// nil, and complete and durable from then on.
	Create(ctx context.Context, name string) (Writer, error)
	// Put writes a whole object, with the same guarantee.
	Put(ctx context.Context, name string, data []byte) error
	// PutIfAbsent writes a whole object unless the name is taken: then the
	// error is ErrExists. Of several callers exactly one wins.
	PutIfAbsent(ctx context.Context, name string, data []byte) error
	// Open opens an object for reading at any offset.
	Open(ctx context.Context, name string) (Reader, error)
	// Get reads a whole object.
	Get(ctx context.Context, name string) ([]byte, error)
	// List returns the names that begin with prefix, ascending by bytes.
	List(ctx context.Context, prefix string) ([]string, error)
	// Delete removes an object; an absent one is no error.
	Delete(ctx context.Context, name string) error
}

// Writer writes one object. Either Commit or Abort ends it.
type Writer interface {
	io.Writer
	// Commit makes the object durable and visible.
	Commit() error
	// Abort drops what was written. After Commit it does nothing. It may be
	// called from another goroutine while Write is blocked, and unblocks it
	// where the store can.
	Abort()
}

// Reader reads one object.
type Reader interface {
	io.ReaderAt
	io.Closer
	Size() int64
}
