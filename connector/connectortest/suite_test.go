package connectortest_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/connector/connectortest"
)

// defectVariable names the defect that the suites must find, in a process of
// their own: a suite that finds it fails its test.
const defectVariable = "CONNECTORTEST_DEFECT"

func TestTheSuitesFindEveryDefect(t *testing.T) {
	for _, defect := range []string{
		"none",
		"sink: content is not synced",
		"sink: names are not synced",
		"sink: published names are not synced",
		"sink: records are visible before their checkpoint",
		"sink: a repeated commit fails",
		"sink: a repeated commit writes again",
		"sink: close publishes",
		"sink: sweep takes all",
		"sink: sweep takes nothing",
		"sink: prepared records are written again",
		"source: position before the record",
		"source: position after the poll",
		"source: splits that come back are dropped",
		"source: the enumerator forgets what it has",
		"source: the enumerator keeps what it assigned",
		"source: it never ends",
		"source: max is ignored",
	} {
		t.Run(defect, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSuitesOnAConnectorWithADefect$")
			cmd.Env = append(os.Environ(), defectVariable+"="+defect)
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			switch {
			case defect == "none" && err != nil:
				t.Fatalf("the suites fail without a defect:\n%s", out)
			case defect != "none" && (!errors.As(err, &exit) || !bytes.Contains(out, []byte("--- FAIL"))):
				t.Fatalf("not found: %v\n%s", err, out)
			case bytes.Contains(out, []byte("panic:")):
				t.Fatalf("the suite panics:\n%s", out)
			}
		})
	}
}

func TestSuitesOnAConnectorWithADefect(t *testing.T) {
	defect, set := os.LookupEnv(defectVariable)
	if !set {
		t.Skip("run by TestTheSuitesFindEveryDefect")
	}
	if !strings.HasPrefix(defect, "source") {
		connectortest.Sink(t, connectortest.SinkCase[string]{
			Value: func(i int) string { return fmt.Sprint("v", i) },
			Open: func(t *testing.T, files connector.Files) connectortest.OpenedSink[string] {
				s := &plainSink{files: files, defect: strings.TrimPrefix(defect, "sink: ")}
				return connectortest.OpenedSink[string]{
					Sink: s, Visible: s.visible,
					Leftovers: func() ([]string, error) { return list(files, "/staged") },
				}
			},
		})
	}
	if !strings.HasPrefix(defect, "sink") {
		connectortest.Source(t, connectortest.SourceCase[int]{
			Open: func(t *testing.T, files connector.Files) (connector.Source[int], []int) {
				var want []int
				for i := range 11 {
					want = append(want, i)
				}
				return numbers{defect: strings.TrimPrefix(defect, "source: ")}, want
			},
		})
	}
}

// plainSink is the smallest sink that is exactly once: one file for each
// transaction, published by renaming. With a defect it is not.
type plainSink struct {
	files  connector.Files
	defect string
}

