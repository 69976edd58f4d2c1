package main

import (
	"runtime"
	"strings"
	"testing"
)

func TestS425ASimulationOfManySchedulesKeepsTheInvariants(t *testing.T) {
	const seeds = 300
	r := runSeeds(1, seeds, none, runtime.GOMAXPROCS(0))
	for i, f := range r.failures {
		if i == 3 {
			t.Fatalf("and %d more", len(r.failures)-i)
		}
		t.Error(shrink(f, none))
	}
	if r.mismatches > 0 {
		t.Errorf("%d seeds were not the same the second time", r.mismatches)
	}
	// A simulation that never gets somewhere proves nothing about it.
	for k, n := range r.seen {
		if n == 0 {
			t.Errorf("none of %d seeds reached: %s", seeds, seenNames[k])
		}
	}
}

func TestS425EveryPlantedBugIsFoundWithin2000Seeds(t *testing.T) {
	for b := none + 1; b < bugs; b++ {
		t.Run(strings.ReplaceAll(bugNames[b], " ", "-"), func(t *testing.T) {
			t.Parallel()
			if seed, err := hunt(b, 2000); err != nil {
				t.Logf("seed %d: %v", seed, err)
			} else {
				t.Errorf("2000 seeds did not find it")
			}
		})
	}
}

// hunt runs seeds until one fails.
func hunt(b bug, seeds uint64) (uint64, error) {
	for seed := uint64(1); seed <= seeds; seed++ {
		if err := newWorld(seed, b).live(); err != nil {
			return seed, err
		}
	}
	return 0, nil
}

func TestAShrunkFailureStillFailsAndSaysTheSeed(t *testing.T) {
	seed, err := hunt(openGateway, 2000)
	if err == nil {
		t.Fatal("no seed fails with an open gateway")
	}
	w := newWorld(seed, openGateway)
	err = w.live()
	report := shrink(failure{seed, err, w.fired}, openGateway)
	if !strings.Contains(report, "VIOLATION "+kindOf(err)) || !strings.Contains(report, "trigger checkpoint=") {
		t.Errorf("the report does not show the violation in the words of the scenarios:\n%s", report)
	}
}

func BenchmarkSeeds(b *testing.B) {
	b.ReportAllocs()
	r := runSeeds(1, uint64(b.N), none, runtime.GOMAXPROCS(0))
	b.ReportMetric(float64(r.seeds)/b.Elapsed().Seconds(), "seeds/s")
	b.ReportMetric(float64(r.steps)/float64(r.seeds), "steps/seed")
}
