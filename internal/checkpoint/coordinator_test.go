package checkpoint

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cutwater-io/cutwater/internal/ident"
)

// driver is a coordinator with a shell whose I/O succeeds at once. Tests that
// want a say in it use scenario files.
type driver struct {
	t      testing.TB
	c      *Coordinator
	ledger Ledger
	seen   []string // actions since the last clear, spelled
	lastID ident.CheckpointID
	timer  TimerID // last one set
	reqs   RequestID
}

func drive(t testing.TB, cfg Config, tasks ...Task) *driver {
	d := &driver{t: t, c: New(cfg)}
	if tasks == nil {
		tasks = []Task{{Attempt: attempt("0.0#0"), Trigger: true, Running: true}, {Attempt: attempt("1.0#0"), Running: true}}
	}
	d.step(TasksChanged{Tasks: tasks})
	d.step(JobRunning{})
	return d
}

func (d *driver) step(ev Event) {
	d.t.Helper()
	actions := d.c.Step(nil, ev)
	var answers []Event
	for _, a := range actions {
		d.seen = append(d.seen, a.String())
		switch a := a.(type) {
		case *ReserveIDs:
			answers = append(answers, IDsReserved{First: a.Above + 1, Count: a.Count})
		case *SnapshotCoordinators:
			d.lastID = a.ID
			answers = append(answers, CoordinatorsSnapshotted{ID: a.ID})
		case *WriteManifest:
			answers = append(answers, ManifestWritten{ID: a.ID})
		case *Publish:
			answers = append(answers, Published{ID: a.ID})
		case *DeleteCompleted:
			answers = append(answers, Deleted{ID: a.ID})
		case *SetTimer:
			d.timer = a.Timer
		}
	}
	if err := errors.Join(d.c.Check(), d.ledger.Observe(ev, actions)); err != nil {
		d.t.Fatalf("after %v: %v", ev, err)
	}
	for _, answer := range answers {
		d.step(answer)
	}
}

func (d *driver) request(kind Kind) RequestID {
	d.t.Helper()
	d.reqs++
	d.step(Request{Request: d.reqs, Kind: kind})
	return d.reqs
}

// complete takes a checkpoint from request to completion.
func (d *driver) complete() {
	d.t.Helper()
	d.request(Checkpoint)
	for _, task := range d.c.plan.tasks {
		d.step(Acked{ID: d.lastID, Attempt: task.Attempt})
	}
}

// count returns how many actions since the last clear begin with prefix.
func (d *driver) count(prefix string) (n int) {
	for _, a := range d.seen {
		if strings.HasPrefix(a, prefix) {
			n++
		}
	}
	return n
}

func TestS015AFullQueueRefusesTheNewestRequest(t *testing.T) {
	d := drive(t, Config{})
	d.request(Checkpoint)
	for range maxQueuedRequests {
		d.request(Checkpoint)
	}
	if n := d.count("resolve"); n != 0 {
		t.Fatalf("%d requests are refused although there is room", n)
	}
	one := d.request(Checkpoint)
	want := fmt.Sprintf("resolve request=%d kind=checkpoint reason=TOO_MANY_CHECKPOINT_REQUESTS", one)
	if d.count(want) != 1 || d.count("resolve") != 1 {
		t.Errorf("got %v, want only %s", d.seen[len(d.seen)-1], want)
	}
	if n := len(d.c.queue.list); n != maxQueuedRequests {
		t.Errorf("%d requests are queued", n)
	}
}

func TestS016APeriodicRequestMakesRoomInAFullQueue(t *testing.T) {
	d := drive(t, Config{Interval: time.Hour})
	periodic := d.timer
	d.request(Checkpoint)
	d.step(TimerFired{Timer: periodic})
	for range maxQueuedRequests - 1 {
		d.request(Checkpoint)
	}
	if !d.c.queue.hasPeriodic() || len(d.c.queue.list) != maxQueuedRequests {
		t.Fatal("the queue is not full with a periodic request at its end")
	}
	d.request(Checkpoint)
	if d.count("resolve request=0 kind=checkpoint reason=TOO_MANY_CHECKPOINT_REQUESTS") != 1 || d.count("resolve") != 1 {
		t.Errorf("the periodic request alone is to be dropped: %d resolved", d.count("resolve"))
	}
	if d.c.queue.hasPeriodic() || len(d.c.queue.list) != maxQueuedRequests {
		t.Errorf("%d requests are queued", len(d.c.queue.list))
	}
}

