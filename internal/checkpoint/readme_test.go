package checkpoint

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestTheReadmeListsExactlyTheScenariosThatAreTested keeps the table of coverage
// true: an id before the table of gaps must be named by a script or a test, and
// the other way round.
func TestTheReadmeListsExactlyTheScenariosThatAreTested(t *testing.T) {
	read := func(paths ...string) (text string) {
		for _, path := range paths {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			text += string(b)
		}
		return text
	}
	scripts, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	tests, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	tested := map[string]bool{}
	for _, id := range regexp.MustCompile(`(?m)^#.*`).FindAllString(read(scripts...), -1) {
		for _, id := range regexp.MustCompile(`S[0-9]{3}`).FindAllString(id, -1) {
			tested[id] = true
		}
	}
	for _, name := range regexp.MustCompile(`func TestS[0-9]{3}`).FindAllString(read(tests...), -1) {
		tested[strings.TrimPrefix(name, "func Test")] = true
	}
	_, coverage, _ := strings.Cut(read("testdata/README.md"), "# Coverage")
	coverage, gaps, _ := strings.Cut(coverage, "Not here")
	listed := idsIn(coverage)
	for id := range tested {
		if !listed[id] {
			t.Errorf("%s is tested, but the README does not list it", id)
		}
	}
	for id := range listed {
		if !tested[id] {
			t.Errorf("the README lists %s, but nothing tests it", id)
		}
	}
	missing := idsIn(gaps)
	for n := 1; n <= 140; n++ {
		if id := fmt.Sprintf("S%03d", n); (n <= 98 || n >= 131) && !listed[id] && !missing[id] {
			t.Errorf("the README does not say where %s is", id)
		}
	}
}

// idsIn returns the ids in text, with ranges such as S001-S009 spelled out.
func idsIn(text string) map[string]bool {
	ids := map[string]bool{}
	for _, m := range regexp.MustCompile(`S([0-9]{3})(?:-S([0-9]{3}))?`).FindAllStringSubmatch(text, -1) {
		first, _ := strconv.Atoi(m[1])
		last, _ := strconv.Atoi(cmp.Or(m[2], m[1]))
		for n := first; n <= last; n++ {
			ids[fmt.Sprintf("S%03d", n)] = true
		}
	}
	return ids
}
