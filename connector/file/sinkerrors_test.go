package file_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/connector/connectortest"
	"github.com/cutwater-io/cutwater/connector/file"
)

// failed commits one committable that must fail for good, and returns why.
func failed(t *testing.T, c connector.Committer, restored bool, cs []connector.Committable) string {
	t.Helper()
	outcomes, err := c.Commit(1, restored, cs)
	if len(outcomes) != 1 || outcomes[0] != connector.Failed || err == nil {
		t.Fatalf("outcomes %v, error %v", outcomes, err)
	}
	return err.Error()
}

func contains(t *testing.T, s string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(s, p) {
			t.Errorf("%q does not say %q", s, p)
		}
	}
}

func TestS366APartThatExistsWithOtherContentIsNeverReplaced(t *testing.T) {
	for _, content := range []string{"other", "xne\n"} { // another size; the same size
		dir := put(t, "part-0-1-0.txt", content)
		w, c := openSink(t, file.LinesSink(dir), osContext())
		write(t, w, "one")
		contains(t, failed(t, c, false, prepare(t, w, 1)), "part-0-1-0.txt", "exists already", "use another directory or Prefix")
		want(t, tree(t, dir), fmt.Sprintf("part-0-1-0.txt=%q", content), "staged")
	}
}

func TestS363ARenameThatACrashCutInTwoIsCompleted(t *testing.T) {
	dir := t.TempDir()
	w, c := openSink(t, file.LinesSink(dir), osContext())
	write(t, w, "one")
	cs := prepare(t, w, 1)
	entries, err := os.ReadDir(filepath.Join(dir, ".staging"))
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	if err := os.Link(filepath.Join(dir, ".staging", entries[0].Name()), filepath.Join(dir, "part-0-1-0.txt")); err != nil {
		t.Fatal(err)
	}
	commit(t, c, 1, cs)
	want(t, tree(t, dir), `part-0-1-0.txt="one\n"`)
}

func TestS366APartThatIsNowhereFailsUnlessPartsMayBeTaken(t *testing.T) {
	dir := t.TempDir()
	sink := file.LinesSink(dir)
	w, c := openSink(t, sink, osContext())
	write(t, w, "one")
	cs := prepare(t, w, 1)
	commit(t, c, 1, cs)
	if err := os.Remove(filepath.Join(dir, "part-0-1-0.txt")); err != nil {
		t.Fatal(err)
	}
	contains(t, failed(t, c, true, cs), "neither there nor staged", "PartsMayBeTaken")
	_, c = openSink(t, sink.PartsMayBeTaken(), osContext())
	if outcomes, err := c.Commit(1, true, cs); err != nil || outcomes[0] != connector.Committed {
		t.Fatal(outcomes, err)
	}
	// Without a restore it was there a moment ago.
	contains(t, failed(t, c, false, cs), "neither there nor staged")
}

func TestAStagedPartThatTheDiskCutIsNotPublished(t *testing.T) {
	dir := t.TempDir()
	w, c := openSink(t, file.LinesSink(dir), osContext())
	write(t, w, "one")
	cs := prepare(t, w, 1)
	staged, err := filepath.Glob(filepath.Join(dir, ".staging", "*"))
	if err != nil || len(staged) != 1 {
		t.Fatal(staged, err)
	}
	if err := os.Truncate(staged[0], 2); err != nil {
		t.Fatal(err)
	}
	contains(t, failed(t, c, true, cs), "has 2 bytes, 4 were written", "lost data")
	want(t, tree(t, dir), "staged")
}

func TestAStagedPartThatWasDamagedFailsTheCheckpoint(t *testing.T) {
	dir := t.TempDir()
	w, _ := openSink(t, file.LinesSink(dir).MaxPartBytes(1), osContext())
	write(t, w, "one") // the part has ended
	if err := os.RemoveAll(filepath.Join(dir, ".staging")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, ".staging"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Prepare(1); err == nil {
		t.Fatal("no error")
	} else {
		contains(t, err.Error(), "is damaged", "something else than this sink changes")
	}
}

func TestEveryWrongDirectoryOrNameIsAClearError(t *testing.T) {
	dir := put(t, "occupied", "x")
	for _, c := range []struct {
		sink *file.PartSink[string]
		says string
	}{
		{file.LinesSink(""), "directory is empty"},
		{file.LinesSink(filepath.Join(dir, "occupied")), "not a directory"},
		{file.LinesSink(dir).Prefix("a/b"), "no slash"},
		{file.LinesSink(dir).Prefix(".a"), "begin with a dot"},
		{file.LinesSink(dir).Extension("/x"), "no slash"},
	} {
		_, err := c.sink.Writer(osContext(), nil)
		if err == nil {
			t.Errorf("no error that says %q", c.says)
			continue
		}
		contains(t, err.Error(), c.says)
	}
	if _, err := file.CSVSink[struct{ F func() }](dir).Writer(osContext(), nil); err == nil {
		t.Error("a function was accepted as a cell")
	}
}

func TestBucketsCannotLeadOutOfTheDirectory(t *testing.T) {
	for _, bucket := range []string{"..", "a/../b", "/a", "a//b", ".staging", "a/.b", "a\\b", "a/", ".", "\xff", strings.Repeat("x", 300)} {
		w, _ := openSink(t, file.LinesSink(t.TempDir()).BucketBy(func(*string) string { return bucket }), osContext())
		v := "x"
		if err := w.Write(&v, 0); err == nil {
			t.Errorf("bucket %q was accepted", bucket)
		}
	}
}

func TestAFullDiskSaysSo(t *testing.T) {
	disk := connectortest.NewDisk()
	ctx := osContext()
	ctx.World = connectortest.NewEnv(disk)
	w, _ := openSink(t, file.LinesSink("/out"), ctx)
	write(t, w, "x")
	disk.FailAt(1, connectortest.Fault{Err: &fs.PathError{Op: "write", Path: "p", Err: syscall.ENOSPC}, Half: true})
	_, err := w.Prepare(1)
	if err == nil {
		t.Fatal("no error")
	}
	contains(t, err.Error(), "/out/.staging/job%2F1~out%20put~part~s0~a7~c0~0", "the disk is full")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	left, err := names(disk, "/out/.staging")
	if err != nil || len(left) > 0 {
		t.Fatal(left, err)
	}
}

func TestPartsRollByAge(t *testing.T) {
	dir := t.TempDir()
	ctx := osContext()
	w, c := openSink(t, file.LinesSink(dir).MaxPartAge(time.Minute), ctx)
	for range 255 {
		write(t, w, "a")
	}
	ctx.World.Clock.(*connectortest.Clock).Advance(time.Minute)
	write(t, w, "b", "c") // b is record 256
	commit(t, c, 1, prepare(t, w, 1))
	want(t, tree(t, dir), fmt.Sprintf("part-0-1-0.txt=%q", strings.Repeat("a\n", 255)+"b\n"), `part-0-1-1.txt="c\n"`)
}

func TestOneWriteCallFor64KiB(t *testing.T) {
	disk := connectortest.NewDisk()
	ctx := osContext()
	ctx.World = connectortest.NewEnv(disk)
	w, _ := openSink(t, file.Sink("/out", func(dst []byte, v [16]byte) []byte { return append(dst, v[:]...) }), ctx)
	before := disk.Effects()
	for range 3 * 64 << 10 / 16 {
		write(t, w, [16]byte{})
	}
	if n := disk.Effects() - before; n != 4 { // create and three writes
		t.Fatalf("%d calls: %q", n, disk.Trace())
	}
}
