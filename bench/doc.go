// Command bench measures what a record costs, each time against a rival in the
// same process: a loop as a good engineer would write it by hand for that one
// job, or the plain data structure that a part of the engine replaces.
//
//	go run ./bench          the benchmarks of whole jobs, in minutes
//	go run ./bench -all     the others too; finished ones are kept in bench-out
//	go run ./bench -run E2E only those whose name has a match
//
// How it is measured. The contestants of a contest take turns, at least five
// rounds, so that a noisy neighbour or a hot processor hits all of them. What
// counts is processor time of the whole process (getrusage, user and system)
// divided by the records: garbage collection, the writing of checkpoints and
// every helper goroutine are included, waiting for a processor is not. Where the
// table says "wall" it is time by the clock. A row shows the median of the
// rounds and, in parentheses, the least. The ratio is that of the medians, in
// parentheses that of the least. A target is met when the ratio of the medians
// meets it.
//
//	        round 1              round 2
//	┌──────┬──────┬──────┐ ┌──────┬──────┬──────┐
//	│ ours │ loop │ map  │ │ ours │ loop │ map  │ ...   medians ─▶ rows
//	└──────┴──────┴──────┘ └──────┴──────┴──────┘
//
// Whole jobs are built with the packages a user imports (stream, run, window,
// connector/gen and a sink of our own, written as a stranger would), with the
// everyday by-value functions. Every contestant returns a checksum of its
// results, and a contest in which they differ fails. Benchmarks of one part (the
// exchange, the table, the codec) call that part; the column "of" says so.
//
// # The windowed job
//
// One million keys, evenly drawn, and two million records to a second of event
// time: a window then sees 86 % of the keys, so that adding records and firing
// results are both measured, as in a job that keeps up with two million records
// a second. 48 million records make 24 windows and, on one core, at least one
// checkpoint by the clock and the final one. Watermarks come every 20 ms: at full
// speed event time runs 12 times faster than the clock, and the default of 200 ms
// would keep several windows open that a job in real time never sees.
//
// Start reading at contest.go, then job.go and floor.go.
package main
