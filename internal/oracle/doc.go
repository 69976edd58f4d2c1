// Package oracle knows the right answer of the demo job, bids per auction and
// tumbling window, without the engine: a loop, a table, no windows, no state, no
// checkpoints. It shares nothing with the engine but the event generator, so a
// fault of the engine cannot hide in both.
//
//	nexmark.Generator --> BidsPerAuction --> want
//	                                           \
//	                                            Compare --> Report: lost, duplicated, wrong
//	                                           /
//	directory of committed part files --------+
//
// # The files
//
// Committed output is text, one result a line:
//
//	1003,1436918400000,17
//
// Auction, start of the window in milliseconds since 1970 and count: decimal
// numbers with commas and without blanks, each line with its line end. The first
// line of a file may be [Header]. Files
// are found below the directory at any depth; files and directories whose name
// begins with a dot or an underscore are staged output and are not read, as with
// other tools that read such directories.
//
// # Rules
//
//   - Compare only after the job has ended, or the last windows count as lost.
//   - The functions run in the caller's goroutine and start none.
//
// Begin reading at answer.go.
package oracle
