package checkpoint

import (
	"fmt"
	"time"

	"github.com/cutwater-io/cutwater/internal/ident"
)

// phase is where a pending checkpoint is. See the table in doc.go.
type phase uint8

const (
	// triggering: the operator coordinators are being snapshotted. No task has
	// heard of the checkpoint.
	triggering phase = iota
	// inProgress: the triggers are sent, acknowledgements come in.
	inProgress
	// writing: all acknowledged, the manifest is being written. From here on
	// nothing but the outcome of the I/O decides (FINALIZING).
	writing
	// written: the manifest is there; a log entry of an older checkpoint is on
	// its way, and entries are in the order of ids.
	written
	// publishing: the log entry is on its way.
	publishing
	// resolving: the log entry may be there or not; it is read back.
	resolving
)

func (p phase) String() string {
	return [...]string{"triggering", "in-progress", "writing", "written", "publishing", "resolving"}[p]
}

// pending is a checkpoint that has an id and no outcome.
//
// Invariants: remaining is the number of expected attempts whose bit in acked is
// not set; timer is set in triggering and inProgress (timeout) and, between two
// read-backs, in resolving; remaining is 0 from writing on.
type pending struct {
	id        ident.CheckpointID
	req       request
	phase     phase
	plan      *plan
	acked     []uint64 // bit i: plan.tasks[i] acknowledged
	remaining int
	timer     TimerID // 0: none
	startedAt time.Duration
	stats     Stats
	// doomed is set when it was decided during writing that the checkpoint must
	// not be published. It is aborted with this reason when the write ends, so
	// that nothing is deleted while it is being written.
	doomed Reason
	// backoff before the next read-back.
	backoff time.Duration
}

// begin makes p, which may have been used before, the checkpoint id.
func (p *pending) begin(id ident.CheckpointID, req request, pl *plan, at At) {
	words := (len(pl.tasks) + 63) / 64
	acked := p.acked[:0]
	for range words {
		acked = append(acked, 0)
	}
	*p = pending{
		id:        id,
		req:       req,
		plan:      pl,
		acked:     acked,
		remaining: pl.waited,
		startedAt: at.Now,
		stats: Stats{
			TriggeredMillis:  at.WallMillis,
			StartDelayMillis: -1,
			AlignmentMillis:  -1,
			SyncMillis:       -1,
			AsyncMillis:      -1,
			Bytes:            -1,
		},
	}
}

// finalizing: every participant acknowledged, only I/O decides now.
func (p *pending) finalizing() bool { return p.phase >= writing }

func (p *pending) hasAcked(i int) bool { return p.acked[i/64]&(1<<(i%64)) != 0 }

// ack notes the acknowledgement of task i of the plan.
//
// REQUIRES: not hasAcked(i).
func (p *pending) ack(i int, m Metrics) {
	p.acked[i/64] |= 1 << (i % 64)
	p.remaining--
	p.stats.add(m)
}

// Stats of a checkpoint at the time all acknowledged, for its manifest and for
// history. -1 means that no task knew.
type Stats struct {
	TriggeredMillis  int64 // since 1970
	DurationMillis   int64 // from having an id to the last acknowledgement
	StartDelayMillis int64 // longest of all tasks, as are the next three
	AlignmentMillis  int64
	SyncMillis       int64
	AsyncMillis      int64
	Bytes            int64 // sum over all tasks, written for this checkpoint
}

func (s *Stats) add(m Metrics) {
	s.StartDelayMillis = max(s.StartDelayMillis, m.StartDelayMillis)
	s.AlignmentMillis = max(s.AlignmentMillis, m.AlignmentMillis)
	s.SyncMillis = max(s.SyncMillis, m.SyncMillis)
	s.AsyncMillis = max(s.AsyncMillis, m.AsyncMillis)
	if m.Bytes >= 0 {
		s.Bytes = max(s.Bytes, 0) + m.Bytes
	}
}

func (s Stats) String() string {
	return fmt.Sprintf(" triggered=%d duration=%d delay=%d alignment=%d sync=%d async=%d bytes=%d",
		s.TriggeredMillis, s.DurationMillis, s.StartDelayMillis, s.AlignmentMillis, s.SyncMillis, s.AsyncMillis, s.Bytes)
}

// expiredRing remembers the ids that expired last, so that a slow task can be
// told from one that speaks of an id nobody knows.
type expiredRing struct {
	ids  [rememberedExpired]ident.CheckpointID
	next int
}

func (r *expiredRing) add(id ident.CheckpointID) {
	r.ids[r.next] = id
	r.next = (r.next + 1) % len(r.ids)
}

func (r *expiredRing) has(id ident.CheckpointID) bool {
	for _, e := range r.ids {
		if e == id && id != 0 {
			return true
		}
	}
	return false
}
