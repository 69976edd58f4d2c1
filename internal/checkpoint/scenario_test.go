package checkpoint

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/cutwater-io/cutwater/internal/ident"
)

// TestScenarios replays testdata/*.txt; testdata/README.md explains the language.
// Rewrite with: go test -run TestScenarios -rewrite
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if !strings.HasSuffix(path, ".txt") {
			return
		}
		var s *script
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "scenario" {
				s = newScript(t, d)
			} else {
				s.t = t
				s.command(d)
			}
			return s.take()
		})
	})
}

// script is the world of one scenario: a clock, the timers, and a shell whose I/O
// succeeds at once unless it is held.
type script struct {
	t      *testing.T
	c      *Coordinator
	ledger Ledger
	now    time.Duration
	timers map[TimerID]time.Duration // due
	held   map[string]bool           // kinds of I/O the script answers itself
	lastID ident.CheckpointID        // reserved
	tasks  []Task
	todo   []Event // answers of the shell
	// wallMillis of a time; nil: wallStart plus that time.
	wallMillis func(now time.Duration) int64
	out        strings.Builder
}

const wallStart = 1_000_000 // milliseconds at now = 0

func newScript(t *testing.T, d *datadriven.TestData) *script {
	s := &script{t: t, timers: map[TimerID]time.Duration{}, held: map[string]bool{}}
	cfg := Config{TolerableFailures: UnlimitedFailures}
	down := false
	for _, a := range d.CmdArgs {
		switch a.Key {
		case "id":
		case "down":
			down = true
		case "hold":
			for _, v := range a.Vals {
				s.held[v] = true
			}
		case "interval":
			cfg.Interval = duration(t, a.Vals[0])
		case "timeout":
			cfg.Timeout = duration(t, a.Vals[0])
		case "min-pause":
			cfg.MinPause = duration(t, a.Vals[0])
		case "max-concurrent":
			cfg.MaxConcurrent = number(t, a.Vals[0])
		case "max-retained":
			cfg.MaxRetained = number(t, a.Vals[0])
		case "tolerable":
			cfg.TolerableFailures = number(t, a.Vals[0])
		case "id-block":
			cfg.IDBlock = uint64(number(t, a.Vals[0]))
		case "unaligned":
			cfg.Unaligned = true
		case "blocking-outputs":
			cfg.BlockingOutputs = true
		case "none-after-finish":
			cfg.NoCheckpointsAfterFinish = true
		case "retain":
			i := slices.Index([]string{"unless-finished", "on-failure", "never"}, a.Vals[0])
			cfg.Retention = Retention(i)
		default:
			d.Fatalf(t, "no such setting: %s", a.Key)
		}
	}
	_, warnings := cfg.Effective()
	for _, w := range warnings {
		fmt.Fprintf(&s.out, "warning: %s\n", w)
	}
	s.c = New(cfg)
	if !down {
		s.do(TasksChanged{Tasks: []Task{
			{Attempt: attempt("0.0#0"), Trigger: true, Running: true},
			{Attempt: attempt("1.0#0"), Running: true},
		}})
		s.do(JobRunning{Random: 0.5})
	}
	return s
}

func (s *script) take() string {
	out := s.out.String()
	s.out.Reset()
	return out
}

func (s *script) at() At {
	if s.wallMillis != nil {
		return At{Now: s.now, WallMillis: s.wallMillis(s.now)}
	}
	return At{Now: s.now, WallMillis: wallStart + s.now.Milliseconds()}
}

func (s *script) command(d *datadriven.TestData) {
	switch d.Cmd {
	case "hold", "answer":
		for _, a := range d.CmdArgs {
			s.held[a.Key] = d.Cmd == "hold"
		}
	case "advance":
		s.advance(duration(s.t, d.CmdArgs[0].Key))
	case "sleep":
		s.now += duration(s.t, d.CmdArgs[0].Key)
	case "state":
		s.state()
	case "acked-by-all":
		id := ident.CheckpointID(number(s.t, d.CmdArgs[0].Vals[0]))
		for _, task := range s.tasks {
			if !task.Finished {
				s.say(Acked{ID: id, Attempt: task.Attempt})
			}
		}
	default:
		ev, err := parseEvent(d.Cmd, d.CmdArgs)
		if err != nil {
			d.Fatalf(s.t, "%v", err)
		}
		s.do(ev)
	}
}

