package joblog

import (
	"fmt"

	"github.com/cutwater-io/cutwater/internal/ident"
)

// Entry is one fact in the log: one of the types below.
type Entry interface {
	fmt.Stringer
	kind() kind
}

type kind uint8

const (
	kindCreated kind = iota + 1
	kindClaim
	kindReserve
	kindCompleted
	kindRemoved
	kindFresh
	kindStopped
	kindVoid
	kindSnapshot
)

// Created is the first entry of every log.
type Created struct {
	Job     ident.JobID
	JobName string
}

// Claim makes its writer the leader. Entries of a smaller token cannot follow.
type Claim struct{ Token ident.FencingToken }

// Reserve makes the ids First to First+Count-1 usable by the leader. They are
// never given out again, used or not (invariant I2).
type Reserve struct {
	First ident.CheckpointID
	Count uint32
}

// CheckpointKind says why a checkpoint was taken.
type CheckpointKind uint8

const (
	// Periodic is an ordinary checkpoint.
	Periodic CheckpointKind = iota
	// Savepoint was asked for and belongs to the user. It is in the log only
	// if the job was started from it.
	Savepoint
	// SyncSavepoint is the savepoint of a stop-with-savepoint. It is recorded
	// before anybody is notified, so that a crash before the job's end
	// neither repeats nor loses what its sinks committed (S143).
	SyncSavepoint
)

func (k CheckpointKind) String() string {
	switch k {
	case Periodic:
		return "checkpoint"
	case Savepoint:
		return "savepoint"
	case SyncSavepoint:
		return "synchronous savepoint"
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Completed publishes a checkpoint. From the moment this entry is durable the
// checkpoint is complete; not before, and never not again.
type Completed struct {
	Checkpoint ident.CheckpointID
	Kind       CheckpointKind
	// Manifest is the object's name in the store.
	Manifest string
}

// Removed takes a checkpoint off the log. Its files may be deleted afterwards.
type Removed struct{ Checkpoint ident.CheckpointID }

// Fresh says that the leader's run began without state although there were
// checkpoints. None of them is a candidate for a restore any more: otherwise a
// crash before the run's first checkpoint would bring the old state back.
type Fresh struct{}

// Status is how a run ended.
type Status uint8

const (
	// Died: the run ended without a word, or never was.
	Died Status = iota
	// Finished: all input was read. The next run starts fresh.
	Finished
	// Canceled: somebody ended the job. The latest checkpoint stays valid.
	Canceled
	// Failed: the job gave up. The latest checkpoint stays valid.
	Failed
	// Suspended: stop with a savepoint that is to be continued.
	Suspended
)

func (s Status) String() string {
	switch s {
	case Died:
		return "DIED"
	case Finished:
		return "FINISHED"
	case Canceled:
		return "CANCELED"
	case Failed:
		return "FAILED"
	case Suspended:
		return "SUSPENDED"
	}
	return fmt.Sprintf("status(%d)", uint8(s))
}

// Stopped ends a run. Only Removed may follow it before the next claim.
type Stopped struct {
	Status Status
	// Message is for people: the cause of a failure, the path of a savepoint.
	Message string
}

// void decides a slot whose outcome was unknown and means nothing.
type void struct{}

// snapshot is everything that the entries before it say.
type snapshot struct{ state state }

func (Created) kind() kind   { return kindCreated }
func (Claim) kind() kind     { return kindClaim }
func (Reserve) kind() kind   { return kindReserve }
func (Completed) kind() kind { return kindCompleted }
func (Removed) kind() kind   { return kindRemoved }
func (Fresh) kind() kind     { return kindFresh }
func (Stopped) kind() kind   { return kindStopped }
func (void) kind() kind      { return kindVoid }
func (snapshot) kind() kind  { return kindSnapshot }

func (e Created) String() string { return fmt.Sprintf("created job=%s name=%q", e.Job, e.JobName) }
func (e Claim) String() string   { return fmt.Sprintf("claim token=%d", e.Token) }
func (e Reserve) String() string {
	return fmt.Sprintf("reserve first=%d count=%d", e.First, e.Count)
}
func (e Completed) String() string {
	return fmt.Sprintf("completed %s=%d manifest=%s", e.Kind, e.Checkpoint, e.Manifest)
}
func (e Removed) String() string { return fmt.Sprintf("removed checkpoint=%d", e.Checkpoint) }
func (Fresh) String() string     { return "fresh" }
func (e Stopped) String() string { return fmt.Sprintf("stopped %s %q", e.Status, e.Message) }
func (void) String() string      { return "void" }
func (e snapshot) String() string {
	return fmt.Sprintf("snapshot token=%d next=%d completed=%d former=%d",
		e.state.token, e.state.nextID, len(e.state.completed), len(e.state.former))
}
