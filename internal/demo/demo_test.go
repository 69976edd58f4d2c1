package demo

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The test binary is also the demo's child.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "demo-job" {
		os.Exit(RunJob(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// small is the whole demo with a twentieth of the records.
func small(t *testing.T) (Config, *bytes.Buffer) {
	out := &bytes.Buffer{}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(out)
		}
	})
	return Config{Records: 1_000_000, Rate: 15_000, Interval: 20 * time.Millisecond, Dir: t.TempDir(), Out: out}, out
}

func TestS413TheDemoIsExactAfterEveryKill(t *testing.T) {
	cfg, out := small(t)
	if err := Run(cfg); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	last := lines[len(lines)-1]
	if !strings.HasPrefix(last, "verified: 1000") || !strings.HasSuffix(last, ", 0 lost, 0 duplicated") {
		t.Errorf("the last line is %q", last)
	}
	if n := strings.Count(out.String(), ": killed "); n < 5 {
		t.Errorf("%d kills, at least 5 are promised", n)
	}
	for _, moment := range []string{"pending", "between the publication", "during a restore"} {
		if !strings.Contains(out.String(), moment) {
			t.Errorf("no child was killed %s", moment)
		}
	}
}

func TestOneCorruptLineOfOutputIsNoticed(t *testing.T) {
	cfg, out := small(t)
	cfg.BeforeVerify = func(j Job) {
		parts, err := filepath.Glob(filepath.Join(j.Output, "part-*"))
		if err != nil || len(parts) == 0 {
			t.Fatalf("no parts in %s: %v", j.Output, err)
		}
		content, err := os.ReadFile(parts[0])
		if err != nil {
			t.Fatal(err)
		}
		line := bytes.IndexByte(content, '\n')
		content[line-1] ^= 1 // another count
		if err := os.WriteFile(parts[0], content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := Run(cfg); !errors.Is(err, ErrDifferent) {
		t.Fatalf("the demo ended with %v", err)
	}
	if !strings.Contains(out.String(), "1 wrong") || strings.Contains(out.String(), "verified:") {
		t.Error("the difference is not told")
	}
}

func TestAStateDirectoryDeletedBetweenKillsIsNoticed(t *testing.T) {
	cfg, out := small(t)
	cfg.BetweenKills = func(kill int, j Job) {
		if kill == 2 {
			if err := os.RemoveAll(j.State); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := Run(cfg); err == nil {
		t.Fatal("the demo ended well")
	}
	if strings.Contains(out.String(), "verified:") {
		t.Error("the demo says that the output is right")
	}
}
