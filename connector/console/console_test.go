package console_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/connector/connectortest"
	"github.com/cutwater-io/cutwater/connector/console"
)

func TestConsoleSinkConforms(t *testing.T) {
	connectortest.Sink(t, connectortest.SinkCase[string]{
		Value: func(i int) string { return fmt.Sprint("value ", i) },
		Open: func(*testing.T, connector.Files) connectortest.OpenedSink[string] {
			var b bytes.Buffer
			return connectortest.OpenedSink[string]{
				Sink: console.Sink[string]().To(&b),
				Visible: func() ([]string, error) {
					if b.Len() == 0 {
						return nil, nil
					}
					return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n"), nil
				},
			}
		},
	})
}

func open[T any](t *testing.T, s connector.Sink[T]) (connector.Writer[T], *connectortest.Clock) {
	t.Helper()
	env := connectortest.NewEnv(connectortest.NewDisk())
	w, err := s.Writer(connectortest.WriterContext{World: env, Count: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return w, env.Clock.(*connectortest.Clock)
}

func TestLinesAreHeldBackForCompanyButNotForLong(t *testing.T) {
	var b bytes.Buffer
	w, clock := open(t, console.Sink[int]().To(&b))
	put := func(v int) {
		if err := w.Write(&v, 0); err != nil {
			t.Fatal(err)
		}
	}
	put(1) // the first at once
	put(2)
	if b.String() != "1\n" {
		t.Fatalf("%q", &b)
	}
	clock.Advance(100 * time.Millisecond)
	put(3)
	put(4)
	if b.String() != "1\n2\n3\n" {
		t.Fatalf("%q", &b)
	}
	if err := w.Flush(false); err != nil || b.String() != "1\n2\n3\n4\n" {
		t.Fatalf("%q %v", &b, err)
	}
}

// broken is an output that nobody reads any more.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestS367AnOutputThatFailsFailsTheCheckpoint(t *testing.T) {
	w, _ := open(t, console.Sink[string]().To(broken{}))
	v := "x"
	first := w.Write(&v, 0)
	if first == nil || w.Flush(false) == nil {
		t.Fatal("no error")
	}
	if _, err := w.Snapshot(1); err == nil {
		t.Fatal("a snapshot after a failed write")
	}
}

func ExampleSink() {
	type result struct {
		Word  string
		Count int
	}
	sink := console.Sink[result]()
	// In a job: stream.To(sink). Here its writer is driven by hand.
	w, err := sink.Writer(connectortest.WriterContext{World: connectortest.NewEnv(nil), Count: 1}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = w.Write(&result{"sea", 3}, connector.NoTimestamp)
	_ = w.Write(&result{"whale", 7}, connector.NoTimestamp)
	_ = w.Flush(true)
	// Output:
	// {sea 3}
	// {whale 7}
}
