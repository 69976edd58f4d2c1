// Package connector is the contract of sources and sinks. A connector written
// by a stranger needs this package and nothing else of Cutwater.
//
//	              JobMaster                                TaskManagers
//	         +------------------+   assign splits   +------------------------+
//	source   |   Enumerator     | ----------------> | Reader  (one a subtask)|
//	         | finds the splits | <---------------- | reads splits           |
//	         +------------------+  request, events  +------------------------+
//
//	         +------------------------+ committables +------------------------+
//	sink     | Writer (one a subtask) | -----------> | Committer              |
//	         | writes, prepares       |  before the  | commits what a complete|
//	         +------------------------+  barrier     | checkpoint contains    |
//	                                                 +------------------------+
//
// # Writing a source
//
// A [Source] is cut into splits: a file, a partition, a range of numbers. One
// [Enumerator] per source runs beside the checkpoint coordinator, finds splits
// and assigns them to readers; one [Reader] per subtask emits records and keeps,
// for each of its splits, the position after the last record it emitted. Both
// are snapshotted at every checkpoint. The engine guarantees that at each
// checkpoint a split is with the enumerator or with exactly one reader. The
// example of [Source] is a complete one, to copy.
//
//   - Decide what a position is: a byte offset, a count, a log sequence number.
//     Reading again from it must give the same records, in the same order.
//   - Poll returns soon: at most Output.Max records, and Wait instead of
//     blocking. Barriers, timers and cancellation come between two calls. A
//     reader that has to wait for the outside starts a goroutine of its own,
//     lets it call ReaderContext.Wake, and ends it in Close.
//   - A reader asks for work (RequestSplit) when it has none, once. A restored
//     reader gets its splits by AddSplits and asks for more after them; the
//     enumerator answers it, also when it has answered it in an earlier life.
//   - With several splits in one reader, call Output.StartSplit, EmptySplit and
//     FinishSplit, so that event time is kept per split.
//   - What cannot be decoded goes to ReaderContext.BadRecord, with its place.
//
// # Writing a sink
//
// A [Sink] has one [Writer] per subtask. It sees every record at least once:
// those after the last checkpoint come again when the job is restored. That is
// enough for writes that are idempotent, an upsert by key for example. Writes
// may be buffered or asynchronous up to Flush, which waits for them.
//
// A [CommittingSink] shows every record exactly once, in two phases. At each
// barrier its writers ([CommittingWriter]) end their transaction so that it
// survives the process, and hand over committables: what is needed to commit it
// from elsewhere. The engine stores them in the checkpoint, and a [Committer]
// makes them visible once that checkpoint is complete, and again after a restore.
// The example of [CommittingSink] is a complete one, to copy.
//
//		Write Write Write  Flush Prepare(7)  Snapshot   Write ...
//		                         |
//		                         +--> checkpoint 7 complete --> Commit(7)   again, if in doubt
//		                         +--> checkpoint 7 failed   --> Commit(8) has it too
//		                         +--> process killed        --> Commit at the restore, or Sweep
//
//	  - Commit is idempotent. A killed process may have committed and not have
//	    heard of it.
//	  - Names of transactions are made of job, operator, subtask, attempt and
//	    checkpoint. An attempt number never comes back, so an old transaction is
//	    never taken for a new one.
//	  - Sweep removes what was prepared for checkpoints that never completed, of
//	    all subtasks that this committer stands for.
//	  - A transaction must be able to wait: checkpoint interval, plus the time the
//	    job may be down.
//
// # Threads
//
// Readers, writers and committers are called by the one goroutine of their
// subtask, enumerators by one goroutine of the JobMaster. No method needs a
// lock unless the connector starts goroutines of its own; those end in Close.
//
// # Errors
//
// An error that a method returns fails the attempt; the job is restored from its
// latest checkpoint, if it may restart. Write what was tried, on what, why it
// failed and what to do. Transient errors of a remote system are retried inside
// the connector, for a bounded time.
//
// # Testing
//
// Package connectortest has the conformance suite: a source or sink is stopped,
// killed and restored between any two calls, at other parallelisms, and must lose
// and repeat nothing. Time, files and chance come from [Env], so that the suite
// can own them.
//
// Begin reading at connector.go; the smallest real source is package gen, the
// smallest real sink package collect.
package connector
