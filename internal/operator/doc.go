// Package operator is the contract between an operator and the task that runs
// it. It holds no operator: those are in package transform.
//
// # How records move in a chain
//
// A chain is built once, from its end backwards. Each operator offers its input
// as an [In]: a func value that takes one record by pointer, and a [Control] for
// what travels in band. Its results go to the Ins of the operators behind it, or
// to an edge that leaves the task. So a record costs one call per operator, no
// allocation and no lock.
//
//	source ─In.Record─▶ map ─In.Record─▶ filter ─In.Record─▶ edge ═batches═▶ other task
//
// Behind a keyed edge records arrive as runs of a batch with their keys and
// hashes ([KeyedIn]), so that a stateful operator can resolve many keys at once.
//
// # The life of an operator
//
//	Build ─▶ Open ─▶ records, Watermark, Status, timers ─▶ Finish ─▶ Close
//	                 PrepareBarrier, Snapshot, Notify…
//
// Everything here is called by the one goroutine of the subtask. The exceptions
// are the writers of keyed state collected by [Snapshot.AddKeyed], which run
// beside it, and [Task.Post].
package operator
