package joblog

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/cutwater-io/cutwater/internal/ident"
)

// state is what a prefix of the log says. It is a pure function of the entries.
type state struct {
	job     ident.JobID
	jobName string
	token   ident.FencingToken // of the newest claim; 0 before the first
	nextID  ident.CheckpointID // above everything reserved or completed; 1 at first
	// completed are the candidates for a restore, ascending by id; former are
	// those of runs before the last fresh start. Both without removed ones.
	completed []Completed
	former    []Completed
	// lastStop is how the newest claim's run ended; Died while it has not.
	lastStop Status
	// finished: the next run starts fresh because one has FINISHED and no
	// checkpoint was completed since.
	finished bool
}

// check returns why e cannot follow. token is that of e's writer. Append calls
// it before it writes and replay for what it reads, so an entry that is refused
// here is a broken log there.
func (s *state) check(e Entry, token ident.FencingToken) error {
	if _, first := e.(Created); first != (s.nextID == 0) {
		return fmt.Errorf("the first entry and only the first must be created")
	}
	if c, ok := e.(Claim); ok {
		if c.Token != token || c.Token <= s.token {
			return fmt.Errorf("claim of token %d by a writer with %d after token %d", c.Token, token, s.token)
		}
		return nil
	}
	if token != s.token {
		return fmt.Errorf("written with token %d under the leader with token %d", token, s.token)
	}
	if s.lastStop != Died {
		switch e.(type) {
		case Removed, void, snapshot:
		default:
			return fmt.Errorf("the run has ended with %s", s.lastStop)
		}
	}
	switch e := e.(type) {
	case Reserve:
		if e.First != s.nextID || e.Count == 0 || uint64(e.First) > math.MaxInt64 {
			return fmt.Errorf("reservation of %d ids from %d where the next is %d", e.Count, e.First, s.nextID)
		}
	case Completed:
		return s.checkCompleted(e)
	case Removed:
		if !s.has(e.Checkpoint) {
			return fmt.Errorf("checkpoint %d is not in the log", e.Checkpoint)
		}
	case Stopped:
		if e.Status == Died || e.Status > Suspended {
			return fmt.Errorf("%s is not a way to stop", e.Status)
		}
	}
	return nil
}

func (s *state) checkCompleted(e Completed) error {
	switch {
	case e.Checkpoint == 0 || uint64(e.Checkpoint) > math.MaxInt64:
		return fmt.Errorf("checkpoint id %d", e.Checkpoint)
	case e.Checkpoint >= s.nextID && e.Kind != Savepoint:
		return fmt.Errorf("checkpoint id %d was not reserved, the next is %d", e.Checkpoint, s.nextID)
	case s.has(e.Checkpoint):
		return fmt.Errorf("checkpoint %d is in the log already", e.Checkpoint)
	case e.Manifest == "":
		return errors.New("no manifest")
	case e.Kind > SyncSavepoint:
		return fmt.Errorf("unknown %s", e.Kind)
	}
	return nil
}

func (s *state) has(id ident.CheckpointID) bool {
	same := func(c Completed) bool { return c.Checkpoint == id }
	return slices.ContainsFunc(s.completed, same) || slices.ContainsFunc(s.former, same)
}

// apply adds an entry. REQUIRES: check returned nil for it.
func (s *state) apply(e Entry) {
	switch e := e.(type) {
	case Created:
		*s = state{job: e.Job, jobName: e.JobName, nextID: 1}
	case Claim:
		s.token, s.lastStop = e.Token, Died
	case Reserve:
		s.nextID = e.First + ident.CheckpointID(e.Count)
	case Completed:
		// Not always the greatest: an earlier id may complete later.
		i, _ := slices.BinarySearchFunc(s.completed, e.Checkpoint, byID)
		s.completed = slices.Insert(s.completed, i, e)
		s.nextID = max(s.nextID, e.Checkpoint+1) // S140
		s.finished = false
	case Removed:
		gone := func(c Completed) bool { return c.Checkpoint == e.Checkpoint }
		s.completed = slices.DeleteFunc(s.completed, gone)
		s.former = slices.DeleteFunc(s.former, gone)
	case Fresh:
		s.retire()
	case Stopped:
		s.lastStop = e.Status
		if e.Status == Finished {
			s.retire()
			s.finished = true
		}
	case snapshot:
		*s = e.state.clone()
	}
}

// retire makes all checkpoints former ones.
func (s *state) retire() {
	s.former = append(s.former, s.completed...)
	slices.SortFunc(s.former, func(a, b Completed) int { return byID(a, b.Checkpoint) })
	s.completed = nil
}

func byID(c Completed, id ident.CheckpointID) int {
	switch {
	case c.Checkpoint < id:
		return -1
	case c.Checkpoint > id:
		return 1
	}
	return 0
}

func (s *state) clone() state {
	c := *s
	c.completed = slices.Clone(s.completed)
	c.former = slices.Clone(s.former)
	return c
}
