package checkpoint

import (
	"fmt"
	"strings"
	"time"

	"github.com/cutwater-io/cutwater/internal/ident"
)

// Event is what happened, told to [Coordinator.Step]. Events are passed by
// value: Step takes what it needs and keeps no reference, so passing one does
// not allocate. String is the spelling in scenario files.
type Event interface {
	fmt.Stringer
	event()
}

// At is when an event is handled. The shell's loop stamps it when it takes the
// event out of its queue, so that it never goes back from one event to the next;
// if it does, the event counts as happening at the latest time seen.
type At struct {
	// Now is monotonic time since any fixed point of this process. All
	// intervals, pauses and timeouts are measured on it.
	Now time.Duration
	// WallMillis is milliseconds since 1970. It only becomes the trigger
	// timestamp that tasks see; nothing is decided by it, so it may jump.
	WallMillis int64
}

// Kind is what is asked for.
type Kind uint8

const (
	// Checkpoint is published in the job log, found by recovery, and deleted
	// when newer ones supersede it.
	Checkpoint Kind = iota
	// Savepoint is kept for the user: written, never published, never deleted,
	// and it supersedes nothing (specification 3.5 and 3.11). Its effects are
	// committed by the next checkpoint.
	Savepoint
)

func (k Kind) String() string {
	if k == Savepoint {
		return "savepoint"
	}
	return "checkpoint"
}

// RequestID names a request of a caller. Zero is the coordinator's own periodic
// request, which nobody waits for.
type RequestID uint64

// TimerID names one timer for its whole life. Ids are not used twice, so a timer
// that fires while its cancellation is on the way is recognised and ignored.
type TimerID uint64

// Outcome is the result of an append to the job log. It has more than two values
// because "I do not know" and "I am not the leader" must not be treated as
// failure: in neither case may a file be deleted.
type Outcome uint8

const (
	// OK: the entry is in the log, durably.
	OK Outcome = iota
	// Failed: the entry is not in the log and never will be.
	Failed
	// Unknown: the entry may be in the log. Never guess; read back.
	Unknown
	// Deposed: a newer leader has claimed the log.
	Deposed
)

func (o Outcome) String() string {
	return [...]string{"ok", "failed", "unknown", "deposed"}[o]
}

// Task is one subtask of the running job as the checkpoint plan sees it.
type Task struct {
	Attempt ident.AttemptID
	// Trigger: this task is told by message to start the checkpoint. True for
	// sources, and for tasks with no running predecessor once some tasks have
	// finished (specification 3.8). Ignored when Finished.
	Trigger bool
	// Running: the task can take part. A task that is still being deployed or
	// restored, that failed, or that has no attempt at all is not running.
	Running bool
	// Finished: the task ended normally; nobody waits for it.
	Finished bool
}

// Retained is a completed checkpoint found in the job log at start.
type Retained struct {
	ID ident.CheckpointID
	// Foreign: its files belong to somebody else (the job was started from a
	// savepoint). It leaves the store like any other, but is never deleted.
	Foreign bool
}

// Metrics are what a task measured. -1 means unknown.
type Metrics struct {
	StartDelayMillis int64 // trigger timestamp to first barrier
	AlignmentMillis  int64 // first barrier to last
	SyncMillis       int64
	AsyncMillis      int64
	Bytes            int64 // written for this checkpoint
}

// Restored is the first event of a coordinator that continues an earlier life of
// the job. It must come before any other event.
type Restored struct {
	At
	// Reserved is the highest id ever reserved for the job, or the id of the
	// snapshot the job was started from if that is higher. 0: none.
	Reserved ident.CheckpointID
	// Retained are the completed checkpoints still in the log, in any order.
	// If one of them cannot be read, do not leave it out: fail the recovery.
	Retained []Retained
}

// JobRunning: the job reached RUNNING. Periodic checkpoints start.
type JobRunning struct {
	At
	// Random in [0, 1) places the first checkpoint between the minimum pause
	// and the interval, so that jobs started together do not checkpoint together.
	Random float64
}

