package checkpoint

import "time"

// This file is what the job, its tasks and the process do to the coordinator.

func (c *Coordinator) onRestored(e Restored) {
	if c.ids.highest != 0 || c.ids.reserving || c.plan != nil || c.jobRunning {
		panic("checkpoint: Restored must be the first event")
	}
	c.store.restore(e.Retained)
	c.ids.highest = max(e.Reserved, c.store.latest())
}

func (c *Coordinator) onJobRunning(e JobRunning) {
	if c.closing {
		return
	}
	if c.jobRunning {
		c.onJobNotRunning() // start while started is stop, then start (S024)
	}
	c.jobRunning = true
	if c.cfg.Interval == 0 || c.cfg.BlockingOutputs {
		return
	}
	after := c.cfg.MinPause + time.Duration(e.Random*float64(c.cfg.Interval-c.cfg.MinPause))
	c.periodic.plannedAt = c.at.Now + after
	c.periodic.timer = c.setTimer(after)
}

func (c *Coordinator) onJobNotRunning() {
	c.jobRunning = false
	c.stop(cause{reason: CheckpointCoordinatorSuspend})
}

// stop cancels the periodic timer and ends everything that waits: queued
// requests, the one that waits for an id, and the pending checkpoints that are not
// finalizing.
func (c *Coordinator) stop(why cause) {
	c.cancelTimer(&c.periodic.timer)
	c.failStarting(why)
	for _, req := range c.queue.list {
		c.failStart(req, why)
	}
	c.queue.list = c.queue.list[:0]
	c.abortUnfinished(why)
}

func (c *Coordinator) onTasksChanged(e TasksChanged) {
	c.plan = newPlan(e.Tasks, c.cfg.NoCheckpointsAfterFinish)
	if !c.awaitRestore {
		// Before the restore point is known, changes are those of tasks being
		// cancelled.
		c.awaitTasks = false
	}
	for i := 0; i < len(c.pending); {
		p := c.pending[i]
		lost, isLost := p.plan.lost(c.plan)
		if p.finalizing() || !isLost {
			i++
			continue
		}
		// Also when the task had acknowledged: its successor will start from an
		// older checkpoint, and must not be told of one it was not part of.
		c.abort(p, cause{reason: TaskFailure, attempt: lost, hasAttempt: true, err: errTaskLost})
	}
}

func (c *Coordinator) onFailover() {
	if c.closing {
		return
	}
	why := cause{reason: JobFailoverRegion}
	c.awaitRestore, c.awaitTasks = true, true
	c.failStarting(why)
	c.abortUnfinished(why)
}

// maybeAnswerFailover names the checkpoint to restart from once no outcome is
// open. If tasks were restarted while a log entry is on its way, that checkpoint
// could complete afterwards, and the restarted tasks would be told of the
// completion of a cut they do not continue.
func (c *Coordinator) maybeAnswerFailover() {
	if !c.awaitRestore {
		return
	}
	for _, p := range c.pending {
		if p.finalizing() && p.req.kind == Checkpoint {
			return
		}
	}
	c.awaitRestore = false
	a := c.slabs.restoreFrom.next()
	*a = RestoreFrom{ID: c.store.latest()}
	c.out = append(c.out, a)
}

func (c *Coordinator) onTimerFired(e TimerFired) {
	if e.Timer == 0 {
		return
	}
	if e.Timer == c.periodic.timer {
		c.onTick()
		return
	}
	for _, p := range c.pending {
		if p.timer != e.Timer {
			continue
		}
		p.timer = 0
		if p.phase == resolving {
			c.resolvePublish(p)
		} else {
			c.abort(p, cause{reason: CheckpointExpired})
		}
		return
	}
}

func (c *Coordinator) onShutdown(e Shutdown) {
	if c.closing {
		return
	}
	c.closing, c.status = true, e.Status
	c.jobRunning, c.awaitRestore = false, false
	why := cause{reason: CheckpointCoordinatorShutdown}
	c.stop(why)
	for i := 0; i < len(c.pending); {
		switch p := c.pending[i]; p.phase {
		case writing:
			p.doomed = why.reason
			i++
		case written:
			c.abort(p, why)
		default: // a log entry may be on its way: its outcome decides
			i++
		}
	}
}

// leave ends the coordinator at once and without a trace: no file is deleted and
// nobody is told but the callers who wait. Whether a log entry on its way arrives,
// the next leader will see.
func (c *Coordinator) leave(deposed bool) {
	why := cause{reason: CheckpointCoordinatorSuspend}
	c.cancelTimer(&c.periodic.timer)
	if c.starting.active {
		c.starting.active = false
		c.resolve(c.starting.req, 0, why)
	}
	for _, req := range c.queue.list {
		c.resolve(req, 0, why)
	}
	c.queue.list = c.queue.list[:0]
	for _, p := range c.pending {
		c.cancelTimer(&p.timer)
		c.resolve(p.req, p.id, why)
	}
	clear(c.pending)
	c.pending = c.pending[:0]
	c.jobRunning, c.awaitRestore = false, false
	c.close(deposed)
}
