package collect_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/connector/collect"
	"github.com/cutwater-io/cutwater/connector/connectortest"
)

func TestS358CollectSinkConforms(t *testing.T) {
	connectortest.Sink(t, connectortest.SinkCase[int]{
		Value: func(i int) int { return i * i },
		Open: func(*testing.T, connector.Files) connectortest.OpenedSink[int] {
			c := collect.New[int]()
			return connectortest.OpenedSink[int]{
				Sink:    c.Sink(),
				Visible: func() ([]int, error) { return c.Values(), nil },
			}
		},
	})
}

// job runs values through a sink, with a checkpoint after each two of them.
func job(c *collect.Collector[string], values ...string) error {
	j := &connectortest.SinkJob[string]{
		Env:  connectortest.NewEnv(connectortest.NewDisk()),
		Sink: c.Sink(), Value: func(i int) string { return values[i] }, Parallelism: 1,
	}
	if err := j.Start(); err != nil {
		return err
	}
	for j.Next < len(values) {
		if err := errors.Join(j.Write(min(2, len(values)-j.Next)), j.Checkpoint(j.Next == len(values))); err != nil {
			return err
		}
	}
	return j.Close()
}

func TestWaitReturnsWhenEnoughIsThereAndGivesUpWithTheContext(t *testing.T) {
	c := collect.New[string]()
	jobC := make(chan error)
	go func() { jobC <- job(c, "a", "b", "c") }() // ends with the job
	got, err := c.Wait(t.Context(), 3)
	if err != nil || !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Fatal(got, err)
	}
	if err := <-jobC; err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := c.Wait(ctx, 4); !errors.Is(err, context.Canceled) || len(got) != 3 || c.Len() != 3 {
		t.Fatal(got, err)
	}
}

func TestACheckpointOfAnotherProcessFailsAndSaysWhy(t *testing.T) {
	k, err := collect.New[string]().Sink().Committer(connectortest.WriterContext{Count: 1})
	if err != nil {
		t.Fatal(err)
	}
	outcomes, err := k.Commit(3, true, []connector.Committable{{Data: []byte(`"job" "sink" subtask 0 attempt 1 checkpoint 3`)}})
	if outcomes[0] != connector.Failed || err == nil {
		t.Fatal(outcomes, err)
	}
}

func ExampleCollector() {
	c := collect.New[string]()
	if err := job(c, "one", "two", "three"); err != nil { // a job that ends in c.Sink()
		fmt.Println(err)
	}
	fmt.Println(c.Values())
	// Output: [one two three]
}
