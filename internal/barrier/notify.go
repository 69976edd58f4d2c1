package barrier

import "github.com/cutwater-io/cutwater/internal/ident"

// complete passes a completion on to the operators once, in ascending order.
// Notifications may be lost, repeated and reordered on their way.
func (s *Snapshots) complete(dst []TaskAction, e Complete) []TaskAction {
	if s.life == gone {
		return dst
	}
	if !s.takesPart() {
		return append(dst, PruneLocal{e.Checkpoint}) // S233: operators are not called
	}
	fresh := e.Checkpoint > s.delivered
	dst = s.deliverComplete(dst, e.Checkpoint)
	if e.Subsumed > s.subsumed && e.Subsumed < s.delivered {
		s.subsumed = e.Subsumed
		dst = append(dst, DeliverSubsumed{e.Subsumed})
	}
	if fresh {
		dst = s.maybeFinish(dst)
	}
	return dst
}

func (s *Snapshots) deliverComplete(dst []TaskAction, id ident.CheckpointID) []TaskAction {
	if id <= s.delivered {
		return dst
	}
	s.delivered = id
	return append(dst, DeliverComplete{id}, PruneLocal{id})
}

// abortedByCoordinator: see the table in doc.go for what it means when.
func (s *Snapshots) abortedByCoordinator(dst []TaskAction, e Aborted) []TaskAction {
	id := e.Checkpoint
	if s.life == gone {
		return dst
	}
	if !s.takesPart() {
		if s.life == starting && id > s.last {
			s.aborted.add(id)
		}
		return append(dst, DropLocal{id})
	}
	if e.Latest > s.delivered { // a completion was lost (S232)
		dst = s.maybeFinish(s.deliverComplete(dst, e.Latest))
	}
	if id == s.stop && id > s.delivered {
		return append(dst, FailTask{id, FaultStopAborted})
	}
	dst = s.closePart(dst, id)
	if id > s.last {
		s.aborted.add(id)
	}
	if id <= s.delivered {
		return dst // it completed, or a newer one did: nothing of it is undone
	}
	return append(dst, DeliverAborted{id}, DropLocal{id})
}

// endOfData: what the operators emitted when they finished is safe when a
// checkpoint taken after that has completed.
func (s *Snapshots) endOfData(dst []TaskAction) []TaskAction {
	s.leave(live, finishing, "EndOfData")
	return s.maybeFinish(dst)
}

// maybeFinish: the final checkpoint is the first snapshot after the end of data;
// any completed one from it on will do, because it covers the end as well. A
// synchronous savepoint must itself complete: the job is to stop with exactly it.
//
// REQUIRES: called when the data ends or a completion was delivered. A completion
// delivered before the final snapshot was taken does not count, whatever its id.
func (s *Snapshots) maybeFinish(dst []TaskAction) []TaskAction {
	if s.finished || !s.takesPart() {
		return dst
	}
	safe := false
	switch {
	case s.stop != 0:
		safe = s.delivered == s.stop
	case s.life == finishing:
		safe = !s.cfg.WaitForFinal || s.final != 0 && s.delivered >= s.final
	}
	if !safe {
		return dst
	}
	s.finished = true
	return append(dst, Finish{})
}
