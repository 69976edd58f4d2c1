package task

import (
	"testing"
	"time"

	"github.com/cutwater-io/cutwater/internal/operator"
)

// A source that was polled and had more is due at once. While its outputs have no
// room that must not make the task spin: the batch that comes back wakes it.
func TestASourceThatWaitsForRoomSleeps(t *testing.T) {
	task := &Task{pull: struct{ operator.Pull }{}, shared: &operator.Task{NowNanos: 100, NowMillis: 7}}
	if d, ok := task.untilDue(true); !ok || d > 0 {
		t.Errorf("with room the source is due in %v (%t), want at once", d, ok)
	}
	if d, ok := task.untilDue(false); ok {
		t.Errorf("without room the task wakes itself in %v", d)
	}
	task.timers.add(9, func() error { return nil })
	if d, ok := task.untilDue(false); !ok || d != 2*time.Millisecond {
		t.Errorf("without room a timer is due in %v (%t), want 2ms", d, ok)
	}
}

func TestTimersOfTheSameTimeFireInTheOrderTheyWereSet(t *testing.T) {
	var ts timers
	var fired []int
	for i, at := range []int64{5, 3, 5, 9, 3} {
		ts.add(at, func() error { fired = append(fired, i); return nil })
	}
	if err := ts.fire(5); err != nil {
		t.Fatal(err)
	}
	want := []int{1, 4, 0, 2}
	for i := range want {
		if len(fired) != len(want) || fired[i] != want[i] {
			t.Fatalf("fired %v, want %v", fired, want)
		}
	}
	if at, ok := ts.next(); !ok || at != 9 {
		t.Errorf("next is %d (%t), want 9", at, ok)
	}
}
