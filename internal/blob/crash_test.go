package blob_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/cutwater-io/cutwater/internal/blob"
	"github.com/cutwater-io/cutwater/internal/host/crashfs"
)

var ctx = context.Background()

// content of an object spans several disk blocks, so that it can be torn.
func content(name string) string { return strings.Repeat(name+" ", 400) }

// life writes objects until it dies and returns those whose writing succeeded.
func life(s blob.Store) (acked []string) {
	steps := []struct {
		name  string
		write func(name string) error
	}{
		{"chk/1/manifest", func(n string) error { return s.Put(ctx, n, []byte(content(n))) }},
		{"log/1", func(n string) error { return s.PutIfAbsent(ctx, n, []byte(content(n))) }},
		{"log/2", func(n string) error { return s.PutIfAbsent(ctx, n, []byte(content(n))) }},
		{"chk/2/segment", func(n string) error {
			w, err := s.Create(ctx, n)
			if err != nil {
				return err
			}
			for part := range strings.SplitAfterSeq(content(n), "0") {
				if _, err := w.Write([]byte(part)); err != nil {
					w.Abort()
					return err
				}
			}
			return w.Commit()
		}},
	}
	for _, step := range steps {
		if step.write(step.name) != nil {
			return acked
		}
		acked = append(acked, step.name)
	}
	return acked
}

// disks returns what the file system may look like for the next process.
func disks(f *crashfs.FS) map[string]*crashfs.FS {
	d := map[string]*crashfs.FS{"process killed": f.Restart(), "all unsynced lost": f.PowerLoss(0)}
	for seed := uint64(1); seed <= 6; seed++ {
		d[fmt.Sprintf("power lost, seed %d", seed)] = f.PowerLoss(seed)
	}
	// Killed, and the power fails later: what the dead process left unsynced
	// must not be relied upon by the next.
	d["process killed, then all unsynced lost"] = f.Restart().PowerLoss(0)
	return d
}

