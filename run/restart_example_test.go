package run_test

import (
	"fmt"
	"time"

	"github.com/cutwater-io/cutwater/run"
)

func ExampleRestartStrategy() {
	for _, s := range []run.RestartStrategy{
		run.NoRestart(),
		run.FixedDelay(3, time.Second),
		run.FailureRate(5, time.Hour, 10*time.Second),
		run.ExponentialDelay(time.Second, time.Minute),
	} {
		fmt.Println(s)
	}
	// Output:
	// no restarts
	// at most 3 restarts, 1s after each failure
	// restarts 10s after each failure, as long as no more than 5 lie within 1h0m0s
	// restarts after 1s, 1.5 times longer each time up to 1m0s
}

func ExampleNoRestart() {
	fmt.Println(run.NoRestart() == run.Config{}.Restart)
	// Output: true
}

func ExampleFixedDelay() {
	fmt.Println(run.FixedDelay(3, time.Second))
	// Output: at most 3 restarts, 1s after each failure
}

func ExampleFailureRate() {
	fmt.Println(run.FailureRate(5, time.Hour, time.Second))
	// Output: restarts 1s after each failure, as long as no more than 5 lie within 1h0m0s
}

func ExampleExponentialDelay() {
	fmt.Println(run.ExponentialDelay(time.Second, time.Minute))
	// Output: restarts after 1s, 1.5 times longer each time up to 1m0s
}
