// Package examples holds programs to copy from; its tests run them.
package examples

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// program builds an example and returns the path of its binary.
func program(t *testing.T, name string) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), name)
	if out, err := exec.Command("go", "build", "-o", bin, "./"+name).CombinedOutput(); err != nil {
		t.Fatalf("build example %s: %v\n%s", name, err, out)
	}
	return bin
}

// start runs a program in dir and returns its standard output, line by line.
func start(t *testing.T, dir, bin string, args ...string) []string {
	t.Helper()
	cmd := exec.Command(bin, args...)
	cmd.Dir = dir
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s", filepath.Base(bin), strings.Join(args, " "), err, &stderr)
	}
	return strings.Split(strings.TrimSuffix(stdout.String(), "\n"), "\n")
}

// parts returns the lines of all parts in a directory.
func parts(t *testing.T, dir string) (lines []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "part-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")...)
	}
	return lines
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func same(t *testing.T, got, want []string) {
	t.Helper()
	got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("not what was expected (-want +got):\n%s", d)
	}
}

func TestWordCountCountsTheWordsOfAllBooks(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "examples/wordcount/books/a.txt"), "The end\nof the\n\nbeginning")
	write(t, filepath.Join(dir, "examples/wordcount/books/b.txt"), "the End\n")
	same(t, start(t, dir, program(t, "wordcount"), "-parallelism", "2"),
		[]string{"the 3", "end 2", "of 1", "beginning 1"})
}

// accessLog has, in this order: a request, one that is cut off in the user agent,
// one without a size whose path holds a quotation mark, and three broken lines.
const accessLog = `10.0.0.1 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 203023 "-" "Mozilla/5.0"
10.0.0.2 - anna [17/May/2015:12:05:04 +0200] "GET /a HTTP/1.1" 200 17 "-" "Mozilla/5.0 (
10.0.0.1 - - [17/May/2015:11:00:00 +0000] "GET /\"a HTTP/1.1" 304 - "-" "-"
10.0.0.1 - - [32/May/2015:11:00:00 +0000] "GET / HTTP/1.1" 200 1 "-" "-"
` + "not a \xff request\n" + `10.0.0.1 - - [17/May/2015:11:00:00 +00`

func TestAccessLogCountsRequestsAndPutsBrokenLinesAside(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "access.log"), accessLog)
	bin := program(t, "accesslog")
	for run := range 2 { // the second run finds the first one's output and state
		same(t, start(t, dir, bin, "-parallelism", "2", "-out", fmt.Sprint("out", run)), []string{
			"2015-05-17T10:00:00.000Z 2015-05-17T11:00:00.000Z 200 2",
			"2015-05-17T11:00:00.000Z 2015-05-17T12:00:00.000Z 304 1",
		})
		same(t, parts(t, filepath.Join(dir, fmt.Sprint("out", run), "sessions")), []string{
			"2015-05-17T10:05:03.000Z 2015-05-17T10:35:03.000Z 10.0.0.1 1",
			"2015-05-17T10:05:04.000Z 2015-05-17T10:35:04.000Z 10.0.0.2 1",
			"2015-05-17T11:00:00.000Z 2015-05-17T11:30:00.000Z 10.0.0.1 1",
		})
		var dead []string
		for _, l := range parts(t, filepath.Join(dir, fmt.Sprint("out", run), "dead-letters")) {
			var d struct{ Source, Position string }
			if err := json.Unmarshal([]byte(l), &d); err != nil {
				t.Fatalf("dead letter %s: %v", l, err)
			}
			dead = append(dead, d.Source+" "+d.Position)
		}
		var want []string
		lines := strings.SplitAfter(accessLog, "\n")
		for i := 3; i < len(lines); i++ {
			want = append(want, fmt.Sprintf("access.log line %d, byte %d", i+1, len(strings.Join(lines[:i], ""))))
		}
		same(t, dead, want)
	}
}

// expected reads an answer of the test data.
func expected(t *testing.T, name string) [][]string {
	t.Helper()
	f, err := os.Open(filepath.Join(os.Getenv("CUTWATER_TESTDATA"), "expected", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows[1:]
}

// instant is milliseconds since 1970 as the example prints them.
func instant(t *testing.T, millis string) string {
	t.Helper()
	n, err := strconv.ParseInt(millis, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.UnixMilli(n).UTC().Format("2006-01-02T15:04:05.000Z")
}

func TestAccessLogOfTheRealLogHasTheExactNumbers(t *testing.T) {
	data := os.Getenv("CUTWATER_TESTDATA")
	if data == "" {
		t.Skip("CUTWATER_TESTDATA is not set: the real event data is not here")
	}
	bin := program(t, "accesslog")
	for _, parallelism := range []string{"1", "2"} {
		t.Run("parallelism "+parallelism, func(t *testing.T) {
			dir := t.TempDir()
			hours := start(t, dir, bin, "-in", filepath.Join(data, "web_access.log"), "-parallelism", parallelism)
			var want []string
			for _, r := range expected(t, "web1_status_hourly.csv") {
				n, _ := strconv.ParseInt(r[0], 10, 64)
				end := strconv.FormatInt(n+time.Hour.Milliseconds(), 10)
				want = append(want, strings.Join([]string{instant(t, r[0]), instant(t, end), r[1], r[2]}, " "))
			}
			same(t, hours, want)

			// The log has addresses where the answer has numbers, so clients are
			// left out here; internal/realdata compares them.
			var sessions []string
			clients := map[string]bool{}
			for _, l := range parts(t, filepath.Join(dir, "accesslog-out/sessions")) {
				f := strings.Fields(l)
				clients[f[2]] = true
				sessions = append(sessions, strings.Join([]string{f[0], f[1], f[3]}, " "))
			}
			want = nil
			for _, r := range expected(t, "web2_sessions.csv") {
				want = append(want, strings.Join([]string{instant(t, r[1]), instant(t, r[2]), r[3]}, " "))
			}
			same(t, sessions, want)
			if len(clients) != 1753 {
				t.Errorf("%d clients, want 1753", len(clients))
			}
			if dead := parts(t, filepath.Join(dir, "accesslog-out/dead-letters")); len(dead) > 0 {
				t.Errorf("dead letters of a log whose only damage is behind the status: %v", dead)
			}
		})
	}
}
