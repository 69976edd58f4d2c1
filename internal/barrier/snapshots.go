package barrier

import (
	"fmt"

	"github.com/cutwater-io/cutwater/internal/ident"
)

// TaskConfig says what kind of task a [Snapshots] decides for.
type TaskConfig struct {
	// HasInputs is whether the task has an aligner. Without one, a trigger is
	// performed directly.
	HasInputs bool
	// WaitForFinal is whether the task, when its data has ended, waits for a
	// checkpoint that covers the end: set when checkpoints are on, also after
	// parts of the job have finished.
	WaitForFinal bool
	// Restored is the checkpoint the job was restored from. Zero: a fresh start.
	Restored ident.CheckpointID
}

// life is where a task stands. Only in live and finishing it takes part in
// checkpoints; between them nothing changes but what Complete leads to.
type life uint8

const (
	starting  life = iota // restores its state
	live                  // processes records
	finishing             // its data has ended, it waits for the final checkpoint
	closing               // mailbox closed, asynchronous parts may end
	gone                  // cancelled or failed
)

func (l life) String() string {
	return [...]string{"starting", "live", "finishing", "closing", "gone"}[l]
}

// Snapshots decides what a task does about checkpoints, from the moment a
// barrier is aligned or a trigger comes, to the notification that all is done.
//
// Idea: ids only go up. last is the newest id this task has settled, by a
// snapshot or by a refusal, and nothing at or below it is performed again;
// delivered is the newest completion the operators know. Aborts that run ahead
// of their barrier are kept in a few bytes. What runs off the loop is listed in
// parts.
//
// Invariants:
//
//	each id gets at most one Snapshot, and Snapshots have ascending ids
//	each StartAsync gets exactly one of Acknowledge, Decline, CloseAsync
//	DeliverComplete has ascending ids
//	BroadcastCancel has ascending ids
//	Finish comes at most once
//
// A Snapshots belongs to the task loop. It is not safe for concurrent use.
type Snapshots struct {
	cfg       TaskConfig
	life      life
	last      ident.CheckpointID
	delivered ident.CheckpointID
	subsumed  ident.CheckpointID
	cancelled ident.CheckpointID // newest id of a BroadcastCancel
	taking    ident.CheckpointID // Snapshot given out and not answered; zero: none
	aborted   abortedIDs

	parts []part // asynchronous parts that have not reported their end

	final    ident.CheckpointID // first snapshot after the end of data; zero: none yet
	stop     ident.CheckpointID // the synchronous savepoint performed; zero: none
	finished bool               // Finish was given out
	drained  bool               // Drained was given out
}

// part is one asynchronous part. There are about as many as checkpoints may run
// at a time, so a short slice is searched.
type part struct {
	id     ident.CheckpointID
	closed bool
}

// NewSnapshots makes the core of one task that is being restored.
func NewSnapshots(cfg TaskConfig) *Snapshots {
	return &Snapshots{cfg: cfg, last: cfg.Restored, delivered: cfg.Restored, parts: make([]part, 0, 4)}
}

// Last returns the newest checkpoint this task has performed or refused.
func (s *Snapshots) Last() ident.CheckpointID { return s.last }

// Running returns the number of asynchronous parts that have not reported their
// end, closed ones included.
func (s *Snapshots) Running() int { return len(s.parts) }

// Stopping tells whether a synchronous savepoint was performed: no input is read
// any more, mail is.
func (s *Snapshots) Stopping() bool { return s.stop != 0 }

// Step takes one event and appends what the task must do to dst. It panics when
// the caller breaks the protocol: an answer to a snapshot that was not asked for,
// an end of a part that does not run, Running or EndOfData twice.
func (s *Snapshots) Step(dst []TaskAction, ev TaskEvent) []TaskAction {
	switch e := ev.(type) {
	case Running:
		s.leave(starting, live, "Running")
		return dst
	case Trigger:
		return s.trigger(dst, e)
	case Perform:
		return s.perform(dst, e)
	case Abort:
		return s.abort(dst, e)
	case SnapshotTaken:
		return s.snapshotTaken(dst, e.Checkpoint)
	case SnapshotFailed:
		return s.snapshotFailed(dst, e)
	case AsyncDone:
		return s.asyncDone(dst, e.Checkpoint)
	case AsyncFailed:
		return s.asyncFailed(dst, e)
	case Complete:
		return s.complete(dst, e)
	case Aborted:
		return s.abortedByCoordinator(dst, e)
	case EndOfData:
		return s.endOfData(dst)
	case Closing:
		return s.closing(dst)
	case Closed:
		return s.close(dst)
	}
	panic("barrier: an event of a type the snapshots core does not know")
}

