package run_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/cutwater-io/cutwater/connector/collect"
	"github.com/cutwater-io/cutwater/connector/console"
	"github.com/cutwater-io/cutwater/connector/file"
	"github.com/cutwater-io/cutwater/connector/gen"
	"github.com/cutwater-io/cutwater/run"
	"github.com/cutwater-io/cutwater/stream"
)

func ExampleRun() {
	p := stream.New("hello")
	p.From(gen.Values("hello", "world"), stream.Name("words")).
		To(console.Sink[string](), stream.Name("print"))
	if err := run.Run(context.Background(), p, run.Config{Ephemeral: true, Parallelism: 1}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// hello
	// world
}

// A job with state in a directory and exactly-once output in another.
func ExampleConfig() {
	dir, err := os.MkdirTemp("", "cutwater")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	p := stream.New("evens")
	p.From(gen.Sequence(6, func(i uint64) uint64 { return i }), stream.Name("numbers")).
		Filter(func(i uint64) bool { return i%2 == 0 }).
		Map(func(i uint64) string { return fmt.Sprint(i) }).
		To(file.LinesSink(filepath.Join(dir, "out")), stream.Name("files"))
	err = run.Run(context.Background(), p, run.Config{
		StateDir:    filepath.Join(dir, "state"),
		Parallelism: 1,
		Checkpoints: run.Checkpoints{Interval: time.Minute, Retained: 2},
		Restore:     run.Latest, // the default; run.None starts fresh
		Restart:     run.ExponentialDelay(time.Second, time.Minute),
	})
	if err != nil {
		fmt.Println(err)
	}
	parts, _ := filepath.Glob(filepath.Join(dir, "out", "part-*"))
	for _, part := range parts {
		lines, _ := os.ReadFile(part)
		fmt.Print(string(lines))
	}
	// Output:
	// 0
	// 2
	// 4
}

func ExampleCheckpoints() {
	p := stream.New("impatient")
	p.From(gen.Values(1), stream.Name("numbers")).To(collect.New[int]().Sink(), stream.Name("memory"))
	err := run.Run(context.Background(), p, run.Config{
		Ephemeral:   true,
		Checkpoints: run.Checkpoints{Interval: time.Millisecond},
	})
	fmt.Println(err)
	// Output: run "impatient": checkpoint interval 1ms is too short: use at least 10ms, 0 for the default of 10s, or a negative one for no checkpoints
}

func ExampleRestore() {
	p := stream.New("typo")
	p.From(gen.Values(1), stream.Name("numbers")).To(console.Sink[int](), stream.Name("print"))
	err := run.Run(context.Background(), p, run.Config{Ephemeral: true, Restore: "newest"})
	fmt.Println(err)
	// Output: run "typo": restore from "newest": there is no such directory: use "latest", "none", or the path of a state directory
}

// A program that watches its job, here one that fails once and is restored.
func ExampleEvent() {
	p := stream.New("flaky")
	c := collect.New[int]()
	failed := false
	p.From(gen.Values(1, 2, 3), stream.Name("numbers")).
		Process(func(n int, out *stream.Emitter[int]) error {
			if n == 2 && !failed {
				failed = true
				return fmt.Errorf("no luck with %d", n)
			}
			out.Emit(n)
			return nil
		}, stream.Name("flaky")).
		To(c.Sink(), stream.Name("memory"))
	err := run.Run(context.Background(), p, run.Config{
		Ephemeral: true, Parallelism: 1, Restart: run.FixedDelay(1, time.Millisecond),
		OnEvent: func(e run.Event) {
			switch e := e.(type) {
			case run.Restoring:
				fmt.Println("start from checkpoint", e.Checkpoint)
			case run.AllRunning:
				fmt.Println(e.Tasks, "task")
			case run.CheckpointTriggered, run.CheckpointPublished:
				// The last checkpoint of a bounded job commits its output.
			case run.CheckpointCompleted:
				fmt.Println("a checkpoint is complete")
			case run.CheckpointFailed:
				fmt.Println(e)
			case run.TaskFailed:
				fmt.Println(e)
			case run.Restarting:
				fmt.Println("restart", e.Restart)
			case run.JobEnded:
				fmt.Println("ended:", e.Status)
			}
		},
	})
	fmt.Println(c.Values(), err)
	// Output:
	// start from checkpoint 0
	// 1 task
	// task numbers → flaky → memory → memory/committer (1/1): operator "flaky", record from number 1 of split 0/1: no luck with 2
	// restart 1
	// start from checkpoint 0
	// 1 task
	// a checkpoint is complete
	// ended: finished
	// [1 2 3] <nil>
}

// An endless job is ended by its context.
func ExampleIsCanceled() {
	p := stream.New("endless")
	c := collect.New[uint64]()
	p.From(gen.Sequence(0, func(i uint64) uint64 { return i }, gen.Rate(1000)), stream.Name("numbers")).
		To(c.Sink(), stream.Name("memory"))

	ctx, stop := context.WithCancel(context.Background())
	go func() {
		c.Wait(ctx, 10) // until ten records are there, or the job has failed
		stop()
	}()
	err := run.Run(ctx, p, run.Config{Ephemeral: true, Checkpoints: run.Checkpoints{Interval: 20 * time.Millisecond}})
	stop()
	fmt.Println(run.IsCanceled(err))
	// Output: true
}
