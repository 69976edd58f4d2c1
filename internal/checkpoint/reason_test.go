package checkpoint

import (
	"strings"
	"testing"
)

func TestS098AReasonThatIsNotInTheTablePanics(t *testing.T) {
	for _, reason := range []Reason{reasonEnd, 200, 255} {
		if reason.Known() {
			t.Errorf("%v is known", reason)
		}
		mustPanic(t, "not in the table", func() { reason.Counted() })
		mustPanic(t, "not in the table", func() { reason.PreFlight() })
		// Also when it is about a checkpoint that is of no interest any more.
		mustPanic(t, "not in the table", func() {
			drive(t, Config{}).c.Step(nil, Declined{ID: 99, Attempt: attempt("1.0#0"), Reason: reason})
		})
	}
}

// The table of specification 3.7, written down a second time.
func TestEveryReasonHasTheFlagsOfTheSpecification(t *testing.T) {
	const table = `
PERIODIC_SCHEDULER_SHUTDOWN yes no
TOO_MANY_CHECKPOINT_REQUESTS yes no
MINIMUM_TIME_BETWEEN_CHECKPOINTS yes no
NOT_ALL_REQUIRED_TASKS_RUNNING yes no
IO_EXCEPTION yes yes
BLOCKING_OUTPUT_EXIST yes no
CHECKPOINT_ASYNC_EXCEPTION no yes
CHANNEL_STATE_SHARED_STREAM_EXCEPTION no no
CHECKPOINT_EXPIRED no yes
CHECKPOINT_SUBSUMED no no
CHECKPOINT_DECLINED no yes
CHECKPOINT_DECLINED_TASK_NOT_READY no no
CHECKPOINT_DECLINED_TASK_CLOSING no no
CHECKPOINT_DECLINED_SUBSUMED no no
CHECKPOINT_DECLINED_ON_CANCELLATION_BARRIER no no
CHECKPOINT_DECLINED_INPUT_END_OF_STREAM no no
CHECKPOINT_COORDINATOR_SHUTDOWN no no
CHECKPOINT_COORDINATOR_SUSPEND no no
JOB_FAILOVER_REGION no no
TASK_FAILURE no no
TASK_CHECKPOINT_FAILURE no no
UNKNOWN_TASK_CHECKPOINT_NOTIFICATION_FAILURE no no
FINALIZE_CHECKPOINT_FAILURE no yes
TRIGGER_CHECKPOINT_FAILURE no no`
	lines := strings.Split(strings.TrimSpace(table), "\n")
	if len(lines) != int(reasonEnd)-1 {
		t.Errorf("the specification has %d reasons, the table %d", len(lines), reasonEnd-1)
	}
	for i, line := range lines {
		f := strings.Fields(line)
		r, err := ParseReason(f[0])
		if err != nil {
			t.Error(err)
			continue
		}
		if r != Reason(i+1) {
			t.Errorf("%v is number %d; numbers travel between processes and must stay", r, r)
		}
		if r.PreFlight() != (f[1] == "yes") || r.Counted() != (f[2] == "yes") {
			t.Errorf("%v: pre-flight %v, counted %v, want %s, %s", r, r.PreFlight(), r.Counted(), f[1], f[2])
		}
	}
}

// One declined checkpoint per reason: the job fails exactly when it is counted.
func TestADeclineWithAnyReasonIsOneAbort(t *testing.T) {
	for r := ReasonNone; r < reasonEnd; r++ {
		d := drive(t, Config{})
		d.request(Checkpoint)
		d.step(Declined{ID: 1, Attempt: attempt("1.0#0"), Reason: r})
		effective := r
		if r == ReasonNone {
			effective = CheckpointDeclined
		}
		failed := 0
		if effective.Counted() {
			failed = 1
		}
		if d.count("notify-aborted") != 1 || d.count("discard-pending") != 1 ||
			d.count("resolve request=1 kind=checkpoint checkpoint=1 reason="+effective.String()+" ") != 1 || d.count("fail-job") != failed {
			t.Errorf("%v: %v", r, d.seen)
		}
	}
}
