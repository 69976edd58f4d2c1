package run_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cutwater-io/cutwater/connector/collect"
	"github.com/cutwater-io/cutwater/internal/statedir"
	"github.com/cutwater-io/cutwater/run"
	"github.com/cutwater-io/cutwater/stream"
)

// padded is state so large that it is stored in objects of its own, not in the
// manifest.
type padded struct {
	N   int64
	Pad []byte
}

// paddedJob counts readings by sensor with padded state and writes every count.
func paddedJob(name string, source *held[reading], sink func(stream.Stream[tallied])) *stream.Pipeline {
	p := stream.New(name)
	sink(p.From(source, stream.Name("readings")).
		KeyBy(func(v reading) string { return v.Sensor }).
		Stateful(func(_ *stream.Ctx[string], s *padded, v reading, out *stream.Emitter[tallied]) error {
			s.N++
			s.Pad = bytes.Repeat([]byte{byte(s.N)}, 2000)
			out.Emit(tallied{Sensor: v.Sensor, Count: s.N, Len: int64(s.Pad[0])})
			return nil
		}, stream.Name("count")))
	return p
}

func toCollector(out *collect.Collector[tallied]) func(stream.Stream[tallied]) {
	return func(s stream.Stream[tallied]) { s.To(out.Sink(), stream.Name("out")) }
}

const paddedNumbers = 600

// interrupted runs a padded job over half its input in dir and cancels it at a
// checkpoint that has all of that half. It returns the collector and that checkpoint.
func interrupted(t *testing.T, dir, name string) (*collect.Collector[tallied], uint64) {
	t.Helper()
	out := collect.New[tallied]()
	source := hold(paddedNumbers, readingOf).upTo(paddedNumbers / 2)
	last := uint64(0)
	start(t, paddedJob(name, source, toCollector(out)), run.Config{StateDir: dir, Parallelism: 2, Checkpoints: every(10 * time.Millisecond)}, func(j *job, e run.Event) {
		if e, ok := e.(run.CheckpointCompleted); ok && out.Len() == paddedNumbers/2 {
			last = uint64(e.Checkpoint)
			j.stop()
		}
	}).stopped()
	return out, last
}

// continued runs the job of interrupted to its end.
func continued(t *testing.T, cfg run.Config, name string, out *collect.Collector[tallied]) *job {
	t.Helper()
	if cfg.Parallelism == 0 {
		cfg.Parallelism = 2
	}
	cfg.Checkpoints = every(10 * time.Millisecond)
	return start(t, paddedJob(name, hold(paddedNumbers, readingOf).upTo(paddedNumbers), toCollector(out)), cfg, nil)
}

// checkCounts checks that each sensor was counted 1, 2, 3, ... times.
func checkCounts(t *testing.T, n int64, got []tallied) {
	t.Helper()
	seen := map[string]bool{}
	for _, v := range got {
		k := fmt.Sprint(v.Sensor, " ", v.Count)
		if seen[k] || v.Count < 1 || v.Count > n/sensors || v.Len != v.Count {
			t.Errorf("a wrong or second count: %+v", v)
		}
		seen[k] = true
	}
	if int64(len(seen)) != n {
		t.Errorf("%d counts, want %d", len(seen), n)
	}
}

func TestCanceledKeepsTheLatestCheckpointAndFinishedStartsFresh(t *testing.T) {
	dir := t.TempDir()
	out, last := interrupted(t, dir, "count")
	j := continued(t, run.Config{StateDir: dir}, "count", out).finished()
	if r := eventsOf[run.Restoring](j)[0]; uint64(r.Checkpoint) != last {
		t.Errorf("restored checkpoint %d, want %d", r.Checkpoint, last)
	}
	checkCounts(t, paddedNumbers, out.Values())

	again := collect.New[tallied]()
	j = continued(t, run.Config{StateDir: dir}, "count", again).finished()
	if r := eventsOf[run.Restoring](j)[0]; r.Checkpoint != 0 || !r.Finished || !strings.Contains(r.String(), "fresh") {
		t.Errorf("after a job that finished: %v (%+v)", r, r)
	}
	checkCounts(t, paddedNumbers, again.Values())
	if c := eventsOf[run.CheckpointCompleted](j); uint64(c[0].Checkpoint) <= last {
		t.Errorf("checkpoint id %d came again", c[0].Checkpoint)
	}
	if left := objectsIn(t, dir); len(left) > 0 {
		t.Errorf("a job that finished left %v", left)
	}
}

