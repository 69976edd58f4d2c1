// Package segment is the file of keyed state that one subtask writes for one
// checkpoint. It is written front to back by the asynchronous part of a
// snapshot and read by ranges of key groups, so that a rescale reads only what
// moves. doc/format/segment.md draws every byte.
//
//	+--------+---------+---------+-----+---------+-------+--------+
//	| header | state 0 | state 0 | ... | state n | index | footer |
//	|        | group a | group b |     | group z |       |        |
//	+--------+---------+---------+-----+---------+-------+--------+
//
// A Writer is used by one goroutine. It writes each Source once, in any order,
// and Close finishes the segment; durability is the business of whoever owns the
// object beneath. A Reader opens an object by its size and verifies everything
// it returns: damage is an error that wraps blob.ErrCorrupt, never a wrong
// value, a panic or a large allocation. The package starts no goroutine.
//
// Start reading at Source in segment.go, then writer.go and reader.go.
package segment
