package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/cutwater-io/cutwater/connector"
)

func TestTheEnvironmentIsComplete(t *testing.T) {
	env := Env(nil)
	if env.Clock == nil || env.Files == nil || env.Log == nil || env.Random == nil {
		t.Fatalf("%+v", env)
	}
	if a, b := env.Random(), env.Random(); a == b {
		t.Errorf("the number %d was drawn twice", a)
	}
	if env.Clock.Now().IsZero() {
		t.Error("the clock stands")
	}
}

func want(t *testing.T, what string, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("%s: error is %v, want %v", what, err, target)
	}
}

func write(t *testing.T, f connector.File, err error, content string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write([]byte(content))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestFilesKeepTheContract(t *testing.T) {
	var files Files
	dir := filepath.Join(t.TempDir(), "a", "b")
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")

	f, err := files.Create(a)
	want(t, "create in a directory that is not there", err, fs.ErrNotExist)
	if f != nil {
		t.Error("a failed create returned a file that is not nil")
	}
	if err := files.MkdirAll(dir); err != nil {
		t.Fatal(err)
	}
	_, err = files.Open(a)
	want(t, "open of none", err, fs.ErrNotExist)
	f, err = files.Create(a)
	write(t, f, err, "one ")
	_, err = files.Create(a)
	want(t, "create of what is there", err, fs.ErrExist)
	f, err = files.OpenAppend(a)
	write(t, f, err, "two")

	if err := files.Link(a, b); err != nil {
		t.Fatal(err)
	}
	want(t, "link to a taken name", files.Link(a, b), fs.ErrExist)
	if content, _ := os.ReadFile(b); string(content) != "one two" {
		t.Errorf("content is %q", content)
	}
	if files.Remove(dir) == nil {
		t.Error("a directory that is not empty was removed")
	}
	c := filepath.Join(dir, "c")
	f, err = files.Create(c)
	write(t, f, err, "three")
	if err := errors.Join(files.Rename(c, b), files.SyncDir(dir)); err != nil {
		t.Error(err)
	}
	if content, _ := os.ReadFile(b); string(content) != "three" {
		t.Errorf("after rename, content is %q", content)
	}
	want(t, "sync of a directory that is not there", files.SyncDir(c), fs.ErrNotExist)
}

func TestALockIsHeldOnceAndGivenBack(t *testing.T) {
	var files Files
	name := filepath.Join(t.TempDir(), "lock")
	unlock, err := files.TryLock(name)
	if err != nil {
		t.Fatal(err)
	}
	_, err = files.TryLock(name)
	want(t, "second lock", err, ErrLocked)
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	unlock, err = files.TryLock(name)
	if err != nil {
		t.Fatalf("after unlock: %v", err)
	}
	if err := unlock(); err != nil {
		t.Error(err)
	}
	_, err = files.TryLock(filepath.Join(name, "below", "a", "file"))
	if err == nil || errors.Is(err, ErrLocked) {
		t.Errorf("lock that cannot be made: %v", err)
	}
}
