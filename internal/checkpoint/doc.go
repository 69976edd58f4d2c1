// Package checkpoint decides when the checkpoints of one job start and how they
// end. It is the coordinator of the protocol as a pure state machine: events in,
// actions out. It knows no clock, does no I/O and holds no state bytes; the shell
// around it (package jobmaster) turns results into events and carries actions out.
//
//	 tick, Request            Acked, Declined         ManifestWritten, Published
//	      |                        |                            |
//	      v                        v                            v
//	+-----------+  id   +------------------------+  all  +---------------+
//	|   queue   | ----> |        pending         | ----> |  finalizing   |
//	+-----------+       | coordinators, triggers | acked | manifest, log |
//	      |             +------------------------+       +---------------+
//	      |                        |                        |         |
//	      |  refused               |  aborted               | failed  | durable
//	      v                        v                        v         v
//	   Resolve      NotifyAborted, Resolve, DiscardPending       Resolve,
//	                                                             NotifyComplete,
//	                                                             DeleteCompleted
//
// # The walk of one checkpoint
//
//  1. [TimerFired] or [Request] puts a request into the queue. When its turn comes
//     and every task that must take part is running, it gets an id. Ids are
//     reserved in the job log in blocks before use: [ReserveIDs], [IDsReserved].
//  2. [SnapshotCoordinators]: the operator coordinators first, and their gateways
//     closed, so that none of them is newer than the cut.
//  3. [CoordinatorsSnapshotted], then [SendTrigger] to the sources.
//  4. [Acked] for every task; [KeepAck] says that its payload counts.
//  5. All acknowledged: [WriteManifest], then [Publish], the log entry. The entry
//     alone makes the checkpoint completed.
//  6. [Resolve], [NotifyComplete], and [DeleteCompleted] for what it replaces.
//
// # Phases of a pending checkpoint
//
//	phase        waits for                 on timeout, decline, failover   on shutdown
//	triggering   CoordinatorsSnapshotted   abort                           abort
//	in-progress  Acked of every task       abort                           abort
//	writing      ManifestWritten           goes on                         abort when written
//	written      an older log entry        goes on                         abort
//	publishing   Published                 goes on                         goes on
//	resolving    Published, by read-back   goes on                         goes on
//
// The last four are FINALIZING: only the outcome of the I/O decides, so that an id
// never has two outcomes. A savepoint ends after writing; it is not published,
// notifies nobody and replaces nothing. Stop-with-savepoint needs a stop record in
// the log before tasks may be told (defect D71); this package has no such kind,
// and plain savepoints only.
//
// # Outcomes of a log entry
//
//	ok        the checkpoint completes
//	failed    it is aborted, its files are deleted
//	unknown   nothing is deleted and nobody told; the log is read back until the
//	          answer is known, and nothing newer is published meanwhile
//	deposed   a newer leader exists: [Closed] at once, nobody told, nothing deleted
//
// # Rules for the shell
//
//   - One loop owns the [Coordinator], stamps each event with [At] when it takes
//     it from its queue, and carries the actions out in order before the next Step:
//     they and their slices are reused.
//   - Each of ReserveIDs, SnapshotCoordinators, WriteManifest, Publish,
//     ResolvePublish and DeleteCompleted is answered exactly once, with a deadline
//     on its I/O; an operation past its deadline whose effect is not known is
//     Unknown, never Failed. After [Closed] answers may come and are ignored.
//   - Payloads are held by (checkpoint, attempt) between KeepAck and the end of the
//     checkpoint: [Resolve] with ReasonNone (forget them) or [DiscardPending]
//     (forget and delete).
//   - The operator coordinators hear NotifyComplete and NotifyAborted as well. Nobody
//     is notified of a savepoint that completed: gateways that are closed for it open
//     with its [Resolve], if a task's message that opens them was lost.
//   - An operator coordinator is snapshotted when its gateway keeps no event for an
//     older checkpoint: such an event is in its state and would reach the task behind
//     the barrier.
//   - A failure reason that arrives in a message is checked with [Reason.Known]
//     before it goes into an event.
//   - Before tasks are restarted: [Failover], wait for [RestoreFrom], restart from
//     it, report the new attempts with [TasksChanged].
//   - [Restored] comes first if the job log has history.
//   - What DeleteCompleted may delete is a question of reachability: nothing that a
//     retained or a pending checkpoint refers to (invariant I5).
//
// The package starts no goroutine and takes no lock. Start reading at
// [Coordinator.Step]; testdata holds the protocol as scenarios to read.
package checkpoint
