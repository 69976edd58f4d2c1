// Package transform holds the built-in operators, a file each, and the typed
// parts of edges. It is used by package stream, which builds graphs of them;
// no operator knows which task or process it runs in.
//
//	element.go    map, filter, flatMap: one record in, some out
//	eventtime.go  timestamps and watermarks
//	source.go     reads splits through a connector's reader
//	sink.go       a connector's writer       committer.go  its second phase
//	stateful.go   a plain struct per key     handler.go    with timers
//	pane.go       windows aligned for all keys: one table per window
//	session.go    windows that belong to a key
//	link.go       edges: unkeyed, keyed, and keyed inside a chain
//
// # Why closures and not interfaces
//
// A chain of closures costs 1.6 times a hand-written loop that calls the same
// functions; interface calls on generic structs cost 3.6 times, a batch per
// operator 2.2 to 2.9 times. So an operator is a func value that has captured
// the next one, made once when the task is built.
package transform
