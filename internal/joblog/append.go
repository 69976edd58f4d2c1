package joblog

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/cutwater-io/cutwater/internal/blob"
	"github.com/cutwater-io/cutwater/internal/ident"
)

// ErrDeposed: there is a newer leader. Stop without notifying or deleting
// anything. Whether the entry is in the log is the new leader's to know.
var ErrDeposed = errors.New("a newer leader has claimed the job")

// Log is the log of one job, open for its leader. It is used by one goroutine
// at a time.
//
// Invariant: next is the only slot this Log ever writes to, and it moves only
// when it is known what the slot holds. So whatever is in a slot below next is
// known, and nothing of ours can appear in a slot above.
type Log struct {
	store  blob.Store
	writer [16]byte
	token  ident.FencingToken

	state state
	next  uint64 // the slot to write
	last  []byte // what is in slot next-1
	// maybe are entries whose put into slot next had an unknown outcome. At
	// most one of them is, or will be, there.
	maybe []attempt
	// failed is set once the log cannot be used any more.
	failed error

	every uint64   // snapshotEvery, less in tests
	base  uint64   // slot of the newest snapshot, or of the beginning
	stale []uint64 // entries before base that are to be deleted, ascending
}

// attempt is an entry that may be in a slot.
type attempt struct {
	bytes []byte
	entry Entry
}

// Token returns the fencing token of this leader.
func (l *Log) Token() ident.FencingToken { return l.token }

// Job returns the job's id.
func (l *Log) Job() ident.JobID { return l.state.job }

// State returns what the log says now, entries of this leader included. Entries
// of unknown outcome are not.
func (l *Log) State() Recovered { return l.state.recovered() }

// Append adds an entry and returns when it is durable. See the rules for
// callers at the package for the meaning of each error. An entry that cannot
// follow (a checkpoint whose id was not reserved, one that is not in the log
// and is removed) is refused.
func (l *Log) Append(ctx context.Context, e Entry) error {
	switch e.(type) {
	case Completed, Removed, Fresh, Stopped:
	default:
		return fmt.Errorf("append to job log: entries of type %T are not for callers", e)
	}
	if err := l.maybeCompact(ctx); err != nil {
		return fmt.Errorf("append %s to job log: %w", e, err)
	}
	err := l.append(ctx, func(*state) Entry { return e })
	if err != nil {
		return fmt.Errorf("append %s to job log: %w", e, err)
	}
	l.deleteSome(ctx)
	return nil
}

// DefaultReserve is a good number of ids for [Log.Reserve]: one entry for so
// many checkpoints, and so many ids lost at most when a leader dies.
const DefaultReserve = 16

// Reserve makes count ids usable and returns the first. After an error none of
// them may be used, and they may be lost: ids have gaps.
func (l *Log) Reserve(ctx context.Context, count uint32) (ident.CheckpointID, error) {
	if err := l.maybeCompact(ctx); err != nil {
		return 0, fmt.Errorf("reserve checkpoint ids: %w", err)
	}
	var first ident.CheckpointID
	err := l.append(ctx, func(s *state) Entry {
		first = s.nextID
		return Reserve{First: first, Count: count}
	})
	if err != nil {
		return 0, fmt.Errorf("reserve checkpoint ids: %w", err)
	}
	l.deleteSome(ctx)
	return first, nil
}

// ErrLost: a checkpoint whose outcome was unknown is not in the log and never
// will be.
var ErrLost = errors.New("the entry was not written")

