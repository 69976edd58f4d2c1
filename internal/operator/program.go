package operator

import (
	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/internal/batch"
	"github.com/cutwater-io/cutwater/internal/exchange"
	"github.com/cutwater-io/cutwater/internal/plan"
)

// Program is a job as the engine runs it: the bare graph, and for each node and
// edge what makes its typed parts. It is immutable once built and shared by all
// attempts.
type Program struct {
	Graph     *plan.Graph
	Factories []Factory // by node
	Links     []Link    // by edge
}

// Factory makes instances of one node of the graph.
type Factory struct {
	// Build makes an instance and its inputs, by input port: each an In[T],
	// or a KeyedIn[K, T] when the edge into it is keyed.
	Build func(ctx *Context) (Operator, []any, error)
	// Enumerator makes the source's enumerator; nil for other operators.
	Enumerator func(ctx connector.EnumeratorContext, restored []byte) (connector.Enumerator, error)
	// Functions are the entry points of the user's functions, by which a
	// panic is traced to its operator.
	Functions []uintptr
}

// Link makes the typed parts of one edge.
type Link struct {
	// Writer makes the sending side for one subtask: an exchange.Output, and
	// the In[T] through which records enter it.
	Writer func(ctx *Context, task exchange.Task, channels []*exchange.Channel) (exchange.Output, any)
	// Receiver makes the receiving side from the consumer's input.
	Receiver func(down any) Receiver
	// Chain makes the edge inside a task from the consumer's input: the In[T]
	// that the producer gets, and an operator that stands between them, nil
	// when there is none.
	Chain func(ctx *Context, down any) (any, Operator)
}

// Place is how far a batch has been processed: its first Records records and its
// first Marks marks are done.
type Place struct{ Records, Marks int }

// Receiver hands batches of a channel to the operator behind it.
type Receiver interface {
	// Process hands over the records behind from in order, and calls mark with
	// the watermark at each mark. When mark answers stop, because the operators
	// behind have not done with the watermark, it returns where to go on and
	// false; true when all is done. It does not release the batch.
	Process(r batch.Records, from Place, mark func(watermark int64) (stop bool)) (Place, bool)
}

// Pull is an operator at the head of a source's task: the task calls it instead
// of reading an inbox.
type Pull interface {
	Operator
	// Poll emits some records. wakeAfterNanos is the time after which the
	// source wants to be polled again when it returned Wait; 0: when woken.
	Poll() (result connector.PollResult, wakeAfterNanos int64, err error)
	// HandleEvent is an event of the enumerator.
	HandleEvent(kind EventKind, payload []byte) error
}
