package connector_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/connector/gen"
	"github.com/cutwater-io/cutwater/run"
	"github.com/cutwater-io/cutwater/stream"
)

// Table stands for a database with transactions that can be prepared under a name
// and committed later, from anywhere: PREPARE TRANSACTION in Postgres.
type Table struct {
	mu        sync.Mutex
	prepared  map[string][]string
	committed map[string]bool // as long as somebody may commit again
	rows      []string
}

func NewTable() *Table {
	return &Table{prepared: map[string][]string{}, committed: map[string]bool{}}
}

func (t *Table) Prepare(name string, rows []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.prepared[name] = rows
}

func (t *Table) Commit(name string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	rows, ok := t.prepared[name]
	switch {
	case t.committed[name]: // by an earlier call, whose answer was lost
		return nil
	case !ok:
		return fmt.Errorf("table sink: transaction %q is gone: its rows are lost; start the job fresh", name)
	}
	t.rows = append(t.rows, rows...)
	t.committed[name] = true
	delete(t.prepared, name)
	return nil
}

// Abort drops the prepared transactions that match.
func (t *Table) Abort(match func(name string) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for name := range t.prepared {
		if match(name) {
			delete(t.prepared, name)
		}
	}
}

// TableSink writes rows to a table, exactly once.
type TableSink struct{ Table *Table }

func (s TableSink) Writer(ctx connector.WriterContext, _ [][]byte) (connector.Writer[string], error) {
	// Attempt never repeats, so no transaction is ever mistaken for another.
	name := fmt.Sprintf("%s %d %d ", owner(ctx.Job(), ctx.Operator()), ctx.Subtask(), ctx.Attempt())
	return &tableWriter{table: s.Table, name: name}, nil
}

func (s TableSink) Committer(ctx connector.CommitterContext) (connector.Committer, error) {
	return &tableCommitter{table: s.Table, ctx: ctx}, nil
}

// owner is what the names of all transactions of a sink begin with.
func owner(job, operator string) string { return fmt.Sprintf("%q %q", job, operator) }

type tableWriter struct {
	table *Table
	name  string
	rows  []string // of the open transaction
}

func (w *tableWriter) Write(row *string, _ int64) error {
	w.rows = append(w.rows, *row)
	return nil
}

func (w *tableWriter) Flush(endOfInput bool) error { return nil } // nothing is written asynchronously

// Prepare ends the transaction. From here on it survives this process, and only
// the checkpoint decides whether it is committed.
func (w *tableWriter) Prepare(checkpoint uint64) ([]connector.Committable, error) {
	if len(w.rows) == 0 {
		return nil, nil
	}
	name := fmt.Sprint(w.name, checkpoint)
	w.table.Prepare(name, w.rows)
	w.rows = nil
	return []connector.Committable{{Data: []byte(name)}}, nil
}

func (w *tableWriter) Snapshot(uint64) ([][]byte, error) { return nil, nil } // a new attempt begins new transactions

func (w *tableWriter) Close() error {
	w.rows = nil // what was not prepared comes again after the restore
	return nil
}

type tableCommitter struct {
	table *Table
	ctx   connector.CommitterContext
}

func (c *tableCommitter) Commit(_ uint64, restored bool, cs []connector.Committable) ([]connector.Outcome, error) {
	outcomes := make([]connector.Outcome, len(cs)) // Committed is the zero value
	var errs []error
	for i := range cs {
		if err := c.table.Commit(string(cs[i].Data)); err != nil {
			outcomes[i] = connector.Failed // RetryLater, if the database were out of reach
			errs = append(errs, err)
		}
	}
	return outcomes, errors.Join(errs...)
}

// Sweep drops what earlier attempts prepared for checkpoints that never completed.
func (c *tableCommitter) Sweep(live []connector.Committable) error {
	keep := map[string]bool{}
	for _, l := range live {
		keep[string(l.Data)] = true
	}
	c.table.Abort(func(name string) bool {
		rest, ours := strings.CutPrefix(name, owner(c.ctx.Job(), c.ctx.Operator())+" ")
		var subtask int
		if _, err := fmt.Sscan(rest, &subtask); !ours || err != nil {
			return false
		}
		return subtask%c.ctx.Parallelism() == c.ctx.Subtask() && !keep[name]
	})
	return nil
}

func (c *tableCommitter) Close() error { return nil }

// A transactional sink: what a checkpoint contains is prepared before it and
// committed after it, so every row is there exactly once.
func ExampleCommittingSink() {
	table := NewTable()
	p := stream.New("rows")
	p.From(gen.Values("a", "b", "c"), stream.Name("letters")).
		To(TableSink{table}, stream.Name("table"))
	if err := run.Run(context.Background(), p, run.Config{Ephemeral: true, Parallelism: 1}); err != nil {
		fmt.Println(err)
	}
	fmt.Println(table.rows)
	// Output: [a b c]
}
