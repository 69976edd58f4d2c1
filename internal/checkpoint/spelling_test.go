package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/cutwater-io/cutwater/internal/ident"
)

// parseEvent reads what Event.String writes.
func parseEvent(cmd string, list []datadriven.CmdArg) (Event, error) {
	args := eventArgs{list: list}
	id := ident.CheckpointID(args.number("checkpoint"))
	a := args.attempt("attempt")
	reason := args.reason()
	err := args.err()
	outcome := Outcome(args.word("outcome", "ok", "failed", "unknown", "deposed"))
	var ev Event
	switch cmd {
	case "restored":
		ev = Restored{Reserved: ident.CheckpointID(args.number("reserved")), Retained: args.retained()}
	case "job-running":
		ev = JobRunning{Random: args.float("random")}
	case "job-not-running":
		ev = JobNotRunning{}
	case "tasks-changed":
		ev = TasksChanged{Tasks: args.tasks()}
	case "failover":
		ev = Failover{}
	case "timer-fired":
		ev = TimerFired{Timer: TimerID(args.number("timer"))}
	case "request":
		_, forced := args.find("forced")
		ev = Request{Request: RequestID(args.number("id")), Kind: Kind(args.word("kind", "checkpoint", "savepoint")), Forced: forced}
	case "ids-reserved":
		ev = IDsReserved{Outcome: outcome, First: ident.CheckpointID(args.number("first")), Count: uint64(args.number("count")), Err: err}
	case "coordinators-snapshotted":
		ev = CoordinatorsSnapshotted{ID: id, Err: err}
	case "trigger-failed":
		ev = TriggerFailed{ID: id, Attempt: a, Reason: reason, Err: err}
	case "acked":
		ev = Acked{ID: id, Attempt: a, Metrics: Metrics{
			StartDelayMillis: args.number("delay"), AlignmentMillis: args.number("alignment"),
			SyncMillis: args.number("sync"), AsyncMillis: args.number("async"), Bytes: args.number("bytes")}}
	case "declined":
		ev = Declined{ID: id, Attempt: a, Reason: reason, Err: err}
	case "manifest-written":
		ev = ManifestWritten{ID: id, Err: err}
	case "published":
		ev = Published{ID: id, Outcome: outcome, Err: err}
	case "deleted":
		ev = Deleted{ID: id, Err: err}
	case "shutdown":
		ev = Shutdown{Status: JobStatus(args.word("status", "finished", "canceled", "failed"))}
	case "suspend":
		ev = Suspend{}
	default:
		return nil, fmt.Errorf("no such event: %s", cmd)
	}
	for _, arg := range list {
		if !slices.Contains(args.used, arg.Key) {
			args.errs = append(args.errs, fmt.Errorf("%s has no argument %s", cmd, arg.Key))
		}
	}
	return ev, errors.Join(args.errs...)
}

type eventArgs struct {
	list []datadriven.CmdArg
	used []string
	errs []error
}

func (a *eventArgs) find(key string) ([]string, bool) {
	a.used = append(a.used, key)
	for _, arg := range a.list {
		if arg.Key == key {
			return arg.Vals, true
		}
	}
	return nil, false
}

func (a *eventArgs) one(key string) string {
	vals, _ := a.find(key)
	return strings.Join(vals, ", ")
}

func (a *eventArgs) number(key string) int64 {
	n, err := strconv.ParseInt(cmp.Or(a.one(key), "0"), 10, 64)
	a.errs = append(a.errs, err)
	return n
}

func (a *eventArgs) float(key string) float64 {
	f, err := strconv.ParseFloat(cmp.Or(a.one(key), "0"), 64)
	a.errs = append(a.errs, err)
	return f
}

func (a *eventArgs) word(key string, words ...string) int {
	i := slices.Index(words, cmp.Or(a.one(key), words[0]))
	if i < 0 {
		a.errs = append(a.errs, fmt.Errorf("%s is one of %v", key, words))
	}
	return max(i, 0)
}

func (a *eventArgs) attempt(key string) ident.AttemptID {
	if text := a.one(key); text != "" {
		return attempt(text)
	}
	return ident.AttemptID{}
}

