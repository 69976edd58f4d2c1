// Package exchange moves batches from the tasks of one vertex to those of the
// next, inside a process.
//
//	   task A                                   task B
//	┌──────────┐  channel 0.0  ┌─┬─┬─┬─┐   ┌──────────────────────┐
//	│ Writer   │ ─────────────▶│ │ │ │ │──▶│ Inbox: ready list of │
//	│ (a batch │  channel 1.0  ├─┼─┼─┼─┤   │ channels that have   │
//	│ open per │ ─────────────▶│ │ │ │ │──▶│ something and are    │
//	│ target)  │               └─┴─┴─┴─┘   │ not blocked          │
//	└──────────┘ ◀── free batches (credit) ┴──────────────────────┘
//
// Rules:
//
//   - A [Channel] is a FIFO from one subtask to another. Batches are bounded by
//     their free list (the credit); events need no credit and are bounded by the
//     number of checkpoints that may be pending.
//   - Blocking a channel means not reading it: its batches stay, none is given
//     back, so its sender stops.
//   - A [Writer] belongs to the goroutine of the sending task, an [Inbox] to that
//     of the receiving task. Only the FIFOs are shared; the inbox's lock guards
//     them. Nobody holds it while doing anything else.
//
// Start reading in inbox.go.
package exchange
