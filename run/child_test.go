package run_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cutwater-io/cutwater/connector/file"
	"github.com/cutwater-io/cutwater/run"
	"github.com/cutwater-io/cutwater/stream"
	"github.com/cutwater-io/cutwater/window"
)

// childVariable tells a test binary to be a child: a job in a process of its own.
// Its value is the state directory, the output directory and what to do: "hold"
// keeps half of the input back for ever, "" runs to the end.
const childVariable = "CUTWATER_RUN_TEST_CHILD"

const childNumbers = 120_000

// childJob counts readings per sensor and second, into files.
func childJob(source *held[reading], output string) *stream.Pipeline {
	p := stream.New("child")
	p.From(source, stream.Name("readings")).
		SourceTime(stream.Ascending().Every(5*time.Millisecond), stream.Name("time")).
		KeyBy(func(v reading) string { return v.Sensor }).
		Window(window.Tumbling(time.Second)).
		Count(stream.Name("count")).
		To(file.Sink(output, func(dst []byte, r window.Result[string, int64]) []byte {
			return fmt.Appendf(dst, "%s %d %d\n", r.Key, r.Window.Start, r.Value)
		}), stream.Name("files"))
	return p
}

func childMain(args string) int {
	words := strings.Split(args, "\n")
	source := hold(childNumbers, readingOf)
	source.upTo(childNumbers / 2)
	if words[2] != "hold" {
		// Let the numbers come little by little, so that there is time to kill.
		source.upTo(0)
	}
	err := run.Run(context.Background(), childJob(source, words[1]), run.Config{
		StateDir: words[0], Parallelism: 2, Checkpoints: every(10 * time.Millisecond), Log: quiet,
		OnEvent: func(e run.Event) {
			switch e := e.(type) {
			case run.Restoring:
				fmt.Println("restoring", e.Checkpoint)
			case run.AllRunning:
				fmt.Println("running")
			case run.CheckpointCompleted:
				fmt.Println("completed", e.Checkpoint)
				if words[2] != "hold" {
					source.upTo(max(source.limit.Load(), source.highest.Load()) + childNumbers/60)
				}
			}
		},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("finished")
	return 0
}

// child is a process that runs a job.
type child struct {
	t     *testing.T
	cmd   *exec.Cmd
	out   *bufio.Scanner
	errs  strings.Builder
	words map[string]int // how often each first word came
	last  string
}

func startChild(t *testing.T, state, output, what string) *child {
	t.Helper()
	c := &child{t: t, cmd: exec.Command(os.Args[0]), words: map[string]int{}}
	c.cmd.Env = append(os.Environ(), childVariable+"="+state+"\n"+output+"\n"+what)
	c.cmd.Stderr = &c.errs
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewScanner(out)
	t.Cleanup(c.kill)
	return c
}

// await reads what the child says until a line begins with word; false when the
// child ended before.
func (c *child) await(word string) bool {
	for c.out.Scan() {
		first, _, _ := strings.Cut(c.out.Text(), " ")
		c.words[first]++
		c.last = c.out.Text()
		if first == word {
			return true
		}
	}
	if s := c.errs.String(); s != "" {
		c.t.Errorf("the child says: %s", s)
	}
	return false
}

// kill sends SIGKILL and waits until the process is gone.
func (c *child) kill() {
	if c.cmd.ProcessState == nil {
		c.cmd.Process.Kill()
		io.Copy(io.Discard, neverEnding{c.out})
		c.cmd.Wait()
	}
}

// neverEnding reads a scanner to its end.
type neverEnding struct{ s *bufio.Scanner }

func (n neverEnding) Read([]byte) (int, error) {
	if n.s.Scan() {
		return 0, nil
	}
	return 0, io.EOF
}

// A real process dies five times at moments of chance; in the end every window is
// in the files once.
func TestS413AProcessKilledFiveTimesLosesAndDoublesNothing(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	state, output := t.TempDir(), t.TempDir()
	last := ""
	for kill := range 5 {
		c := startChild(t, state, output, "")
		c.await("restoring")
		if kill > 0 && (c.last == "restoring 0" || c.last == last) {
			t.Fatalf("life %d began with %q after %q", kill+1, c.last, last)
		}
		last = c.last
		// Between the events of a checkpoint there are many moments; which it is
		// when the signal arrives is chance enough.
		for range 2 + rng.IntN(6) {
			c.await("completed")
		}
		c.kill()
	}
	c := startChild(t, state, output, "")
	if !c.await("finished") {
		t.Fatal("the last child did not finish")
	}
	c.kill()
	want := map[string]int{}
	for i := range int64(childNumbers) {
		r, ts := readingOf(i)
		want[fmt.Sprintf("%s %d", r.Sensor, ts/1000*1000)]++
	}
	checkFiles(t, want, output)
}

// checkFiles compares lines "key count" of all published files with what should be
// there.
func checkFiles(t *testing.T, want map[string]int, output string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(output, "part-*"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(b)
	}
	checkLines(t, want, all.String())
}

func checkLines(t *testing.T, want map[string]int, all string) {
	t.Helper()
	seen := map[string]bool{}
	lost, doubled, wrong := len(want), 0, 0
	for line := range strings.Lines(all) {
		i := strings.LastIndexByte(line, ' ')
		key, n := line[:i], 0
		fmt.Sscan(line[i:], &n)
		switch {
		case seen[key]:
			doubled++
		case want[key] != n:
			wrong++
		}
		if !seen[key] {
			lost--
		}
		seen[key] = true
	}
	if lost != 0 || doubled != 0 || wrong != 0 {
		t.Errorf("of %d results %d are lost, %d doubled, %d wrong", len(want), lost, doubled, wrong)
	}
}