// check looks at the disk with a new store.
func check(t *testing.T, disk *crashfs.FS, acked []string) {
	s := blob.Dir("/state", disk)
	names, err := s.List(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	there := make(map[string]bool)
	for _, name := range names {
		there[name] = true
		if b, err := s.Get(ctx, name); err != nil || string(b) != content(name) {
			t.Errorf("%s is there and not complete: %d bytes of %d, %v", name, len(b), len(content(name)), err)
		}
	}
	for _, name := range acked {
		if !there[name] {
			t.Errorf("%s was written and is lost", name)
		}
	}
	// The next process finds a working store, and no leftovers after it.
	err = s.PutIfAbsent(ctx, "log/1", []byte(content("log/1")))
	if there["log/1"] != errors.Is(err, blob.ErrExists) || err != nil && !there["log/1"] {
		t.Errorf("put if absent: %v, the object was there: %t", err, there["log/1"])
	}
	left, err := disk.ReadDir("/state/.tmp")
	if len(left) != 1 || err != nil {
		t.Errorf("%d directories below .tmp, want only that of the living process (%v)", len(left), err)
	}
}

func TestAKillAtAnyFileOperationLosesNothingAndLeavesNoHalfObject(t *testing.T) {
	rehearsal := crashfs.New()
	if acked := life(blob.Dir("/state", rehearsal)); len(acked) != 4 {
		t.Fatalf("without a kill %q were written", acked)
	}
	ops := rehearsal.Ops()
	t.Logf("%d operations", len(ops))
	for _, op := range ops {
		for _, effect := range []bool{false, true} {
			f := crashfs.New()
			f.KillAt(op.N, effect)
			acked := life(blob.Dir("/state", f))
			if !f.Killed() {
				t.Fatalf("operation %s was never reached", op)
			}
			for name, disk := range disks(f) {
				t.Run(fmt.Sprintf("%s effect=%t %s", op, effect, name), func(t *testing.T) { check(t, disk, acked) })
			}
		}
	}
}

func TestAFailureOfAnyFileOperationIsReportedOrHarmless(t *testing.T) {
	rehearsal := crashfs.New()
	life(blob.Dir("/state", rehearsal))
	for _, op := range rehearsal.Ops() {
		f := crashfs.New()
		f.Inject = func(o crashfs.Op) error {
			if o.N == op.N {
				return crashfs.BadDisk
			}
			return nil
		}
		acked := life(blob.Dir("/state", f))
		if len(acked) == 4 && op.Name != "remove" {
			t.Errorf("%s failed and nothing was reported", op)
		}
		t.Run(op.String(), func(t *testing.T) { check(t, f.PowerLoss(0), acked) })
	}
}

func TestAFullDiskIsOneClearSentenceAndTheNextWriteWorks(t *testing.T) {
	f := crashfs.New()
	s := blob.Dir("/state", f)
	full := true
	f.Inject = func(op crashfs.Op) error {
		if full && op.Name == "write" {
			return crashfs.DiskFull
		}
		return nil
	}
	err := s.Put(ctx, "a", []byte("x"))
	if err == nil || !strings.Contains(err.Error(), "write object a in /state: the disk or the quota is full, free space there and go on") {
		t.Errorf("error is: %v", err)
	}
	if errors.Is(err, blob.ErrUnknown) {
		t.Error("a failed write is a definite failure")
	}
	full = false
	if err := s.Put(ctx, "a", []byte("x")); err != nil {
		t.Errorf("after space was freed: %v", err)
	}
}

func TestF023AFileWhoseFsyncFailedIsNeverPublished(t *testing.T) {
	f := crashfs.New()
	s := blob.Dir("/state", f)
	bad := true
	f.Inject = func(op crashfs.Op) error {
		if bad && op.Name == "sync" {
			return crashfs.BadDisk
		}
		return nil
	}
	w, err := s.Create(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	w.Write([]byte("first"))
	if err := w.Commit(); err == nil || errors.Is(err, blob.ErrUnknown) {
		t.Fatalf("commit: %v", err)
	}
	bad = false
	if err := w.Commit(); err == nil {
		t.Error("the second commit succeeded, on an fsync that wrote nothing")
	}
	if _, err := s.Get(ctx, "a"); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("get: %v", err)
	}
	if err := s.Put(ctx, "a", []byte("second")); err != nil {
		t.Fatal(err)
	}
	b, err := blob.Dir("/state", f.PowerLoss(0)).Get(ctx, "a")
	if err != nil || string(b) != "second" {
		t.Errorf("after a power failure: %q, %v", b, err)
	}
}

func TestF023AfterAFailedFsyncOfADirectoryItsOutcomesStayUnknown(t *testing.T) {
	f := crashfs.New()
	s := blob.Dir("/state", f)
	if err := s.PutIfAbsent(ctx, "log/1", nil); err != nil {
		t.Fatal(err)
	}
	bad := true
	f.Inject = func(op crashfs.Op) error {
		if bad && op.Name == "syncdir" && op.Path == "/state/log" {
			return crashfs.BadDisk
		}
		return nil
	}
	if err := s.PutIfAbsent(ctx, "log/2", nil); !errors.Is(err, blob.ErrUnknown) {
		t.Fatalf("with a failing fsync: %v", err)
	}
	bad = false
	// The kernel would now say yes. The entry is still not on disk.
	if err := s.PutIfAbsent(ctx, "log/2", nil); !errors.Is(err, blob.ErrUnknown) {
		t.Errorf("repeated: %v, want an unknown outcome", err)
	}
	if err := s.Put(ctx, "chk/1", nil); err != nil {
		t.Errorf("another directory: %v", err)
	}
	if _, err := blob.Dir("/state", f.PowerLoss(0)).Get(ctx, "log/2"); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("the test's premise does not hold: %v", err)
	}
}

