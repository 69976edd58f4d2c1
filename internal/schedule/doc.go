// Package schedule decides whether and when a failed job starts again
// (specification 7.1). It is pure: the time, and chance for the jitter, come in with
// each failure.
//
//	failure ──▶ Restarts.Failure(now, random) ──▶ after this delay, or never
//
// What happens between a failure and its restart belongs to that restart and is not
// told here: tasks that fail because others do are one failure.
package schedule
