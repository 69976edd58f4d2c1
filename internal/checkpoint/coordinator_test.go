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
	d := drive(t, Config{Unaligned: true}) // so that a savepoint waits like the others
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
	// Its higher rank does not help a savepoint: nobody who was accepted is
	// thrown out for it.
	two := d.request(Savepoint)
	if d.count(fmt.Sprintf("resolve request=%d kind=savepoint reason=TOO_MANY_CHECKPOINT_REQUESTS", two)) != 1 || d.count("resolve") != 2 {
		t.Errorf("got %v", d.seen[len(d.seen)-1])
	}
	if n := len(d.c.queue.list); n != maxQueuedRequests {
		t.Errorf("%d requests are queued", n)
	}
}

func TestS063ReadingBackTheLogSlowsDownToOnceAMinute(t *testing.T) {
	d := drive(t, Config{})
	d.request(Checkpoint)
	d.step(Acked{ID: 1, Attempt: attempt("0.0#0")})
	c := d.c
	c.Step(nil, Acked{ID: 1, Attempt: attempt("1.0#0")})
	c.Step(nil, ManifestWritten{ID: 1})
	c.Step(nil, Published{ID: 1, Outcome: Unknown})
	var after []int64
	for range 8 {
		set := c.Step(nil, Published{ID: 1, Outcome: Unknown})[0].(*SetTimer)
		after = append(after, int64(set.After/time.Second))
		if got := c.Step(nil, TimerFired{Timer: set.Timer}); len(got) != 1 || got[0].String() != "resolve-publish checkpoint=1" {
			t.Fatalf("got %v", got)
		}
	}
	if got := fmt.Sprint(after); got != "[1 2 4 8 16 32 60 60]" {
		t.Errorf("seconds between read-backs: %v", got)
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
		"snapshotted twice for 1":  CoordinatorsSnapshotted{ID: 1},
		"the manifest of 1":        ManifestWritten{ID: 1},
		"1 was published":          Published{ID: 1},
		"no deletion":              Deleted{ID: 1},
		"must be the first":        Restored{},
		"a request without an id":  Request{},
		"twice in the task set":    TasksChanged{Tasks: make([]Task, 2)},
		"events are passed by val": (*Acked)(nil),
	} {
		d := drive(t, Config{})
		d.request(Checkpoint)
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