func TestTheTemporaryFilesOfALivingProcessAreNotSwept(t *testing.T) {
	dir := t.TempDir()
	first, second := blob.Dir(dir, nil), blob.Dir(dir, nil)
	w, err := first.Create(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	w.Write([]byte("x"))
	if err := second.Put(ctx, "b", nil); err != nil { // sweeps
		t.Fatal(err)
	}
	if err := w.Commit(); err != nil {
		t.Errorf("commit after another process's sweep: %v", err)
	}
	if err := errors.Join(first.Close(), second.Close()); err != nil {
		t.Error(err)
	}
}

func TestOfSeveralProcessesExactlyOneWinsAName(t *testing.T) {
	dir := t.TempDir()
	for slot := range 20 {
		name := fmt.Sprintf("log/%d", slot)
		errs := make([]error, 4)
		var wg sync.WaitGroup
		for i := range errs {
			// A store of its own for each: they share nothing but the directory.
			wg.Go(func() { errs[i] = blob.Dir(dir, nil).PutIfAbsent(ctx, name, fmt.Append(nil, i)) })
		}
		wg.Wait()
		winners := 0
		for i, err := range errs {
			if err == nil {
				winners++
				if b, err := blob.Dir(dir, nil).Get(ctx, name); err != nil || string(b) != fmt.Sprint(i) {
					t.Errorf("%s: process %d won and %q is there, %v", name, i, b, err)
				}
			} else if !errors.Is(err, blob.ErrExists) {
				t.Errorf("%s: process %d: %v", name, i, err)
			}
		}
		if winners != 1 {
			t.Errorf("%s: %d winners", name, winners)
		}
	}
}

// beforeLink lets something happen between the making of a directory and its
// use.
type beforeLink struct {
	blob.FS
	run func()
}

func (f *beforeLink) Link(oldName, newName string) error {
	if run := f.run; run != nil {
		f.run = nil
		run()
	}
	return f.FS.Link(oldName, newName)
}

func TestADirectoryRemovedAndMadeAgainMeanwhileIsDurable(t *testing.T) {
	for name, again := range map[string]bool{"removed": false, "removed and made again by another writer": true} {
		t.Run(name, func(t *testing.T) {
			disk := crashfs.New()
			f := &beforeLink{FS: disk}
			s := blob.Dir("/state", f)
			f.run = func() {
				if err := s.Delete(ctx, "chk/1/other"); err != nil { // removes what is empty
					t.Fatal(err)
				}
				if _, err := disk.Stat("/state/chk"); err == nil {
					t.Fatal("the directory was not removed, so this test shows nothing")
				}
				if again { // the other writer has got to mkdir, and not yet to fsync
					if err := disk.MkdirAll("/state/chk/1"); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := s.PutIfAbsent(ctx, "chk/1/a", []byte("x")); err != nil {
				t.Fatal(err)
			}
			if b, err := blob.Dir("/state", disk.PowerLoss(0)).Get(ctx, "chk/1/a"); err != nil || string(b) != "x" {
				t.Errorf("after a loss of power: %q, %v", b, err)
			}
		})
	}
}

// Another process makes the directory and removes it again while we make it:
// os.MkdirAll then fails with "exists". That says nothing about the object.
func TestADirectoryThatExistedForAMomentIsNotAnObjectThatExists(t *testing.T) {
	f := crashfs.New()
	s := blob.Dir("/state", f)
	failures := 3
	f.Inject = func(op crashfs.Op) error {
		if op.Name == "mkdir" && op.Path == "/state/log" && failures > 0 {
			failures--
			return syscall.EEXIST
		}
		return nil
	}
	if err := s.PutIfAbsent(ctx, "log/1", []byte("x")); err != nil || failures != 0 {
		t.Fatalf("put if absent: %v, %d failures left", err, failures)
	}
	if b, err := s.Get(ctx, "log/1"); err != nil || string(b) != "x" {
		t.Errorf("get: %q, %v", b, err)
	}
}
