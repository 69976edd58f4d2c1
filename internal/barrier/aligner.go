package barrier

import (
	"fmt"
	"time"

	"github.com/cutwater-io/cutwater/internal/ident"
)

// Config says what an aligner aligns.
type Config struct {
	// Channels holds the number of channels of each gate. Channel c of gate g is
	// addressed as g.c. A gate may be empty.
	Channels []int32
	// AfterFinish is whether checkpoints go on when a part of the job has
	// finished. If so an ended channel counts as aligned; if not, its end during
	// alignment aborts the checkpoint.
	AfterFinish bool
	// Restored is the checkpoint the job was restored from. Barriers up to it
	// are obsolete. Zero: a fresh start.
	Restored ident.CheckpointID
}

// Aligner decides when all inputs of a subtask have reached the barrier of a
// checkpoint, and which channels must wait until then. It implements exactly-once
// aligned checkpoints over all gates of the subtask together.
//
// Idea: current is the newest checkpoint ever seen. It is pending from its first
// barrier until it is performed or aborted; everything older is history. At most
// one checkpoint is pending, and a newer barrier or cancel marker ends it.
//
// Invariants:
//
//	a channel is blocked  =>  it delivered the barrier of current, which is pending
//	pending               =>  0 < aligned < target
//	each id gets at most one Perform or Abort, and their order is the order of ids
//
// An Aligner belongs to the task loop. It is not safe for concurrent use.
type Aligner struct {
	channels []channel
	base     []int32 // index of the first channel of each gate, and one past the last
	blocked  []int32 // indices of blocked channels, in the order they were blocked
	open     int     // channels that have not ended

	current ident.CheckpointID
	pending bool
	aligned int // channels counted for current
	target  int // open channels when the first barrier of current came

	first   Moment  // when current's first barrier came
	request Perform // what current's first barrier said
	aborted abortedIDs
	finish  bool // Config.AfterFinish
	closed  bool
}

// channel is what the aligner knows of one channel. The two actions about it are
// made once, so that a step does not allocate.
type channel struct {
	counted ident.CheckpointID // counted as aligned for this checkpoint
	blocked bool
	ended   bool
	block   Action
	unblock Action
}

// NewAligner makes the aligner of one subtask. A subtask without channels needs
// none, but may have one.
func NewAligner(cfg Config) *Aligner {
	a := &Aligner{current: cfg.Restored, finish: cfg.AfterFinish, base: make([]int32, 1, len(cfg.Channels)+1)}
	for g, n := range cfg.Channels {
		for c := range n {
			id := ident.ChannelID{Gate: int32(g), Channel: c}
			a.channels = append(a.channels, channel{block: Block{id}, unblock: Unblock{id}})
		}
		a.base = append(a.base, int32(len(a.channels)))
	}
	a.open = len(a.channels)
	a.blocked = make([]int32, 0, a.open)
	return a
}

// Index numbers the channels of all gates from zero on, gate by gate. It panics
// if there is no such channel.
func (a *Aligner) Index(c ident.ChannelID) int {
	if c.Gate < 0 || int(c.Gate) >= len(a.base)-1 || c.Channel < 0 || c.Channel >= a.base[c.Gate+1]-a.base[c.Gate] {
		panic(fmt.Sprintf("barrier: this subtask has no channel %s", c))
	}
	return int(a.base[c.Gate] + c.Channel)
}

// Pending returns the checkpoint that is being aligned, zero if none is.
func (a *Aligner) Pending() ident.CheckpointID {
	if !a.pending {
		return 0
	}
	return a.current
}

// Open returns the number of channels that have not ended.
func (a *Aligner) Open() int { return a.open }

// Step takes one event and appends what the task must do to dst. Blocks and
// unblocks do not allocate; a perform or an abort is one small object a checkpoint.
//
// It panics when the caller breaks the protocol: a barrier from a channel that is
// blocked or has ended, a channel that ends twice, a channel that does not exist.
func (a *Aligner) Step(dst []Action, ev Event) []Action {
	if a.closed {
		return dst
	}
	switch e := ev.(type) {
	case Barrier:
		return a.barrier(dst, &e)
	case CancelMarker:
		return a.cancel(dst, e)
	case EndOfPartition:
		return a.endOfPartition(dst, &e)
	case Trigger:
		return a.trigger(dst, &e)
	case Aborted:
		return a.abortedByCoordinator(dst, e.Checkpoint)
	case Closed:
		a.closed, a.pending = true, false
		return a.release(dst)
	}
	panic("barrier: an event of a type the aligner does not know")
}

func (a *Aligner) barrier(dst []Action, e *Barrier) []Action {
	i := a.Index(e.Channel)
	if ch := &a.channels[i]; ch.ended || ch.blocked {
		panic(fmt.Sprintf("barrier: %s came from a channel that is blocked or has ended: the gate must not read it", *e))
	}
	if e.Checkpoint < a.current || e.Checkpoint == a.current && !a.pending {
		return dst // obsolete: the channel is not blocked and stays so (S151, S152, S171)
	}
	if e.Checkpoint > a.current {
		dst = a.supersede(dst)
		if gone, guessed := a.aborted.has(e.Checkpoint); gone {
			return a.giveUp(dst, e.Checkpoint, reasonIfGuessed(guessed))
		}
		a.begin(e.Checkpoint, e.TimestampMillis, e.Options, e.Now)
	}
	a.count(i)
	if a.aligned == a.target {
		return a.perform(dst, e.Now)
	}
	ch := &a.channels[i]
	ch.blocked = true
	a.blocked = append(a.blocked, int32(i))
	return append(dst, ch.block)
}

