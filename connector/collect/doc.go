// Package collect is a sink that keeps records in memory, for tests.
//
//	c := collect.New[string]()
//	p.From(...).To(c.Sink())
//	run.Run(ctx, p, run.Config{})
//	c.Values()
//
//	Write --> open --Prepare--> prepared --checkpoint complete--> Values
//	            |                   |
//	            +--- Close ---------+--- Sweep --> dropped
//
// It is exactly once, as long as the process lives: a job that fails and is
// restored in it shows every record once. So a test of a job with crashes in it
// can compare Values with what it expects.
//
// # Rules for callers
//
//   - A job that is restored in another process fails at the restore when its
//     checkpoint holds records that were not yet shown: they are gone.
//   - Values are kept as they come; the slices and maps in them are not copied.
//
// # Threads
//
// The package starts no goroutine. All methods of a [Collector] may be called
// from any goroutine at any time, also while the job runs.
package collect
