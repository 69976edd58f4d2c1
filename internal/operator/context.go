package operator

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/internal/backend/memory"
	"github.com/cutwater-io/cutwater/internal/ident"
	"github.com/cutwater-io/cutwater/internal/manifest"
)

// Context is what one operator instance knows of the world.
type Context struct {
	ID             ident.OperatorID
	Name           string
	Subtask        int
	Parallelism    int
	MaxParallelism int            // key groups
	Groups         manifest.Range // this instance's key groups
	Job            ident.JobID
	// Attempt is a number no other attempt has or had, in any process.
	Attempt uint64
	// RestoredFrom is the checkpoint the attempt starts from; 0: none.
	RestoredFrom ident.CheckpointID
	Restored     *Restored // nil when the operator has nothing to restore
	Env          connector.Env
	Task         *Task

	// Outputs holds the inputs behind each output port, as In[T]. Port 0 is
	// the main output, others are side outputs.
	Outputs [][]any
	// Sides maps names of side outputs to output ports.
	Sides map[string]int
}

// Task is what operators may ask of the task they run in.
type Task struct {
	Arena *memory.Arena
	// NowNanos is the task's coarse clock: monotonic, advanced by the task
	// between batches. NowMillis is wall-clock time, advanced with it.
	NowNanos  int64
	NowMillis int64
	// Post runs f in the task's goroutine, between records. It may be called
	// from any goroutine and never blocks; after the task ended it does
	// nothing.
	Post func(f func() error)
	// At runs f in the task's goroutine when wall-clock time has reached
	// millis: at once, between records, when it has already.
	At func(millis int64, f func() error)
	// Wake makes the task look for work again. It may be called from any
	// goroutine.
	Wake func()
	// Coordinator sends an event to the coordinator of an operator.
	Coordinator func(op ident.OperatorID, kind EventKind, payload []byte)
	// Splits are told about the splits of the source at the head of the chain.
	// Operators add themselves when they are built.
	Splits []SplitListener
	// Where says where the record comes from that is being processed, for
	// error messages. It may be nil.
	Where func() string
	// Mail is true while mail waits. An operator that fires many keys reads it
	// behind each of them.
	Mail *atomic.Bool
	// Firing is the number of operators of the chain that are in the middle of
	// firing; see [Resumer]. While it is not zero the task reads no input.
	Firing int
	// Done is closed when the task is cancelled: what waits gives up.
	Done <-chan struct{}
	// Counters of the task: records dropped as late, records that were late
	// and counted all the same, and input that could not be decoded.
	Late, LateCounted, BadRecords int64
}

// SplitListener is told by a source which of its splits the records come from, so
// that time can be tracked per split.
type SplitListener interface {
	AddSplit(id string)   // assigned to this subtask
	StartSplit(id string) // the following records come from it
	EmptySplit(id string) // looked at, and had nothing
	FinishSplit(id string)
	// Held says that the source is not read now, because the task has no room
	// for results or much to fire: such time does not count as idle. false: it is
	// read again.
	Held(held bool)
}

// EventKind tells what an operator event between a subtask and its coordinator
// is.
type EventKind uint8

const (
	EventRequestSplit EventKind = iota // reader → enumerator: give me a split
	EventCustom                        // either way: the connector's own bytes
	EventAddSplits                     // enumerator → reader
	EventNoMoreSplits                  // enumerator → reader
	EventReaderReady                   // reader → enumerator: registered
)

// OutputOf returns what is behind an output port of type T.
func OutputOf[T any](ctx *Context, port int) In[T] {
	if port >= len(ctx.Outputs) {
		return Join[T](nil)
	}
	ins := make([]In[T], len(ctx.Outputs[port]))
	for i, in := range ctx.Outputs[port] {
		ins[i] = in.(In[T])
	}
	return Join(ins)
}

// Controls returns what stands behind all output ports of an operator, for what
// travels in band.
func Controls(ctx *Context) Control {
	var all controls
	for _, port := range ctx.Outputs {
		for _, in := range port {
			all = append(all, in.(Control))
		}
	}
	return all
}

// ErrPermanent marks an error that comes again however often the job is restarted:
// it is not restarted then.
var ErrPermanent = errors.New("a restart cannot cure this")

// Failure is an error of user code, with where it happened. Operators panic
// with it; the task loop recovers it and fails the attempt.
type Failure struct {
	Operator string
	Key      string // the key being processed; empty when there is none
	Where    string // source position or channel of the record; may be empty
	Err      error
}

func (f *Failure) Error() string {
	s := fmt.Sprintf("operator %q", f.Operator)
	if f.Key != "" {
		s += ", key " + f.Key
	}
	if f.Where != "" {
		s += ", record from " + f.Where
	}
	return s + ": " + f.Err.Error()
}

func (f *Failure) Unwrap() error { return f.Err }

// Fail ends the attempt with an error of user code. It does not return.
func (c *Context) Fail(key string, err error) {
	where := ""
	if c.Task.Where != nil {
		where = c.Task.Where()
	}
	panic(&Failure{Operator: c.Name, Key: key, Where: where, Err: err})
}