func (s *Snapshots) leave(from, to life, what string) {
	if s.life == gone {
		return
	}
	if s.life != from {
		panic(fmt.Sprintf("barrier: %s came to a task that is %s, but only a task that is %s can get it", what, s.life, from))
	}
	s.life = to
}

// takesPart: barriers and notifications are served until the mailbox closes,
// not until the data ends (D45).
func (s *Snapshots) takesPart() bool { return s.life == live || s.life == finishing }

func (s *Snapshots) trigger(dst []TaskAction, e Trigger) []TaskAction {
	switch {
	case s.life == starting:
		return append(dst, Decline{e.Checkpoint, ReasonTaskNotReady})
	case s.life == closing:
		return append(dst, Decline{e.Checkpoint, ReasonTaskClosing})
	case s.life == gone:
		return dst
	case s.cfg.HasInputs:
		return append(dst, AlignTrigger{e})
	}
	return s.perform(dst, Perform{
		Checkpoint: e.Checkpoint, TimestampMillis: e.TimestampMillis, Options: e.Options,
		StartDelay: startDelay(e.TimestampMillis, e.Now),
	})
}

// perform is steps -2 to 0 of performCheckpoint; the Snapshot action is the rest.
func (s *Snapshots) perform(dst []TaskAction, p Perform) []TaskAction {
	id := p.Checkpoint
	if s.life == gone || id <= s.last {
		return dst
	}
	if s.taking != 0 {
		panic(fmt.Sprintf("barrier: checkpoint %d is to be performed while the snapshot of %d is being taken", id, s.taking))
	}
	s.last = id
	if !s.takesPart() {
		dst = s.broadcastCancel(dst, id) // downstream must not wait for us
		return append(dst, Decline{id, ReasonTaskNotReady})
	}
	if known, guessed := s.aborted.has(id); known {
		dst = s.broadcastCancel(dst, id)
		if guessed {
			dst = append(dst, Decline{id, ReasonSubsumed})
		}
		return dst
	}
	s.taking = id
	if s.life == finishing && s.final == 0 {
		s.final = id
	}
	if p.Options.has(Synchronous) {
		s.stop = id
	}
	return append(dst, Snapshot{p})
}

// abort is abortCheckpointOnBarrier: the aligner has given up an id.
func (s *Snapshots) abort(dst []TaskAction, e Abort) []TaskAction {
	if s.life == gone {
		return dst
	}
	s.last = max(s.last, e.Checkpoint)
	if e.Reason != ReasonNone {
		dst = append(dst, Decline{e.Checkpoint, e.Reason})
	}
	return s.broadcastCancel(dst, e.Checkpoint)
}

// broadcastCancel forwards a marker once for each id. An id below one that was
// forwarded needs none: whoever has seen the newer marker has given up the older
// checkpoint with it.
func (s *Snapshots) broadcastCancel(dst []TaskAction, id ident.CheckpointID) []TaskAction {
	if id <= s.cancelled {
		return dst
	}
	s.cancelled = id
	return append(dst, BroadcastCancel{id})
}

func (s *Snapshots) snapshotTaken(dst []TaskAction, id ident.CheckpointID) []TaskAction {
	s.answer(id)
	if s.life == gone {
		return s.maybeDrained(append(dst, DiscardAsync{id}))
	}
	s.parts = append(s.parts, part{id: id})
	return append(dst, StartAsync{id})
}

func (s *Snapshots) snapshotFailed(dst []TaskAction, e SnapshotFailed) []TaskAction {
	s.answer(e.Checkpoint)
	switch {
	case s.life == gone:
		return s.maybeDrained(dst)
	case e.Reason == ReasonNone:
		return append(dst, FailTask{e.Checkpoint, FaultSnapshot})
	case s.stop == e.Checkpoint:
		// The task stays stopped for a savepoint that cannot be.
		dst = append(dst, Decline{e.Checkpoint, e.Reason})
		return append(dst, FailTask{e.Checkpoint, FaultStopAborted})
	}
	dst = append(dst, Decline{e.Checkpoint, e.Reason})
	return s.broadcastCancel(dst, e.Checkpoint)
}

func (s *Snapshots) answer(id ident.CheckpointID) {
	if id == 0 || id != s.taking {
		panic(fmt.Sprintf("barrier: an answer to the snapshot of checkpoint %d, but the one being taken is %d (0: none)", id, s.taking))
	}
	s.taking = 0
}
