package connectortest_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/connector/connectortest"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, d connector.Files, name, content string) connector.File {
	t.Helper()
	f, err := d.Create(name)
	check(t, err)
	_, err = f.Write([]byte(content))
	check(t, err)
	return f
}

// show lists a directory as "name=content".
func show(t *testing.T, d connector.Files, dir string) string {
	t.Helper()
	names, err := list(d, dir)
	check(t, err)
	var all []string
	for _, n := range names {
		f, err := d.Open(dir + "/" + n)
		check(t, err)
		data, err := io.ReadAll(f)
		check(t, err)
		all = append(all, n+"="+string(data))
	}
	return strings.Join(all, " ")
}

func TestACrashTakesWhatWasNotSynced(t *testing.T) {
	for loss, want := range map[connectortest.Loss]string{
		connectortest.LoseAll:     "both=12 name=",
		connectortest.LoseNothing: "both=1234 content=1 name=1 neither=1",
	} {
		d := connectortest.NewDisk()
		check(t, d.MkdirAll("/d"))
		check(t, d.SyncDir("/"))
		both := put(t, d, "/d/both", "12")
		check(t, both.Sync())
		put(t, d, "/d/name", "1")
		check(t, d.SyncDir("/d"))
		_, err := both.Write([]byte("34"))
		check(t, err)
		check(t, put(t, d, "/d/content", "1").Sync())
		put(t, d, "/d/neither", "1")
		d.Restart(loss)
		if got := show(t, d, "/d"); got != want {
			t.Errorf("loss %d: %q, want %q", loss, got, want)
		}
		if _, err := both.Write(nil); !errors.Is(err, connectortest.ErrCrashed) {
			t.Errorf("a file opened before the crash: %v", err)
		}
	}
}

func TestARenameThatWasNotSyncedLeavesOldOrNewOrBothButNeverNone(t *testing.T) {
	seen := map[string]bool{}
	for seed := range 64 {
		d := connectortest.NewDisk()
		check(t, d.MkdirAll("/a"))
		check(t, d.MkdirAll("/b"))
		check(t, d.SyncDir("/"))
		check(t, put(t, d, "/a/x", "1").Sync())
		check(t, d.SyncDir("/a"))
		check(t, d.Rename("/a/x", "/b/y"))
		d.Restart(connectortest.Loss(seed))
		seen[show(t, d, "/a")+"|"+show(t, d, "/b")] = true
	}
	if len(seen) != 3 || !seen["x=1|"] || !seen["|y=1"] || !seen["x=1|y=1"] {
		t.Fatal(seen)
	}
}

func TestTheNthEffectGoesWrongAsTheTestSays(t *testing.T) {
	d := connectortest.NewDisk()
	f := put(t, d, "/x", "")
	fail := errors.New("fail")
	d.FailAt(1, connectortest.Fault{Err: fail, Half: true})
	d.FailAt(2, connectortest.Fault{Err: fail})
	d.FailAt(3, connectortest.Fault{Err: fail, After: true})
	d.FailAt(4, connectortest.Fault{Crash: true})
	for _, text := range []string{"ab", "cd", "ef"} {
		if _, err := f.Write([]byte(text)); !errors.Is(err, fail) {
			t.Fatal(err)
		}
	}
	if got := show(t, d, "/"); got != "x=aef" {
		t.Fatal(got)
	}
	if err := f.Sync(); !errors.Is(err, connectortest.ErrCrashed) || !d.Crashed() {
		t.Fatal(err)
	}
	if _, err := d.Stat("/x"); !errors.Is(err, connectortest.ErrCrashed) {
		t.Fatal(err)
	}
	want := []string{"create /x", "write /x", "write /x: fail", "write /x: fail", "write /x: fail", "sync /x: crash"}
	if got := d.Trace(); !slices.Equal(got, want) {
		t.Fatalf("%q", got)
	}
}

// TestDiskAndMachineAgree plays the same calls on a Disk and on the file system
// of the machine: they must answer alike.
func TestDiskAndMachineAgree(t *testing.T) {
	play := func(d connector.Files, root string) (answers []string) {
		note := func(what string, err error) {
			class := "ok"
			for name, e := range map[string]error{"exists": fs.ErrExist, "absent": fs.ErrNotExist, "closed": fs.ErrClosed} {
				if errors.Is(err, e) {
					class = name
				}
			}
			if class == "ok" && err != nil {
				class = "error"
			}
			answers = append(answers, what+": "+class)
		}
		note("mkdir", d.MkdirAll(root+"/a/b"))
		note("mkdir again", d.MkdirAll(root+"/a/b"))
		f, err := d.Create(root + "/a/x")
		note("create", err)
		_, err = d.Create(root + "/a/x")
		note("create again", err)
		_, err = f.Write([]byte("hello"))
		note("write", err)
		note("sync", f.Sync())
		note("truncate", f.Truncate(3))
		p := make([]byte, 8)
		n, err := f.ReadAt(p, 1)
		answers = append(answers, fmt.Sprint(n, err))
		info, err := f.Stat()
		note("stat", err)
		answers = append(answers, fmt.Sprint(info.Size(), info.IsDir(), info.Name()))
		note("close", f.Close())
		_, err = f.Write(nil)
		note("write to closed", err)
		a, err := d.OpenAppend(root + "/a/x")
		note("append", err)
		_, err = a.Write([]byte("LO"))
		note("write", err)
		note("rename over a directory", d.Rename(root+"/a/x", root+"/a/b"))
		note("rename", d.Rename(root+"/a/x", root+"/a/b/y"))
		note("rename absent", d.Rename(root+"/a/x", root+"/a/b/y"))
		_, err = d.Open(root + "/a/x")
		note("open absent", err)
		note("mkdir on a file", d.MkdirAll(root+"/a/b/y"))
		_, err = d.Stat(root + "/a/b/y/z")
		if err == nil {
			note("below a file", err)
		}
		note("remove full", d.Remove(root+"/a/b"))
		entries, err := d.ReadDir(root + "/a/b")
		note("list", err)
		for _, e := range entries {
			answers = append(answers, e.Name(), fmt.Sprint(e.IsDir(), e.Type()))
		}
		_, err = d.ReadDir(root + "/none")
		note("list absent", err)
		r, err := d.Open(root + "/a/b/y")
		note("open", err)
		data, err := io.ReadAll(r)
		note("read "+string(data), err)
		_, err = r.Write([]byte("x"))
		note("write to a file for reading", err)
		note("remove", d.Remove(root+"/a/b/y"))
		note("remove again", d.Remove(root+"/a/b/y"))
		note("remove empty", d.Remove(root+"/a/b"))
		note("sync", d.SyncDir(root+"/a"))
		note("sync absent", d.SyncDir(root+"/a/b"))
		return answers
	}
	machine := play(connectortest.OSFiles(), t.TempDir())
	disk := play(connectortest.NewDisk(), "")
	for i := range min(len(machine), len(disk)) {
		if machine[i] != disk[i] {
			t.Errorf("the machine says %q, the disk %q", machine[i], disk[i])
		}
	}
	if len(machine) != len(disk) {
		t.Errorf("%d answers, %d of the disk", len(machine), len(disk))
	}
}

func TestTheClockMovesOnlyByAdvance(t *testing.T) {
	c := connectortest.NewClock()
	begin, ring := c.Now(), c.After(time.Second)
	c.Advance(time.Second - 1)
	select {
	case <-ring:
		t.Fatal("too early")
	default:
	}
	c.Advance(1)
	if at := <-ring; at != begin.Add(time.Second) || c.Now() != at {
		t.Fatal(at)
	}
}