// JobNotRunning: the job left RUNNING without having ended. Everything that
// waits or is pending is aborted; completed checkpoints stay.
type JobNotRunning struct{ At }

// TasksChanged gives the complete task set, after every change of an attempt or of
// a flag.
type TasksChanged struct {
	At
	Tasks []Task
}

// Failover: tasks are about to be restarted from a checkpoint. The answer is one
// [RestoreFrom], which comes as soon as no checkpoint is between the last
// acknowledgement and its outcome. Nothing is triggered before the next
// [TasksChanged].
type Failover struct{ At }

// TimerFired: the timer asked for by [SetTimer] is due.
type TimerFired struct {
	At
	Timer TimerID
}

// Request asks for a checkpoint or savepoint now, without regard to the minimum
// pause. It is answered by one [Resolve]. Users ask, and the shell does when all
// tasks have reported the end of their input, so that the last effects are
// committed without waiting for an interval (S127).
type Request struct {
	At
	Request RequestID // not 0
	Kind    Kind
	// Forced: start even if the limit of concurrent checkpoints is reached.
	// Savepoints are forced anyway when unaligned checkpoints are off.
	Forced bool
}

// IDsReserved answers [ReserveIDs]. The ids First … First+Count-1 are durably
// taken. With Unknown they may or may not be; they are skipped either way, so the
// shell need not read back, but must never hand them out again.
type IDsReserved struct {
	At
	Outcome Outcome
	First   ident.CheckpointID
	Count   uint64
	Err     error // why not OK
}

// CoordinatorsSnapshotted answers [SnapshotCoordinators]: all operator
// coordinators were snapshotted and their gateways are closed, or Err says what
// failed. After an abort of ID it may still come, once.
type CoordinatorsSnapshotted struct {
	At
	ID  ident.CheckpointID
	Err error
}

// TriggerFailed: the trigger message did not reach a task. Reason is ReasonNone
// when the failure carried none.
type TriggerFailed struct {
	At
	ID      ident.CheckpointID
	Attempt ident.AttemptID
	Reason  Reason
	Err     error
}

// Acked: a task acknowledged. The shell holds the payload until the actions of
// this step say what to do with it.
type Acked struct {
	At
	ID      ident.CheckpointID
	Attempt ident.AttemptID
	Metrics Metrics
}

// Declined: a task declined. Reason is ReasonNone when it gave none.
type Declined struct {
	At
	ID      ident.CheckpointID
	Attempt ident.AttemptID
	Reason  Reason
	Err     error
}

// ManifestWritten answers [WriteManifest].
type ManifestWritten struct {
	At
	ID  ident.CheckpointID
	Err error
}

// Published answers [Publish] and [ResolvePublish].
type Published struct {
	At
	ID      ident.CheckpointID
	Outcome Outcome
	Err     error
}

// Deleted answers [DeleteCompleted]. With Err the files stay as a leak; that is
// logged by the shell and never retried here.
type Deleted struct {
	At
	ID  ident.CheckpointID
	Err error
}

// JobStatus is how a job ended for good.
type JobStatus uint8

const (
	// Finished: all tasks reached the end of their input.
	Finished JobStatus = iota
	// Canceled by the user.
	Canceled
	// JobFailed: the restart strategy gave up.
	JobFailed
)

func (s JobStatus) String() string { return [...]string{"finished", "canceled", "failed"}[s] }

// Shutdown: the job ended for good, and the job log says so already: what is
// deleted now must not be looked for by a next run (defect D21). Pending checkpoints
// are aborted and completed ones deleted if [Config].Retention says so. The answer is
// one [Closed], which waits for the deletions. If they or a log entry hang, [Suspend]
// ends the waiting.
type Shutdown struct {
	At
	Status JobStatus
}

// Suspend: this process stops leading, but the job has not ended: the process
// ends, or leadership was lost. Nothing durable is touched and no task is told
// anything; the next leader decides from the log. The answer is one [Closed],
// in the same step.
type Suspend struct{ At }

