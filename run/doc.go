// Package run runs pipelines. [Run] is the engine as a function call; [Main]
// wraps it for programs: flags, signals, progress and exit status.
//
//	func main() {
//		p := stream.New("word-count")
//		...
//		run.Main(p)
//	}
//
// A run keeps its state in a directory, .cutwater/<name of the job> unless told
// otherwise. When the process ends in any way, also by kill -9, the next run of the
// program continues from the latest completed checkpoint: with transactional sinks
// no result is lost or seen twice.
//
// This is the only package that knows every part of the engine.
package run