func (a *Aligner) cancel(dst []Action, e CancelMarker) []Action {
	a.Index(e.Channel)
	if e.Checkpoint < a.current || e.Checkpoint == a.current && !a.pending {
		return dst
	}
	if e.Checkpoint > a.current {
		// The older one will not complete either: the channel that sent the
		// marker is past its barrier. Silence would leave it to its timeout (S156).
		dst = a.supersede(dst)
	}
	return a.giveUp(dst, e.Checkpoint, ReasonOnCancellationBarrier)
}

func (a *Aligner) endOfPartition(dst []Action, e *EndOfPartition) []Action {
	i := a.Index(e.Channel)
	if a.channels[i].ended {
		panic(fmt.Sprintf("barrier: %s came twice", *e))
	}
	a.channels[i].ended = true
	a.open--
	if !a.pending {
		return dst
	}
	if !a.finish {
		return a.giveUp(dst, a.current, ReasonInputEndOfStream)
	}
	a.count(i)
	if a.aligned == a.target {
		return a.perform(dst, e.Now)
	}
	return dst
}

// trigger is a barrier on every open channel at once, but no channel waits: the
// coordinator counts this task among those whose inputs have all ended, and what
// the channels still hold is their end (S165).
func (a *Aligner) trigger(dst []Action, e *Trigger) []Action {
	if e.Checkpoint < a.current || e.Checkpoint == a.current && !a.pending {
		return dst
	}
	if e.Checkpoint > a.current {
		dst = a.supersede(dst)
		if gone, guessed := a.aborted.has(e.Checkpoint); gone {
			return a.giveUp(dst, e.Checkpoint, reasonIfGuessed(guessed))
		}
		a.begin(e.Checkpoint, e.TimestampMillis, e.Options, e.Now)
	}
	return a.perform(dst, e.Now)
}

// abortedByCoordinator ends an alignment at once: blocked channels do not wait
// for barriers of a checkpoint nobody wants (D2). An id whose barrier is still to
// come is only remembered, because an older one may be aligning or on its way.
func (a *Aligner) abortedByCoordinator(dst []Action, id ident.CheckpointID) []Action {
	if id == a.current && a.pending {
		return a.giveUp(dst, id, ReasonNone)
	}
	if id > a.current {
		a.aborted.add(id)
	}
	return dst
}

func (a *Aligner) begin(id ident.CheckpointID, timestampMillis int64, o Options, now Moment) {
	a.current, a.pending, a.aligned, a.target, a.first = id, true, 0, a.open, now
	a.request = Perform{Checkpoint: id, TimestampMillis: timestampMillis, Options: o, StartDelay: startDelay(timestampMillis, now)}
}

// count is idempotent: a barrier and the end of the same channel count once (S159).
func (a *Aligner) count(i int) {
	if ch := &a.channels[i]; ch.counted != a.current {
		ch.counted = a.current
		a.aligned++
	}
}

func (a *Aligner) perform(dst []Action, now Moment) []Action {
	p := a.request
	p.Alignment = time.Duration(now.Nanos - a.first.Nanos)
	p.AlignedBytes = now.InputBytes - a.first.InputBytes
	a.pending = false
	return a.release(append(dst, p))
}

// supersede declines what is pending because a newer checkpoint has shown up.
func (a *Aligner) supersede(dst []Action) []Action {
	if !a.pending {
		return dst
	}
	return a.giveUp(dst, a.current, ReasonSubsumed)
}

// giveUp makes id history. Channels are released before anybody is told, so that
// whoever reacts finds the gates as they will be.
func (a *Aligner) giveUp(dst []Action, id ident.CheckpointID, why Reason) []Action {
	a.current, a.pending = id, false
	dst = a.release(dst)
	return append(dst, Abort{Checkpoint: id, Reason: why})
}

func (a *Aligner) release(dst []Action) []Action {
	for _, i := range a.blocked {
		ch := &a.channels[i]
		if !ch.blocked {
			panic(fmt.Sprintf("barrier: %s, which is not blocked", ch.unblock))
		}
		ch.blocked = false
		dst = append(dst, ch.unblock)
	}
	a.blocked = a.blocked[:0]
	return dst
}

func startDelay(timestampMillis int64, now Moment) time.Duration {
	return time.Duration(max(0, now.WallMillis-timestampMillis)) * time.Millisecond
}

// reasonIfGuessed: an exact abort needs no decline, the coordinator sent it. A
// guess may be wrong, and then the coordinator must hear of it.
func reasonIfGuessed(guessed bool) Reason {
	if guessed {
		return ReasonSubsumed
	}
	return ReasonNone
}