func TestS037AfterSeventeenExpiriesTheOldestIsUnknown(t *testing.T) {
	d := drive(t, Config{TolerableFailures: UnlimitedFailures})
	for range rememberedExpired + 1 {
		d.request(Checkpoint)
		d.step(TimerFired{Timer: d.timer})
	}
	d.step(Acked{ID: 1, Attempt: attempt("1.0#0")})
	d.step(Acked{ID: 2, Attempt: attempt("1.0#0")})
	last := d.seen[len(d.seen)-2:]
	if last[0] != "discard-ack checkpoint=1 attempt=1.0#0" || last[1] != "discard-ack checkpoint=2 attempt=1.0#0 late" {
		t.Errorf("got %v", last)
	}
}

func TestS089ReasonsThatAreNotCountedNeverFailTheJob(t *testing.T) {
	d := drive(t, Config{})
	for range 100 {
		for _, reason := range []Reason{CheckpointDeclinedTaskNotReady, CheckpointSubsumed, CheckpointDeclinedSubsumed} {
			d.request(Checkpoint)
			d.step(Declined{ID: d.lastID, Attempt: attempt("1.0#0"), Reason: reason})
		}
	}
	d.step(TasksChanged{Tasks: []Task{{Attempt: attempt("0.0#0"), Trigger: true}}})
	for range 100 {
		d.request(Checkpoint)
	}
	if d.count("resolve") != 400 || d.count("fail-job") != 0 || d.c.failures.inRow != 0 {
		t.Errorf("%d failures, the job failed %d times, %d in a row", d.count("resolve"), d.count("fail-job"), d.c.failures.inRow)
	}
}

func TestS095UnlimitedToleranceNeverFailsTheJob(t *testing.T) {
	d := drive(t, Config{TolerableFailures: UnlimitedFailures})
	for range 1000 {
		d.request(Checkpoint)
		d.step(Declined{ID: d.lastID, Attempt: attempt("1.0#0"), Reason: CheckpointAsyncException})
	}
	if d.count("fail-job") != 0 || d.c.failures.inRow != 1000 {
		t.Errorf("the job failed %d times after %d failures", d.count("fail-job"), d.c.failures.inRow)
	}
}

func TestS096ASuccessorIsNotFailedForItsPredecessor(t *testing.T) {
	d := drive(t, Config{})
	d.request(Checkpoint)
	// A decline reaches the coordinator only while the attempt is current, so
	// the rule is asked for directly.
	d.c.plan = newPlan([]Task{{Attempt: attempt("1.0#1"), Trigger: true, Running: true}}, false)
	d.c.countFailure(request{id: 1}, 1, cause{reason: CheckpointAsyncException, attempt: attempt("1.0#0"), hasAttempt: true})
	if len(d.c.out) != 0 {
		t.Errorf("got %v", d.c.out)
	}
}

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

func TestS031TheWallClockDecidesNothing(t *testing.T) {
	stamps := regexp.MustCompile(`(timestamp|triggered)=-?[0-9]+`)
	run := func(wallMillis func(now time.Duration) int64) string {
		s := &script{t: t, timers: map[TimerID]time.Duration{}, held: map[string]bool{}, wallMillis: wallMillis}
		s.c = New(Config{Interval: 100 * time.Millisecond, MinPause: 90 * time.Millisecond, Timeout: 50 * time.Millisecond, TolerableFailures: UnlimitedFailures})
		s.do(TasksChanged{Tasks: []Task{{Attempt: attempt("0.0#0"), Trigger: true, Running: true}}})
		s.do(JobRunning{Random: 0.5})
		for range 40 {
			s.advance(35 * time.Millisecond)
			if len(s.c.pending) > 0 && s.c.pending[0].id%2 == 1 { // the others expire
				s.do(Acked{ID: s.c.pending[0].id, Attempt: attempt("0.0#0")})
			}
		}
		return stamps.ReplaceAllString(s.take(), "$1=_")
	}
	forward := run(func(now time.Duration) int64 { return now.Milliseconds() })
	back := run(func(now time.Duration) int64 { return -3_600_000 * now.Milliseconds() })
	if forward != back {
		t.Errorf("the course of things depends on the wall clock:\n%s\n%s", forward, back)
	}
	for _, part := range []string{"CHECKPOINT_EXPIRED", "notify-complete", "MINIMUM_TIME"} {
		if !strings.Contains(forward, part) {
			t.Errorf("the course does not contain %s, which depends on time:\n%s", part, forward)
		}
	}
}

