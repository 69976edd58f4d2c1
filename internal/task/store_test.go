package task

import (
	"context"
	"errors"
	"sync"

	"github.com/cutwater-io/cutwater/internal/blob"
)

// countingStore counts what is open.
type countingStore struct {
	blob.Store
	mu      sync.Mutex // guards the fields below
	writers int
	readers int
}

func (s *countingStore) add(writers, readers int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writers += writers
	s.readers += readers
}

func (s *countingStore) Create(ctx context.Context, name string) (blob.Writer, error) {
	w, err := s.Store.Create(ctx, name)
	if err != nil {
		return nil, err
	}
	s.add(1, 0)
	return &countingWriter{Writer: w, s: s}, nil
}

func (s *countingStore) Open(ctx context.Context, name string) (blob.Reader, error) {
	r, err := s.Store.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	s.add(0, 1)
	return &countingReader{Reader: r, s: s}, nil
}

type countingWriter struct {
	blob.Writer
	s    *countingStore
	once sync.Once
}

func (w *countingWriter) Commit() error {
	defer w.once.Do(func() { w.s.add(-1, 0) })
	return w.Writer.Commit()
}

func (w *countingWriter) Abort() {
	w.Writer.Abort()
	w.once.Do(func() { w.s.add(-1, 0) })
}

type countingReader struct {
	blob.Reader
	s      *countingStore
	closed bool
}

func (r *countingReader) Close() error {
	if r.closed {
		return errors.New("closed twice")
	}
	r.closed = true
	r.s.add(0, -1)
	return r.Reader.Close()
}

// hangingStore is a store that answers no write until it is told to, or until the
// writer is aborted.
type hangingStore struct {
	blob.Store
	hungC   chan struct{} // receives a value when a write begins to hang
	answerC chan struct{} // closed: writes go on
}

func hanging() blob.Store {
	return &hangingStore{Store: blob.Memory(), hungC: make(chan struct{}, 16), answerC: make(chan struct{})}
}

func (s *hangingStore) Create(ctx context.Context, name string) (blob.Writer, error) {
	w, err := s.Store.Create(ctx, name)
	return &hangingWriter{Writer: w, s: s, abortedC: make(chan struct{})}, err
}

type hangingWriter struct {
	blob.Writer
	s        *hangingStore
	once     sync.Once
	abortedC chan struct{}
}

func (w *hangingWriter) Write(p []byte) (int, error) {
	w.s.hungC <- struct{}{}
	select {
	case <-w.s.answerC:
		return w.Writer.Write(p)
	case <-w.abortedC:
		return 0, errors.New("the writer was aborted")
	}
}

func (w *hangingWriter) Abort() { w.once.Do(func() { close(w.abortedC); w.Writer.Abort() }) }
