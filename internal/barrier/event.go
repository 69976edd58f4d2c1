package barrier

import (
	"fmt"

	"github.com/cutwater-io/cutwater/internal/ident"
)

// Event is what happened at the inputs of a subtask: the input of [Aligner.Step].
type Event interface {
	fmt.Stringer
	alignerEvent()
}

// Moment is when an event happened, as the task loop saw it. The cores have no
// clock: what they need to know about time and volume comes in with the event.
type Moment struct {
	// Nanos is monotonic time in nanoseconds from any fixed origin of the process.
	Nanos int64
	// WallMillis is wall clock time in milliseconds since 1970, to be compared
	// with the barrier's timestamp, which another machine's clock gave.
	WallMillis int64
	// InputBytes is the number of bytes the task has taken from its gates since
	// it started. Zero always, if nobody counts.
	InputBytes int64
}

// Barrier says that a checkpoint barrier was read from a channel.
type Barrier struct {
	Channel         ident.ChannelID
	Checkpoint      ident.CheckpointID
	TimestampMillis int64 // when the coordinator triggered, milliseconds since 1970
	Options         Options
	Now             Moment
}

// CancelMarker says that a cancel marker was read from a channel: upstream will
// not send, or does not stand by, the barrier of that checkpoint.
type CancelMarker struct {
	Channel    ident.ChannelID
	Checkpoint ident.CheckpointID
}

// EndOfPartition says that a channel ended. Nothing is read from it afterwards.
type EndOfPartition struct {
	Channel ident.ChannelID
	Now     Moment
}

// Trigger is the coordinator's TriggerCheckpoint. It is an event of both cores:
// the task steps [Snapshots] with it, which decides whether the subtask may take
// part at all, and steps the aligner when told so by [AlignTrigger].
type Trigger struct {
	Checkpoint      ident.CheckpointID
	TimestampMillis int64
	Options         Options
	Now             Moment
}

// Aborted is the coordinator's NotifyCheckpointAborted. It is an event of both
// cores: the task steps [Snapshots] first, then the aligner.
type Aborted struct {
	Checkpoint ident.CheckpointID
	// Latest is the newest completed checkpoint the coordinator knows, to repair
	// a lost notification. Zero: none.
	Latest ident.CheckpointID
}

// Closed says that the task ends without regard to checkpoints: it was cancelled
// or it failed. It is an event of both cores; all later events are ignored,
// except that parts still running report their end.
type Closed struct{}

func (Barrier) alignerEvent()        {}
func (CancelMarker) alignerEvent()   {}
func (EndOfPartition) alignerEvent() {}
func (Trigger) alignerEvent()        {}
func (Aborted) alignerEvent()        {}
func (Closed) alignerEvent()         {}

func (e Barrier) String() string {
	var l line
	l.word("barrier").channel(e.Channel).checkpoint(e.Checkpoint)
	return l.number("timestamp", e.TimestampMillis).options(e.Options).moment(e.Now).String()
}

func (e CancelMarker) String() string {
	var l line
	return l.word("cancel").channel(e.Channel).checkpoint(e.Checkpoint).String()
}

func (e EndOfPartition) String() string {
	var l line
	return l.word("end-of-partition").channel(e.Channel).moment(e.Now).String()
}

func (e Trigger) String() string {
	var l line
	l.word("trigger").checkpoint(e.Checkpoint)
	return l.number("timestamp", e.TimestampMillis).options(e.Options).moment(e.Now).String()
}

func (e Aborted) String() string {
	var l line
	return l.word("aborted").checkpoint(e.Checkpoint).number("latest", int64(e.Latest)).String()
}

func (Closed) String() string { return "closed" }
