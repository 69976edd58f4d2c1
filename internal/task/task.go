package task

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/internal/backend/memory"
	"github.com/cutwater-io/cutwater/internal/barrier"
	"github.com/cutwater-io/cutwater/internal/batch"
	"github.com/cutwater-io/cutwater/internal/blob"
	"github.com/cutwater-io/cutwater/internal/exchange"
	"github.com/cutwater-io/cutwater/internal/ident"
	"github.com/cutwater-io/cutwater/internal/manifest"
	"github.com/cutwater-io/cutwater/internal/operator"
	"github.com/cutwater-io/cutwater/internal/plan"
	"github.com/cutwater-io/cutwater/internal/watermark"
)

// Config is what a task is made of. Everything in it is shared and read only,
// except the inbox, which is the task's own.
type Config struct {
	Program *operator.Program
	Plan    *plan.Plan
	Job     ident.JobID
	Attempt ident.AttemptID
	// Unique is a number no other attempt has, in any process.
	Unique       uint64
	RestoredFrom ident.CheckpointID
	States       map[ident.OperatorID]manifest.Restored
	Env          connector.Env
	Store        blob.Store
	// Checkpoints says that checkpoints are taken: then the task ends only
	// after one that covers its last record.
	Checkpoints bool
	Inbox       *exchange.Inbox
	Waker       *exchange.Waker
	// Outputs are the channels of each outgoing exchange, in the order of the
	// vertex's Out.
	Outputs  [][]*exchange.Channel
	Reporter Reporter
}

// Reporter is told what the JobMaster must know. Its methods are called from the
// task loop and must not block.
type Reporter interface {
	Initializing()
	Running()
	Acknowledge(id ident.CheckpointID, states []OperatorState, m Metrics)
	Decline(id ident.CheckpointID, reason barrier.Reason, cause string)
	SnapshotTaken(id ident.CheckpointID)
	OperatorEvent(op ident.OperatorID, kind operator.EventKind, payload []byte)
	EndOfData()
}

// OperatorState is the part of one operator in a checkpoint.
type OperatorState struct {
	Operator ident.OperatorID
	State    manifest.SubtaskState
}

// Metrics of a checkpoint in one subtask; see specification 2.9.
type Metrics struct {
	StartDelay, Alignment, Sync, Async time.Duration
	Bytes                              int64
}

// Task is one attempt of a subtask. Post, Trigger and the other methods of
// mail.go may be called from any goroutine; everything else belongs to Run.
type Task struct {
	cfg    Config
	vertex *plan.Vertex
	name   string
	mail   mailbox
	timers timers
	done   <-chan struct{}
	start  time.Time
	shared *operator.Task // what operators see
	arena  *memory.Arena

	chain     []link // head to tail
	pull      operator.Pull
	sourceOut operator.Control    // behind the source: where its time goes
	receivers []operator.Receiver // by gate
	inputs    *inputs
	mark      func(watermark int64) (stop bool) // of the channel being read
	reading   reading
	outputs   []timedOutput

	aligner   *barrier.Aligner
	snapshots *barrier.Snapshots
	async     map[ident.CheckpointID]*asyncPart
	asyncEnd  chan struct{} // receives one value per ended asynchronous part

	pollAt    int64          // task clock at which the source is polled again; 0: at once
	held      bool           // not reading: there is no room for results, or a firing is under way
	dataEnded bool           // no more records: waiting for the final checkpoint
	ending    bool           // the end of data has begun, and operators have still to finish
	draining  bool           // final results are wanted
	finished  int            // operators of the chain whose Finish was called
	ended     bool           // the whole job's data has ended and is safe
	triggers  []func() error // wait until nothing is busy
	finish    bool           // Finish was said: nothing can be lost any more
	drained   bool
	overdrawn int64
	opened    []io.Closer // while restoring
	syncErr   error       // why the synchronous part of a checkpoint failed
}

// link is one operator of the chain, with what names it.
type link struct {
	op   operator.Operator
	id   ident.OperatorID
	name string
	ctx  *operator.Context
}

type timedOutput struct {
	exchange.Output
	timeoutNanos int64
}

// New makes a task. Nothing runs until Run.
func New(cfg Config) *Task {
	v := &cfg.Plan.Vertices[cfg.Attempt.Subtask.Vertex]
	return &Task{
		cfg: cfg, vertex: v,
		name:     fmt.Sprintf("%s (%d/%d)", cfg.Plan.VertexName(v.ID), cfg.Attempt.Subtask.Index+1, v.Parallelism),
		mail:     mailbox{waker: cfg.Waker, waiting: new(atomic.Bool)},
		async:    map[ident.CheckpointID]*asyncPart{},
		asyncEnd: make(chan struct{}, 64),
	}
}

