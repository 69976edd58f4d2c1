// Command cutwater is the tool beside jobs.
//
//	cutwater demo    kill a job again and again and verify its output
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/cutwater-io/cutwater/internal/demo"
)

const usage = `cutwater is the tool beside Cutwater jobs.

Usage:

	cutwater demo [flags]    run a job in a process of its own, kill it with
	                         SIGKILL again and again, and compare its output with
	                         an answer that the engine had no part in

Run "cutwater demo -h" for the flags.
`

func main() {
	if len(os.Args) < 2 {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	switch verb, args := os.Args[1], os.Args[2:]; verb {
	case "demo":
		os.Exit(runDemo(args))
	case "demo-job": // the demo's child
		os.Exit(demo.RunJob(args, os.Stdin, os.Stdout, os.Stderr))
	case "help", "-h", "--help":
		fmt.Print(usage)
	default:
		fmt.Fprintf(os.Stderr, "cutwater: unknown command %q\n\n%s", verb, usage)
		os.Exit(2)
	}
}

func runDemo(args []string) int {
	cfg := demo.Config{Out: os.Stdout}
	flags := flag.NewFlagSet("cutwater demo", flag.ContinueOnError)
	flags.Uint64Var(&cfg.Records, "records", 20_000_000, "least number of records")
	flags.Float64Var(&cfg.Rate, "rate", 400_000, "events a second while there are kills to come")
	flags.DurationVar(&cfg.Interval, "interval", 200*time.Millisecond, "time between checkpoints")
	flags.StringVar(&cfg.Dir, "dir", "", "keep state and output here; empty: a temporary directory")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if err := demo.Run(cfg); err != nil {
		fmt.Fprintln(os.Stderr, "demo failed:", err)
		return 1
	}
	return 0
}
