// Command scenarios runs every test that proves a scenario of the checkpointing
// specification and says which scenarios are proven.
//
//	go run ./internal/scenarios        (make scenarios)
//
// A scenario is proven by a test whose name, or subtest's name, contains its id
// (S001), and by the scenario files: a comment or command of a file under testdata
// that names the id stands for the subtest that replays the file. Several tests may
// prove one scenario; all of them must pass. waiting.txt names scenarios that belong
// to parts that do not exist yet.
//
//	scenarios.txt ──┐
//	waiting.txt ────┼──▶ table, what is not covered, last line
//	go test -json ──┘
package main

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

//go:embed scenarios.txt
var scenarioList string

//go:embed waiting.txt
var waitingList string

var idPattern = regexp.MustCompile(`S[0-9]{3}`)

// scenario is one line of the specification's table.
type scenario struct {
	id, area, level, what string
	tests                 int    // that prove it
	failed                bool   // one of them did
	waiting               string // for what; empty: for nothing
}

func main() {
	list, byID := scenarios()
	files, err := scenarioFiles(".")
	if err == nil {
		err = runTests(byID, files)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "scenarios:", err)
		os.Exit(1)
	}
	if !report(list) {
		os.Exit(1)
	}
}

func scenarios() ([]*scenario, map[string]*scenario) {
	var list []*scenario
	byID := map[string]*scenario{}
	for line := range strings.Lines(scenarioList) {
		f := strings.SplitN(strings.TrimSpace(line), " ", 4)
		if len(f) < 4 || strings.HasPrefix(line, "#") {
			continue
		}
		s := &scenario{id: f[0], area: f[1], level: f[2], what: f[3]}
		list = append(list, s)
		byID[s.id] = s
	}
	for line := range strings.Lines(waitingList) {
		id, why, ok := strings.Cut(strings.TrimSpace(line), " ")
		if ok && !strings.HasPrefix(line, "#") {
			byID[id].waiting = why
		}
	}
	return list, byID
}

// scenarioFiles maps "package directory/name of the file" to the ids that a scenario file
// tells.
func scenarioFiles(root string) (map[string][]string, error) {
	files := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Base(filepath.Dir(path)) != "testdata" || filepath.Ext(path) != ".txt" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		key := filepath.ToSlash(filepath.Join(filepath.Dir(filepath.Dir(path)), strings.TrimSuffix(filepath.Base(path), ".txt")))
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "scenario") {
				files[key] = append(files[key], idPattern.FindAllString(line, -1)...)
			}
		}
		return nil
	})
	return files, err
}

// testEvent is a line of go test -json.
type testEvent struct {
	Action, Package, Test string
}

// runTests runs the tests and notes what they prove. A failed test is told in the
// report, not returned.
func runTests(byID map[string]*scenario, files map[string][]string) error {
	cmd := exec.Command("go", "test", "-json", "./...")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("run go test: %w", err)
	}
	const module = "github.com/cutwater-io/cutwater/"
	ran := 0
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e testEvent
		if json.Unmarshal(lines.Bytes(), &e) != nil || e.Test == "" || e.Action != "pass" && e.Action != "fail" {
			continue
		}
		ran++
		ids := idPattern.FindAllString(e.Test, -1)
		ids = append(ids, files[strings.TrimPrefix(e.Package, module)+"/"+e.Test[strings.LastIndexByte(e.Test, '/')+1:]]...)
		for _, id := range ids {
			if s := byID[id]; s != nil {
				s.tests++
				s.failed = s.failed || e.Action == "fail"
			}
		}
	}
	if err := cmd.Wait(); err != nil && ran == 0 {
		return fmt.Errorf("run go test: %w: %s", err, stderr.Bytes())
	}
	return nil
}

// report prints the verdict and returns false when a scenario failed.
func report(list []*scenario) bool {
	type count struct{ passed, total int }
	areas := map[string]map[string]*count{}
	var order []string
	all := map[string]*count{"core": {}, "full": {}, "beyond": {}}
	failed := 0
	var open []string
	for _, s := range list {
		if areas[s.area] == nil {
			areas[s.area] = map[string]*count{"core": {}, "full": {}, "beyond": {}}
			order = append(order, s.area)
		}
		for _, c := range []*count{areas[s.area][s.level], all[s.level]} {
			c.total++
			if s.tests > 0 && !s.failed {
				c.passed++
			}
		}
		switch {
		case s.failed:
			failed++
			open = append(open, fmt.Sprintf("%s %s FAILED: %s", s.id, s.area, s.what))
		case s.tests == 0 && s.level != "beyond":
			why := s.waiting
			if why == "" {
				why = "not proven by any test yet"
			}
			open = append(open, fmt.Sprintf("%s %s %s: %s (%s)", s.id, s.area, s.level, s.what, why))
		}
	}
	slices.Sort(open)
	for _, line := range open {
		fmt.Println(line)
	}
	fmt.Println()
	for _, a := range order {
		c := areas[a]
		fmt.Printf("%s · core %d/%d · full %d/%d\n", a, c["core"].passed, c["core"].total, c["full"].passed, c["full"].total)
	}
	fmt.Printf("scenarios: core %d/%d, full %d/%d, failed %d\n", all["core"].passed, all["core"].total, all["full"].passed, all["full"].total, failed)
	return failed == 0
}
