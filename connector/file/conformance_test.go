package file_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/connector/connectortest"
	"github.com/cutwater-io/cutwater/connector/file"
)

// lineSink opens a sink of lines for the suite; change sets its options.
func lineSink(change func(*file.PartSink[string]) *file.PartSink[string]) connectortest.SinkCase[string] {
	return connectortest.SinkCase[string]{
		Value: func(i int) string { return fmt.Sprintf("value %d", i) },
		Open: func(t *testing.T, files connector.Files) connectortest.OpenedSink[string] {
			return connectortest.OpenedSink[string]{
				Sink:      change(file.LinesSink("/data/out")),
				Visible:   func() ([]string, error) { return published(files, "/data/out") },
				Leftovers: func() ([]string, error) { return names(files, "/data/out/.staging") },
			}
		},
	}
}

func names(files connector.Files, dir string) ([]string, error) {
	entries, err := files.ReadDir(dir)
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all, err
}

// published reads the lines below a directory as a consumer does.
func published(files connector.Files, dir string) ([]string, error) {
	entries, err := files.ReadDir(dir)
	if err != nil {
		if strings.Contains(err.Error(), "not exist") {
			return nil, nil
		}
		return nil, err
	}
	var all []string
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		var lines []string
		switch {
		case e.Name() == ".staging":
		case e.IsDir():
			lines, err = published(files, name)
		default:
			lines, err = readLines(files, name)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, lines...)
	}
	return all, nil
}

func readLines(files connector.Files, name string) ([]string, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil || len(data) == 0 {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n"), nil
}

func TestS358LinesSinkConforms(t *testing.T) {
	connectortest.Sink(t, lineSink(func(s *file.PartSink[string]) *file.PartSink[string] { return s }))
}

func TestS358SinkWithSmallPartsAndBucketsConforms(t *testing.T) {
	connectortest.Sink(t, lineSink(func(s *file.PartSink[string]) *file.PartSink[string] {
		return s.MaxPartBytes(10).MaxOpenBuckets(1).BucketBy(func(v *string) string {
			return fmt.Sprintf("last=%s/x", (*v)[len(*v)-1:])
		})
	}))
}

// store writes a file, as one that has always been there.
func store(t *testing.T, files connector.Files, name string, content []byte) {
	t.Helper()
	f, err := files.OpenAppend(name)
	if err == nil {
		_, err = f.Write(content)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestS357LinesConform(t *testing.T) {
	connectortest.Source(t, connectortest.SourceCase[string]{
		Open: func(t *testing.T, files connector.Files) (connector.Source[string], []string) {
			store(t, files, "/a.txt", []byte("a1\na2\r\n\na4"))
			store(t, files, "/b.txt", nil)
			store(t, files, "/c.txt", []byte("c1\n"))
			store(t, files, "/d.txt", []byte("d1\nd2\nd3\nd4\nd5\n"))
			store(t, files, "/e.txt.gz", packGzip(t, "e1\ne2\ne3"))
			store(t, files, "/f.txt.zst", packZstd(t, "f1\nf2\nf3\n"))
			return file.Lines("/*.txt", "/*.txt.*"), []string{
				"a1", "a2", "", "a4", "c1", "d1", "d2", "d3", "d4", "d5", "e1", "e2", "e3", "f1", "f2", "f3",
			}
		},
	})
}

func packGzip(t *testing.T, s string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write([]byte(s))
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func packZstd(t *testing.T, s string) []byte {
	t.Helper()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return z.EncodeAll([]byte(s), nil)
}

func TestS357CSVWithRecordsOfSeveralLinesConforms(t *testing.T) {
	type row struct{ Name, Text string }
	connectortest.Source(t, connectortest.SourceCase[row]{
		Open: func(t *testing.T, files connector.Files) (connector.Source[row], []row) {
			store(t, files, "/a.csv", []byte("name,text\na,\"1\n2\"\n\nb,\"x\"\"\n\"\n"))
			store(t, files, "/b.csv", []byte("text,name\n\"3\r\n\r\n4\",c\nt,d"))
			store(t, files, "/c.csv.gz", packGzip(t, "name,more,text\ne,,5\nf,,\"6\n\""))
			return file.CSV[row]("/*.csv").Also("/*.gz"), []row{
				{"a", "1\n2"}, {"b", "x\"\n"}, {"c", "3\r\n\r\n4"}, {"d", "t"}, {"e", "5"}, {"f", "6\n"},
			}
		},
	})
}

func TestS357JSONConforms(t *testing.T) {
	connectortest.Source(t, connectortest.SourceCase[[]int]{
		Open: func(t *testing.T, files connector.Files) (connector.Source[[]int], [][]int) {
			store(t, files, "/a.jsonl", []byte("[1,2]\nbad\n\n[3]\n[]"))
			store(t, files, "/b.jsonl", []byte("[4]\n[5,6,7]\n"))
			return file.JSON[[]int]("/*.jsonl"), [][]int{{1, 2}, {3}, {}, {4}, {5, 6, 7}}
		},
	})
}
