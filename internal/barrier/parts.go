package barrier

import (
	"fmt"

	"github.com/cutwater-io/cutwater/internal/ident"
)

// An asynchronous part is registered, then ends in exactly one way:
//
//	running --AsyncDone----> acknowledge
//	running --AsyncFailed--> decline
//	running --abort, close-> closed: CloseAsync, then
//	                         AsyncDone:   it was faster than the close; discard what it stored
//	                         AsyncFailed: it has cleaned up itself

// asyncDone: the loop is the referee between report and close. Both come to it
// as events, so there is no moment in which both win (D43).
func (s *Snapshots) asyncDone(dst []TaskAction, id ident.CheckpointID) []TaskAction {
	if p := s.unregister(id); !p.closed {
		dst = append(dst, Acknowledge{id})
	} else {
		dst = s.reportMetrics(append(dst, DiscardAsync{id}), id)
	}
	return s.maybeDrained(dst)
}

func (s *Snapshots) asyncFailed(dst []TaskAction, e AsyncFailed) []TaskAction {
	if p := s.unregister(e.Checkpoint); !p.closed {
		if e.Reason == ReasonNone {
			e.Reason = ReasonAsyncException
		}
		dst = append(dst, Decline{e.Checkpoint, e.Reason})
	}
	return s.maybeDrained(s.reportMetrics(dst, e.Checkpoint))
}

func (s *Snapshots) reportMetrics(dst []TaskAction, id ident.CheckpointID) []TaskAction {
	if s.life == gone {
		return dst
	}
	return append(dst, ReportMetrics{id})
}

func (s *Snapshots) unregister(id ident.CheckpointID) part {
	for i, p := range s.parts {
		if p.id == id {
			s.parts = append(s.parts[:i], s.parts[i+1:]...)
			return p
		}
	}
	panic(fmt.Sprintf("barrier: the asynchronous part of checkpoint %d reports its end, but it does not run", id))
}

// closePart closes the part of id, if it runs and is not closed already.
func (s *Snapshots) closePart(dst []TaskAction, id ident.CheckpointID) []TaskAction {
	for i := range s.parts {
		if p := &s.parts[i]; p.id == id && !p.closed {
			p.closed = true
			return append(dst, CloseAsync{id})
		}
	}
	return dst
}

// closing: what runs may end and be acknowledged; the task waits for it.
func (s *Snapshots) closing(dst []TaskAction) []TaskAction {
	if s.life != gone {
		s.life = closing
	}
	return s.maybeDrained(dst)
}

// close: cancelled or failed. Nothing is reported from here on.
func (s *Snapshots) close(dst []TaskAction) []TaskAction {
	s.life = gone
	for i := range s.parts {
		dst = s.closePart(dst, s.parts[i].id)
	}
	return s.maybeDrained(dst)
}

func (s *Snapshots) maybeDrained(dst []TaskAction) []TaskAction {
	if s.life < closing || len(s.parts) > 0 || s.taking != 0 || s.drained {
		return dst
	}
	s.drained = true
	return append(dst, Drained{})
}
