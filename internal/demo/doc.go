// Package demo is the promise of Cutwater as a program: a job in a child process
// is killed with SIGKILL again and again, at the worst moments, and its committed
// output is compared with an answer that the engine had no part in.
//
//	parent (this package)                    child (job.go)
//	┌──────────────┐ start, SIGKILL         ┌──────────────────────────────┐
//	│ schedule of  │ ──────────────────────▶│ nexmark bids ═key═▶ 10 s     │
//	│ kills        │ ◀──── what happens ─── │ windows ─▶ exactly-once files│
//	└──────┬───────┘       (stdout)         └───────────────┬──────────────┘
//	       ▼                                                ▼
//	internal/oracle: the answer by a plain loop ◀─compare─ committed files
//
// Start reading in demo.go.
package demo
