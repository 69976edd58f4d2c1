package checkpoint

import "fmt"

// Reason is why a checkpoint, or the attempt to start one, failed
// (specification 3.7). The numbers travel between processes: append only.
type Reason uint8

// The reasons. Pre-flight means that it fails before any task can have heard of
// it; counted means that it counts against [Config].TolerableFailures.
const (
	// ReasonNone is success, or "no reason was given".
	ReasonNone Reason = iota
	// PeriodicSchedulerShutdown: a periodic trigger after the periodic
	// scheduler was stopped.
	PeriodicSchedulerShutdown
	// TooManyCheckpointRequests: the queue of requests is full.
	TooManyCheckpointRequests
	// MinimumTimeBetweenCheckpoints: the minimum pause is not over.
	MinimumTimeBetweenCheckpoints
	// NotAllRequiredTasksRunning: a task that must take part is not running.
	NotAllRequiredTasksRunning
	// IOException: ids could not be reserved, or an operator coordinator could
	// not be snapshotted. Counted.
	IOException
	// BlockingOutputExist: the graph has an exchange that does not stream.
	BlockingOutputExist
	// CheckpointAsyncException: the upload of a task's snapshot failed. Counted.
	CheckpointAsyncException
	// ChannelStateSharedStreamException: another subtask that writes to the
	// same channel-state file failed; that one's failure counts.
	ChannelStateSharedStreamException
	// CheckpointExpired: the timeout is over. Counted.
	CheckpointExpired
	// CheckpointSubsumed: a newer checkpoint completed.
	CheckpointSubsumed
	// CheckpointDeclined: a task declined without a better reason. Counted.
	CheckpointDeclined
	// CheckpointDeclinedTaskNotReady: the trigger reached a task that does not
	// run yet.
	CheckpointDeclinedTaskNotReady
	// CheckpointDeclinedTaskClosing: the trigger reached a task that is closing.
	CheckpointDeclinedTaskClosing
	// CheckpointDeclinedSubsumed: a newer barrier came during the alignment.
	CheckpointDeclinedSubsumed
	// CheckpointDeclinedOnCancellationBarrier: a cancel marker came.
	CheckpointDeclinedOnCancellationBarrier
	// CheckpointDeclinedInputEndOfStream: an input ended during the alignment
	// while checkpoints after the end of tasks are off.
	CheckpointDeclinedInputEndOfStream
	// CheckpointCoordinatorShutdown: the job ended.
	CheckpointCoordinatorShutdown
	// CheckpointCoordinatorSuspend: the job left RUNNING, or this process no
	// longer leads it.
	CheckpointCoordinatorSuspend
	// JobFailoverRegion: tasks are about to be restored.
	JobFailoverRegion
	// TaskFailure: a task failed while the checkpoint was pending.
	TaskFailure
	// TaskCheckpointFailure: the trigger was for a task its process does not know.
	TaskCheckpointFailure
	// UnknownTaskCheckpointNotificationFailure: a notification was for a task
	// its process does not know. Logged by the shell, never an outcome.
	UnknownTaskCheckpointNotificationFailure
	// FinalizeCheckpointFailure: the manifest or the log entry could not be
	// written. Counted.
	FinalizeCheckpointFailure
	// TriggerCheckpointFailure: any other failure to trigger.
	TriggerCheckpointFailure

	reasonEnd
)

// reasons is the table of specification 3.7. A reason without an entry has an
// empty name and is refused by known.
var reasons = [reasonEnd]struct {
	name      string
	preFlight bool
	counted   bool
}{
	ReasonNone:                               {name: "none"},
	PeriodicSchedulerShutdown:                {name: "PERIODIC_SCHEDULER_SHUTDOWN", preFlight: true},
	TooManyCheckpointRequests:                {name: "TOO_MANY_CHECKPOINT_REQUESTS", preFlight: true},
	MinimumTimeBetweenCheckpoints:            {name: "MINIMUM_TIME_BETWEEN_CHECKPOINTS", preFlight: true},
	NotAllRequiredTasksRunning:               {name: "NOT_ALL_REQUIRED_TASKS_RUNNING", preFlight: true},
	IOException:                              {name: "IO_EXCEPTION", preFlight: true, counted: true},
	BlockingOutputExist:                      {name: "BLOCKING_OUTPUT_EXIST", preFlight: true},
	CheckpointAsyncException:                 {name: "CHECKPOINT_ASYNC_EXCEPTION", counted: true},
	ChannelStateSharedStreamException:        {name: "CHANNEL_STATE_SHARED_STREAM_EXCEPTION"},
	CheckpointExpired:                        {name: "CHECKPOINT_EXPIRED", counted: true},
	CheckpointSubsumed:                       {name: "CHECKPOINT_SUBSUMED"},
	CheckpointDeclined:                       {name: "CHECKPOINT_DECLINED", counted: true},
	CheckpointDeclinedTaskNotReady:           {name: "CHECKPOINT_DECLINED_TASK_NOT_READY"},
	CheckpointDeclinedTaskClosing:            {name: "CHECKPOINT_DECLINED_TASK_CLOSING"},
	CheckpointDeclinedSubsumed:               {name: "CHECKPOINT_DECLINED_SUBSUMED"},
	CheckpointDeclinedOnCancellationBarrier:  {name: "CHECKPOINT_DECLINED_ON_CANCELLATION_BARRIER"},
	CheckpointDeclinedInputEndOfStream:       {name: "CHECKPOINT_DECLINED_INPUT_END_OF_STREAM"},
	CheckpointCoordinatorShutdown:            {name: "CHECKPOINT_COORDINATOR_SHUTDOWN"},
	CheckpointCoordinatorSuspend:             {name: "CHECKPOINT_COORDINATOR_SUSPEND"},
	JobFailoverRegion:                        {name: "JOB_FAILOVER_REGION"},
	TaskFailure:                              {name: "TASK_FAILURE"},
	TaskCheckpointFailure:                    {name: "TASK_CHECKPOINT_FAILURE"},
	UnknownTaskCheckpointNotificationFailure: {name: "UNKNOWN_TASK_CHECKPOINT_NOTIFICATION_FAILURE"},
	FinalizeCheckpointFailure:                {name: "FINALIZE_CHECKPOINT_FAILURE", counted: true},
	TriggerCheckpointFailure:                 {name: "TRIGGER_CHECKPOINT_FAILURE"},
}

// Known reports whether r stands in the table. The decoder of messages must ask
// before it passes a foreign number on: the coordinator panics on an unknown one,
// because to ignore it would be to classify it (defect D6).
func (r Reason) Known() bool { return r < reasonEnd && reasons[r].name != "" }

// PreFlight reports whether r fails a checkpoint before any task heard of it.
func (r Reason) PreFlight() bool { return reasons[r.known()].preFlight }

// Counted reports whether r counts against the tolerable failures.
func (r Reason) Counted() bool { return reasons[r.known()].counted }

// String is the standard name, as in logs, metrics and scenario files.
func (r Reason) String() string {
	if !r.Known() {
		return fmt.Sprintf("REASON_%d_UNKNOWN", uint8(r))
	}
	return reasons[r].name
}

func (r Reason) known() Reason {
	if !r.Known() {
		panic(fmt.Sprintf("checkpoint: reason %d is not in the table of reasons; add it with its flags", uint8(r)))
	}
	return r
}

// ParseReason is the inverse of String.
func ParseReason(name string) (Reason, error) {
	for r := range reasons {
		if reasons[r].name == name {
			return Reason(r), nil
		}
	}
	return 0, fmt.Errorf("checkpoint: %q is not the name of a failure reason", name)
}
