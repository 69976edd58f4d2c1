package main

import (
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/cutwater-io/cutwater/connector"
)

// tally is a sink that counts records and adds up a checksum: the cheapest thing
// that still looks at every record. It is written as a user would write a
// connector, on package connector alone.
type tally[T any] struct {
	sum func(*T) uint64

	mu       sync.Mutex // guards the fields below
	records  int
	checksum uint64
}

func newTally[T any](sum func(*T) uint64) *tally[T] { return &tally[T]{sum: sum} }

func (t *tally[T]) Writer(_ connector.WriterContext, restored [][]byte) (connector.Writer[T], error) {
	w := &tallyWriter[T]{tally: t, sum: t.sum}
	for _, b := range restored {
		if len(b) != 16 {
			return nil, fmt.Errorf("tally: restore: %d bytes", len(b))
		}
		w.records += int(binary.LittleEndian.Uint64(b))
		w.checksum += binary.LittleEndian.Uint64(b[8:])
	}
	return w, nil
}

// total is what all writers wrote that have been closed.
func (t *tally[T]) total() (records int, checksum uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.records, t.checksum
}

type tallyWriter[T any] struct {
	tally    *tally[T]
	sum      func(*T) uint64
	records  int
	checksum uint64
}

func (w *tallyWriter[T]) Write(v *T, _ int64) error {
	w.records++
	w.checksum += w.sum(v)
	return nil
}

func (w *tallyWriter[T]) Flush(bool) error { return nil }

func (w *tallyWriter[T]) Snapshot(uint64) ([][]byte, error) {
	b := binary.LittleEndian.AppendUint64(nil, uint64(w.records))
	return [][]byte{binary.LittleEndian.AppendUint64(b, w.checksum)}, nil
}

func (w *tallyWriter[T]) Close() error {
	w.tally.mu.Lock()
	defer w.tally.mu.Unlock()
	w.tally.records += w.records
	w.tally.checksum += w.checksum
	w.records, w.checksum = 0, 0
	return nil
}
