// Package transform holds the built-in operators, a file each, and the typed
// parts of edges. It is used by package stream, which builds graphs of them;
// no operator knows which task or process it runs in.
//
//	element.go    map, filter, flatMap: one record in, some out
//	eventtime.go  timestamps and watermarks
//	source.go     reads splits through a connector's reader
//	sink.go       a connector's writer       committer.go  its second phase
//	stateful.go   a plain struct per key     keyctx.go     with timers
//	window.go     what a window computes
//	pane.go       windows aligned for all keys: one table per pane
//	panefire.go   ... and how they fire
//	sliding.go    ... of several panes       processingtime.go  ... by the wall clock
//	session.go    windows that belong to a key
//	firing.go     what fires many keys at once, in steps
//	optime.go     how far time has come, in checkpoints
//	link.go       edges: unkeyed, keyed, and keyed inside a chain
//
// # Why closures and not interfaces
//
// A chain of closures costs 1.6 times a hand-written loop that calls the same
// functions; interface calls on generic structs cost 3.6 times, a batch per
// operator 2.2 to 2.9 times. So an operator is a func value that has captured
// the next one, made once when the task is built.
//
// # Firing
//
// A watermark may close a window of a million keys, or pass a million timers. That
// takes a second, and meanwhile the task must hear its mail: notifications,
// aborts, splits, cancellation. So operators that fire work in steps. Watermark
// returns after at most 512 keys, and behind the key during which mail arrived;
// the operator counts itself in operator.Task.Firing, and the task calls Resume
// until nothing is left. Between two steps it does its mail, its timers and looks
// whether the outputs have room: a firing into full outputs waits as a batch does.
//
//	Watermark ─▶ step ─▶ step ─▶ … ─▶ last step ─▶ watermark forwarded ─▶ next input
//	                 mail    mail
//
// While something fires the task reads no input and takes no barrier, in order:
// what is behind the firing operator resumes first; then the rest of the batch in
// which the watermark stood ([operator.Receiver] can stop at a mark); then, for a
// source, the trigger of a checkpoint that came meanwhile. Watermarks and
// statuses that reach an operator while it fires wait in it, and keyed edges inside
// a chain keep them as marks in their batch together with the records between, so
// that a source whose watermark begins a firing in the middle of a Poll does not
// hurry it. Whatever else reaches the operator then (records of a full batch, a
// barrier from a caller that is not the task) first finishes the firing at once, so
// the order of things never depends on the steps.
//
// A barrier could also be taken in the middle of a firing, with the rest of it in
// the snapshot (specification 4.10 allows both). For sessions and timers that is
// easy, because each is marked or removed in the state as it fires. For panes it
// needs, per pane, how far the walk has come in hash order, in a form that
// survives a rescale and an overflow table that is not in hash order. It would
// gain little: barriers that arrive on a channel stand behind the data of that
// channel anyway, and the firing does not wait for anything but room in the
// outputs, which alignment gives it. So a checkpoint that is triggered during a
// firing waits for its end; its duration then contains the firing.
//
// Not in steps are timers set for the past, which fire right after the call that
// set them.
package transform