// advance lets time pass and fires what is due, in order.
func (s *script) advance(by time.Duration) {
	end := s.now + by
	for {
		next, due := TimerID(0), time.Duration(math.MaxInt64)
		for id, at := range s.timers {
			if at < due || at == due && id < next {
				next, due = id, at
			}
		}
		if next == 0 || due > end {
			break
		}
		s.now = max(s.now, due)
		fmt.Fprintf(&s.out, "at %v\n", s.now)
		s.say(TimerFired{Timer: next})
	}
	s.now = max(s.now, end)
}

// say writes the event before it is done: it does not stand in the script.
func (s *script) say(ev Event) {
	fmt.Fprintf(&s.out, "> %v\n", ev)
	s.do(ev)
}

// do steps ev, writes what the coordinator wants, and then the shell's answers.
func (s *script) do(ev Event) {
	switch e := ev.(type) {
	case TimerFired:
		delete(s.timers, e.Timer)
	case TasksChanged:
		s.tasks = slices.Clone(e.Tasks)
	case IDsReserved:
		if e.Outcome == OK {
			s.lastID = max(s.lastID, e.First+ident.CheckpointID(e.Count)-1)
		}
	}
	ev = stamped(ev, s.at())
	actions := s.c.Step(nil, ev)
	for _, a := range actions {
		fmt.Fprintln(&s.out, a)
		s.answer(a)
	}
	if err := errors.Join(s.c.Check(), s.ledger.Observe(ev, actions)); err != nil {
		s.t.Fatalf("after %v:\n%s%v", ev, s.out.String(), err)
	}
	for len(s.todo) > 0 {
		next := s.todo[0]
		s.todo = s.todo[1:]
		s.say(next)
	}
}

func (s *script) answer(a Action) {
	switch a := a.(type) {
	case *SetTimer:
		s.timers[a.Timer] = s.now + a.After
	case *CancelTimer:
		delete(s.timers, a.Timer)
	case *ReserveIDs:
		if !s.held["ids"] {
			s.todo = append(s.todo, IDsReserved{First: max(s.lastID, a.Above) + 1, Count: a.Count})
		}
	case *SnapshotCoordinators:
		if !s.held["coordinators"] {
			s.todo = append(s.todo, CoordinatorsSnapshotted{ID: a.ID})
		}
	case *WriteManifest:
		if !s.held["manifest"] {
			s.todo = append(s.todo, ManifestWritten{ID: a.ID})
		}
	case *Publish:
		if !s.held["log"] {
			s.todo = append(s.todo, Published{ID: a.ID})
		}
	case *DeleteCompleted:
		if !s.held["delete"] {
			s.todo = append(s.todo, Deleted{ID: a.ID})
		}
	}
}

// state writes what the coordinator knows, for scenarios whose point is that
// nothing changed.
func (s *script) state() {
	for _, p := range s.c.pending {
		fmt.Fprintf(&s.out, "pending %v %d %v missing=%d\n", p.req.kind, p.id, p.phase, p.remaining)
	}
	for _, r := range s.c.queue.list {
		fmt.Fprintf(&s.out, "queued %v request=%d\n", r.kind, r.id)
	}
	for _, r := range s.c.store.list {
		fmt.Fprintf(&s.out, "completed %d\n", r.ID)
	}
	fmt.Fprintf(&s.out, "failures in a row %d\n", s.c.failures.inRow)
}

func stamped(ev Event, at At) Event {
	switch e := ev.(type) {
	case Restored:
		e.At = at
		return e
	case JobRunning:
		e.At = at
		return e
	case JobNotRunning:
		e.At = at
		return e
	case TasksChanged:
		e.At = at
		return e
	case Failover:
		e.At = at
		return e
	case TimerFired:
		e.At = at
		return e
	case Request:
		e.At = at
		return e
	case IDsReserved:
		e.At = at
		return e
	case CoordinatorsSnapshotted:
		e.At = at
		return e
	case TriggerFailed:
		e.At = at
		return e
	case Acked:
		e.At = at
		return e
	case Declined:
		e.At = at
		return e
	case ManifestWritten:
		e.At = at
		return e
	case Published:
		e.At = at
		return e
	case Deleted:
		e.At = at
		return e
	case Shutdown:
		e.At = at
		return e
	case Suspend:
		e.At = at
		return e
	}
	panic(fmt.Sprintf("no such event: %T", ev))
}
