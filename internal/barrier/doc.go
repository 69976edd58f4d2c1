// Package barrier holds the two cores that decide a subtask's part in
// checkpoints: [Aligner], which waits until all inputs have reached a barrier,
// and [Snapshots], which decides what happens from there to the notification
// that the checkpoint is complete. Both are pure: events in, actions out, no
// clock, no I/O, no goroutine. The task loop owns both and carries out what they
// say.
//
//	gates                        task loop                        coordinator
//	  | Barrier, CancelMarker,      |                                  |
//	  | EndOfPartition              |              Trigger, Complete,  |
//	  v                             |              Aborted             v
//	+---------+  Perform, Abort  +-----------+ <------------------------
//	| Aligner | ---------------> | Snapshots | Acknowledge, Decline --->
//	+---------+ <--------------- +-----------+ BroadcastCancel --------> outputs
//	  |          AlignTrigger       |     ^
//	  v                    Snapshot |     | SnapshotTaken, SnapshotFailed,
//	Block, Unblock        StartAsync|     | AsyncDone, AsyncFailed
//	                      CloseAsync v     |
//	                       operators, asynchronous parts
//
// # Rules for callers
//
//   - One loop steps both cores. Actions are executed in order, and all of them
//     before the next event, except that a Snapshot, a Perform or an Abort leads
//     to a step of its own at its place in the list: use another dst for it.
//   - Blocks and unblocks take effect before the gates are read again.
//   - A Trigger goes to Snapshots first; AlignTrigger hands it to the aligner.
//     An Aborted goes to Snapshots first and then to the aligner, if there is one.
//     Closed goes to both.
//   - Each StartAsync is answered by exactly one AsyncDone or AsyncFailed, also
//     when it was closed in between. The part posts it to the mailbox.
//   - After FailTask nothing more of the list is executed.
//   - Ids start at 1. Whoever reads barriers from the network checks that, and that
//     nothing follows the end of a channel: the cores take a breach for a bug of
//     this process and panic.
//   - A snapshot is answered by SnapshotTaken or SnapshotFailed before the rest of
//     the list is executed. The aligner needs no answer: whether the snapshot was
//     taken or refused, the channels are read again.
//
// # The aligner
//
// N is the checkpoint of the event, current the newest one seen.
//
//	event           N < current,      N = current     N > current,        N > current,
//	                or N = current,   pending         nothing pending     older one pending
//	                settled
//	Barrier         -                 count, block;   begin N,            abort older SUBSUMED,
//	                                  all: perform    as to the left      then as to the left
//	CancelMarker    -                 abort N         abort N             abort older SUBSUMED,
//	                                  ON_CANCELL...   ON_CANCELL...       abort N ON_CANCELL...
//	Trigger         -                 perform         perform             abort older SUBSUMED, perform
//	Aborted         -                 abort N, no     remember N: its     remember N
//	                                  reason          barrier aborts it
//	EndOfPartition  checkpoints after finish on: pending: count; all: perform
//	                checkpoints after finish off: pending: abort INPUT_END_OF_STREAM
//
// Perform and abort end with an unblock of every blocked channel; an abort
// unblocks first. The barrier that completes an alignment blocks nothing, since
// the perform comes at once.
//
// Coming differently from Flink: an older pending checkpoint is declined, not
// dropped, when a newer cancel marker comes; an abort by the coordinator ends an
// alignment at once; a barrier of a checkpoint known as aborted blocks nothing.
//
// # The life of a task
//
//	           Running          EndOfData            Closing
//	starting ----------> live ------------> finishing --------> closing
//	    |                  |                    |                  |
//	    +------------------+------- Closed -----+------------------+--> gone
//
//	             starting       live           finishing      closing        gone
//	Trigger      NOT_READY      perform        perform        CLOSING        -
//	Perform      cancel +       snapshot       snapshot       cancel +       -
//	             NOT_READY                                    NOT_READY
//	Complete     prune local    deliver        deliver        prune local    -
//	Aborted      remember,      close part,    close part,    drop local     -
//	             drop local     deliver        deliver
//	AsyncDone    cannot be      acknowledge    acknowledge    acknowledge    discard
//	AsyncFailed  cannot be      decline        decline        decline        -
//
// # What an abort by the coordinator means
//
//	before the barrier     remembered; the barrier becomes a cancel marker, no decline
//	during alignment       unblocked at once, cancel marker
//	during the sync part   cannot be: the loop is busy
//	during the async part  closed, what it stored is discarded, no ack and no decline
//	after the ack          operators are told; the coordinator discards
//	after complete(M>=N)   ignored
//
// Where to start reading: aligner.go, then snapshots.go, parts.go, notify.go;
// testdata for what they do, case by case; TestCoresTogether in scenario_test.go
// for the wiring.
package barrier
