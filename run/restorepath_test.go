package run_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cutwater-io/cutwater/connector/collect"
	"github.com/cutwater-io/cutwater/run"
	"github.com/cutwater-io/cutwater/stream"
)

// tree is the content of every file in a directory, except that of its lock.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		files[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestARunStartsFromTheLatestCheckpointOfAnotherDirectory(t *testing.T) {
	theirs, ours := t.TempDir(), filepath.Join(t.TempDir(), "state")
	out, last := interrupted(t, theirs, "count")
	before := tree(t, theirs)

	// Under another name, at another parallelism, and interrupted itself.
	source := hold(paddedNumbers, readingOf).upTo(paddedNumbers * 3 / 4)
	j := start(t, paddedJob("copy", source, toCollector(out)), run.Config{StateDir: ours, Parallelism: 3, Restore: run.Restore(theirs), Checkpoints: every(10 * time.Millisecond)},
		func(j *job, e run.Event) {
			if _, ok := e.(run.CheckpointCompleted); ok && source.highest.Load() == paddedNumbers*3/4-1 {
				j.stop()
			}
		}).stopped()
	restored := eventsOf[run.Restoring](j)[0].Checkpoint
	if uint64(restored) < last {
		t.Errorf("restored checkpoint %d, want the copy of %d", restored, last)
	}
	for i, e := range eventsOf[run.CheckpointCompleted](j) {
		if e.Checkpoint <= restored {
			t.Errorf("checkpoint %d of the new run has id %d, not above the %d it began with", i, e.Checkpoint, restored)
		}
	}
	after := tree(t, theirs)
	if len(after) != len(before) {
		t.Errorf("the other directory had %d files and has %d", len(before), len(after))
	}
	for name, content := range before {
		if after[name] != content {
			t.Errorf("%s was changed", name)
		}
	}

	// From here on it is an ordinary job, and the other directory may go.
	if err := os.RemoveAll(theirs); err != nil {
		t.Fatal(err)
	}
	j = continued(t, run.Config{StateDir: ours}, "copy", out).finished()
	if r := eventsOf[run.Restoring](j)[0]; r.Checkpoint <= restored {
		t.Errorf("the second run restored checkpoint %d, want a newer one than %d", r.Checkpoint, restored)
	}
	checkCounts(t, paddedNumbers, out.Values())
	if left := objectsIn(t, ours); len(left) > 0 {
		t.Errorf("a job that finished left %v", left)
	}
}

func TestACopyThatWasNeverRunIsRestoredByAnOrdinaryStart(t *testing.T) {
	theirs, ours := t.TempDir(), t.TempDir()
	out, _ := interrupted(t, theirs, "count")
	start(t, paddedJob("count", hold(paddedNumbers, readingOf), toCollector(out)), run.Config{StateDir: ours, Parallelism: 1, Restore: run.Restore(theirs), Checkpoints: every(time.Hour)},
		func(j *job, e run.Event) {
			if _, ok := e.(run.Restoring); ok {
				j.stop()
			}
		}).stopped()
	j := continued(t, run.Config{StateDir: ours}, "count", out).finished()
	if eventsOf[run.Restoring](j)[0].Checkpoint == 0 {
		t.Error("the copy was not restored")
	}
	checkCounts(t, paddedNumbers, out.Values())
}

// Ids of a directory that was used before do not come again, whatever the other's.
func TestIDsGoOnAboveBothDirectories(t *testing.T) {
	theirs, ours := t.TempDir(), t.TempDir()
	out, _ := interrupted(t, theirs, "count")
	first := continued(t, run.Config{StateDir: ours}, "count", collect.New[tallied]()).finished()
	completed := eventsOf[run.CheckpointCompleted](first)
	j := continued(t, run.Config{StateDir: ours, Restore: run.Restore(theirs)}, "count", out).finished()
	if r := eventsOf[run.Restoring](j)[0]; r.Checkpoint <= completed[len(completed)-1].Checkpoint {
		t.Errorf("the copy has id %d, which this directory has used", r.Checkpoint)
	}
	checkCounts(t, paddedNumbers, out.Values())
}

func TestRestoringFromAPathFailsInOneClearSentenceAndChangesNothing(t *testing.T) {
	theirs := t.TempDir()
	out, last := interrupted(t, theirs, "count")
	finished := t.TempDir()
	continued(t, run.Config{StateDir: finished}, "count", collect.New[tallied]()).finished()
	damaged := t.TempDir()
	if err := os.CopyFS(damaged, os.DirFS(theirs)); err != nil {
		t.Fatal(err)
	}
	for _, name := range objectsIn(t, damaged) {
		if filepath.Base(name) != "manifest" {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			b[len(b)/3] ^= 1
			rewrite(t, name, b)
		}
	}
	for name, c := range map[string]struct {
		path  string
		words []string
		build func(*held[reading]) *stream.Pipeline
	}{
		"a word misspelled":   {path: "lastest", words: []string{`"lastest"`, "no such directory", `"latest"`, `"none"`}},
		"a file":              {path: objectsIn(t, theirs)[0], words: []string{"no such directory"}},
		"an empty directory":  {path: t.TempDir(), words: []string{"no job in this directory"}},
		"a job that finished": {path: finished, words: []string{`job "count" has no checkpoint there`, "finished"}},
		"a damaged object":    {path: damaged, words: []string{"corrupt", "chk/"}},
		"another program": {path: theirs, words: []string{`"count"`, "allow"}, build: func(source *held[reading]) *stream.Pipeline {
			p := stream.New("count")
			p.From(source, stream.Name("readings")).To(collect.New[reading]().Sink(), stream.Name("out"))
			return p
		}},
	} {
		t.Run(name, func(t *testing.T) {
			state := t.TempDir()
			source := hold(paddedNumbers, readingOf).upTo(paddedNumbers)
			p := paddedJob("count", source, toCollector(collect.New[tallied]()))
			if c.build != nil {
				p = c.build(source)
			}
			j := start(t, p, run.Config{StateDir: state, Parallelism: 2, Restore: run.Restore(c.path)}, nil)
			err := j.wait()
			wantError(t, err, c.words...)
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("the error is not one line: %v", err)
			}
			if left := objectsIn(t, state); len(left) > 0 {
				t.Errorf("the failed start left %v", left)
			}
			continued(t, run.Config{StateDir: state}, "count", collect.New[tallied]()).finished()
		})
	}
	unharmed(t, theirs, out, last)
}

func TestS139AJobThatHasACheckpointOfItsOwnGoesOnFromThat(t *testing.T) {
	theirs := t.TempDir()
	interrupted(t, theirs, "count")
	own := t.TempDir()
	out, last := interrupted(t, own, "count")
	j := continued(t, run.Config{StateDir: own, Restore: run.Restore(theirs)}, "count", out).finished()
	if r := eventsOf[run.Restoring](j)[0]; uint64(r.Checkpoint) != last {
		t.Errorf("restored checkpoint %d, want %d", r.Checkpoint, last)
	}
	checkCounts(t, paddedNumbers, out.Values())
}

func TestAJobInMemoryStartsFromADirectory(t *testing.T) {
	dir := t.TempDir()
	out, _ := interrupted(t, dir, "count")
	continued(t, run.Config{Ephemeral: true, Restore: run.Restore(dir)}, "count", out).finished()
	checkCounts(t, paddedNumbers, out.Values())
}
