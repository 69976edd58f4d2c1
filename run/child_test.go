package run_test

// childVariable names the job that a test binary runs as a child process.
const childVariable = "CUTWATER_RUN_TEST_CHILD"

func childMain(string) int { return 2 }
