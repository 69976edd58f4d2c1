package main

import (
	"time"

	"github.com/cutwater-io/cutwater/internal/checkpoint"
)

// chaosEvery is how often what does not depend on a message is rolled.
const chaosEvery = 5 * time.Millisecond

// chaos lets processes crash and users do what they want, at any moment.
func (w *world) chaos() {
	if w.healed {
		return
	}
	w.after(w.micros(500, int(2*chaosEvery/time.Microsecond)), w.chaos)
	jm := w.jms[len(w.jms)-1]
	if w.fault(crashTaskManager) {
		w.tms[w.rng.IntN(len(w.tms))].crash()
	}
	if w.fault(failTask) {
		if tm := w.tms[w.rng.IntN(len(w.tms))]; len(tm.order) > 0 {
			tm.order[w.rng.IntN(len(tm.order))].fail("fails")
		}
	}
	if w.fault(crashJobMaster) && jm.alive && !jm.decided {
		jm.die("crashes")
	}
	if w.fault(usurpJobMaster) && jm.alive && jm.claims && !jm.decided {
		cfg := jm.cfg
		w.newJobMaster(&cfg) // the old one lives on and does not know
	}
	if w.fault(pauseJobMaster) {
		jm.paused = w.now + w.micros(1_000, 100_000)
	}
	jm = w.jms[len(w.jms)-1]
	if !jm.alive || !jm.claims || jm.decided || len(jm.exec.tasks) == 0 {
		return
	}
	if w.fault(declineAtWill) {
		a := jm.exec.tasks[w.rng.IntN(len(jm.exec.tasks))].attempt
		id := w.log.nextID - 1
		if h := jm.coord.LatestCompleted() + 1; w.chance(0.7) {
			id = h
		}
		jm.run(func() {
			jm.step(checkpoint.Declined{At: jm.now(), ID: id, Attempt: a, Reason: checkpoint.CheckpointDeclined})
		})
	}
	if w.fault(askCheckpoint) {
		jm.run(func() { jm.request(checkpoint.Checkpoint, func(bool) {}) })
	}
	if w.fault(askSavepoint) {
		jm.run(func() { jm.request(checkpoint.Savepoint, func(bool) {}) })
	}
	if w.fault(cancelJob) {
		jm.run(func() { jm.end(checkpoint.Canceled) })
	}
}
