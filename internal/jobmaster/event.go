package jobmaster

import (
	"fmt"
	"time"

	"github.com/cutwater-io/cutwater/internal/checkpoint"
	"github.com/cutwater-io/cutwater/internal/ident"
	"github.com/cutwater-io/cutwater/internal/rpc"
)

// Event is something a person watching the job wants to know. String says it in
// one line.
type Event interface {
	fmt.Stringer
	jobEvent()
}

// Restoring: the tasks are about to be started from a checkpoint, or from the
// beginning when Checkpoint is 0.
type Restoring struct {
	Checkpoint ident.CheckpointID
	// Finished says that a fresh start is due because the job had FINISHED.
	Finished bool
	Restart  int // 0 for the first start
}

// AllRunning: every task runs.
type AllRunning struct{ Tasks int }

// CheckpointTriggered: the sources were told to begin a checkpoint.
type CheckpointTriggered struct{ Checkpoint ident.CheckpointID }

// CheckpointPublished: the checkpoint is durable, and nobody has been told yet.
type CheckpointPublished struct{ Checkpoint ident.CheckpointID }

// CheckpointCompleted: everybody was told.
type CheckpointCompleted struct {
	Checkpoint ident.CheckpointID
	Stats      checkpoint.Stats
}

// CheckpointFailed: it will never be complete.
type CheckpointFailed struct {
	Checkpoint ident.CheckpointID // 0: failed before it had an id
	Reason     checkpoint.Reason
	Err        error
}

// TaskFailed: an attempt failed.
type TaskFailed struct {
	Task string
	Err  error
}

// Restarting: the job starts again after a failure.
type Restarting struct {
	Restart int // the first is 1
	Delay   time.Duration
}

// JobEnded: nothing runs any more.
type JobEnded struct {
	Status checkpoint.JobStatus
	Err    error
	// Counters of this run, over all tasks.
	Counters rpc.Counters
}

func (Restoring) jobEvent()           {}
func (AllRunning) jobEvent()          {}
func (CheckpointTriggered) jobEvent() {}
func (CheckpointPublished) jobEvent() {}
func (CheckpointCompleted) jobEvent() {}
func (CheckpointFailed) jobEvent()    {}
func (TaskFailed) jobEvent()          {}
func (Restarting) jobEvent()          {}
func (JobEnded) jobEvent()            {}

func (e Restoring) String() string {
	switch {
	case e.Checkpoint > 0:
		return fmt.Sprintf("restoring checkpoint %d", e.Checkpoint)
	case e.Finished:
		return "starting fresh: the last run read all its input"
	}
	return "starting fresh"
}
func (e AllRunning) String() string { return fmt.Sprintf("%d tasks running", e.Tasks) }
func (e CheckpointTriggered) String() string {
	return fmt.Sprintf("checkpoint %d triggered", e.Checkpoint)
}
func (e CheckpointPublished) String() string {
	return fmt.Sprintf("checkpoint %d published", e.Checkpoint)
}
func (e CheckpointCompleted) String() string {
	return fmt.Sprintf("checkpoint %d complete: %d bytes in %v", e.Checkpoint, e.Stats.Bytes, time.Duration(e.Stats.DurationMillis)*time.Millisecond)
}
func (e CheckpointFailed) String() string {
	s := fmt.Sprintf("checkpoint %d failed: %v", e.Checkpoint, e.Reason)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}
func (e TaskFailed) String() string { return e.Err.Error() }
func (e Restarting) String() string {
	return fmt.Sprintf("restart %d in %v", e.Restart, e.Delay.Round(time.Millisecond))
}
func (e JobEnded) String() string {
	s := fmt.Sprintf("job %v", e.Status)
	if n := e.Counters.Late; n > 0 {
		s += fmt.Sprintf(", %d late records dropped", n)
	}
	if n := e.Counters.BadRecords; n > 0 {
		s += fmt.Sprintf(", %d bad records set aside", n)
	}
	if e.Err != nil {
		s += fmt.Sprintf(": %v", e.Err)
	}
	return s
}
