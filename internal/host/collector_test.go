package host

import (
	"runtime/debug"
	"testing"
)

func TestTheCollectorIsSetUnlessTheEnvironmentHasSetIt(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	for _, env := range []struct {
		gogc, limit string
		want        int
	}{{"", "", CollectorPercent}, {"50", "", 100}, {"", "1GiB", 100}, {"off", "1GiB", 100}} {
		t.Setenv("GOGC", env.gogc)
		t.Setenv("GOMEMLIMIT", env.limit)
		did := SetCollector()
		got := debug.SetGCPercent(100)
		if got != env.want || did != (env.want == CollectorPercent) {
			t.Errorf("with GOGC=%q and GOMEMLIMIT=%q: percent %d and %t, want %d", env.gogc, env.limit, got, did, env.want)
		}
	}
}
