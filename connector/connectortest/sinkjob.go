package connectortest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cutwater-io/cutwater/connector"
)

// SinkJob drives a sink without the engine: writers and committers in the
// goroutine of the test, and a coordinator that keeps completed checkpoints in
// a store that never fails. Value i goes to the writer i modulo parallelism.
type SinkJob[T any] struct {
	Env         connector.Env
	Sink        connector.Sink[T]
	Value       func(i int) T
	Parallelism int

	// Next is the index of the next value to write.
	Next int
	// Stored is the last completed checkpoint.
	Stored SinkState
	// Step, if set, is called before and after each call to the sink; an error
	// ends what the job is doing.
	Step func(what string) error

	writers    []connector.Writer[T]
	committers []connector.Committer // none for a sink of one phase
	attempt    uint64
	last       uint64 // the last checkpoint begun; numbers never repeat
	// pending are committables that were handed over and not yet committed.
	pending []pending
}

// SinkState is a checkpoint of a [SinkJob].
type SinkState struct {
	Checkpoint uint64
	// Next is the index of the first value that is not part of it.
	Next    int
	writers [][]byte
	pending []pending
}

type pending struct {
	checkpoint uint64
	subtask    int
	cs         []connector.Committable
}

// ErrFailed is a commit that can never succeed.
var ErrFailed = errors.New("a committable can never be committed")

// commitTries is how often the job tries again what is to be tried later.
const commitTries = 4

func (j *SinkJob[T]) step(what string) error {
	if j.Step == nil {
		return nil
	}
	return j.Step(what)
}