// Name is the chain's name and the subtask's number, for people.
func (t *Task) Name() string { return t.name }

// Counters returns late, late but counted and bad records, and overdrawn batches.
// It is called after Run.
func (t *Task) Counters() (late, lateCounted, bad, overdrawn int64) {
	if t.shared == nil {
		return 0, 0, 0, 0
	}
	return t.shared.Late, t.shared.LateCounted, t.shared.BadRecords, t.overdrawn
}

// ErrCanceled is what Run returns when its context ended.
var ErrCanceled = errors.New("task canceled")

// Run restores, processes and finishes the subtask, and returns when it and all
// its goroutines are done: nil when its data ended and everything about it is
// safe, ErrCanceled, or why it failed.
func (t *Task) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t.done = ctx.Done()
	t.start = t.cfg.Env.Clock.Now()
	t.arena = memory.NewArena()
	err := t.guard(func() error { return t.run(ctx) })
	// The end, for good or bad: nothing asynchronous outlives the task, and
	// operators are closed even when they never opened.
	err = errors.Join(err, t.guard(func() error { t.stepTask(barrier.Closed{}); return nil }))
	cancel()
	t.mail.close()
	for range t.async {
		<-t.asyncEnd
	}
	for _, p := range t.async {
		p.discard(t)
	}
	for i := len(t.chain) - 1; i >= 0; i-- {
		l := t.chain[i]
		if e := t.guard(l.op.Close); e != nil && !errors.Is(e, ErrCanceled) {
			err = errors.Join(err, fmt.Errorf("close operator %q: %w", l.name, e))
		}
	}
	if t.reading.records != nil {
		// A firing was cut off, or a panic went through the operators: their last
		// words may have named its record, so it could not go back earlier.
		t.reading.records.Release()
	}
	t.closeRestored()
	t.cfg.Inbox.Close()
	t.arena.Close()
	if err != nil && !errors.Is(err, ErrCanceled) {
		return fmt.Errorf("task %s: %w", t.name, err)
	}
	return err
}

func (t *Task) run(ctx context.Context) error {
	t.cfg.Reporter.Initializing()
	if err := t.build(); err != nil {
		return err
	}
	for i := len(t.chain) - 1; i >= 0; i-- {
		if err := t.chain[i].op.Open(); err != nil {
			return err
		}
	}
	t.closeRestored()
	t.stepTask(barrier.Running{})
	if t.pull != nil {
		// Before the task counts as running: no checkpoint may come between what
		// the enumerator has assigned and a reader that it knows.
		t.shared.Coordinator(t.chain[0].id, operator.EventReaderReady, nil)
	}
	t.cfg.Reporter.Running()
	return t.loop(ctx)
}

// endData begins the end of input: time goes to its end, operators emit what they
// hold, and the channels behind learn that no records follow.
func (t *Task) endData(drain bool) error {
	t.dataEnded, t.ending, t.draining = true, true, drain
	if drain && t.pull != nil {
		t.sourceOut.Watermark(watermark.EndOfTime)
	}
	return t.finishData()
}

// finishData goes on with the end of input until an operator has much to fire.
func (t *Task) finishData() error {
	for t.draining && t.finished < len(t.chain) {
		if t.shared.Firing > 0 {
			return nil
		}
		t.finished++
		if err := t.chain[t.finished-1].op.Finish(); err != nil {
			return err
		}
	}
	if t.shared.Firing > 0 {
		return nil
	}
	t.ending = false
	for _, o := range t.outputs {
		o.Event(batch.Element{Kind: batch.KindEndOfData, Drain: t.draining})
	}
	t.cfg.Reporter.EndOfData()
	if !t.cfg.Checkpoints {
		return t.mayFinish()
	}
	return nil
}

// mayFinish lets the task end. Which checkpoint covers the end of all data is for
// the JobMaster to say: if each task took the first one after its own end, they
// could take different ones, and those that ended with the earlier would never
// acknowledge the later.
func (t *Task) mayFinish() error {
	if t.ended {
		return nil
	}
	t.ended = true
	return t.stepTask(barrier.EndOfData{})
}

// settled reports whether no operator has something left to do for a checkpoint
// that is complete.
func (t *Task) settled() bool {
	for _, l := range t.chain {
		if s, ok := l.op.(operator.Settler); ok && !s.Settled() {
			return false
		}
	}
	return true
}
