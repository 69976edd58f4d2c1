package checkpoint

import (
	"fmt"
	"strings"
	"time"

	"github.com/cutwater-io/cutwater/internal/ident"
)

// Action is what the shell must do. [Coordinator.Step] returns pointers to
// structs that belong to the coordinator: they, and the slices in them, are valid
// until the next Step. Actions are executed in order; those that start I/O only
// start it. String is the spelling in scenario files.
type Action interface {
	fmt.Stringer
	action()
}

// ReserveIDs: append to the job log that Count ids, all greater than Above, are
// taken, and answer with [IDsReserved]. At most one is outstanding.
type ReserveIDs struct {
	Above ident.CheckpointID
	Count uint64
}

// SnapshotCoordinators: snapshot every operator coordinator, close their gateways
// to the subtasks, wait for events in flight, and answer with
// [CoordinatorsSnapshotted]. No operator coordinator at all: answer at once. Hold
// the bytes under ID until the checkpoint ends. This is the first action that names
// ID; it says what it is for.
type SnapshotCoordinators struct {
	ID      ident.CheckpointID
	Kind    Kind
	Request RequestID // 0: periodic
}

// DiscardCoordinators: the snapshot of the operator coordinators came too late;
// drop its bytes.
type DiscardCoordinators struct{ ID ident.CheckpointID }

// SendTrigger: send TriggerCheckpoint to every attempt in To. Report each that
// cannot be reached with [TriggerFailed].
type SendTrigger struct {
	ID              ident.CheckpointID
	Kind            Kind
	TimestampMillis int64 // since 1970
	To              []ident.AttemptID
}

// KeepAck: the payload of the acknowledgement just given is the task's; hold it
// under (ID, Attempt). An acknowledgement that is answered by neither KeepAck nor
// [DiscardAck] is a repetition: forget the message, delete nothing.
type KeepAck struct {
	ID      ident.CheckpointID
	Attempt ident.AttemptID
}

// DiscardAck: delete what the payload just given owns privately. Files it shares
// with other checkpoints are left to reachability.
type DiscardAck struct {
	ID      ident.CheckpointID
	Attempt ident.AttemptID
	// Late: the checkpoint expired a short while ago, so the task is only slow.
	// Otherwise nobody knows the id or the attempt.
	Late bool
}

// WriteManifest: every participant acknowledged. Write the manifest from the held
// payloads and answer with [ManifestWritten]. On failure leave no partial object.
// The shell puts a deadline on the I/O: an answer always comes.
type WriteManifest struct {
	ID    ident.CheckpointID
	Kind  Kind
	Stats Stats
}

// Publish: append the completed checkpoint to the job log and answer with
// [Published]. At most one Publish or [ResolvePublish] is outstanding.
type Publish struct{ ID ident.CheckpointID }

// ResolvePublish: the outcome of the last Publish is unknown. Read the log to find
// out whether the entry is there and answer with [Published].
type ResolvePublish struct{ ID ident.CheckpointID }

// NotifyComplete: ID is durable. Tell the attempts in To and all operator
// coordinators; errors of either are logged only. The payloads held under ID are
// no longer needed.
type NotifyComplete struct {
	ID           ident.CheckpointID
	LastSubsumed ident.CheckpointID // highest id that left the store so far; 0: none
	To           []ident.AttemptID
}

// NotifyAborted: tell the attempts in To that ID is dead, and all operator
// coordinators: they reopen their gateways, abandon a snapshot in progress and
// skip one that has not begun.
type NotifyAborted struct {
	ID              ident.CheckpointID
	LatestCompleted ident.CheckpointID // repairs a lost completion; 0: none
	To              []ident.AttemptID  // empty when no trigger had been sent
}

// DiscardPending: drop everything held under ID and delete what its
// acknowledgements own privately, and its manifest if there is one.
type DiscardPending struct{ ID ident.CheckpointID }

// DeleteCompleted: ID left the store. Delete what no checkpoint at or above
// LowestRetained can reach, off the critical path, and answer with [Deleted].
type DeleteCompleted struct {
	ID ident.CheckpointID
	// LowestRetained is the lowest id still in the store; 0: none is.
	LowestRetained ident.CheckpointID
}

// SetTimer: answer with [TimerFired] After from now.
type SetTimer struct {
	Timer TimerID
	After time.Duration // > 0
}

// CancelTimer: the timer is not needed any more. That it fires nevertheless does
// no harm.
type CancelTimer struct{ Timer TimerID }

// Resolve tells how a request ended; every request, also a periodic one, gets
// exactly one. The shell answers the caller and keeps history and counters by it.
type Resolve struct {
	Request RequestID // 0: periodic
	Kind    Kind
	ID      ident.CheckpointID // 0: failed before it had an id
	Reason  Reason             // ReasonNone: completed
	Attempt ident.AttemptID    // the task that declined or could not be reached, if HasAttempt
	// HasAttempt: a task caused the failure.
	HasAttempt bool
	Err        error // the cause, if one was reported
}

// FailJob: too many checkpoints failed in a row. With HasAttempt fail that task's
// attempt, which is current; otherwise the whole job. Either way the restart
// strategy decides what follows; if the job is being restarted already, that is
// enough.
type FailJob struct {
	Reason     Reason
	Attempt    ident.AttemptID
	HasAttempt bool
	Failures   int // in a row
	Err        error
}

