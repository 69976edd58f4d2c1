package joblog

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/cutwater-io/cutwater/internal/blob"
)

// The log must not grow for ever (S419). After snapshotEvery entries the leader
// writes a snapshot: one entry that says what all entries before it say. Then
// these are deleted, ascending, a few with each append, so that no append waits
// for hundreds of deletions.
//
// Deleting is safe: a reader begins at the newest snapshot, and whatever lies
// below a snapshot that is in the log is not needed, whoever deletes it.
//
// What deletion breaks is put-if-absent: a slot becomes free again. A leader L
// that was stopped (SIGSTOP, a suspended machine) before it wrote slot 9 and
// wakes after newer leaders have filled and deleted it would win the slot, take
// its checkpoint for complete and notify; two histories. So winning a slot is
// not enough. After each put L checks two things, and is deposed if one fails:
//
//   - No greater slot is taken. If slot 9 was ever deleted there is a snapshot
//     above it, at every moment from then on.
//   - The slot before holds exactly what L knows to be there. Deletion ascends,
//     so when 9 was deleted 8 was gone before.
//
// Either check would do if stores were ideal. The first has a gap where List
// is not one moment: a directory that is read while a snapshot is replaced by
// the next. The second has one where a put may be delayed: an old repetition of
// 8 that lands late. No store has both.
//
// L's entry stays behind in slot 9, below the unbroken run that readers accept
// as the log, and the next compaction deletes it.
const snapshotEvery = 256

// deletionsPerAppend must be above 1, so that deletion keeps up.
const deletionsPerAppend = 4

// verifyLeader makes the two checks after slot next was won. Errors of the
// store leave the outcome unknown.
func (l *Log) verifyLeader(ctx context.Context) error {
	slots, err := l.list(ctx)
	if err != nil {
		return fmt.Errorf("%w: check for a newer leader: %w", blob.ErrUnknown, err)
	}
	if len(slots) > 0 && slots[len(slots)-1] > l.next {
		return l.fail(ErrDeposed)
	}
	before, err := l.store.Get(ctx, nameOf(l.next-1))
	if errors.Is(err, blob.ErrNotFound) || err == nil && !bytes.Equal(before, l.last) {
		return l.fail(ErrDeposed)
	}
	if err != nil {
		return fmt.Errorf("%w: check for a newer leader: %w", blob.ErrUnknown, err)
	}
	return nil
}

// maybeCompact writes a snapshot when one is due. A failure other than a lost
// leadership is no reason to fail the caller's entry: the next append tries
// again, and a slot left undecided is settled by whatever comes next.
func (l *Log) maybeCompact(ctx context.Context) error {
	if l.failed != nil || l.next-l.base < l.every {
		return l.failed
	}
	if err := l.append(ctx, func(s *state) Entry { return snapshot{s.clone()} }); err != nil {
		return l.failed
	}
	if slots, err := l.list(ctx); err == nil {
		l.stale = stale(slots, l.base)
	}
	return nil
}

// stale returns the slots below base.
func stale(slots []uint64, base uint64) []uint64 {
	for i, slot := range slots {
		if slot >= base {
			return slots[:i]
		}
	}
	return slots
}

// deleteSome deletes a few superseded entries. It stops at the first that
// cannot be deleted, because deletion must ascend; the next append goes on.
func (l *Log) deleteSome(ctx context.Context) {
	for range min(deletionsPerAppend, len(l.stale)) {
		if l.store.Delete(ctx, nameOf(l.stale[0])) != nil {
			return
		}
		l.stale = l.stale[1:]
	}
}
