// Package realdata holds the engine against real event data whose exact answers
// were computed by other programs. It has tests only.
//
//	$CUTWATER_TESTDATA/*.csv --> pipeline of the public API --> sorted rows
//	                                                                ||
//	$CUTWATER_TESTDATA/expected/*.csv ----------------------------> rows
//
// The data is not part of the repository. Without the environment variable
// CUTWATER_TESTDATA, which names its directory, the tests are skipped.
//
// Every answer is computed twice: by one reader, which sees the records in the
// order of their arrival, and at parallelism 2 by two readers, to which the lines
// are dealt in turn, with a checkpoint every few milliseconds. Where a file is out
// of order the watermarks wait for its worst record, so that nothing is late.
// What happens to late records is the subject of late_test.go.
//
// Start reading in harness_test.go; then answers_test.go.
package realdata