// objectsIn are the files of checkpoints in a state directory.
func objectsIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(dir, "chk"), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && !d.IsDir() {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestRestoreNoneStartsFreshForGood(t *testing.T) {
	dir := t.TempDir()
	_, last := interrupted(t, dir, "count")
	// A fresh run that is stopped before its first checkpoint: what was left aside
	// does not come back.
	start(t, paddedJob("count", hold(paddedNumbers, readingOf), toCollector(collect.New[tallied]())),
		run.Config{StateDir: dir, Parallelism: 2, Restore: run.None, Checkpoints: every(time.Hour)}, func(j *job, e run.Event) {
			if _, ok := e.(run.AllRunning); ok {
				j.stop()
			}
		}).stopped()
	out := collect.New[tallied]()
	j := continued(t, run.Config{StateDir: dir}, "count", out).finished()
	if r := eventsOf[run.Restoring](j)[0]; r.Checkpoint != 0 {
		t.Errorf("restored checkpoint %d after -restore none", r.Checkpoint)
	}
	checkCounts(t, paddedNumbers, out.Values())
	if c := eventsOf[run.CheckpointCompleted](j); uint64(c[0].Checkpoint) <= last {
		t.Errorf("checkpoint id %d came again", c[0].Checkpoint)
	}
}

// unharmed checks that after an error the job goes on from the same checkpoint as
// if nothing had been.
func unharmed(t *testing.T, dir string, out *collect.Collector[tallied], last uint64) {
	t.Helper()
	j := continued(t, run.Config{StateDir: dir}, "count", out).finished()
	if r := eventsOf[run.Restoring](j)[0]; uint64(r.Checkpoint) != last {
		t.Errorf("restored checkpoint %d, want %d", r.Checkpoint, last)
	}
	checkCounts(t, paddedNumbers, out.Values())
}

func TestAStateDirectoryOfAnotherJobIsRefusedAndUnharmed(t *testing.T) {
	dir := t.TempDir()
	out, last := interrupted(t, dir, "count")
	for _, restore := range []run.Restore{run.Latest, run.None} {
		err := continued(t, run.Config{StateDir: dir, Restore: restore}, "other", collect.New[tallied]()).wait()
		wantError(t, err, `this state directory belongs to job "count"`, "use another directory")
	}
	unharmed(t, dir, out, last)
}

func TestAStateDirectoryThatIsNoneIsOneClearError(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	wantError(t, continued(t, run.Config{StateDir: name}, "count", collect.New[tallied]()).wait(), name)
}

// logEntries are the files of a job's log, oldest first.
func logEntries(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "log", "*"))
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	return names
}

func TestALogOfANewerVersionIsRefusedAndUnharmed(t *testing.T) {
	dir := t.TempDir()
	out, last := interrupted(t, dir, "count")
	names := logEntries(t, dir)
	newest := names[len(names)-1]
	old, err := os.ReadFile(newest)
	if err != nil {
		t.Fatal(err)
	}
	newer := bytes.Clone(old)
	newer[4] = 99 // the version, see doc/format/joblog.md
	crc := crc32.Checksum(newer[:len(newer)-4], crc32.MakeTable(crc32.Castagnoli))
	binary.LittleEndian.PutUint32(newer[len(newer)-4:], crc)
	rewrite(t, newest, newer)
	err = continued(t, run.Config{StateDir: dir}, "count", out).wait()
	wantError(t, err, "version 99", filepath.Base(newest))
	rewrite(t, newest, old)
	unharmed(t, dir, out, last)
}

