// Package run runs pipelines. [Run] is the engine as a function call; [Main]
// wraps it for programs: flags, signals, progress and exit status.
//
//	func main() {
//		p := stream.New("word-count")
//		...
//		run.Main(p)
//	}
//
//	               one process
//	+---------------------------------------------------+
//	|  Run: JobMaster --- one goroutine: coordinates    |      state directory
//	|         |    ^                                    |   log/0000000000000012
//	|         v    |        TriggerCheckpoint, Acknowledge...  chk/7-.../manifest
//	|       tasks ----- one goroutine each              |   chk/7/...segment
//	+---------------------------------------------------+
//
// # What survives
//
// A run keeps its state in a directory, .cutwater/<name of the job> unless
// Config.StateDir (flag -state) says otherwise. When the process ends in any way,
// also by kill -9, the next run of the program continues from the latest completed
// checkpoint: sources at their positions, state as it was, timers set. With
// transactional sinks (file, collect) no result is lost or seen twice; their
// output becomes visible with each checkpoint, so Checkpoints.Interval is also how
// long a reader waits for it. Other sinks (console) print again what they printed
// since the checkpoint.
//
//   - A job that had read all its input is finished. The next run starts fresh and
//     writes its output once more, beside what is there: remove the old output
//     first, or give the new run another directory.
//   - To throw state away, use Restore: [None] (flag -restore none), or remove the
//     state directory while no job runs. Output that was committed stays.
//   - To begin a new job with the state of another, give the other's state directory
//     as Restore (flag -restore PATH): its latest checkpoint is copied.
//   - The program may change between runs. State is found by the names of
//     operators (stream.Name); state whose operator is gone is an error, unless
//     Config.AllowNonRestored is set; an operator that is new starts empty. State
//     whose Go type changed is refused with a sentence that names the operator.
//   - The parallelism may change between runs; state and splits are redistributed.
//   - The directory belongs to one job, and to one process at a time: a second one
//     gets an error and touches nothing.
//   - Config.Ephemeral keeps everything in memory: for tests, where package
//     collect holds the output.
//
// # When something fails
//
// An error or panic in a function of the user, a source or a sink fails the
// attempt. With Config.Restart the job is then restored from its latest
// checkpoint within the process, that many times; the default is to return the
// error at once, because an error of user code usually repeats itself. What was
// committed before stays, and the next run continues after it.
//
// # Rules for callers
//
//   - Run blocks until the job has ended and all its goroutines are gone. End an
//     endless job with its context; [IsCanceled] tells that apart from a failure.
//   - Functions of Config are called by one goroutine, and must not block.
//   - Main exits the process. A program with flags of its own calls [ParseFlags]
//     instead of flag.Parse.
//
// This is the only package that knows every part of the engine. Start reading at
// run.go.
package run
