package file_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"

	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/connector/connectortest"
	"github.com/cutwater-io/cutwater/connector/file"
)

// The examples have no engine: run reads a source to its end, and fill writes to
// a sink with one checkpoint. In a job, sources stand in From and sinks in To.

// disk makes a file system with one file.
func disk(name, content string) *connectortest.Disk {
	d := connectortest.NewDisk()
	f, err := d.Create(name)
	if err == nil {
		_, err = f.Write([]byte(content))
	}
	if err != nil {
		fmt.Println(err)
	}
	return d
}

func run[T any](d *connectortest.Disk, s connector.Source[T]) {
	j, err := connectortest.StartSource(connectortest.NewEnv(d), s, 1, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	records, err := j.Drain(100, nil)
	for _, r := range records {
		fmt.Printf("%+v\n", r)
	}
	for _, b := range j.Readers[0].Context.Bad {
		fmt.Printf("bad: %s, %s: %q: %s\n", b.Split, b.Position, b.Raw, b.Cause)
	}
	if err != nil {
		fmt.Println(err)
	}
}

func fill[T any](s connector.Sink[T], values ...T) *connectortest.Disk {
	d := connectortest.NewDisk()
	j := connectortest.SinkJob[T]{
		Env: connectortest.NewEnv(d), Sink: s, Parallelism: 1,
		Value: func(i int) T { return values[i] },
	}
	if err := errors.Join(j.Start(), j.Write(len(values)), j.Checkpoint(true), j.Close()); err != nil {
		fmt.Println(err)
	}
	return d
}

// show prints the files below a directory.
func show(d *connectortest.Disk, dir string) {
	entries, err := d.ReadDir(dir)
	if err != nil {
		fmt.Println(err)
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if e.IsDir() {
			show(d, name)
			continue
		}
		f, err := d.Open(name)
		if err != nil {
			fmt.Println(err)
			continue
		}
		data, _ := io.ReadAll(f)
		fmt.Printf("%s:\n%s", name, data)
	}
}

func ExampleLines() {
	d := disk("/moby-dick.txt", "Call me Ishmael.\nSome years ago\n")
	run(d, file.Lines("/*.txt"))
	// Output:
	// Call me Ishmael.
	// Some years ago
}

func ExampleParse() {
	d := disk("/log.txt", "17 ms\nslow\n4 ms\n")
	run(d, file.Parse("/log.txt", func(line []byte, v *int) (err error) {
		number, _ := bytes.CutSuffix(line, []byte(" ms"))
		*v, err = strconv.Atoi(string(number))
		return err
	}))
	// Output:
	// 17
	// 4
	// bad: /log.txt, line 2, byte 6: "slow": strconv.Atoi: parsing "slow": invalid syntax
}

func ExampleJSON() {
	type bid struct {
		Item  string
		Price float64
	}
	d := disk("/bids.jsonl", `{"Item":"lamp","Price":12.5}`+"\n"+`{"Item":"sofa"}`+"\n")
	run(d, file.JSON[bid]("/*.jsonl"))
	// Output:
	// {Item:lamp Price:12.5}
	// {Item:sofa Price:0}
}

func ExampleCSV() {
	type city struct {
		Name       string
		Population int `csv:"pop"`
	}
	d := disk("/cities.csv", "pop,country,name\n3645000,DE,Berlin\n\"9002\",DE,\"Frankfurt, small\"\n")
	run(d, file.CSV[city]("/cities.csv"))
	// Output:
	// {Name:Berlin Population:3645000}
	// {Name:Frankfurt, small Population:9002}
}

func ExampleRegexp() {
	type request struct {
		Path   string
		Status int
	}
	d := disk("/access.log", `1.2.3.4 "GET /a" 200`+"\n"+`1.2.3.5 "GET /b" 404`+"\n")
	run(d, file.Regexp[request](`"GET (?P<path>\S+)" (?P<status>\d+)`, "/access.log"))
	// Output:
	// {Path:/a Status:200}
	// {Path:/b Status:404}
}

func ExampleLinesSink() {
	show(fill(file.LinesSink("/out"), "one", "two"), "/out")
	// Output:
	// /out/part-0-1-0.txt:
	// one
	// two
}

func ExampleSink() {
	numbers := file.Sink("/out", func(dst []byte, v int) []byte {
		return append(strconv.AppendInt(dst, int64(v), 10), '\n')
	}).Extension(".num")
	show(fill(numbers, 7, 8), "/out")
	// Output:
	// /out/part-0-1-0.num:
	// 7
	// 8
}

func ExamplePartSink_BucketBy() {
	type order struct{ Country, Item string }
	sink := file.JSONSink[order]("/out").BucketBy(func(o *order) string { return "country=" + o.Country })
	show(fill(sink, order{"de", "lamp"}, order{"fr", "sofa"}, order{"de", "desk"}), "/out")
	// Output:
	// /out/country=de/part-0-1-0.jsonl:
	// {"Country":"de","Item":"lamp"}
	// {"Country":"de","Item":"desk"}
	// /out/country=fr/part-0-1-1.jsonl:
	// {"Country":"fr","Item":"sofa"}
}
