package joblog

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/cutwater-io/cutwater/internal/blob"
	"github.com/cutwater-io/cutwater/internal/ident"
)

const prefix = "log/"

func nameOf(slot uint64) string { return fmt.Sprintf("%s%016d", prefix, slot) }

// Recovered is what the log says about the job, before the claim that read it.
type Recovered struct {
	Job     ident.JobID
	JobName string
	// Token is ours from now on; after [Read], that of the newest leader.
	Token ident.FencingToken
	// NextID is greater than every id that was ever reserved. Ids from it on
	// must be reserved too before use.
	NextID ident.CheckpointID
	// Completed are the checkpoints to restore from, ascending by id: the
	// last is the latest, whatever its kind. Empty means a fresh start.
	Completed []Completed
	// Former are checkpoints of runs before the last fresh start. They are
	// only kept for the user, or wait for their deletion.
	Former []Completed
	// LastStop is how the last run ended.
	LastStop Status
	// Finished says that a fresh start is due because the job FINISHED, and
	// not because it is new.
	Finished bool
}

// Latest returns the checkpoint to restore from; ok is false for a fresh start.
func (r *Recovered) Latest() (c Completed, ok bool) {
	if len(r.Completed) == 0 {
		return Completed{}, false
	}
	return r.Completed[len(r.Completed)-1], true
}

func (s *state) recovered() Recovered {
	c := s.clone()
	return Recovered{Job: c.job, JobName: c.jobName, Token: c.token, NextID: c.nextID,
		Completed: c.completed, Former: c.former, LastStop: c.lastStop, Finished: c.finished}
}

// ErrNoLog: there is no job in this store.
var ErrNoLog = errors.New("no job log")

// Open reads the log of the job named jobName in s, or begins one, and claims
// leadership: every other [Log] of it is deposed. random draws numbers that no
// other process draws.
//
// A log that cannot be read completely is an error. It is never continued from
// something older (S134): that would repeat what sinks have committed.
func Open(ctx context.Context, s blob.Store, jobName string, random func() uint64) (*Log, Recovered, error) {
	l := &Log{store: s, writer: unique(random), every: snapshotEvery}
	for range claimAttempts {
		err := l.read(ctx)
		if errors.Is(err, ErrNoLog) {
			err = l.create(ctx, jobName, unique(random))
			if err == nil || errors.Is(err, blob.ErrExists) {
				continue
			}
		}
		if err != nil {
			return nil, Recovered{}, fmt.Errorf("open the log of job %q: %w", jobName, err)
		}
		if l.state.jobName != jobName {
			return nil, Recovered{}, fmt.Errorf("open the log of job %q: this state directory belongs to job %q, use another directory for each job", jobName, l.state.jobName)
		}
		r := l.state.recovered()
		l.token = l.state.token + 1
		r.Token = l.token
		err = l.append(ctx, func(*state) Entry { return Claim{Token: l.token} })
		if errors.Is(err, ErrDeposed) {
			// Somebody wrote in between. Claim above them: who may lead is
			// decided before Open is called.
			l.failed, l.maybe = nil, nil
			continue
		}
		if err != nil {
			return nil, Recovered{}, fmt.Errorf("open the log of job %q: claim it: %w", jobName, err)
		}
		return l, r, nil
	}
	return nil, Recovered{}, fmt.Errorf("open the log of job %q: lost the next slot %d times to other processes, stop all but one", jobName, claimAttempts)
}

// claimAttempts bounds the race with a leader that goes on appending. Between
// two of its checkpoints there is time for hundreds of claims.
const claimAttempts = 100

// Read returns what the log in s says, without a claim: for tools that look at
// a job that may be running. The error is [ErrNoLog] if there is none.
func Read(ctx context.Context, s blob.Store) (Recovered, error) {
	l := &Log{store: s}
	if err := l.read(ctx); err != nil {
		return Recovered{}, fmt.Errorf("read the job log: %w", err)
	}
	return l.state.recovered(), nil
}

func unique(random func() uint64) (id [16]byte) {
	binary.LittleEndian.PutUint64(id[:8], random())
	binary.LittleEndian.PutUint64(id[8:], random())
	return id
}

