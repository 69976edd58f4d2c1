// Package connectortest tests connectors without the engine.
//
//	           SourceJob                              SinkJob
//	+------------------------------+      +-------------------------------+
//	| Enumerator  <-- queue -->    |      | values --> Writers            |
//	|   Reader 0, Reader 1, ...    |      |   prepare  |  stored checkpoint|
//	| checkpoint, restore, rescale |      |            v                  |
//	+------------------------------+      |         Committers --> visible|
//	                                      +-------------------------------+
//	              Disk: loses what was not synced, fails at the n-th effect
//
// [Source] and [Sink] are the conformance suites: one call in a test of the
// connector runs all of their scenarios.
//
//	func TestConforms(t *testing.T) {
//		connectortest.Source(t, connectortest.SourceCase[string]{
//			Open: func(t *testing.T, files connector.Files) (connector.Source[string], []string) {
//				...
//			},
//		})
//	}
//
// [Source] stops a source after each record, restores it with as many, more or
// fewer readers, lets readers fail, and looks whether just the missing records
// follow. [Sink] kills a sink before and after each call and at each effect on
// the disk, with several guesses of what a crash leaves, restores it, and looks
// whether the records of completed checkpoints are visible, each once, and no
// other at any time.
//
// # Rules for callers
//
//   - Each call of Open gets an empty [Disk] and makes a world of its own; it is
//     called some thousand times, so it should be quick.
//   - A connector to another system than files keeps that system (or a fake of
//     it) in what Open returns; the suite still kills it between its calls.
//   - The drivers [SourceJob] and [SinkJob] are for the scenarios that only one
//     connector has.
//
// # Threads
//
// Everything runs in the goroutine of the test. [Disk] and [Clock] may be used
// from any goroutine, for connectors that start some.
//
// Start reading in sink.go and source.go; then sinkjob.go, which is the protocol
// of a sink on two pages.
package connectortest
