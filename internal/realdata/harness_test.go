package realdata

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cutwater-io/cutwater/connector/collect"
	"github.com/cutwater-io/cutwater/connector/file"
	"github.com/cutwater-io/cutwater/run"
	"github.com/cutwater-io/cutwater/stream"
	"github.com/cutwater-io/cutwater/window"
)

// dataDir returns the directory of the data, or skips the test.
func dataDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("CUTWATER_TESTDATA")
	if dir == "" {
		t.Skip("CUTWATER_TESTDATA is not set: the real event data is not here")
	}
	return dir
}

// input is what a question may read, and how.
type input struct {
	t       *testing.T
	p       *stream.Pipeline
	readers int
}

// csv adds a source that reads a file of the data.
func (in *input) csv[T any](name string, parse func(f *fields, v *T)) stream.Stream[T] {
	glob := deal(in.t, filepath.Join(dataDir(in.t), name+".csv"), in.readers)
	return in.p.From(file.Parse(glob, func(line []byte, v *T) error {
		f := fieldsOf(line)
		parse(f, v)
		return f.err
	}), stream.Name(name))
}

// deal copies the lines of a CSV file without its header into n files, in turn.
func deal(t *testing.T, path string, n int) (glob string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	parts := make([]bytes.Buffer, n)
	lines := bufio.NewScanner(bytes.NewReader(b))
	for i := -1; lines.Scan(); i++ {
		if i >= 0 {
			parts[i%n].Write(append(lines.Bytes(), '\n'))
		}
	}
	dir := t.TempDir()
	for i := range parts {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i, ".csv")), parts[i].Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "*.csv")
}

// fields takes the fields of a line one after the other.
type fields struct {
	rest []string
	err  error
}

func fieldsOf(line []byte) *fields {
	text := string(line)
	if !strings.Contains(text, `"`) {
		return &fields{rest: strings.Split(text, ",")}
	}
	row, err := csv.NewReader(strings.NewReader(text)).Read()
	return &fields{rest: row, err: err}
}

// text takes a field.
func (f *fields) text() string {
	if len(f.rest) == 0 {
		if f.err == nil {
			f.err = fmt.Errorf("the line has too few fields")
		}
		return ""
	}
	s := f.rest[0]
	f.rest = f.rest[1:]
	return s
}

// skip passes over n fields.
func (f *fields) skip(n int) *fields {
	for range n {
		f.text()
	}
	return f
}

// number takes a whole number; an empty field is 0.
func (f *fields) number() int64 {
	n, _ := f.maybe()
	return n
}

// maybe takes a whole number that may be missing.
func (f *fields) maybe() (n int64, ok bool) {
	s := f.text()
	if s == "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil && f.err == nil {
		f.err = err
	}
	return n, true
}

// real takes a decimal number.
func (f *fields) real() float64 {
	x, err := strconv.ParseFloat(f.text(), 64)
	if err != nil && f.err == nil {
		f.err = err
	}
	return x
}

// row is a result in the form in which answers are compared. It is a record like
// any other, so it is a string.
func row(values ...any) string {
	var s []string
	for _, v := range values {
		switch v := v.(type) {
		case window.Millis: // has a String method for people
			s = append(s, strconv.FormatInt(int64(v), 10))
		case float64:
			s = append(s, decimal(v))
		default:
			s = append(s, fmt.Sprint(v))
		}
	}
	return strings.Join(s, " | ")
}

func decimal(x float64) string { return strconv.FormatFloat(x, 'g', 15, 64) }

// rows formats the results of a window operator.
func rows[K comparable, V any](s stream.Stream[window.Result[K, V]], format func(w window.Window, k K, v V) string) stream.Stream[string] {
	return s.Map(func(r window.Result[K, V]) string { return format(r.Window, r.Key, r.Value) })
}

// one is the key of all records: for answers over everything.
func one[T any](T) int { return 0 }

// answerFields reads an expected answer without its header.
func answerFields(t *testing.T, name string) [][]string {
	t.Helper()
	f, err := os.Open(filepath.Join(dataDir(t), "expected", name+".csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 2 {
		t.Fatalf("the answer %s is empty", name)
	}
	return all[1:]
}

// answer reads an expected answer as rows. Fields with a decimal point are
// numbers, of which there are several spellings.
func answer(t *testing.T, name string) (rows []string) {
	t.Helper()
	for _, r := range answerFields(t, name) {
		for i, s := range r {
			if x, err := strconv.ParseFloat(s, 64); err == nil && strings.Contains(s, ".") {
				r[i] = decimal(x)
			}
		}
		rows = append(rows, strings.Join(r, " | "))
	}
	return rows
}

// same compares rows in any order.
func same(t *testing.T, got, want []string) {
	t.Helper()
	slices.Sort(got)
	slices.Sort(want)
	if d := cmp.Diff(want, got); d != "" {
		lines := strings.SplitAfter(d, "\n")
		t.Errorf("%d rows, want %d; first differences (-want +got):\n%s", len(got), len(want), strings.Join(lines[:min(len(lines), 40)], ""))
	}
}

// execute runs a pipeline to its end.
func execute(t *testing.T, p *stream.Pipeline, cfg run.Config) {
	t.Helper()
	cfg.Ephemeral = true
	if err := run.Run(t.Context(), p, cfg); err != nil {
		t.Fatal(err)
	}
}

// collected adds a sink and returns what will be in it.
func collected[T any](s stream.Stream[T], name string) *collect.Collector[T] {
	c := collect.New[T]()
	s.To(c.Sink(), stream.Name(name))
	return c
}

// often makes as many checkpoints as a test of a second can hold.
var often = run.Checkpoints{Interval: 10 * time.Millisecond}

// ask computes one answer in all ways.
func ask(t *testing.T, name string, question func(in *input) stream.Stream[string]) {
	for _, parallelism := range []int{1, 2} {
		t.Run(fmt.Sprint("parallelism ", parallelism), func(t *testing.T) {
			in := &input{t: t, p: stream.New(name), readers: parallelism}
			rows := collected(question(in), "rows")
			cfg := run.Config{Parallelism: parallelism}
			if parallelism > 1 {
				cfg.Checkpoints = often
			}
			execute(t, in.p, cfg)
			same(t, rows.Values(), answer(t, name))
		})
	}
}