// RestoreFrom answers [Failover]: restart from this checkpoint.
type RestoreFrom struct {
	ID ident.CheckpointID // 0: there is none, start from the beginning
}

// Closed is the last action: nothing is outstanding, and every later event is
// ignored, except that requests are refused.
type Closed struct {
	// Deposed: a newer leader exists. Stop everything at once; notify and
	// delete nothing.
	Deposed bool
}

func (*ReserveIDs) action()           {}
func (*SnapshotCoordinators) action() {}
func (*DiscardCoordinators) action()  {}
func (*SendTrigger) action()          {}
func (*KeepAck) action()              {}
func (*DiscardAck) action()           {}
func (*WriteManifest) action()        {}
func (*Publish) action()              {}
func (*ResolvePublish) action()       {}
func (*NotifyComplete) action()       {}
func (*NotifyAborted) action()        {}
func (*DiscardPending) action()       {}
func (*DeleteCompleted) action()      {}
func (*SetTimer) action()             {}
func (*CancelTimer) action()          {}
func (*Resolve) action()              {}
func (*FailJob) action()              {}
func (*RestoreFrom) action()          {}
func (*Closed) action()               {}

func (a *ReserveIDs) String() string {
	return fmt.Sprintf("reserve-ids above=%d count=%d", a.Above, a.Count)
}

func (a *SnapshotCoordinators) String() string {
	return fmt.Sprintf("snapshot-coordinators checkpoint=%d kind=%v request=%d", a.ID, a.Kind, a.Request)
}

func (a *DiscardCoordinators) String() string {
	return fmt.Sprintf("discard-coordinators checkpoint=%d", a.ID)
}

func (a *SendTrigger) String() string {
	return fmt.Sprintf("send-trigger checkpoint=%d kind=%v timestamp=%d to=%s", a.ID, a.Kind, a.TimestampMillis, attemptsText(a.To))
}

func (a *KeepAck) String() string {
	return fmt.Sprintf("keep-ack checkpoint=%d attempt=%v", a.ID, a.Attempt)
}

func (a *DiscardAck) String() string {
	s := fmt.Sprintf("discard-ack checkpoint=%d attempt=%v", a.ID, a.Attempt)
	if a.Late {
		s += " late"
	}
	return s
}

func (a *WriteManifest) String() string {
	s := fmt.Sprintf("write-manifest checkpoint=%d", a.ID)
	if a.Kind == Savepoint {
		s += " kind=savepoint"
	}
	return s + a.Stats.String()
}

func (a *Publish) String() string { return fmt.Sprintf("publish checkpoint=%d", a.ID) }

func (a *ResolvePublish) String() string {
	return fmt.Sprintf("resolve-publish checkpoint=%d", a.ID)
}

func (a *NotifyComplete) String() string {
	return fmt.Sprintf("notify-complete checkpoint=%d last-subsumed=%d to=%s", a.ID, a.LastSubsumed, attemptsText(a.To))
}

func (a *NotifyAborted) String() string {
	return fmt.Sprintf("notify-aborted checkpoint=%d latest-completed=%d to=%s", a.ID, a.LatestCompleted, attemptsText(a.To))
}

func (a *DiscardPending) String() string {
	return fmt.Sprintf("discard-pending checkpoint=%d", a.ID)
}

func (a *DeleteCompleted) String() string {
	return fmt.Sprintf("delete-completed checkpoint=%d lowest-retained=%d", a.ID, a.LowestRetained)
}

func (a *SetTimer) String() string {
	return fmt.Sprintf("set-timer timer=%d after=%v", a.Timer, a.After)
}

func (a *CancelTimer) String() string { return fmt.Sprintf("cancel-timer timer=%d", a.Timer) }

func (a *Resolve) String() string {
	s := fmt.Sprintf("resolve request=%d kind=%v", a.Request, a.Kind)
	if a.ID != 0 {
		s += fmt.Sprintf(" checkpoint=%d", a.ID)
	}
	s += fmt.Sprintf(" reason=%v", a.Reason)
	if a.HasAttempt {
		s += fmt.Sprintf(" attempt=%v", a.Attempt)
	}
	return s + errText(a.Err)
}

func (a *FailJob) String() string {
	s := fmt.Sprintf("fail-job reason=%v failures=%d", a.Reason, a.Failures)
	if a.HasAttempt {
		s += fmt.Sprintf(" attempt=%v", a.Attempt)
	}
	return s + errText(a.Err)
}

func (a *RestoreFrom) String() string { return fmt.Sprintf("restore-from checkpoint=%d", a.ID) }

func (a *Closed) String() string {
	if a.Deposed {
		return "closed deposed"
	}
	return "closed"
}

func attemptsText(list []ident.AttemptID) string {
	words := make([]string, len(list))
	for i, a := range list {
		words[i] = a.String()
	}
	return "(" + strings.Join(words, ", ") + ")"
}

// slab hands out structs of one action type that are reused by the next step, so
// that a step allocates only when it has more actions of a type than any before.
type slab[T any] struct {
	items []*T
	used  int
}

// next returns a struct with the contents of an earlier step; the caller sets
// every field and may reuse its slices.
func (s *slab[T]) next() *T {
	if s.used == len(s.items) {
		s.items = append(s.items, new(T))
	}
	s.used++
	return s.items[s.used-1]
}
