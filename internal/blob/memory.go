package blob

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// MemoryStore keeps objects in memory. They are gone with it. It is for tests
// and for jobs that need no durability.
type MemoryStore struct {
	mu      sync.RWMutex
	objects map[string][]byte // contents are never changed in place
}

// Memory returns an empty store in memory.
func Memory() *MemoryStore { return &MemoryStore{objects: make(map[string][]byte)} }

var _ Store = (*MemoryStore)(nil)

func (m *MemoryStore) check(ctx context.Context, what, name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s %s: %w", what, name, err)
	}
	return nil
}

// Create starts a new object; see [Store].
func (m *MemoryStore) Create(ctx context.Context, name string) (Writer, error) {
	if err := m.check(ctx, "create object", name); err != nil {
		return nil, err
	}
	return &memoryWriter{store: m, name: name}, nil
}

// Put writes a whole object; see [Store].
func (m *MemoryStore) Put(ctx context.Context, name string, data []byte) error {
	if err := m.check(ctx, "write object", name); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.objects[name] = bytes.Clone(data)
	return nil
}

// PutIfAbsent writes a whole object unless the name is taken; see [Store].
func (m *MemoryStore) PutIfAbsent(ctx context.Context, name string, data []byte) error {
	if err := m.check(ctx, "write object", name); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, taken := m.objects[name]; taken {
		return fmt.Errorf("write object %s: %w", name, ErrExists)
	}
	m.objects[name] = bytes.Clone(data)
	return nil
}

// Open opens an object; see [Store].
func (m *MemoryStore) Open(ctx context.Context, name string) (Reader, error) {
	if err := m.check(ctx, "open object", name); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	data, ok := m.objects[name]
	if !ok {
		return nil, fmt.Errorf("open object %s: %w", name, ErrNotFound)
	}
	return memoryReader{bytes.NewReader(data)}, nil
}

// Get reads a whole object; see [Store].
func (m *MemoryStore) Get(ctx context.Context, name string) ([]byte, error) {
	if err := m.check(ctx, "read object", name); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	data, ok := m.objects[name]
	if !ok {
		return nil, fmt.Errorf("read object %s: %w", name, ErrNotFound)
	}
	return bytes.Clone(data), nil
}

// List returns names by prefix; see [Store].
func (m *MemoryStore) List(ctx context.Context, prefix string) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("list objects %s: %w", prefix, err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	var names []string
	for name := range m.objects {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Delete removes an object; see [Store].
func (m *MemoryStore) Delete(ctx context.Context, name string) error {
	if err := m.check(ctx, "delete object", name); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.objects, name)
	return nil
}

// memoryWriter collects an object. mu is for an Abort from elsewhere.
type memoryWriter struct {
	store *MemoryStore
	name  string

	mu    sync.Mutex
	data  []byte
	ended bool
}

func (w *memoryWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return 0, fmt.Errorf("write object %s: the writer has ended", w.name)
	}
	w.data = append(w.data, p...)
	return len(p), nil
}

func (w *memoryWriter) Commit() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return fmt.Errorf("commit object %s: the writer was aborted", w.name)
	}
	w.ended = true
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	w.store.objects[w.name] = w.data
	return nil
}

func (w *memoryWriter) Abort() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ended {
		w.ended, w.data = true, nil
	}
}

// memoryReader shares the immutable content with the store.
type memoryReader struct{ *bytes.Reader }

func (memoryReader) Close() error { return nil }