func (a *eventArgs) reason() Reason {
	name := a.one("reason")
	if name == "" {
		return ReasonNone
	}
	r, err := ParseReason(name)
	a.errs = append(a.errs, err)
	return r
}

func (a *eventArgs) err() error {
	if text := a.one("err"); text != "" {
		return errors.New(text)
	}
	return nil
}

func (a *eventArgs) retained() (list []Retained) {
	vals, _ := a.find("retained")
	for _, v := range vals {
		words := strings.Fields(v)
		if len(words) == 0 {
			continue
		}
		n, err := strconv.ParseUint(words[0], 10, 64)
		a.errs = append(a.errs, err)
		list = append(list, Retained{ID: ident.CheckpointID(n), Foreign: len(words) > 1})
	}
	return list
}

func (a *eventArgs) tasks() (list []Task) {
	vals, _ := a.find("tasks")
	for _, v := range vals {
		words := strings.Fields(v)
		t := Task{Attempt: attempt(words[0]), Running: true}
		for _, w := range words[1:] {
			switch w {
			case "trigger":
				t.Trigger = true
			case "not-running":
				t.Running = false
			case "finished":
				t.Finished, t.Running = true, false
			default:
				a.errs = append(a.errs, fmt.Errorf("no such flag of a task: %s", w))
			}
		}
		list = append(list, t)
	}
	return list
}

func cmdArg(task string) datadriven.CmdArg {
	return datadriven.CmdArg{Key: "tasks", Vals: []string{task}}
}

func attempt(text string) (a ident.AttemptID) {
	if _, err := fmt.Sscanf(text, "%d.%d#%d", &a.Subtask.Vertex, &a.Subtask.Index, &a.Attempt); err != nil {
		panic(fmt.Sprintf("%q is not an attempt such as 1.0#0: %v", text, err))
	}
	return a
}

func duration(t *testing.T, text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func number(t *testing.T, text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestEveryEventIsSpelledAsScenariosReadIt(t *testing.T) {
	err := errors.New("disk full, sorry")
	a := attempt("3.2#7")
	for _, ev := range []Event{
		Restored{Reserved: 9, Retained: []Retained{{ID: 7, Foreign: true}, {ID: 8}}},
		JobRunning{Random: 0.25},
		JobNotRunning{},
		TasksChanged{Tasks: []Task{{Attempt: a, Trigger: true, Running: true}, {Attempt: attempt("4.0#0")}, {Attempt: attempt("5.0#0"), Finished: true}}},
		Failover{},
		TimerFired{Timer: 3},
		Request{Request: 4, Kind: Savepoint, Forced: true},
		IDsReserved{First: 10, Count: 64},
		IDsReserved{Outcome: Unknown, Err: err},
		CoordinatorsSnapshotted{ID: 5, Err: err},
		TriggerFailed{ID: 5, Attempt: a, Reason: TaskCheckpointFailure, Err: err},
		Acked{ID: 5, Attempt: a, Metrics: Metrics{1, -1, 3, 4, 5}},
		Declined{ID: 5, Attempt: a, Reason: CheckpointAsyncException, Err: err},
		ManifestWritten{ID: 5, Err: err},
		Published{ID: 5, Outcome: Deposed},
		Deleted{ID: 5, Err: err},
		Shutdown{Status: Canceled},
		Suspend{},
	} {
		cmd, args, parseErr := datadriven.ParseLine(ev.String())
		if parseErr != nil {
			t.Fatal(parseErr)
		}
		got, parseErr := parseEvent(cmd, args)
		if parseErr != nil {
			t.Fatalf("%v: %v", ev, parseErr)
		}
		if got.String() != ev.String() || fmt.Sprintf("%#v", stripErr(got)) != fmt.Sprintf("%#v", stripErr(ev)) {
			t.Errorf("%v is read as %v", ev, got)
		}
	}
}

// stripErr removes errors, which are compared by their text in String.
func stripErr(ev Event) Event {
	switch e := ev.(type) {
	case IDsReserved:
		e.Err = nil
		return e
	case CoordinatorsSnapshotted:
		e.Err = nil
		return e
	case TriggerFailed:
		e.Err = nil
		return e
	case Declined:
		e.Err = nil
		return e
	case ManifestWritten:
		e.Err = nil
		return e
	case Deleted:
		e.Err = nil
		return e
	}
	return ev
}
