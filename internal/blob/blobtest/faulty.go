package blobtest

import (
	"context"
	"errors"
	"fmt"

	"github.com/cutwater-io/cutwater/internal/blob"
)

// Fault is what happens to one operation.
type Fault int

const (
	// None: the operation runs.
	None Fault = iota
	// Fail: it does not run, and says so.
	Fail
	// Unsent: it does not run, and nobody knows.
	Unsent
	// Unanswered: it runs, and nobody knows.
	Unanswered
)

// ErrInjected is the cause of every injected failure.
var ErrInjected = errors.New("injected fault")

// Faulty is a store in front of another that fails as told.
type Faulty struct {
	blob.Store
	// Fault decides about an operation: "create", "commit", "put",
	// "put-if-absent", "open", "get", "list" or "delete". Nil means [None].
	// For operations that only read, Unsent and Unanswered are as Fail.
	Fault func(op, name string) Fault
	// OneByte makes every read of an open object return one byte at most,
	// without an error: callers must repeat (D40).
	OneByte bool
}

func (f *Faulty) fault(op, name string) Fault {
	if f.Fault == nil {
		return None
	}
	return f.Fault(op, name)
}

// change runs an operation that changes something.
func (f *Faulty) change(op, name string, run func() error) error {
	switch f.fault(op, name) {
	case Fail:
		return fmt.Errorf("%s %s: %w", op, name, ErrInjected)
	case Unsent:
		return fmt.Errorf("%s %s: %w: %w", op, name, ErrInjected, blob.ErrUnknown)
	case Unanswered:
		run()
		return fmt.Errorf("%s %s: %w: %w", op, name, ErrInjected, blob.ErrUnknown)
	}
	return run()
}

// Create starts a new object.
func (f *Faulty) Create(ctx context.Context, name string) (blob.Writer, error) {
	if f.fault("create", name) != None {
		return nil, fmt.Errorf("create %s: %w", name, ErrInjected)
	}
	w, err := f.Store.Create(ctx, name)
	if err != nil {
		return nil, err
	}
	return &faultyWriter{Writer: w, store: f, name: name}, nil
}

// Put writes a whole object.
func (f *Faulty) Put(ctx context.Context, name string, data []byte) error {
	return f.change("put", name, func() error { return f.Store.Put(ctx, name, data) })
}

// PutIfAbsent writes a whole object unless the name is taken.
func (f *Faulty) PutIfAbsent(ctx context.Context, name string, data []byte) error {
	return f.change("put-if-absent", name, func() error { return f.Store.PutIfAbsent(ctx, name, data) })
}

// Open opens an object.
func (f *Faulty) Open(ctx context.Context, name string) (blob.Reader, error) {
	if f.fault("open", name) != None {
		return nil, fmt.Errorf("open %s: %w", name, ErrInjected)
	}
	r, err := f.Store.Open(ctx, name)
	if err != nil || !f.OneByte {
		return r, err
	}
	return oneByteReader{r}, nil
}

// Get reads a whole object.
func (f *Faulty) Get(ctx context.Context, name string) ([]byte, error) {
	if f.fault("get", name) != None {
		return nil, fmt.Errorf("get %s: %w", name, ErrInjected)
	}
	return f.Store.Get(ctx, name)
}

// List returns names.
func (f *Faulty) List(ctx context.Context, prefix string) ([]string, error) {
	if f.fault("list", prefix) != None {
		return nil, fmt.Errorf("list %s: %w", prefix, ErrInjected)
	}
	return f.Store.List(ctx, prefix)
}

// Delete removes an object.
func (f *Faulty) Delete(ctx context.Context, name string) error {
	return f.change("delete", name, func() error { return f.Store.Delete(ctx, name) })
}

type faultyWriter struct {
	blob.Writer
	store *Faulty
	name  string
}

func (w *faultyWriter) Commit() error {
	err := w.store.change("commit", w.name, w.Writer.Commit)
	if err != nil {
		w.Writer.Abort() // does nothing if it was committed
	}
	return err
}

type oneByteReader struct{ blob.Reader }

func (r oneByteReader) ReadAt(p []byte, off int64) (int, error) {
	return r.Reader.ReadAt(p[:min(len(p), 1)], off)
}
