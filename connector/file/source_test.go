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