// create begins the log. blob.ErrExists says that somebody else did.
func (l *Log) create(ctx context.Context, jobName string, job [16]byte) error {
	r := record{slot: 1, writer: l.writer, entry: Created{Job: job, JobName: jobName}}
	err := l.store.PutIfAbsent(ctx, nameOf(1), r.encode())
	if errors.Is(err, blob.ErrUnknown) {
		// Once more with the same content: either attempt may be the one that
		// is there, and reading the log shows it.
		err = l.store.PutIfAbsent(ctx, nameOf(1), r.encode())
	}
	return err
}

// readAttempts bounds how often a log that changes while it is read is read
// again. Each repetition needs a leader that compacts meanwhile.
const readAttempts = 5

// read brings l.state, l.next and l.last up to the end of the log.
func (l *Log) read(ctx context.Context) error {
	var err error
	for range readAttempts {
		if err = ctx.Err(); err != nil {
			return err
		}
		var again bool
		if again, err = l.readOnce(ctx); !again {
			return err
		}
	}
	return err
}

// readOnce reads the log. again says that the error may come from a compaction
// between listing and reading.
//
// The log is the unbroken run of numbers that ends with the greatest. Below it
// there may be rest: entries before a snapshot that are half deleted, or what a
// deposed leader put into a slot that was free again (see compact.go). Within
// the run, everything before the newest snapshot is superseded.
func (l *Log) readOnce(ctx context.Context) (again bool, err error) {
	slots, err := l.list(ctx)
	if err != nil {
		return false, err
	}
	if len(slots) == 0 {
		return false, ErrNoLog
	}
	var tail []*record // newest first, down to a snapshot or the beginning
	var newest []byte
	for i := len(slots) - 1; i >= 0; i-- {
		slot := slots[i]
		if i < len(slots)-1 && slot != slots[i+1]-1 {
			return true, missing(slots[i+1] - 1)
		}
		b, err := l.store.Get(ctx, nameOf(slot))
		if err != nil {
			return errors.Is(err, blob.ErrNotFound), err
		}
		r, err := decode(slot, b)
		if err != nil {
			return false, err
		}
		if newest == nil {
			newest = b
		}
		tail = append(tail, r)
		if k := r.entry.kind(); k == kindSnapshot || k == kindCreated {
			break
		}
		if i == 0 {
			return true, missing(slot - 1)
		}
	}
	st, err := replay(tail)
	if err != nil {
		return false, err
	}
	l.state, l.last = st, newest
	l.next = slots[len(slots)-1] + 1
	l.base = tail[len(tail)-1].slot
	l.stale = stale(slots, l.base)
	return false, nil
}

func missing(slot uint64) error {
	return fmt.Errorf("job log entry %s is missing: restore the directory from a backup, or start with a new one: %w", nameOf(slot), blob.ErrCorrupt)
}

// replay applies records, newest first.
func replay(tail []*record) (state, error) {
	var st state
	for i := len(tail) - 1; i >= 0; i-- {
		r := tail[i]
		if s, ok := r.entry.(snapshot); ok && i == len(tail)-1 {
			st = s.state.clone()
			continue
		}
		if err := st.check(r.entry, r.token); err != nil {
			return state{}, fmt.Errorf("job log entry %s (%s): %w: %w", nameOf(r.slot), r.entry, err, blob.ErrCorrupt)
		}
		st.apply(r.entry)
	}
	return st, nil
}

// list returns the numbers of all entries, ascending. Names of other forms are
// not ours and are ignored.
func (l *Log) list(ctx context.Context) ([]uint64, error) {
	names, err := l.store.List(ctx, prefix)
	if err != nil {
		return nil, err
	}
	var slots []uint64
	for _, name := range names {
		slot, err := strconv.ParseUint(strings.TrimPrefix(name, prefix), 10, 63)
		if err == nil && slot > 0 && nameOf(slot) == name {
			slots = append(slots, slot)
		}
	}
	// Names have a fixed width, so their order is that of the numbers (S135)
	// up to 10^16; that many entries are never written.
	return slots, nil
}