func TestMonotonicTimeThatStepsBackIsTreatedAsStandingStill(t *testing.T) {
	c := New(Config{Interval: time.Second})
	c.Step(nil, JobRunning{At: At{Now: time.Hour}, Random: 0})
	timer := c.periodic.timer
	actions := c.Step(nil, TimerFired{At: At{Now: time.Minute}, Timer: timer})
	if got := actions[0].String(); got != "set-timer timer=2 after=1s" {
		t.Errorf("got %v", got)
	}
}

func TestAnswersNobodyAskedForPanic(t *testing.T) {
	for want, ev := range map[string]Event{
		"ids were reserved":        IDsReserved{First: 1, Count: 1},
		"the manifest of 1":        ManifestWritten{ID: 1},
		"1 was published":          Published{ID: 1},
		"no deletion":              Deleted{ID: 1},
		"must be the first":        Restored{},
		"a request without an id":  Request{},
		"twice in the task set":    TasksChanged{Tasks: make([]Task, 2)},
		"events are passed by val": (*Acked)(nil),
	} {
		d := drive(t, Config{})
		mustPanic(t, want, func() { d.c.Step(nil, ev) })
	}
}

func TestS136IDsThatWereReservedBeforePanic(t *testing.T) {
	c := New(Config{})
	c.Step(nil, Restored{Reserved: 64})
	c.Step(nil, TasksChanged{Tasks: []Task{{Attempt: attempt("0.0#0"), Trigger: true, Running: true}}})
	c.Step(nil, JobRunning{})
	c.Step(nil, Request{Request: 1})
	mustPanic(t, "64 was reserved before", func() { c.Step(nil, IDsReserved{First: 64, Count: 64}) })
}

func TestRecoveryThatFindsACheckpointTwicePanics(t *testing.T) {
	mustPanic(t, "twice", func() { New(Config{}).Step(nil, Restored{Retained: []Retained{{ID: 3}, {ID: 3}}}) })
}

func mustPanic(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
			t.Errorf("got panic %q, want one with %q", got, want)
		}
	}()
	f()
}

func TestInvalidConfigurationsAreRefused(t *testing.T) {
	for want, cfg := range map[string]Config{
		"interval 1ms is too short":  {Interval: time.Millisecond},
		"interval -1s is too short":  {Interval: -time.Second},
		"timeout -1s is negative":    {Timeout: -time.Second},
		"-1s is negative":            {MinPause: -time.Second},
		"-1 concurrent":              {MaxConcurrent: -1},
		"-2 tolerable":               {TolerableFailures: -2},
		"checkpoint retention 9 is ": {Retention: 9},
	} {
		if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
	if err := (Config{}).Validate(); err != nil {
		t.Errorf("the zero value must work: %v", err)
	}
}

func TestTheEffectiveConfigurationHasTheDefaultsOfTheSpecification(t *testing.T) {
	got, warnings := Config{}.Effective()
	want := Config{Timeout: 10 * time.Minute, MaxConcurrent: 1, MaxRetained: 1, IDBlock: 64}
	if got != want || warnings != nil {
		t.Errorf("got %+v, warnings %v", got, warnings)
	}
	again, _ := got.Effective()
	if again != got {
		t.Errorf("applied twice it is %+v", again)
	}
}

// Task sets are compared by a merge of two sorted lists; here by a loop in a loop.
func TestLostTasksAreThoseOfANaiveComparison(t *testing.T) {
	kinds := []string{"", "0", "0 not-running", "0 finished", "1", "1 not-running", "1 finished"}
	build := func(code int) []Task {
		args := eventArgs{}
		var list []Task
		for subtask := range 3 {
			kind := kinds[code%len(kinds)]
			code /= len(kinds)
			if kind == "" {
				continue
			}
			args.list = append(args.list[:0], cmdArg(fmt.Sprintf("%d.0#%s", subtask, kind)))
			list = append(list, args.tasks()...)
		}
		return list
	}
	for a := range 343 {
		for b := range 343 {
			old, next := build(a), build(b)
			want := false
			for _, o := range old {
				ok := o.Finished
				for _, n := range next {
					ok = ok || (n.Attempt == o.Attempt && (n.Running || n.Finished))
				}
				want = want || !ok
			}
			if _, got := newPlan(old, false).lost(newPlan(next, false)); got != want {
				t.Fatalf("from %v to %v: lost %v, want %v", old, next, got, want)
			}
		}
	}
}

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