// call makes one call to the sink between two steps.
func (j *SinkJob[T]) call(what string, f func() error) error {
	if err := j.step("before " + what); err != nil {
		return err
	}
	if err := f(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return j.step("after " + what)
}

// Start begins an attempt from the stored checkpoint: it makes writers and
// committers, commits again what the checkpoint holds, and sweeps.
func (j *SinkJob[T]) Start() error {
	j.attempt++
	j.writers, j.committers = nil, nil
	j.Next = j.Stored.Next
	j.pending = nil
	for _, p := range j.Stored.pending {
		j.pending = append(j.pending, pending{p.checkpoint, p.subtask % j.Parallelism, cloneCommittables(p.cs)})
	}
	for i := range j.Parallelism {
		if err := j.startSubtask(i); err != nil {
			return err
		}
	}
	if err := j.commitUpTo(j.Stored.Checkpoint, true); err != nil {
		return err
	}
	for i, c := range j.committers {
		err := j.call(fmt.Sprintf("sweep of subtask %d", i), func() error { return c.Sweep(nil) })
		if err != nil {
			return err
		}
	}
	return nil
}

func (j *SinkJob[T]) startSubtask(i int) error {
	ctx := WriterContext{
		World: j.Env, JobID: "job", OperatorID: "sink", Index: i, Count: j.Parallelism,
		AttemptNumber: j.attempt, From: j.Stored.Checkpoint,
	}
	var restored [][]byte
	for k, e := range j.Stored.writers {
		if k%j.Parallelism == i {
			restored = append(restored, slices.Clone(e))
		}
	}
	err := j.call(fmt.Sprintf("make writer %d", i), func() error {
		w, err := j.Sink.Writer(ctx, restored)
		j.writers = append(j.writers, w)
		return err
	})
	committing, ok := j.Sink.(connector.CommittingSink[T])
	if err != nil || !ok {
		return err
	}
	if _, ok := j.writers[i].(connector.CommittingWriter[T]); !ok {
		return fmt.Errorf("the writer %T of a committing sink is no CommittingWriter", j.writers[i])
	}
	return j.call(fmt.Sprintf("make committer %d", i), func() error {
		c, err := committing.Committer(ctx)
		j.committers = append(j.committers, c)
		return err
	})
}

// Write writes the next n values.
func (j *SinkJob[T]) Write(n int) error {
	for range n {
		v := j.Value(j.Next)
		w := j.writers[j.Next%j.Parallelism]
		if err := j.call(fmt.Sprintf("write value %d", j.Next), func() error { return w.Write(&v, int64(j.Next)) }); err != nil {
			return err
		}
		j.Next++
	}
	return nil
}

// Prepare does all that a checkpoint needs from the sink and returns the
// checkpoint, which is not yet complete.
func (j *SinkJob[T]) Prepare(endOfInput bool) (SinkState, error) {
	j.last++
	s := SinkState{Checkpoint: j.last, Next: j.Next}
	for i, w := range j.writers {
		if err := j.call(fmt.Sprintf("flush writer %d", i), func() error { return w.Flush(endOfInput) }); err != nil {
			return s, err
		}
		if len(j.committers) > 0 {
			err := j.call(fmt.Sprintf("prepare writer %d for %d", i, s.Checkpoint), func() error {
				cs, err := w.(connector.CommittingWriter[T]).Prepare(s.Checkpoint)
				if len(cs) > 0 && err == nil {
					j.pending = append(j.pending, pending{s.Checkpoint, i, cloneCommittables(cs)})
				}
				return err
			})
			if err != nil {
				return s, err
			}
		}
		err := j.call(fmt.Sprintf("snapshot %d of writer %d", s.Checkpoint, i), func() error {
			elements, err := w.Snapshot(s.Checkpoint)
			for _, e := range elements {
				s.writers = append(s.writers, slices.Clone(e))
			}
			return err
		})
		if err != nil {
			return s, err
		}
	}
	s.pending = slices.Clone(j.pending)
	return s, nil
}

// Complete stores a prepared checkpoint: from here on its records must become
// visible, whatever happens. The sink hears of it by Notify.
func (j *SinkJob[T]) Complete(s SinkState) error {
	if err := j.step("before checkpoint is stored"); err != nil {
		return err
	}
	j.Stored = s
	return j.step("after checkpoint is stored")
}

// Notify commits everything up to a completed checkpoint.
func (j *SinkJob[T]) Notify(checkpoint uint64) error { return j.commitUpTo(checkpoint, false) }

// Checkpoint is Prepare, Complete and Notify.
func (j *SinkJob[T]) Checkpoint(endOfInput bool) error {
	s, err := j.Prepare(endOfInput)
	if err != nil {
		return err
	}
	if err := j.Complete(s); err != nil {
		return err
	}
	return j.Notify(s.Checkpoint)
}

// commitUpTo commits pending committables of checkpoints up to one, oldest
// first.
func (j *SinkJob[T]) commitUpTo(checkpoint uint64, restored bool) error {
	var rest []pending
	var errs []error
	for _, p := range j.pending {
		if p.checkpoint > checkpoint {
			rest = append(rest, p)
			continue
		}
		left, err := j.commit(p, restored)
		errs = append(errs, err)
		if len(left.cs) > 0 {
			rest = append(rest, left)
		}
	}
	j.pending = rest
	return errors.Join(errs...)
}

// commit commits the committables of one subtask and checkpoint and returns
// what is left of them.
func (j *SinkJob[T]) commit(p pending, restored bool) (left pending, err error) {
	left = pending{p.checkpoint, p.subtask, p.cs}
	what := fmt.Sprintf("commit %d of subtask %d", p.checkpoint, p.subtask)
	for range commitTries {
		var outcomes []connector.Outcome
		var commitErr error
		if err := j.call(what, func() error {
			outcomes, commitErr = j.committers[p.subtask].Commit(p.checkpoint, restored, cloneCommittables(left.cs))
			if errors.Is(commitErr, ErrCrashed) {
				return commitErr
			}
			return nil
		}); err != nil {
			return left, err
		}
		if len(outcomes) != len(left.cs) {
			return left, fmt.Errorf("%s: %d outcomes for %d committables: %w", what, len(outcomes), len(left.cs), commitErr)
		}
		var later []connector.Committable
		for i, o := range outcomes {
			switch o {
			case connector.Committed:
			case connector.RetryLater:
				later = append(later, left.cs[i])
			default:
				return left, fmt.Errorf("%s: %w: %w", what, ErrFailed, commitErr)
			}
		}
		left.cs = later
		if len(later) == 0 {
			return left, nil
		}
		err = fmt.Errorf("%s: still to be tried again after %d times: %w", what, commitTries, commitErr)
	}
	return left, err
}

// Close closes writers and committers, as when the attempt ends.
func (j *SinkJob[T]) Close() error {
	var errs []error
	for _, w := range j.writers {
		if w != nil {
			errs = append(errs, w.Close())
		}
	}
	for _, c := range j.committers {
		if c != nil {
			errs = append(errs, c.Close())
		}
	}
	j.writers, j.committers = nil, nil
	return errors.Join(errs...)
}

func cloneCommittables(cs []connector.Committable) []connector.Committable {
	var c []connector.Committable
	for _, k := range cs {
		c = append(c, connector.Committable{Data: slices.Clone(k.Data)})
	}
	return c
}
