package plan

import (
	"time"

	"github.com/cutwater-io/cutwater/internal/ident"
)

// Graph is a job as the user described it. Nodes stand in an order in which
// every edge points forward.
type Graph struct {
	Name  string
	Nodes []Node
	Edges []Edge
}

// Node is one operator.
type Node struct {
	ID   ident.OperatorID
	Name string
	// Where is the source line that added it, as file:line.
	Where string
	// Parallelism is the number of subtasks; 0 means the job's default.
	Parallelism int
	// MaxParallelism is the number of key groups; 0 means derived from the
	// parallelism, or adopted from a restored checkpoint.
	MaxParallelism int
	Source         bool
	// Stateful operators need a name given by the user.
	Stateful bool
	Named    bool // the user gave the name
	// NoChain keeps the operator in a task of its own.
	NoChain bool
	// BufferTimeout bounds how long a record waits in an open batch behind
	// this operator. Zero is the default (10 ms), negative sends each record
	// at once.
	BufferTimeout time.Duration
	// Committer operators are fed over edges that barriers never overtake.
	Committer bool
}

// Partition says to which subtask of the consumer a record goes.
type Partition uint8

const (
	Forward   Partition = iota // subtask i to subtask i; needs equal parallelism
	Hash                       // by key
	Rebalance                  // in turn
	Broadcast                  // to all
)

var partitionNames = [...]string{"forward", "hash", "rebalance", "broadcast"}

func (p Partition) String() string { return partitionNames[p] }

// Edge leads from an output port of one node to an input port of another.
type Edge struct {
	From, To  int // indices of nodes; From < To
	FromPort  int // 0 is the main output, others are side outputs
	ToPort    int
	Partition Partition
}
