// Command wordcount counts the words of text files.
//
//	go run ./examples/wordcount
package main

import (
	"fmt"
	"strings"

	"github.com/cutwater-io/cutwater/connector/console"
	"github.com/cutwater-io/cutwater/connector/file"
	"github.com/cutwater-io/cutwater/run"
	"github.com/cutwater-io/cutwater/stream"
	"github.com/cutwater-io/cutwater/window"
)

func main() {
	p := stream.New("word-count")
	p.From(file.Lines("examples/wordcount/books/*.txt"), stream.Name("lines")).
		FlatMap(strings.FieldsSeq).
		Map(strings.ToLower).
		KeyBy(stream.Self).
		Window(window.EndOfStream()).
		Count(stream.Name("count")).
		Map(format).
		To(console.Sink[string](), stream.Name("print"))
	run.Main(p)
}

func format(r window.Result[string, int64]) string {
	return fmt.Sprint(r.Key, " ", r.Value)
}
