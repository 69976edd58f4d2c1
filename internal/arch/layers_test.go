package arch

import (
	"slices"
	"strings"
	"testing"
)

// layers are all packages. A name that ends in /... stands for everything below.
var layers = [][]string{
	// 0 words: what everybody may say.
	{"codec", "window", "agg", "connector", "internal/ident", "internal/batch"},
	// 1 pure: decisions without a clock, a lock or a goroutine.
	{"internal/keygroup", "internal/watermark", "internal/barrier", "internal/checkpoint", "internal/plan", "internal/timer", "internal/schedule"},
	// 2 storage: what outlives a process.
	{"internal/host", "internal/host/crashfs", "internal/blob", "internal/blob/blobtest", "internal/segment", "internal/manifest",
		"internal/joblog", "internal/statedir", "internal/backend/memory"},
	// 3 data: records on their way.
	{"internal/exchange", "internal/operator", "internal/transform", "internal/task"},
	// 4 control: who runs what, and how a user says it.
	{"internal/rpc", "internal/taskmanager", "internal/jobmaster", "stream"},
	// 5 top: what knows every part, and programs.
	{"run", "connector/...", "internal/oracle", "internal/demo", "internal/realdata", "internal/scenarios", "internal/sim", "internal/arch", "internal", "cmd/...", "bench/...", "examples/...", "doc/..."},
}

// rank orders all packages: what a package imports has a smaller one.
func rank(pkg string) (layer, place int, ok bool) {
	for layer, names := range layers {
		if place := slices.Index(names, pkg); place >= 0 {
			return layer, place, true
		}
	}
	for layer, names := range layers {
		for place, name := range names {
			if below, ok := strings.CutSuffix(name, "/..."); ok && (pkg == below || strings.HasPrefix(pkg, below+"/")) {
				return layer, place, true
			}
		}
	}
	return 0, 0, false
}

func TestImportsPointToLowerLayers(t *testing.T) {
	packages := load(t)
	if len(packages) < 30 {
		t.Fatalf("found %d packages only: the test looks in the wrong place", len(packages))
	}
	for _, p := range packages {
		layer, place, ok := rank(p.path)
		if !ok {
			t.Errorf("package %s is not in the table of layers: add it, in the lowest layer that allows its imports", p.path)
			continue
		}
		for _, imported := range p.imports {
			l, at, ok := rank(imported)
			if ok && (l > layer || l == layer && at > place) {
				t.Errorf("%s (layer %d) imports %s (layer %d): imports point down, or to what stands before in the same layer", p.path, layer, imported, l)
			}
		}
	}
}

// A stranger's connector has nothing but the contract; so have ours.
func TestConnectorsImportTheContractOnly(t *testing.T) {
	for _, p := range load(t) {
		if !strings.HasPrefix(p.path, "connector/") {
			continue
		}
		for _, imported := range p.imports {
			if imported != "connector" && imported != "codec" && !strings.HasPrefix(imported, "connector/") {
				t.Errorf("%s imports %s: a connector uses packages connector and codec and what is outside this module", p.path, imported)
			}
		}
	}
}

// Only the top knows how to run a job; nobody below may.
func TestNobodyBelowTheTopImportsRun(t *testing.T) {
	for _, p := range load(t) {
		if layer, _, _ := rank(p.path); layer < 5 && slices.Contains(p.imports, "run") {
			t.Errorf("%s imports run", p.path)
		}
	}
}

// pure are the packages that decide and do not do.
var pure = append([]string{"window", "agg"}, layers[1]...)

func TestPurePackagesTouchNoWorld(t *testing.T) {
	forbidden := []string{"net", "os", "sync", "math/rand", "math/rand/v2", "log", "log/slog", "crypto/rand", "io/fs", "syscall", "context"}
	clocks := []string{"Now", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Sleep", "Since", "Until"}
	checked := 0
	for _, p := range load(t) {
		if !slices.Contains(pure, p.path) {
			continue
		}
		checked++
		for _, f := range p.files {
			for _, i := range imports(f.ast) {
				if slices.Contains(forbidden, i) || strings.HasPrefix(i, "net/") || strings.HasPrefix(i, "os/") || strings.HasPrefix(i, "sync/") {
					t.Errorf("%s imports %q: what the package needs of the world comes in as a value or an event", f.name, i)
				}
			}
			for _, use := range uses(f.ast, "time") {
				if slices.Contains(clocks, use) {
					t.Errorf("%s uses time.%s: now comes in with the event", f.name, use)
				}
			}
			if starts(f.ast) {
				t.Errorf("%s starts a goroutine", f.name)
			}
		}
	}
	if checked != len(pure) {
		t.Errorf("%d of %d pure packages were found", checked, len(pure))
	}
}

// The clock, files and chance of a job are those of its Env, so that a test can
// own them; this is what may not reach for the machine's.
func TestTheEngineHasNoClockOfItsOwn(t *testing.T) {
	for _, p := range load(t) {
		if layer, _, ok := rank(p.path); !ok || layer > 4 || layer < 2 || p.path == "internal/host" || p.path == "internal/statedir" {
			continue
		}
		for _, f := range p.files {
			for _, use := range uses(f.ast, "time") {
				if slices.Contains([]string{"Now", "After", "NewTimer", "NewTicker", "Tick", "Sleep", "Since", "Until"}, use) {
					t.Errorf("%s uses time.%s: use the Clock of connector.Env", f.name, use)
				}
			}
		}
	}
}
