package crashfs

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cutwater-io/cutwater/internal/host"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, f *FS, name, content string, sync bool) {
	t.Helper()
	h, err := f.OpenAppend(name)
	must(t, err)
	_, err = h.Write([]byte(content))
	must(t, err)
	if sync {
		must(t, h.Sync())
	}
	must(t, h.Close())
}

// tree spells all files with their contents.
func tree(f *FS) string {
	var b strings.Builder
	var walk func(dir string)
	walk = func(dir string) {
		entries, _ := f.ReadDir(dir)
		for _, e := range entries {
			name := dir + e.Name()
			if e.IsDir() {
				walk(name + "/")
				continue
			}
			fmt.Fprintf(&b, "%s=%q ", name, f.content(name))
		}
	}
	walk("/")
	return strings.TrimSpace(b.String())
}

func (f *FS) content(name string) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.find(name)
	if err != nil {
		return nil
	}
	return n.data
}

func TestWhatWasNotSyncedIsLostWithThePower(t *testing.T) {
	f := New()
	write(t, f, "/named", "content", true)
	must(t, f.SyncDir("/"))
	write(t, f, "/named", " and more", false)
	write(t, f, "/nameless", "content", true)
	if got := tree(f.PowerLoss(0)); got != `/named="content"` {
		t.Errorf("after the loss of power: %s", got)
	}
	if got := tree(f.Restart()); got != `/named="content and more" /nameless="content"` {
		t.Errorf("after a kill: %s", got)
	}
	if got := tree(f.Restart().PowerLoss(0)); got != `/named="content"` {
		t.Errorf("after a kill and then the loss of power: %s", got)
	}
}

func TestARemovalIsNotDurableBeforeItsDirectoryIsSynced(t *testing.T) {
	f := New()
	write(t, f, "/a", "x", true)
	must(t, f.SyncDir("/"))
	must(t, f.Remove("/a"))
	if got := tree(f.PowerLoss(0)); got != `/a="x"` {
		t.Errorf("got %s", got)
	}
	must(t, f.Restart().SyncDir("/"))
}

func TestARenameIsOneChange(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(20) {
		f := New()
		must(t, f.MkdirAll("/d"))
		write(t, f, "/a", "new", true)
		write(t, f, "/d/b", "old", true)
		must(t, f.SyncDir("/"))
		must(t, f.SyncDir("/d"))
		must(t, f.Rename("/a", "/d/b"))
		seen[tree(f.PowerLoss(seed))] = true
	}
	if len(seen) != 2 || !seen[`/a="new" /d/b="old"`] || !seen[`/d/b="new"`] {
		t.Errorf("seen: %v", seen)
	}
}

func TestUnsyncedContentIsTornInBlocks(t *testing.T) {
	old, renewed := strings.Repeat("o", 4*block), strings.Repeat("n", 4*block)
	mixed := false
	for seed := range uint64(50) {
		f := New()
		write(t, f, "/a", old, true)
		must(t, f.SyncDir("/"))
		h, err := f.OpenAppend("/a")
		must(t, err)
		must(t, h.Truncate(0))
		_, err = h.Write([]byte(renewed))
		must(t, err)
		got := string(f.PowerLoss(seed).content("/a"))
		for at := 0; at < len(got); at += block {
			if part := got[at:min(at+block, len(got))]; strings.Trim(part, part[:1]) != "" {
				t.Fatalf("seed %d: a block is mixed: %q", seed, part)
			}
		}
		mixed = mixed || strings.Contains(got, "o") && strings.Contains(got, "n")
	}
	if !mixed {
		t.Error("no seed tears a file")
	}
}

func TestF023AfterAFailedSyncTheNextSucceedsAndDoesNothing(t *testing.T) {
	f := New()
	bad := true
	f.Inject = func(op Op) error {
		if bad && strings.HasPrefix(op.Name, "sync") {
			return BadDisk
		}
		return nil
	}
	h, err := f.Create("/a")
	must(t, err)
	h.Write([]byte("x"))
	if err := h.Sync(); !errors.Is(err, BadDisk) {
		t.Fatalf("sync: %v", err)
	}
	if err := f.SyncDir("/"); !errors.Is(err, BadDisk) {
		t.Fatalf("syncdir: %v", err)
	}
	bad = false
	must(t, h.Sync())
	must(t, f.SyncDir("/"))
	if got := tree(f.PowerLoss(0)); got != "" {
		t.Errorf("got %s", got)
	}
}

func TestAKilledProcessDoesNothingAnyMore(t *testing.T) {
	for _, effect := range []bool{false, true} {
		f := New()
		f.KillAt(2, effect)
		h, err := f.Create("/a")
		must(t, err)
		if _, err := h.Write([]byte("x")); !errors.Is(err, ErrKilled) {
			t.Errorf("the second operation: %v", err)
		}
		if err := h.Sync(); !errors.Is(err, ErrKilled) {
			t.Errorf("the third: %v", err)
		}
		want := map[bool]string{false: `/a=""`, true: `/a="x"`}[effect]
		if got := tree(f.Restart()); got != want {
			t.Errorf("effect=%t: got %s", effect, got)
		}
		if ops := f.Ops(); len(ops) != 2 || ops[1].String() != "2 write /a" {
			t.Errorf("operations: %v", ops)
		}
	}
}

func TestLocksEndWithTheProcess(t *testing.T) {
	f := New()
	_, err := f.TryLock("/lock")
	must(t, err)
	if _, err := f.TryLock("/lock"); !errors.Is(err, host.ErrLocked) {
		t.Errorf("second lock: %v", err)
	}
	if _, err := f.Restart().TryLock("/lock"); err != nil {
		t.Errorf("after a restart: %v", err)
	}
}
