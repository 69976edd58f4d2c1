// Package task runs one subtask: a chain of operators, their state and timers,
// the gates in front and the edges behind, and the subtask's part in
// checkpoints.
//
//	                 ┌───────────────────── task loop ──────────────────────┐
//	Inbox ──────────▶│ aligner ─▶ Receiver ─▶ operator ─▶ operator ─▶ edge  │──▶ channels
//	(or a source's   │    │                                                 │
//	 Poll)           │    ▼ Perform                                         │
//	mailbox ────────▶│ Snapshots ─▶ performCheckpoint ─▶ asynchronous part ─┼──▶ blob store
//	timers ─────────▶│                                                      │
//	                 └────────────────────────────┬─────────────────────────┘
//	                                              ▼ Reporter: state, acknowledgements
//
// One goroutine, the task loop in loop.go, owns everything in the box. It looks
// for work in this order: mail (notifications, triggers, operator events), due
// timers, then one batch of input. It takes input only while every edge behind
// has a free batch; otherwise it waits for mail and freed batches together, so
// that backpressure never makes it deaf. Before new input comes what has been
// begun: operators that have much to fire do it in steps (operator.Resumer, and
// "Firing" in package transform), and a batch is left at the watermark that began a
// firing and gone on with behind it. Every other goroutine only posts mail.
// The asynchronous parts of checkpoints (async.go) have a goroutine each; the
// loop starts them and waits for them before it ends.
//
// Start reading in task.go, then loop.go and checkpoint.go.
package task
