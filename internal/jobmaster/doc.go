// Package jobmaster runs one job: it finds what to restore, deploys the tasks,
// drives the checkpoint coordinator, owns the enumerators of the sources, and
// decides what follows when something fails.
//
//	                 ┌──────────────── JobMaster loop ────────────────┐
//	TaskManagers ───▶│ queue ─▶ execution (attempts and their states) │──▶ Deploy, Cancel
//	timers, I/O ────▶│        ─▶ checkpoint.Coordinator (pure)        │──▶ Trigger, Notify…
//	                 │        ─▶ enumerators behind their gateways    │──▶ OperatorEvent
//	                 └────────────────────────────────────────────────┘
//	                        │ manifests, log entries (own goroutines)
//	                        ▼
//	                    blob store, job log
//
// One goroutine, the loop in jobmaster.go, owns everything in the box; whatever
// happens elsewhere is posted to its queue. I/O runs beside it, one operation of
// the job log at a time, and posts its result.
//
// Start reading in jobmaster.go; shell.go executes what the coordinator decides,
// execution.go keeps the attempts, gateway.go the event gateway of specification
// 6.4, restore.go what a checkpoint means for the plan at hand.
package jobmaster
