package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"runtime/pprof"
	"time"
)

func main() {
	all := flag.Bool("all", false, "run every benchmark; finished ones are kept in -out and not run again")
	out := flag.String("out", "bench-out", "directory of kept results (-all)")
	match := flag.String("run", "", "run only the contests whose name matches this expression")
	rounds := flag.Int("rounds", 5, "rounds of each contest, at least")
	profile := flag.String("cpuprofile", "", "write a profile of the processor time to this file")
	only := flag.String("only", "", "run only the contestants whose name matches this expression, for profiles; ratios are then missing")
	quiet := flag.Bool("quiet", false, "no progress on standard error")
	flag.StringVar(&stateRoot, "state", "", "where directories of checkpoints are made; empty: the system's place for temporary files")
	flag.IntVar(&scale, "scale", 1, "divide the number of records by this, for a first look; ratios then mean little")
	flag.Parse()
	names, err := regexp.Compile(*match)
	if err != nil {
		fail(err)
	}
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			fail(err)
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			fail(err)
		}
		defer pprof.StopCPUProfile()
	}
	if contestants, err = regexp.Compile(*only); err != nil {
		fail(err)
	}
	progress := func(s string) { fmt.Fprintln(os.Stderr, s) }
	if *quiet {
		progress = func(string) {}
	}
	kept := keeper{}
	if *all {
		kept.dir = *out
	}
	begin := time.Now()
	var rows []row
	for _, c := range contests(*all) {
		if !names.MatchString(c.name) {
			continue
		}
		r, err := kept.rows(c.name, func() ([]row, error) {
			return c.rows(*rounds, progress)
		})
		if err != nil {
			fail(err)
		}
		rows = append(rows, r...)
	}
	fmt.Printf("%s, %d processors, %s; %d rounds at least; %s\n\n", runtime.Version(), runtime.NumCPU(), runtime.GOARCH, *rounds, time.Since(begin).Round(time.Second))
	print(os.Stdout, rows)
	fmt.Println()
	fmt.Println(lastLine(rows))
}

// lastLine sums up: the three numbers of the windowed job, and how many targets
// are met. A number that was not measured is "-".
func lastLine(rows []row) string {
	quoted := map[string]string{rowFloor: "-", rowMap: "-", rowCost: "-"}
	met, targets := 0, 0
	for i := range rows {
		r := &rows[i]
		if has, ok := r.judged(); has {
			targets++
			if ok {
				met++
			}
		}
		if _, ok := quoted[r.Name]; ok {
			quoted[r.Name] = number(r.Ratio.Median)
		}
	}
	return fmt.Sprintf("bench: window vs floor %s, vs map loop %s, checkpoint cost %s, targets met %d/%d",
		quoted[rowFloor], quoted[rowMap], quoted[rowCost], met, targets)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "bench:", err)
	os.Exit(1)
}
