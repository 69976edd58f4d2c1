// Command sim is the deterministic simulation of checkpointing: whole jobs around
// the real cores, many thousand schedules a minute, each of which can be run again
// exactly.
//
//	go run ./internal/sim -seeds 2000           a range of seeds, each run twice
//	go run ./internal/sim -seed 191             the whole trace of one
//	go run ./internal/sim -seeds 2000 -bug 10   with a planted bug (faults.go)
//
// # What is simulated
//
//	            chaos: crashes, second leaders, pauses, users
//	                 |
//	+-----------+    |   +-------------------+   messages    +---------------------+
//	|  jobLog   | <--v-- |     jobMaster     | <-----------> |     taskManager     |
//	|  objects  |        | *Coordinator*     |   lost, late, |  task               |
//	+-----------+        | *Ledger*          |   repeated,   |  *Aligner*          |
//	      |              | gateways, log I/O |   reordered   |  *Snapshots*        |
//	      v              +-------------------+               |  splits, counts,    |
//	+-----------+                                            |  writer, committer  |
//	| checkCut  | <-- the manifest of each checkpoint        +---------------------+
//	+-----------+     against the positions of its sources      |  channels, FIFO
//	+-----------+                                               v
//	| external  | <------------- commits -------------------- next tasks
//	+-----------+
//
// In stars is the code of packages checkpoint and barrier as it is. Around it the
// shells (packages jobmaster, task, joblog) are written again in their shortest
// form, without bytes, goroutines and user code. So a defect of a core is found
// here; one of a shell is found when the simulation makes the same mistake, and
// what the simulation had to do to be right is what the shell must do.
//
// A seed decides everything: the graph (1 to 4 stages behind the sources, union,
// two inputs, broadcast, parallelism 1 to 4, the committer chained or not), the
// configuration of checkpoints, which kinds of faults there are and how often, and
// the order of everything. Time is virtual. There is one queue and no goroutine.
//
// # What the protocol may count on
//
// Per channel records, barriers and marks arrive in order. Between a JobMaster and
// a TaskManager deploy, cancel, finish and assignments of splits are not lost, and
// triggers are in order with them; the same holds in the other direction for the
// state of tasks, the end of data and requests for splits. Everything else is lost,
// delayed, repeated and reordered (messages.go).
//
// # What is checked
//
//   - I1: at every manifest, also of savepoints, each split is in exactly one place,
//     and each operator's state, broadcast state and prepared or committed output is
//     exactly what follows from the positions of the sources (check.go).
//   - I2: ids over all lives of the job. I3: the ledger. I4: at every notification.
//   - I5: at every deletion, publication and restore.
//   - I6: a snapshot that is not one step with its barrier fails I1 (planted).
//   - I8: the ledger, and what closed JobMasters and ended tasks still hold.
//   - I9: at every commit: it is covered by a completed checkpoint, and no record is
//     visible more often than it should; and when the job is called finished, every
//     record is visible exactly as often.
//   - The coordinator's own invariants after each step, and panics of the cores.
//   - Liveness: when all faults have ended, the job must finish, which takes a
//     checkpoint that completes.
//   - Determinism: each seed runs twice and the hashes of both traces are equal.
//   - I10: the job is failed for its checkpoints only if more failed in a row than
//     are tolerated.
//
// I7 is about waiting; a simulation in which each step is done at once cannot tell.
//
// # A violation
//
// It is printed with its seed, after faults were taken away as long as the same
// invariant breaks (shrink.go), as the last events and actions in the words of the
// scenario files of both packages.
//
// Unaligned checkpoints, stop-with-savepoint, restarts of regions and incremental
// state are not simulated, because the cores do not have them yet.
//
// Workers of runSeeds are the only goroutines; each owns the worlds it makes. Start
// reading at world.go, then jobmaster.go and task.go.
package main
