// Package console prints records to standard output, for looking at them.
//
//	record --> line --> buffer --(64 KiB | 100 ms | barrier | end)--> standard output
//
// # Rules for callers
//
//   - Printing is at least once: what was printed since the last checkpoint is
//     printed again when the job fails and restores. What must be exact goes to
//     another sink.
//   - Lines of several subtasks are mixed, but never within a line.
//
// # Threads
//
// The package starts no goroutine. A writer belongs to the goroutine of its
// subtask; all writers of one sink share the output under a lock.
package console

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/cutwater-io/cutwater/connector"
)

const (
	// bufferBytes is how much is collected for one write call.
	bufferBytes = 64 << 10
	// holdBack is how long lines wait for company while records come.
	holdBack = 100 * time.Millisecond
)

// PrintSink is the sink made by [Sink].
type PrintSink[T any] struct {
	out *output
}

var _ connector.Sink[string] = (*PrintSink[string])(nil)

// output is shared by the writers of a sink. One Write is one or more whole
// lines.
type output struct {
	mu sync.Mutex // guards w
	w  io.Writer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.w.Write(p)
}

// Sink prints each value on a line of standard output, as fmt.Println does:
// a String method is used where there is one.
func Sink[T any]() *PrintSink[T] { return &PrintSink[T]{&output{w: os.Stdout}} }

// To returns a sink that prints to w instead. w needs no lock of its own, unless
// others write to it too. The sink does not close it.
func (s *PrintSink[T]) To(w io.Writer) *PrintSink[T] { return &PrintSink[T]{&output{w: w}} }

// Writer implements [connector.Sink].
func (s *PrintSink[T]) Writer(ctx connector.WriterContext, _ [][]byte) (connector.Writer[T], error) {
	return &writer[T]{out: s.out, clock: ctx.Env().Clock}, nil
}

type writer[T any] struct {
	out     *output
	clock   connector.Clock
	buf     []byte
	printed time.Time // when buf was last written
	err     error     // the first error: what was printed then is not known
}

// Write implements [connector.Writer].
func (w *writer[T]) Write(v *T, _ int64) error {
	if w.err != nil {
		return w.err
	}
	if s, ok := any(v).(*string); ok {
		w.buf = append(append(w.buf, *s...), '\n')
	} else {
		w.buf = fmt.Appendln(w.buf, *v)
	}
	if len(w.buf) >= bufferBytes {
		return w.print()
	}
	if now := w.clock.Now(); now.Sub(w.printed) >= holdBack {
		w.printed = now
		return w.print()
	}
	return nil
}

func (w *writer[T]) print() error {
	if len(w.buf) == 0 {
		return w.err
	}
	if _, err := w.out.Write(w.buf); err != nil && w.err == nil {
		w.err = fmt.Errorf("console sink: write to standard output: %w: is the program that reads it still there?", err)
	}
	w.buf = w.buf[:0]
	return w.err
}

// Flush implements [connector.Writer].
func (w *writer[T]) Flush(bool) error {
	if w.err != nil {
		return w.err
	}
	return w.print()
}

// Snapshot implements [connector.Writer]: there is no state.
func (w *writer[T]) Snapshot(uint64) ([][]byte, error) { return nil, w.err }

// Close implements [connector.Writer]. Lines not yet printed are dropped: they
// will come again after the restore.
func (w *writer[T]) Close() error {
	w.buf = nil
	if w.err == nil {
		w.err = errors.New("console sink: the writer is closed")
	}
	return nil
}
