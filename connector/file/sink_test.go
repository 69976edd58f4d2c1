package file_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/connector/connectortest"
	"github.com/cutwater-io/cutwater/connector/file"
)

func osContext() connectortest.WriterContext {
	return connectortest.WriterContext{
		World: connectortest.NewEnv(connectortest.OSFiles()),
		JobID: "job/1", OperatorID: "out put", Count: 1, AttemptNumber: 7,
	}
}

// openSink makes the writer and the committer of one subtask.
func openSink[T any](t *testing.T, s connector.CommittingSink[T], ctx connectortest.WriterContext) (connector.CommittingWriter[T], connector.Committer) {
	t.Helper()
	w, err := s.Writer(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Committer(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return w.(connector.CommittingWriter[T]), c
}

func write[T any](t *testing.T, w connector.Writer[T], vs ...T) {
	t.Helper()
	for _, v := range vs {
		if err := w.Write(&v, connector.NoTimestamp); err != nil {
			t.Fatal(err)
		}
	}
}

func prepare[T any](t *testing.T, w connector.CommittingWriter[T], checkpoint uint64) []connector.Committable {
	t.Helper()
	if err := w.Flush(false); err != nil {
		t.Fatal(err)
	}
	cs, err := w.Prepare(checkpoint)
	if err != nil {
		t.Fatal(err)
	}
	return cs
}

func commit(t *testing.T, c connector.Committer, checkpoint uint64, cs []connector.Committable) {
	t.Helper()
	outcomes, err := c.Commit(checkpoint, false, cs)
	if err != nil || len(outcomes) != len(cs) || slices.ContainsFunc(outcomes, func(o connector.Outcome) bool { return o != connector.Committed }) {
		t.Fatalf("commit %d: outcomes %v, error %v", checkpoint, outcomes, err)
	}
}

// tree lists the files below dir as "name=content", staged ones as "staged".
func tree(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(p string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, _ := filepath.Rel(dir, p)
		if strings.HasPrefix(name, ".staging") {
			all = append(all, "staged")
			return nil
		}
		data, err := os.ReadFile(p)
		all = append(all, fmt.Sprintf("%s=%q", name, data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}

func want(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func TestS358OnlyTheCommittedTransactionIsVisible(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "out")
	w, c := openSink(t, file.LinesSink(dir), osContext())
	write(t, w, "one", "two")
	first := prepare(t, w, 1)
	write(t, w, "three")
	second := prepare(t, w, 2)
	want(t, tree(t, dir), "staged", "staged")
	commit(t, c, 1, first)
	want(t, tree(t, dir), `part-0-1-0.txt="one\ntwo\n"`, "staged")
	commit(t, c, 2, second)
	want(t, tree(t, dir), `part-0-1-0.txt="one\ntwo\n"`, `part-0-2-0.txt="three\n"`)
}

func TestPartsRollBySizeAndByBucket(t *testing.T) {
	dir := t.TempDir()
	sink := file.LinesSink(dir).MaxPartBytes(8).Prefix("p").Extension(".log").
		BucketBy(func(v *string) string { return "k=" + (*v)[:1] })
	w, c := openSink(t, sink, osContext())
	write(t, w, "a1", "b1", "a2", "a3", "a4", "b2")
	commit(t, c, 5, prepare(t, w, 5))
	want(t, tree(t, dir),
		`k=a/p-0-5-0.log="a1\na2\na3\n"`, `k=a/p-0-5-2.log="a4\n"`, `k=b/p-0-5-1.log="b1\nb2\n"`)
}
