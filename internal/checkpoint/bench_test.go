package checkpoint

import (
	"testing"
	"time"

	"github.com/cutwater-io/cutwater/internal/ident"
)

func thousandTasks() []Task {
	tasks := make([]Task, 1000)
	for i := range tasks {
		tasks[i] = Task{
			Attempt: ident.AttemptID{Subtask: ident.SubtaskID{Vertex: ident.VertexID(i / 100), Index: int32(i % 100)}},
			Trigger: i < 100, Running: true,
		}
	}
	return tasks
}

// lifeOfACheckpoint is a checkpoint of all tasks without any check around it, from
// the tick to the deletion of the one before. It returns the reused slice.
func lifeOfACheckpoint(c *Coordinator, dst []Action, id ident.CheckpointID, tasks []Task) []Action {
	dst = c.Step(dst[:0], TimerFired{Timer: c.periodic.timer})
	if _, ok := dst[len(dst)-1].(*ReserveIDs); ok {
		dst = c.Step(dst[:0], IDsReserved{First: id, Count: 64})
	}
	dst = c.Step(dst[:0], CoordinatorsSnapshotted{ID: id})
	for i := range tasks {
		dst = c.Step(dst[:0], Acked{ID: id, Attempt: tasks[i].Attempt})
	}
	dst = c.Step(dst[:0], ManifestWritten{ID: id})
	dst = c.Step(dst[:0], Published{ID: id})
	if id > 1 {
		dst = c.Step(dst[:0], Deleted{ID: id - 1})
	}
	return dst
}

func TestStepsAllocateNothingInTheSteadyState(t *testing.T) {
	tasks := thousandTasks()
	c := New(Config{Interval: time.Hour})
	c.Step(nil, TasksChanged{Tasks: tasks})
	c.Step(nil, JobRunning{})
	var dst []Action
	id := ident.CheckpointID(0)
	life := func() {
		id++
		dst = lifeOfACheckpoint(c, dst, id, tasks)
	}
	for range 3 {
		life()
	}
	if n := testing.AllocsPerRun(100, life); n != 0 {
		t.Errorf("a checkpoint allocates %v times", n)
	}
	if c.LatestCompleted() != id || c.Pending() != 0 {
		t.Errorf("%d completed, want %d; %d pending", c.LatestCompleted(), id, c.Pending())
	}
}

// BenchmarkCheckpointOfAThousandSubtasks is one whole checkpoint: tick, snapshot of
// the coordinators, a thousand acknowledgements, manifest, log entry, deletion.
func BenchmarkCheckpointOfAThousandSubtasks(b *testing.B) {
	tasks := thousandTasks()
	c := New(Config{Interval: time.Hour})
	c.Step(nil, TasksChanged{Tasks: tasks})
	c.Step(nil, JobRunning{})
	var dst []Action
	id := ident.CheckpointID(0)
	b.ReportAllocs()
	for b.Loop() {
		id++
		dst = lifeOfACheckpoint(c, dst, id, tasks)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/ack")
}