func (Restored) event()                {}
func (JobRunning) event()              {}
func (JobNotRunning) event()           {}
func (TasksChanged) event()            {}
func (Failover) event()                {}
func (TimerFired) event()              {}
func (Request) event()                 {}
func (IDsReserved) event()             {}
func (CoordinatorsSnapshotted) event() {}
func (TriggerFailed) event()           {}
func (Acked) event()                   {}
func (Declined) event()                {}
func (ManifestWritten) event()         {}
func (Published) event()               {}
func (Deleted) event()                 {}
func (Shutdown) event()                {}
func (Suspend) event()                 {}

func (e Restored) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "restored reserved=%d retained=(", e.Reserved)
	for i, r := range e.Retained {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, uint64(r.ID))
		if r.Foreign {
			b.WriteString(" foreign")
		}
	}
	return b.String() + ")"
}

func (e JobRunning) String() string  { return fmt.Sprintf("job-running random=%v", e.Random) }
func (JobNotRunning) String() string { return "job-not-running" }
func (Failover) String() string      { return "failover" }
func (Suspend) String() string       { return "suspend" }
func (e Shutdown) String() string    { return "shutdown status=" + e.Status.String() }
func (e TimerFired) String() string  { return fmt.Sprintf("timer-fired timer=%d", e.Timer) }

// String spells a task as attempt and flags: 1.0#0 trigger not-running.
func (t Task) String() string {
	s := t.Attempt.String()
	if t.Trigger {
		s += " trigger"
	}
	if t.Finished {
		s += " finished"
	} else if !t.Running {
		s += " not-running"
	}
	return s
}

func (e TasksChanged) String() string {
	words := make([]string, len(e.Tasks))
	for i, t := range e.Tasks {
		words[i] = t.String()
	}
	return "tasks-changed tasks=(" + strings.Join(words, ", ") + ")"
}

func (e Request) String() string {
	s := fmt.Sprintf("request id=%d kind=%v", e.Request, e.Kind)
	if e.Forced {
		s += " forced"
	}
	return s
}

func (e IDsReserved) String() string {
	if e.Outcome == OK {
		return fmt.Sprintf("ids-reserved outcome=ok first=%d count=%d", e.First, e.Count)
	}
	return fmt.Sprintf("ids-reserved outcome=%v%s", e.Outcome, errText(e.Err))
}

func (e CoordinatorsSnapshotted) String() string {
	return fmt.Sprintf("coordinators-snapshotted checkpoint=%d%s", e.ID, errText(e.Err))
}

func (e TriggerFailed) String() string {
	return fmt.Sprintf("trigger-failed checkpoint=%d attempt=%v%s%s", e.ID, e.Attempt, reasonText(e.Reason), errText(e.Err))
}

func (e Acked) String() string {
	s := fmt.Sprintf("acked checkpoint=%d attempt=%v", e.ID, e.Attempt)
	if e.Metrics != (Metrics{}) {
		m := e.Metrics
		s += fmt.Sprintf(" delay=%d alignment=%d sync=%d async=%d bytes=%d", m.StartDelayMillis, m.AlignmentMillis, m.SyncMillis, m.AsyncMillis, m.Bytes)
	}
	return s
}

func (e Declined) String() string {
	return fmt.Sprintf("declined checkpoint=%d attempt=%v%s%s", e.ID, e.Attempt, reasonText(e.Reason), errText(e.Err))
}

func (e ManifestWritten) String() string {
	return fmt.Sprintf("manifest-written checkpoint=%d%s", e.ID, errText(e.Err))
}

func (e Published) String() string {
	return fmt.Sprintf("published checkpoint=%d outcome=%v%s", e.ID, e.Outcome, errText(e.Err))
}

func (e Deleted) String() string {
	return fmt.Sprintf("deleted checkpoint=%d%s", e.ID, errText(e.Err))
}

func reasonText(r Reason) string {
	if r == ReasonNone {
		return ""
	}
	return " reason=" + r.String()
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return " err=(" + err.Error() + ")"
}
