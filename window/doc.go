// Package window says how a stream is cut into windows. It only computes: who
// belongs where, when a window ends. The engine keeps the state and fires.
//
//	tumbling 10s           |----w0----|----w1----|----w2----|
//
//	sliding 10s every 5s   |----w0----|----w2----|
//	                       .    |----w1----|----w3----|
//	                       .    .    .    .    .            panes of gcd(10s, 5s)
//
//	session gap 10s        |x--x---x+gap|       |x+gap|     one row per key
//
//	end of stream          |----------- one window ------------------------|
//
// # Rules
//
//   - An [Assigner] is a value made by [Tumbling], [Sliding], [Session] or
//     [EndOfStream]. Nothing panics: a wrong size is remembered and reported by
//     [Assigner.Validate], so that all errors of a job are shown together.
//   - Event time is [Millis]: whole milliseconds since 1970, UTC. A window has
//     its start and not its end, so each record is in exactly one tumbling
//     window.
//   - Windows are aligned to 1970-01-01 00:00 UTC, moved by [Offset]. A day in
//     New York is an offset of five hours, not a calendar day: clocks that
//     change twice a year are not handled here.
//   - Arithmetic saturates. A timestamp in the far future gets a window that
//     ends at [MaxMillis]; it never wraps round into the past.
//
// Nothing here starts a goroutine or reads a clock. Begin reading at
// assigner.go; panes.go is the arithmetic.
package window
