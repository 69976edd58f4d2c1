// Package timer keeps deadlines of keys: which key is to be looked at when. It is
// pure: no clock, no goroutine. The operator that owns a [Queue] passes time in,
// as a watermark or a wall-clock time, both in milliseconds.
//
//	Add(at, key) ──▶ wheel of 256-slot levels ──┐
//	                                            ├──▶ Pop(until): by time, then by arrival
//	   at before the wheel's time ──▶ heap ─────┘
//
// A queue is no state. What is to happen, and when, stands in the keyed state of
// the operator; the queue only finds it and is made anew after a restore. So an
// entry that has become out of date need not be removed: the operator compares it
// with the state and ignores it.
//
// Rules for callers: a queue belongs to one goroutine. Times may be any int64, and
// until may jump, back too. What costs little is what operators do: times ahead of
// until, and until ascending.
//
// Start reading in queue.go; heap.go is for the entries that come too late for the
// wheel.
package timer
