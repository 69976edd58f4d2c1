// Package watermark computes how far event time has come: at a source from the
// records of each split ([Splits]), and at every other task from its input
// channels ([Combiner]). It is pure: no clock, no goroutine, no lock. The task
// loop owns the values and passes in the time where it matters.
//
//	split A --Observe--> max - bound - 1 --+
//	split B --Observe--> max - bound - 1 --+-- min --> channel --+
//	split C (idle)                       (left out)              |
//	                                                             +-- min --> operators
//	                                              channel (idle) |
//	                                              channel (ended, left out)
//
// A watermark t says: no record with an event time of t or less is expected any
// more. All times are milliseconds since 1970. [None] is the watermark before the
// first one, [EndOfTime] the last of a drained input.
//
// # Rules
//
//   - The result never goes back. It starts from a restored lower bound, so that
//     a window that has fired does not come into being again after a restore (D58).
//   - Idle inputs do not hold back time. If all are idle the result is idle too,
//     and [Policy] says whether time stays or goes to the most advanced of them.
//   - An input that ended does not hold back time either. When all have ended,
//     time stays where it is: a drained input has sent EndOfTime before its end,
//     and one that was stopped must not fire the windows that are still open.
//   - An input that wakes up holds time back again at once, with the watermark it
//     had. Flink leaves it out until it has caught up with the others, which makes
//     all it sends until then late; here time waits for it.
//   - A split becomes idle only by being polled and found empty for long enough.
//     Time in which the task could not read, because of backpressure, is not
//     counted ([Splits.Pause]).
//
// # Rules for callers
//
//   - Emit Splits.Advance per interval, or each record with Splits.ObserveEach.
//     The watermark is emitted after the records observed so far.
//   - If Splits.Idle was true and records were observed, call Advance before they
//     are sent, so that the channel is active again when they arrive.
//   - What to save: Splits.Snapshot with the splits' positions, and the Watermark
//     of the task's Combiner for each operator. What to restore with: the least
//     of the saved bounds ([RestoredBound]).
//
// Where to start reading: combiner.go; then generator.go and splits.go.
package watermark
