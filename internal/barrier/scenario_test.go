package barrier

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/cutwater-io/cutwater/internal/ident"
)

// Scenario files are read here. A directive is an event as its String spells it,
// or "aligner" or "task", which start anew. The output is the actions, one a line.

// args holds the name=value pairs of one directive; what is not there is zero.
type args map[string]string

func argsOf(d *datadriven.TestData) args {
	m := args{}
	for _, a := range d.CmdArgs {
		m[a.Key] = strings.Join(a.Vals, ",")
	}
	return m
}

func (m args) int(t testing.TB, name string) int64 {
	if m[name] == "" {
		return 0
	}
	v, err := strconv.ParseInt(m[name], 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}

func (m args) id(t testing.TB) ident.CheckpointID { return ident.CheckpointID(m.int(t, "checkpoint")) }

func (m args) channel(t testing.TB) (c ident.ChannelID) {
	if _, err := fmt.Sscanf(m["channel"], "%d.%d", &c.Gate, &c.Channel); err != nil {
		t.Fatalf("channel %q: %v", m["channel"], err)
	}
	return c
}

func (m args) moment(t testing.TB) Moment {
	return Moment{Nanos: m.int(t, "nanos"), WallMillis: m.int(t, "wall"), InputBytes: m.int(t, "bytes")}
}

func (m args) reason(t testing.TB) Reason {
	if m["reason"] == "" {
		return ReasonNone
	}
	r, err := ParseReason(m["reason"])
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (m args) options() (o Options) {
	for n := range strings.SplitSeq(m["options"], "+") {
		o |= map[string]Options{"savepoint": Savepoint, "synchronous": Synchronous, "drain": Drain}[n]
	}
	return o
}

func (m args) config(t testing.TB) Config {
	cfg := Config{AfterFinish: m["after-finish"] == "on", Restored: ident.CheckpointID(m.int(t, "restored"))}
	for n := range strings.SplitSeq(m["channels"], ",") {
		v, err := strconv.ParseInt(n, 10, 32)
		if err != nil {
			t.Fatalf("channels: %v", err)
		}
		cfg.Channels = append(cfg.Channels, int32(v))
	}
	return cfg
}

// alignerEventOf returns nil if the word is no event of the aligner.
func alignerEventOf(t testing.TB, word string, m args) Event {
	switch word {
	case "barrier":
		return Barrier{m.channel(t), m.id(t), m.int(t, "timestamp"), m.options(), m.moment(t)}
	case "cancel":
		return CancelMarker{m.channel(t), m.id(t)}
	case "end-of-partition":
		return EndOfPartition{m.channel(t), m.moment(t)}
	case "trigger":
		return Trigger{m.id(t), m.int(t, "timestamp"), m.options(), m.moment(t)}
	case "aborted":
		return Aborted{m.id(t), ident.CheckpointID(m.int(t, "latest"))}
	case "closed":
		return Closed{}
	}
	return nil
}

// taskEventOf returns nil if the word is no event of Snapshots.
func taskEventOf(t testing.TB, word string, m args) TaskEvent {
	switch word {
	case "trigger", "aborted", "closed":
		return alignerEventOf(t, word, m).(TaskEvent)
	case "perform":
		return Perform{Checkpoint: m.id(t), TimestampMillis: m.int(t, "timestamp"), Options: m.options()}
	case "abort":
		return Abort{m.id(t), m.reason(t)}
	case "running":
		return Running{}
	case "end-of-data":
		return EndOfData{}
	case "closing":
		return Closing{}
	case "snapshot-taken":
		return SnapshotTaken{m.id(t)}
	case "snapshot-failed":
		return SnapshotFailed{m.id(t), m.reason(t)}
	case "async-done":
		return AsyncDone{m.id(t)}
	case "async-failed":
		return AsyncFailed{m.id(t), m.reason(t)}
	case "complete":
		return Complete{m.id(t), ident.CheckpointID(m.int(t, "subsumed"))}
	}
	return nil
}

func lines[A fmt.Stringer](actions []A) string {
	if len(actions) == 0 {
		return "-\n"
	}
	var b strings.Builder
	for _, a := range actions {
		fmt.Fprintln(&b, a)
	}
	return b.String()
}

// recovered runs f and returns its output, or what it panicked with.
func recovered(f func() string) (out string) {
	defer func() {
		if p := recover(); p != nil {
			out = fmt.Sprintln("panic:", p)
		}
	}()
	return f()
}

func TestAlignerScenarios(t *testing.T) {
	var a *Aligner
	replay(t, "aligner", func(t *testing.T, d *datadriven.TestData) string {
		m := argsOf(d)
		if d.Cmd == "aligner" {
			a = NewAligner(m.config(t))
			return "ok\n"
		}
		ev := alignerEventOf(t, d.Cmd, m)
		if ev == nil {
			t.Fatalf("%s: no event is called %q", d.Pos, d.Cmd)
		}
		mustSpell(t, d, ev)
		return recovered(func() string { return lines(a.Step(nil, ev)) })
	})
}

func TestSnapshotsScenarios(t *testing.T) {
	var s *Snapshots
	replay(t, "snapshots", func(t *testing.T, d *datadriven.TestData) string {
		m := argsOf(d)
		if d.Cmd == "task" {
			s = NewSnapshots(m.taskConfig(t))
			return "ok\n"
		}
		ev := taskEventOf(t, d.Cmd, m)
		if ev == nil {
			t.Fatalf("%s: no event is called %q", d.Pos, d.Cmd)
		}
		mustSpell(t, d, ev)
		return recovered(func() string { return lines(s.Step(nil, ev)) })
	})
}

func (m args) taskConfig(t testing.TB) TaskConfig {
	return TaskConfig{
		HasInputs: m["inputs"] == "yes", WaitForFinal: m["wait-for-final"] == "yes",
		Restored: ident.CheckpointID(m.int(t, "restored")),
	}
}

// mustSpell keeps String and the scenario files in step.
func mustSpell(t *testing.T, d *datadriven.TestData, ev fmt.Stringer) {
	written := d.Cmd
	for _, a := range d.CmdArgs {
		written += " " + a.String()
	}
	if ev.String() != written {
		t.Fatalf("%s: %q is spelled %q", d.Pos, written, ev)
	}
}

// TestCoresTogether wires both cores as the rules of doc.go say. The output is
// what the task loop sees, indented by the nesting of the steps.
func TestCoresTogether(t *testing.T) {
	var k *wired
	replay(t, "together", func(t *testing.T, d *datadriven.TestData) string {
		m := argsOf(d)
		if d.Cmd == "task" {
			cfg := m.taskConfig(t)
			cfg.HasInputs = true
			k = &wired{a: NewAligner(m.config(t)), s: NewSnapshots(cfg), fail: map[ident.CheckpointID]SnapshotFailed{}}
			return "ok\n"
		}
		if d.Cmd == "next-snapshot-fails" {
			k.fail[m.id(t)] = SnapshotFailed{m.id(t), m.reason(t)}
			return "ok\n"
		}
		return recovered(func() string {
			k.out.Reset()
			switch ev := alignerEventOf(t, d.Cmd, m).(type) {
			case nil:
				k.task(taskEventOf(t, d.Cmd, m))
			case Trigger:
				k.task(ev)
			case Aborted:
				k.task(ev)
				k.align(ev)
			case Closed:
				k.task(ev)
				k.align(ev)
			default:
				k.align(ev)
			}
			if k.out.Len() == 0 {
				return "-\n"
			}
			return k.out.String()
		})
	})
}

type wired struct {
	a      *Aligner
	s      *Snapshots
	fail   map[ident.CheckpointID]SnapshotFailed
	failed bool
	out    strings.Builder
	depth  int
}

func (k *wired) say(a fmt.Stringer) {
	fmt.Fprintf(&k.out, "%s%s\n", strings.Repeat("  ", k.depth), a)
}

func (k *wired) align(ev Event) {
	for _, act := range k.a.Step(nil, ev) {
		if k.failed {
			return
		}
		k.say(act)
		switch act := act.(type) {
		case Perform:
			k.task(act)
		case Abort:
			k.task(act)
		}
	}
}

func (k *wired) task(ev TaskEvent) {
	k.depth++
	defer func() { k.depth-- }()
	for _, act := range k.s.Step(nil, ev) {
		k.say(act)
		switch act := act.(type) {
		case AlignTrigger:
			k.align(act.Trigger)
		case Snapshot:
			if f, ok := k.fail[act.Checkpoint]; ok {
				k.task(f)
			} else {
				k.task(SnapshotTaken{act.Checkpoint})
			}
		case FailTask:
			k.failed = true
			return
		}
	}
}

// replay replays testdata/name.txt as a subtest of that name, by which make
// scenarios finds it.
func replay(t *testing.T, name string, f func(t *testing.T, d *datadriven.TestData) string) {
	t.Run(name, func(t *testing.T) { datadriven.RunTest(t, "testdata/"+name+".txt", f) })
}
