// Command accesslog counts web requests per hour and status, and lists client sessions.
//
//	go run ./examples/accesslog -in access.log
package main

import (
	"flag"
	"fmt"
	"regexp"
	"time"

	"github.com/cutwater-io/cutwater/connector/console"
	"github.com/cutwater-io/cutwater/connector/file"
	"github.com/cutwater-io/cutwater/run"
	"github.com/cutwater-io/cutwater/stream"
	"github.com/cutwater-io/cutwater/window"
)

type Request struct {
	Time           time.Time
	Client, Status string
}

func main() {
	in := flag.String("in", "access.log", "logs in the combined format: a file or a pattern")
	out := flag.String("out", "accesslog-out", "directory for sessions and dead letters")
	run.ParseFlags()

	p := stream.New("access-log")
	log := p.From(file.Parse(*in, parse), stream.Name("log"))
	log.SideOutput(stream.BadRecords).To(file.DeadLetters(*out+"/dead-letters"), stream.Name("dead-letters"))

	requests := log.EventTime(func(r Request) time.Time { return r.Time }, stream.BoundedOutOfOrderness(time.Minute))
	requests.KeyBy(func(r Request) string { return r.Status }).
		Window(window.Tumbling(time.Hour)).Count(stream.Name("per-hour")).
		Map(format).
		To(console.Sink[string](), stream.Name("print"))
	requests.KeyBy(func(r Request) string { return r.Client }).
		Window(window.Session(30*time.Minute)).Count(stream.Name("sessions")).
		Map(format).
		To(file.LinesSink(*out+"/sessions"), stream.Name("session-files"))
	run.Main(p)
}

// A line that is cut off after the status is still a request.
var combined = regexp.MustCompile(`^(\S+) \S+ \S+ \[(.+?)\] ".*?" (\d{3}) `)

func parse(line []byte, r *Request) (err error) {
	m := combined.FindSubmatch(line)
	if m == nil {
		return fmt.Errorf("not in the combined log format")
	}
	r.Client, r.Status = string(m[1]), string(m[3])
	r.Time, err = time.Parse("02/Jan/2006:15:04:05 -0700", string(m[2]))
	return err
}

func format(r window.Result[string, int64]) string {
	return fmt.Sprint(r.Window.Start, " ", r.Window.End, " ", r.Key, " ", r.Value)
}