func rewrite(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.Chmod(name, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// Damage of any kind, anywhere in the newest manifest, in an object of state or in
// the log, is one clear error at the start; repaired, the job goes on as if nothing
// had been. It never starts from something older, and never fresh.
func TestS134DamageAnywhereInTheStateIsOneClearErrorAndNothingIsLost(t *testing.T) {
	dir := t.TempDir()
	out, last := interrupted(t, dir, "count")
	entries := logEntries(t, dir)
	// Objects of a checkpoint that the cancellation cut short may lie about too;
	// nothing refers to them, and the next start removes them.
	files := slices.DeleteFunc(objectsIn(t, dir), func(name string) bool {
		return !strings.Contains(name, fmt.Sprintf("/chk/%d/", last)) && !strings.Contains(name, fmt.Sprintf("/chk/%d-", last))
	})
	files = append(files, entries[0], entries[len(entries)-1])
	manifests, segments := 0, 0
	for _, name := range files {
		switch {
		case filepath.Base(name) == "manifest":
			manifests++
		case !strings.Contains(name, "/log/"):
			segments++
		}
	}
	if manifests != 1 || segments != 2 {
		t.Fatalf("want one manifest and two objects of state: %v", files)
	}
	for _, name := range files {
		whole, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		damaged := map[string][]byte{"empty": {}, "cut off in the middle": whole[:len(whole)/2], "one byte short": whole[:len(whole)-1]}
		// A flipped bit at both ends, and in each of 12 regions between.
		at := map[int]bool{0: true, 5: true, 9: true, len(whole) - 1: true, len(whole) - 5: true}
		for region := range 12 {
			at[len(whole)*region/12] = true
		}
		for i := range at {
			if i >= 0 && i < len(whole) {
				b := bytes.Clone(whole)
				b[i] ^= 0x10
				damaged[fmt.Sprintf("bit of byte %d of %d", i, len(whole))] = b
			}
		}
		for what, b := range damaged {
			rewrite(t, name, b)
			j := continued(t, run.Config{StateDir: dir}, "count", collect.New[tallied]())
			if err := j.wait(); err == nil {
				t.Errorf("%s: %s: the job ran from\n%s", filepath.Base(name), what, j.story())
			} else if len(err.Error()) > 600 || strings.Contains(err.Error(), "panic") || strings.Contains(err.Error(), "goroutine") {
				t.Errorf("%s: %s: the error is not one sentence:\n%v", filepath.Base(name), what, err)
			}
		}
		rewrite(t, name, whole)
	}
	away := filepath.Join(t.TempDir(), "away")
	if err := os.Rename(files[0], away); err != nil {
		t.Fatal(err)
	}
	err := continued(t, run.Config{StateDir: dir}, "count", collect.New[tallied]()).wait()
	wantError(t, err, "not found")
	if err := os.MkdirAll(filepath.Dir(files[0]), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(away, files[0]); err != nil {
		t.Fatal(err)
	}
	unharmed(t, dir, out, last)
}

// A second process, a real one, is told which one holds the directory.
func TestAStateDirectoryHeldByARunningProcessIsRefused(t *testing.T) {
	dir, output := t.TempDir(), t.TempDir()
	child := startChild(t, dir, output, "hold")
	child.await("running")
	err := continued(t, run.Config{StateDir: dir}, "child", collect.New[tallied]()).wait()
	if !errors.Is(err, statedir.ErrHeld) {
		t.Errorf("the job ended with %v", err)
	}
	wantError(t, err, dir, fmt.Sprintf("process %d", child.cmd.Process.Pid), "stop that process")
	child.kill()
	// The lock went with the process.
	child = startChild(t, dir, output, "")
	child.await("finished")
	child.kill()
}
