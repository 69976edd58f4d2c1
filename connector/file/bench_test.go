package file_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/connector/connectortest"
	"github.com/cutwater-io/cutwater/connector/file"
)

// benchRead reads a file of lines again and again.
func benchRead[T any](b *testing.B, line string, source func(path string) connector.Source[T]) {
	name := filepath.Join(b.TempDir(), "lines")
	const lines = 200_000
	if err := os.WriteFile(name, []byte(strings.Repeat(line+"\n", lines)), 0o644); err != nil {
		b.Fatal(err)
	}
	env := connectortest.NewEnv(connectortest.OSFiles())
	n := 0
	out := connector.Output[T]{Max: 512, Emit: func(*T, int64) { n++ }}
	b.SetBytes(int64(len(line) + 1))
	b.ReportAllocs()
	for n < b.N {
		j, err := connectortest.StartSource(env, source(name), 1, nil)
		if err != nil {
			b.Fatal(err)
		}
		for result := connector.More; result != connector.Finished && n < b.N; {
			if result, err = j.Readers[0].Reader.Poll(&out); err != nil {
				b.Fatal(err)
			}
			if err := j.Deliver(); err != nil {
				b.Fatal(err)
			}
		}
		if err := j.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

const benchLine = "GET /index.html?user=4711 200 1234 Mozilla/5.0 (X11; Linux)"

func BenchmarkReadLines(b *testing.B) {
	benchRead(b, benchLine, func(p string) connector.Source[string] { return file.Lines(p) })
}

func BenchmarkReadParse(b *testing.B) {
	benchRead(b, benchLine, func(p string) connector.Source[int] {
		return file.Parse(p, func(line []byte, v *int) error { *v = len(line); return nil })
	})
}

func BenchmarkReadCSV(b *testing.B) {
	type row struct {
		A string `csv:"GET"`
		N string `csv:"200"`
		F string `csv:"x"`
	}
	benchRead(b, "GET,200,x", func(p string) connector.Source[row] { return file.CSV[row](p) })
}

func BenchmarkReadJSON(b *testing.B) {
	type row struct {
		User, Path string
		Status     int
	}
	benchRead(b, `{"User":"me","Path":"/index.html","Status":200}`, func(p string) connector.Source[row] { return file.JSON[row](p) })
}

// BenchmarkReadFloor is the rival: a loop over a file in memory.
func BenchmarkReadFloor(b *testing.B) {
	data := []byte(strings.Repeat(benchLine+"\n", 10_000))
	b.SetBytes(int64(len(benchLine) + 1))
	sum := 0
	for n := 0; n < b.N; {
		for rest := data; len(rest) > 0 && n < b.N; n++ {
			i := bytes.IndexByte(rest, '\n')
			sum += i
			rest = rest[i+1:]
		}
	}
	if sum == 0 {
		b.Fatal("nothing read")
	}
}

func benchWrite[T any](b *testing.B, s connector.Sink[T], v T) {
	w, err := s.Writer(connectortest.WriterContext{World: connectortest.NewEnv(connectortest.OSFiles()), Count: 1}, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := w.Write(&v, 0); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkWriteLines(b *testing.B) { benchWrite(b, file.LinesSink(b.TempDir()), benchLine) }

func BenchmarkWriteJSON(b *testing.B) {
	type row struct {
		User, Path string
		Status     int
	}
	benchWrite(b, file.JSONSink[row](b.TempDir()), row{"me", "/index.html", 200})
}

func BenchmarkWriteCSV(b *testing.B) {
	type row struct {
		User, Path string
		Status     int
	}
	benchWrite(b, file.CSVSink[row](b.TempDir()), row{"me", "/index.html", 200})
}