// Resolve finds out about a [Completed] whose Append returned blob.ErrUnknown.
// It returns nil if checkpoint id is in the log, and [ErrLost] if it is not and
// never will be. [ErrDeposed] is as for Append. Whatever else goes wrong, the
// error is blob.ErrUnknown: nothing was settled, try again later.
func (l *Log) Resolve(ctx context.Context, id ident.CheckpointID) error {
	if len(l.maybe) > 0 || l.failed != nil {
		// A void settles all unknown entries at once; see append.
		err := l.append(ctx, func(*state) Entry { return void{} })
		if err != nil && !errors.Is(err, ErrDeposed) && !errors.Is(err, blob.ErrUnknown) {
			err = fmt.Errorf("%w: %w", blob.ErrUnknown, err)
		}
		if err != nil {
			return fmt.Errorf("resolve checkpoint %d in job log entry %s: %w", id, nameOf(l.next), err)
		}
	}
	if !l.state.has(id) {
		return fmt.Errorf("resolve checkpoint %d: %w", id, ErrLost)
	}
	return nil
}

// append puts the entry that build makes into the next slot. build is called
// again when the slot turns out to hold an earlier entry of ours, because the
// state is another one then.
//
// The trap here is an earlier entry of unknown outcome: it may be in the slot,
// or may land there later. A new entry put into the same slot settles that: one
// of the two is there for good, and reading says which. Trying the old entry
// again instead would complete a checkpoint that was given up meanwhile.
func (l *Log) append(ctx context.Context, build func(*state) Entry) error {
	for {
		if l.failed != nil {
			return l.failed
		}
		e := build(&l.state)
		if err := l.state.check(e, l.token); err != nil {
			return err
		}
		r := record{slot: l.next, token: l.token, writer: l.writer, entry: e}
		ours := attempt{bytes: r.encode(), entry: e}
		content, err := l.put(ctx, ours.bytes)
		if err == nil {
			err = l.settle(ctx, content, append(l.maybe[:len(l.maybe):len(l.maybe)], ours))
		}
		if err != nil {
			if errors.Is(err, blob.ErrUnknown) {
				l.maybe = append(l.maybe, ours)
			}
			return err
		}
		if bytes.Equal(content, ours.bytes) {
			return nil
		}
	}
}

// putAttempts bounds the immediate repetitions of a put of unknown outcome. It
// covers a lost connection; waiting is the caller's.
const putAttempts = 3

// put puts b into the next slot and returns what is there then. An error that
// is not blob.ErrUnknown says that b is not there and never will be.
func (l *Log) put(ctx context.Context, b []byte) (content []byte, err error) {
	name := nameOf(l.next)
	unknown := false
	for range putAttempts {
		err = l.store.PutIfAbsent(ctx, name, b)
		switch {
		case err == nil:
			return b, nil
		case errors.Is(err, blob.ErrExists):
			content, err = l.store.Get(ctx, name)
			if err == nil {
				return content, nil
			}
			if errors.Is(err, blob.ErrNotFound) {
				// It was there and was deleted: only newer leaders delete.
				return nil, l.fail(ErrDeposed)
			}
			unknown = true
		case errors.Is(err, blob.ErrUnknown):
			unknown = true
		case !unknown:
			return nil, err
		}
	}
	// A definite failure of a repetition says nothing about the first try.
	return nil, fmt.Errorf("%w (last attempt: %w)", blob.ErrUnknown, err)
}

// settle moves on to the next slot if content is one of ours.
func (l *Log) settle(ctx context.Context, content []byte, ours []attempt) error {
	for _, a := range ours {
		if !bytes.Equal(a.bytes, content) {
			continue
		}
		if err := l.verifyLeader(ctx); err != nil {
			return err
		}
		l.state.apply(a.entry)
		if a.entry.kind() == kindSnapshot {
			l.base = l.next
		}
		l.next++
		l.last, l.maybe = content, nil
		return nil
	}
	other, err := decode(l.next, content)
	if err != nil {
		return l.fail(err)
	}
	claiming := ours[len(ours)-1].entry.kind() == kindClaim // an older leader may still append
	if other.token <= l.token && !claiming {
		return l.fail(fmt.Errorf("job log entry %s was written by another process with token %d, ours is %d: two processes use this directory without its lock: %w",
			nameOf(l.next), other.token, l.token, blob.ErrCorrupt))
	}
	return l.fail(ErrDeposed)
}

func (l *Log) fail(err error) error {
	l.failed = err
	return err
}
