package manifest

import "github.com/cutwater-io/cutwater/internal/ident"

// Range is an inclusive interval of key groups.
type Range struct{ First, Last uint16 }

// Contains reports whether g lies in r.
func (r Range) Contains(g uint16) bool { return r.First <= g && g <= r.Last }

// Handle refers to bytes of a snapshot: inline, or an object in the
// checkpoint's blob store. Exactly one of Inline and Object is set.
type Handle struct {
	Inline []byte
	Object string // unique name in the blob store, never used twice
	Size   int64  // bytes
}

// Mode says how list state is redistributed when parallelism changes
// (specification 5.4).
type Mode uint8

const (
	// Split: elements of all subtasks are concatenated and dealt out in runs.
	Split Mode = iota
	// Union: every subtask gets all elements.
	Union
	// Broadcast: new subtask i gets the list of old subtask i mod p.
	Broadcast
)

// ListState is operator state: a named list of opaque elements.
type ListState struct {
	Name     string
	Mode     Mode
	Elements [][]byte
}

// SubtaskState is what one subtask of one operator put into a checkpoint. The
// zero value means "no state".
type SubtaskState struct {
	Subtask int32
	// Lists is small state that travels inside the manifest.
	Lists []ListState
	// Keyed is a segment (package segment) with the keyed state of the key
	// groups in Range; nil when there is none.
	Keyed *Handle
	Range Range
}

// Empty reports whether there is nothing to restore.
func (s *SubtaskState) Empty() bool { return len(s.Lists) == 0 && s.Keyed == nil }

// OperatorState is the state of an operator in a checkpoint, by subtask.
type OperatorState struct {
	ID             ident.OperatorID
	Name           string
	Parallelism    int32
	MaxParallelism int32 // key groups
	// Coordinator is the state of the operator's coordinator (the enumerator
	// of a source); nil when it has none.
	Coordinator []byte
	Subtasks    []SubtaskState // ascending by Subtask; empty ones are absent
}

// Stats of a completed checkpoint, kept with it so that history survives a
// restart. Durations are in milliseconds, -1 means unknown.
type Stats struct {
	TriggeredMillis  int64 // since 1970
	DurationMillis   int64
	AlignmentMillis  int64 // longest of all subtasks
	StartDelayMillis int64
	SyncMillis       int64
	AsyncMillis      int64
	Bytes            int64 // written for this checkpoint
}

// Manifest describes one completed checkpoint. It is immutable.
type Manifest struct {
	Job        ident.JobID
	JobName    string
	Checkpoint ident.CheckpointID
	Token      ident.FencingToken
	HashName   string          // of the key hash, see doc/format
	Operators  []OperatorState // ascending by Name
	Stats      Stats
}
