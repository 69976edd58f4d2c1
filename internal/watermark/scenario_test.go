package watermark

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// word spells a watermark.
func word(w int64) string {
	switch w {
	case None:
		return "none"
	case EndOfTime:
		return "end-of-time"
	}
	return strconv.FormatInt(w, 10)
}

func unword(t *testing.T, s string) int64 {
	switch s {
	case "", "none":
		return None
	case "end-of-time":
		return EndOfTime
	}
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

type args map[string]string

func argsOf(d *datadriven.TestData) args {
	m := args{}
	for _, a := range d.CmdArgs {
		m[a.Key] = a.Vals[0]
	}
	return m
}

func (m args) int(t *testing.T, name string) int {
	v, err := strconv.Atoi(m[name])
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}

func (m args) duration(t *testing.T, name string) time.Duration {
	if m[name] == "" {
		return 0
	}
	v, err := time.ParseDuration(m[name])
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (m args) policy() Policy {
	if m["all-idle"] == "advance-to-max" {
		return AdvanceToMax
	}
	return Keep
}

// status spells what downstream is told.
func status(watermark int64, idle bool) string {
	s := "watermark " + word(watermark)
	if idle {
		s += " idle"
	}
	return s + "\n"
}

func recovered(f func() string) (out string) {
	defer func() {
		if p := recover(); p != nil {
			out = fmt.Sprintln("panic:", p)
		}
	}()
	return f()
}

func TestCombinerScenarios(t *testing.T) {
	var c *Combiner
	datadriven.RunTest(t, "testdata/combiner.txt", func(t *testing.T, d *datadriven.TestData) string {
		m := argsOf(d)
		return recovered(func() string {
			before, advanced := None, false
			if c != nil {
				before = c.Watermark()
			}
			switch d.Cmd {
			case "combiner":
				c = NewCombiner(Config{Inputs: m.int(t, "inputs"), Restored: unword(t, m["restored"]), AllIdle: m.policy()})
				return status(c.Watermark(), c.Idle())
			case "watermark":
				advanced = c.Update(m.int(t, "input"), unword(t, m["to"]))
			case "idle":
				advanced = c.SetIdle(m.int(t, "input"), true)
			case "active":
				advanced = c.SetIdle(m.int(t, "input"), false)
			case "end":
				advanced = c.End(m.int(t, "input"))
			default:
				t.Fatalf("%s: unknown directive %q", d.Pos, d.Cmd)
			}
			if advanced != (c.Watermark() > before) {
				t.Errorf("%s: from %s to %s, and advanced is %v", d.Pos, word(before), word(c.Watermark()), advanced)
			}
			return status(c.Watermark(), c.Idle())
		})
	})
}

// halfway is a generator of the user's own: half of the newest even time.
type halfway struct {
	newest int64
	any    bool
}

func (h *halfway) Observe(t int64) {
	if t%2 == 0 {
		h.newest, h.any = max(h.newest, t), true
	}
}

func (h *halfway) Watermark() int64 {
	if !h.any {
		return None
	}
	return h.newest / 2
}

func TestSplitsScenarios(t *testing.T) {
	var s *Splits
	datadriven.RunTest(t, "testdata/splits.txt", func(t *testing.T, d *datadriven.TestData) string {
		m := argsOf(d)
		switch d.Cmd {
		case "splits":
			g := BoundedOutOfOrderness(m.duration(t, "bound"))
			if m["custom"] != "" {
				g = CustomGenerator(func() Custom { return &halfway{} })
			}
			g.IdleAfter, g.AllIdle = m.duration(t, "idle-after"), m.policy()
			s = NewSplits(g, unword(t, m["restored"]))
		case "add":
			s.AddSplit(SplitTime{ID: m["split"], Watermark: unword(t, m["watermark"]), Idle: m["idle"] != ""})
		case "records":
			if m["split"] != "" {
				s.StartSplit(m["split"])
			}
			vals := d.CmdArgs[len(d.CmdArgs)-1].Vals
			var times []int64
			for _, v := range vals {
				if v != "" {
					times = append(times, unword(t, v))
				}
			}
			if len(times) == 1 {
				s.Observe(times[0])
			} else {
				s.ObserveAll(times)
			}
		case "empty":
			s.EmptySplit(m["split"], m.duration(t, "now"))
		case "finish":
			s.FinishSplit(m["split"])
		case "pause":
			s.Pause(m.duration(t, "now"))
		case "resume":
			s.Resume(m.duration(t, "now"))
		case "snapshot":
			out := ""
			for _, st := range s.Snapshot(nil) {
				out += "split " + st.ID + ": " + status(st.Watermark, st.Idle)
			}
			return out
		default:
			t.Fatalf("%s: unknown directive %q", d.Pos, d.Cmd)
		}
		before := s.Watermark()
		w, advanced := s.Advance()
		if advanced != (w > before) || w != s.Watermark() || w < before {
			t.Errorf("%s: from %s to %s, and advanced is %v", d.Pos, word(before), word(w), advanced)
		}
		return status(w, s.Idle())
	})
}
