// Package joblog is the one truth about a job: a numbered log of small
// immutable objects in a blob store. Who leads the job, which checkpoint ids
// may be used, which checkpoints are complete, and how the last run ended is
// what the log says and nothing else.
//
//	log/0000000000000001   Created   job 4f0c..., "word-count"
//	log/0000000000000002   Claim     token 1
//	log/0000000000000003   Reserve   ids 1 to 16
//	log/0000000000000004   Completed checkpoint 1, chk/1-93ab.../manifest
//	log/0000000000000005   Completed checkpoint 2
//	log/0000000000000006   Removed   checkpoint 1      (its files go after this)
//	log/0000000000000007   Claim     token 2           <- the process died; its successor
//	log/0000000000000008   Reserve   ids 17 to 32
//
// # Idea
//
// Each entry takes the next number with put-if-absent, so of two leaders one
// loses the slot, reads what is there, finds a claim with a greater token and
// stops. No lease and no clock is involved; whoever wants to lead only claims.
// Manifests and segments have unique names and publish nothing: a checkpoint is
// complete exactly when its entry is in the log.
//
// # Unknown outcomes
//
// A put whose answer is lost may have happened, and may even happen later. The
// slot decides: [Log] tries again, and every later entry is put into the same
// slot until one of them, old or new, is found there. See append.go.
//
// # Length
//
// Every 256 entries the leader writes a Snapshot of what the log says so far,
// and then deletes what is before it. compact.go has the rule that makes this
// safe against a leader that slept through all of it.
//
// # Rules for callers
//
//   - A [Log] is used by one goroutine at a time. The package starts none.
//   - After [ErrDeposed]: stop, do not notify, do not delete. Whether the entry
//     is in the log is for the new leader to know.
//   - After blob.ErrUnknown: treat the entry as neither written nor not
//     written. Do not notify, do not delete. [Log.Resolve] finds out about a
//     checkpoint.
//   - After any other error the entry is not in the log and never will be.
//   - Append Removed before deleting a checkpoint's files, and delete only then.
//   - [Open] deposes whoever led before. Take the state directory's lock
//     (package statedir) or win an election first.
//
// Start reading in entry.go; the bytes are drawn in doc/format/joblog.md.
package joblog
