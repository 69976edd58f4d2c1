// Package timer keeps deadlines of keys: which key is to be looked at when. It is
// pure: no clock, no goroutine. The operator that owns a [Queue] passes time in,
// as a watermark or a wall-clock time, both in milliseconds.
//
// A queue is no state. What is to happen, and when, stands in the keyed state of
// the operator; the queue only finds it and is made anew after a restore. So an
// entry that has become out of date need not be removed: the operator compares it
// with the state and ignores it.
package timer