func list(files connector.Files, dir string) ([]string, error) {
	entries, err := files.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

func (s *plainSink) visible() ([]string, error) {
	names, err := list(s.files, "/out")
	var all []string
	for _, n := range names {
		f, err := s.files.Open("/out/" + n)
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(f)
		if err != nil {
			return nil, err
		}
		all = append(all, strings.Fields(string(data))...)
	}
	return all, err
}

func (s *plainSink) Writer(ctx connector.WriterContext, _ [][]byte) (connector.Writer[string], error) {
	for _, dir := range []string{"/out", "/staged"} {
		if err := s.files.MkdirAll(dir); err != nil {
			return nil, err
		}
	}
	name := fmt.Sprintf("%s-%s-%d-%d", ctx.Job(), ctx.Operator(), ctx.Subtask(), ctx.Attempt())
	return &plainWriter{s: s, name: name}, s.files.SyncDir("/")
}

func (s *plainSink) Committer(ctx connector.CommitterContext) (connector.Committer, error) {
	return &plainCommitter{s: s, ctx: ctx}, nil
}

type plainWriter struct {
	s    *plainSink
	name string
	open []string
	err  error
}

func (w *plainWriter) Write(v *string, _ int64) error {
	w.open = append(w.open, *v)
	if w.s.defect == "records are visible before their checkpoint" {
		f, err := w.s.files.OpenAppend("/out/" + w.name)
		if err == nil {
			_, err = fmt.Fprintln(f, *v)
		}
		return err
	}
	return w.err
}

func (w *plainWriter) Flush(bool) error                  { return w.err }
func (w *plainWriter) Snapshot(uint64) ([][]byte, error) { return nil, w.err }

func (w *plainWriter) Prepare(checkpoint uint64) (cs []connector.Committable, err error) {
	defer func() { w.err = errors.Join(w.err, err) }()
	if len(w.open) == 0 || w.err != nil || w.s.defect == "records are visible before their checkpoint" {
		return nil, w.err
	}
	name := fmt.Sprintf("%s-%d", w.name, checkpoint)
	f, err := w.s.files.Create("/staged/" + name)
	if err != nil {
		return nil, err
	}
	if _, err := f.Write([]byte(strings.Join(w.open, "\n"))); err != nil {
		return nil, err
	}
	if w.s.defect != "content is not synced" {
		if err := f.Sync(); err != nil {
			return nil, err
		}
	}
	if w.s.defect != "names are not synced" {
		if err := w.s.files.SyncDir("/staged"); err != nil {
			return nil, err
		}
	}
	if w.s.defect != "prepared records are written again" {
		w.open = nil
	}
	return []connector.Committable{{Data: []byte(name)}}, nil
}

func (w *plainWriter) Close() error {
	if w.s.defect == "close publishes" && w.err == nil {
		cs, err := w.Prepare(99)
		for _, c := range cs {
			err = errors.Join(err, w.s.files.Rename("/staged/"+string(c.Data), "/out/"+string(c.Data)))
		}
		return err
	}
	w.open, w.err = nil, errors.New("closed")
	return nil
}

type plainCommitter struct {
	s   *plainSink
	ctx connector.CommitterContext
}

func (k *plainCommitter) Commit(checkpoint uint64, _ bool, cs []connector.Committable) ([]connector.Outcome, error) {
	outcomes := make([]connector.Outcome, len(cs))
	var errs []error
	for i, c := range cs {
		err := k.s.files.Rename("/staged/"+string(c.Data), "/out/"+string(c.Data))
		switch _, there := k.s.files.Stat("/out/" + string(c.Data)); {
		case errors.Is(err, fs.ErrNotExist) && there == nil && k.s.defect == "a repeated commit writes again":
			f, _ := k.s.files.OpenAppend("/out/" + string(c.Data) + "-again")
			_, err = f.Write([]byte("v0"))
		case errors.Is(err, fs.ErrNotExist) && there == nil && k.s.defect != "a repeated commit fails":
			err = nil // by an earlier call
		case errors.Is(err, fs.ErrNotExist):
			outcomes[i] = connector.Failed
		}
		if err == nil && k.s.defect != "published names are not synced" {
			err = k.s.files.SyncDir("/out")
		}
		if err != nil && outcomes[i] == connector.Committed {
			outcomes[i] = connector.RetryLater
		}
		errs = append(errs, err)
	}
	return outcomes, errors.Join(errs...)
}

func (k *plainCommitter) Sweep(live []connector.Committable) error {
	names, err := list(k.s.files, "/staged")
	for _, n := range names {
		var subtask, attempt, checkpoint int
		rest, mine := strings.CutPrefix(n, k.ctx.Job()+"-"+k.ctx.Operator()+"-")
		if _, err := fmt.Sscanf(rest, "%d-%d-%d", &subtask, &attempt, &checkpoint); err != nil {
			mine = false
		}
		mine = mine && subtask%k.ctx.Parallelism() == k.ctx.Subtask()
		keep := slices.ContainsFunc(live, func(c connector.Committable) bool { return string(c.Data) == n })
		switch k.s.defect {
		case "sweep takes all":
			mine, keep = true, false
		case "sweep takes nothing":
			keep = true
		}
		if mine && !keep {
			err = errors.Join(err, k.s.files.Remove(path.Join("/staged", n)))
		}
	}
	return err
}

func (k *plainCommitter) Close() error { return nil }

// numbers is a source of the numbers 0 to 10 in splits of three.
type numbers struct{ defect string }

func (s numbers) Enumerator(ctx connector.EnumeratorContext, restored []byte) (connector.Enumerator, error) {
	e := &numbersEnumerator{ctx: ctx, defect: s.defect}
	if restored != nil {
		if len(restored) > 0 && restored[0] != 'n' {
			return nil, errors.New("not numbers")
		}
		for _, b := range restored[1:] {
			e.pending = append(e.pending, b)
		}
		return e, nil
	}
	e.pending = []byte{0, 3, 6, 9}
	return e, nil
}

func (s numbers) Reader(ctx connector.ReaderContext) (connector.Reader[int], error) {
	return &numbersReader{ctx: ctx, defect: s.defect}, nil
}

type numbersEnumerator struct {
	ctx     connector.EnumeratorContext
	defect  string
	pending []byte // begins of splits
}

func (e *numbersEnumerator) Start() error  { return nil }
func (e *numbersEnumerator) AddReader(int) {}

func (e *numbersEnumerator) AddSplitsBack(splits []connector.Split, _ int) {
	if e.defect == "splits that come back are dropped" {
		return
	}
	for _, s := range splits {
		e.pending = append(e.pending, s.Data[0])
	}
}

func (e *numbersEnumerator) HandleRequest(subtask int) {
	if len(e.pending) == 0 {
		if e.defect != "it never ends" {
			e.ctx.NoMoreSplits(subtask)
		}
		return
	}
	begin := e.pending[0]
	e.ctx.Assign(subtask, connector.Split{ID: fmt.Sprint(begin), Data: []byte{begin, begin}})
	e.pending = e.pending[1:]
}

func (e *numbersEnumerator) HandleEvent(int, []byte) {}

func (e *numbersEnumerator) Snapshot(uint64) ([]byte, error) {
	switch e.defect {
	case "the enumerator forgets what it has":
		return []byte{'n'}, nil
	case "the enumerator keeps what it assigned":
		return []byte{'n', 0, 3, 6, 9}, nil
	}
	return append([]byte{'n'}, e.pending...), nil
}

func (e *numbersEnumerator) NotifyComplete(uint64) {}
func (e *numbersEnumerator) Close() error          { return nil }

type numbersReader struct {
	ctx    connector.ReaderContext
	defect string
	splits []connector.Split // Data: begin, next
	asked  bool
	noMore bool
}

func (r *numbersReader) AddSplits(splits []connector.Split) error {
	for _, s := range splits {
		if len(s.Data) != 2 {
			return fmt.Errorf("split of %d bytes", binary.Size(s.Data))
		}
	}
	r.splits, r.asked = append(r.splits, splits...), false
	return nil
}

func (r *numbersReader) NoMoreSplits()            { r.noMore = true }
func (r *numbersReader) HandleEvent([]byte) error { return nil }

func (r *numbersReader) Poll(out *connector.Output[int]) (connector.PollResult, error) {
	if len(r.splits) == 0 {
		if r.noMore {
			return connector.Finished, nil
		}
		if !r.asked {
			r.asked = true
			r.ctx.RequestSplit()
		}
		return connector.Wait, nil
	}
	s := &r.splits[0]
	for n := 0; n < out.Max || r.defect == "max is ignored"; n++ {
		next := s.Data[1]
		if next == s.Data[0]+3 || next == 11 {
			r.splits = r.splits[1:]
			return connector.More, nil
		}
		v := int(next)
		out.Emit(&v, connector.NoTimestamp)
		s.Data[1]++
	}
	if r.defect == "position after the poll" && s.Data[1] < s.Data[0]+3 {
		s.Data[1]++
	}
	return connector.More, nil
}

func (r *numbersReader) Snapshot(uint64) ([]connector.Split, error) {
	splits := slices.Clone(r.splits)
	if r.defect == "position before the record" && len(splits) > 0 && splits[0].Data[1] > splits[0].Data[0] {
		splits[0].Data = []byte{splits[0].Data[0], splits[0].Data[1] - 1}
	}
	return splits, nil
}

func (r *numbersReader) NotifyComplete(uint64) error { return nil }
func (r *numbersReader) Close() error                { return nil }
