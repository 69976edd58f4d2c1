package file_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/connector/connectortest"
	"github.com/cutwater-io/cutwater/connector/file"
)

// put writes files of a new directory: name, content, name, content...
func put(t *testing.T, nameContent ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for i := 0; i < len(nameContent); i += 2 {
		name := filepath.Join(dir, nameContent[i])
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(nameContent[i+1]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// readAll reads a bounded source to its end with one reader.
func readAll[T any](t *testing.T, s connector.Source[T]) ([]T, []connector.BadRecord) {
	t.Helper()
	j, err := connectortest.StartSource(connectortest.NewEnv(connectortest.OSFiles()), s, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := j.Drain(3, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !j.Finished() {
		t.Fatal("the source is not finished")
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return got, j.Readers[0].Context.Bad
}

func TestFilesAreReadInTheOrderOfTheirNamesAndOnceEach(t *testing.T) {
	dir := put(t, "b.txt", "b1\r\n\r\nb3", "a.txt", "a1\na2\n", "c.txt", "", "d/x.txt", "no", ".h.txt", "no", "e.csv", "no")
	got, _ := readAll(t, file.Lines(filepath.Join(dir, "*.txt"), filepath.Join(dir, "a.*")))
	want(t, got, "a1", "a2", "b1", "", "b3")
}

// from and to stand for the methods of stream: T must be inferred from the
// concrete types that this package returns.
func from[T any](s connector.Source[T]) T { var zero T; return zero }

func to[T any](v T, s connector.Sink[T]) connector.Sink[T] { return s }

func TestTheTypeOfRecordsIsInferredFromSourcesAndSinks(t *testing.T) {
	if to(from(file.Lines("x").MaxLine(1).Follow()), file.LinesSink("x").MaxPartBytes(1)) == nil {
		t.Fatal("no sink")
	}
}

func TestAMissingLevelOrStrangePatternIsAClearError(t *testing.T) {
	dir := put(t, "a/b/c.txt", "x\n", "a/d/c.txt", "y\n", "a/e", "no directory")
	got, _ := readAll(t, file.Lines(filepath.Join(dir, "a", "*", "c.txt")))
	want(t, got, "x", "y")
	contains(t, readError(t, file.Lines(filepath.Join(dir, "**", "c.txt"))), "is not known")
	contains(t, readError(t, file.Lines(filepath.Join(dir, "none", "*"))), "no file matches")
}

func TestABoundedFileThatWasReplacedFailsTheRestore(t *testing.T) {
	d := connectortest.NewDisk()
	store(t, d, "/a.txt", []byte("a1\na2\n"))
	env, s := connectortest.NewEnv(d), connector.Source[string](file.Lines("/a.txt"))
	j, err := connectortest.StartSource(env, s, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Drain(1, func(n int) bool { return n == 1 }); err != nil {
		t.Fatal(err)
	}
	state, err := j.Checkpoint()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Remove("/a.txt"); err != nil {
		t.Fatal(err)
	}
	store(t, d, "/a.txt", []byte("b1\nb2\nb3\n"))
	j, err = connectortest.StartSource(env, s, 1, &state)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Drain(1, nil); err == nil {
		t.Fatal("no error")
	} else {
		contains(t, err.Error(), "/a.txt", "not the file that was read up to byte 3")
	}
}
