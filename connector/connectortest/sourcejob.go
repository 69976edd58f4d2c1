package connectortest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cutwater-io/cutwater/connector"
)

// SourceJob drives a source without the engine: one enumerator and some
// readers, all in the goroutine of the test. What the two sides send to each
// other waits in a queue until [SourceJob.Deliver].
type SourceJob[T any] struct {
	Env     connector.Env
	Readers []*DrivenReader[T]

	source     connector.Source[T]
	enumerator connector.Enumerator
	queue      []func() error
	asyncs     []*asyncWork
	// assigned lists the splits given to each reader since the last
	// checkpoint, for AddSplitsBack.
	assigned [][]connector.Split
	// added tells which readers the enumerator knows.
	added []bool
	// checkpoint is the number of the last one.
	checkpoint uint64
}

// DrivenReader is one reader of a [SourceJob].
type DrivenReader[T any] struct {
	Context *ReaderContext
	Reader  connector.Reader[T]
	// Got holds what the reader emitted, in order.
	Got []T
	// Last is the result of the last Poll.
	Last  connector.PollResult
	polls int
}

// asyncWork is a CallAsync that waits to be run.
type asyncWork struct {
	work  func(context.Context) (any, error)
	done  func(any, error)
	every time.Duration
}

// SourceState is a checkpoint of a [SourceJob].
type SourceState struct {
	Checkpoint uint64
	Enumerator []byte
	Splits     [][]connector.Split // by subtask
}

// AllSplits returns the splits of all readers.
func (s SourceState) AllSplits() []connector.Split { return slices.Concat(s.Splits...) }

// StartSource starts a source with the given number of readers: fresh when from
// is nil, else from a checkpoint whose splits are dealt out in turn, whatever
// the number of readers was.
func StartSource[T any](env connector.Env, s connector.Source[T], readers int, from *SourceState) (*SourceJob[T], error) {
	j := &SourceJob[T]{Env: env, source: s, assigned: make([][]connector.Split, readers), added: make([]bool, readers)}
	var restored []byte
	if from != nil {
		restored, j.checkpoint = from.Enumerator, from.Checkpoint
		if restored == nil {
			restored = []byte{} // nil would mean a fresh start
		}
	}
	e, err := s.Enumerator(enumeratorContext[T]{j}, restored)
	if err != nil {
		return nil, fmt.Errorf("make the enumerator: %w", err)
	}
	j.enumerator = e
	if err := e.Start(); err != nil {
		return nil, fmt.Errorf("start the enumerator: %w", err)
	}
	dealt := make([][]connector.Split, readers)
	if from != nil {
		for i, split := range from.AllSplits() {
			dealt[i%readers] = append(dealt[i%readers], split)
		}
	}
	for i := range readers {
		r, err := j.makeReader(i, dealt[i])
		if err != nil {
			return nil, err
		}
		j.Readers = append(j.Readers, r)
	}
	for i := range readers {
		j.added[i] = true
		e.AddReader(i)
	}
	return j, nil
}

func (j *SourceJob[T]) makeReader(subtask int, splits []connector.Split) (*DrivenReader[T], error) {
	d := &DrivenReader[T]{Context: &ReaderContext{World: j.Env, Index: subtask, Count: len(j.assigned)}, Last: connector.More}
	current := func() bool { return subtask >= len(j.Readers) || j.Readers[subtask] == d }
	d.Context.Request = func() {
		j.queue = append(j.queue, func() error {
			if current() {
				j.enumerator.HandleRequest(subtask)
			}
			return nil
		})
	}
	d.Context.Event = func(event []byte) {
		j.queue = append(j.queue, func() error {
			if current() {
				j.enumerator.HandleEvent(subtask, event)
			}
			return nil
		})
	}
	r, err := j.source.Reader(d.Context)
	if err != nil {
		return nil, fmt.Errorf("make reader %d: %w", subtask, err)
	}
	d.Reader = r
	if len(splits) == 0 {
		return d, nil
	}
	return d, r.AddSplits(splits)
}

// Deliver hands over everything that one side sent to the other, and what they
// answer, until nothing is under way.
func (j *SourceJob[T]) Deliver() error {
	for len(j.queue) > 0 {
		next := j.queue[0]
		j.queue = j.queue[1:]
		if err := next(); err != nil {
			return err
		}
	}
	return nil
}

// RunAsync runs what the enumerator asked for by CallAsync, once; what is to be
// repeated stays for the next call. It returns how many there were.
func (j *SourceJob[T]) RunAsync() int {
	works := j.asyncs
	j.asyncs = nil
	for _, w := range works {
		w.done(w.work(context.Background()))
		if w.every > 0 {
			j.asyncs = append(j.asyncs, w)
		}
	}
	return len(works)
}

// Poll lets one reader emit at most limit records and returns them.
func (j *SourceJob[T]) Poll(subtask, limit int) ([]T, error) {
	d := j.Readers[subtask]
	before := len(d.Got)
	out := connector.Output[T]{
		Max: limit,
		Emit: func(v *T, _ int64) {
			d.Got = append(d.Got, *v)
		},
		StartSplit: func(string) {}, EmptySplit: func(string) {}, FinishSplit: func(string) {},
	}
	var err error
	d.Last, err = d.Reader.Poll(&out)
	d.polls++
	got := d.Got[before:]
	if err == nil && len(got) > limit {
		err = fmt.Errorf("reader %d: %d records from one Poll with Max %d", subtask, len(got), limit)
	}
	return got, err
}

// Drain polls the readers in turn, limit records each, until stop returns true
// or no reader has anything to do. It returns what they emitted.
func (j *SourceJob[T]) Drain(limit int, stop func(emitted int) bool) ([]T, error) {
	var all []T
	for idle := 0; idle < 3; {
		progress := false
		if idle > 0 {
			j.RunAsync()
		}
		for i := range j.Readers {
			if stop != nil && stop(len(all)) {
				return all, nil
			}
			got, err := j.Poll(i, limit)
			all = append(all, got...)
			if err != nil {
				return all, err
			}
			progress = progress || len(got) > 0 || j.Readers[i].Last == connector.More || len(j.queue) > 0
			if err := j.Deliver(); err != nil {
				return all, err
			}
		}
		if progress {
			idle = 0
		} else {
			idle++
		}
	}
	return all, nil
}

// Finished says whether all readers are at their end.
func (j *SourceJob[T]) Finished() bool {
	return !slices.ContainsFunc(j.Readers, func(d *DrivenReader[T]) bool { return d.Last != connector.Finished })
}

// Checkpoint takes a snapshot of both sides, as the engine does: what is under
// way is delivered first.
func (j *SourceJob[T]) Checkpoint() (SourceState, error) {
	if err := j.Deliver(); err != nil {
		return SourceState{}, err
	}
	j.checkpoint++
	state := SourceState{Checkpoint: j.checkpoint}
	var err error
	if state.Enumerator, err = j.enumerator.Snapshot(j.checkpoint); err != nil {
		return state, fmt.Errorf("enumerator: snapshot %d: %w", j.checkpoint, err)
	}
	for i, d := range j.Readers {
		splits, err := d.Reader.Snapshot(j.checkpoint)
		if err != nil {
			return state, fmt.Errorf("reader %d: snapshot %d: %w", i, j.checkpoint, err)
		}
		state.Splits = append(state.Splits, copySplits(splits))
		j.assigned[i] = nil
	}
	return state, nil
}

// Complete tells both sides that a checkpoint is complete.
func (j *SourceJob[T]) Complete(checkpoint uint64) error {
	j.enumerator.NotifyComplete(checkpoint)
	for i, d := range j.Readers {
		if err := d.Reader.NotifyComplete(checkpoint); err != nil {
			return fmt.Errorf("reader %d: complete %d: %w", i, checkpoint, err)
		}
	}
	return nil
}

// RestartReader replaces a reader that failed. restored are its splits of the
// last checkpoint; what it got since goes back to the enumerator. Got is kept
// from before only up to keep records.
func (j *SourceJob[T]) RestartReader(subtask int, restored []connector.Split, keep int) error {
	old := j.Readers[subtask]
	if err := old.Reader.Close(); err != nil {
		return fmt.Errorf("close reader %d: %w", subtask, err)
	}
	j.added[subtask] = false
	back := j.assigned[subtask]
	j.assigned[subtask] = nil
	d, err := j.makeReader(subtask, copySplits(restored))
	if err != nil {
		return err
	}
	d.Got = slices.Clone(old.Got[:keep])
	j.Readers[subtask] = d
	if len(back) > 0 {
		j.enumerator.AddSplitsBack(back, subtask)
	}
	j.added[subtask] = true
	j.enumerator.AddReader(subtask)
	return nil
}

// Close closes both sides.
func (j *SourceJob[T]) Close() error {
	for i, d := range j.Readers {
		if err := d.Reader.Close(); err != nil {
			return fmt.Errorf("close reader %d: %w", i, err)
		}
	}
	return j.enumerator.Close()
}

func copySplits(splits []connector.Split) []connector.Split {
	var c []connector.Split
	for _, s := range splits {
		c = append(c, connector.Split{ID: s.ID, Data: slices.Clone(s.Data)})
	}
	return c
}

// enumeratorContext is the enumerator's side of a SourceJob.
type enumeratorContext[T any] struct{ j *SourceJob[T] }

func (c enumeratorContext[T]) Env() connector.Env { return c.j.Env }
func (c enumeratorContext[T]) Parallelism() int   { return len(c.j.assigned) }

func (c enumeratorContext[T]) Assign(subtask int, splits ...connector.Split) {
	splits = copySplits(splits)
	if !c.j.added[subtask] {
		c.j.queue = append(c.j.queue, func() error {
			return fmt.Errorf("the enumerator assigned splits to reader %d before AddReader", subtask)
		})
		return
	}
	to := c.reader(subtask)
	c.j.assigned[subtask] = append(c.j.assigned[subtask], splits...)
	c.j.queue = append(c.j.queue, func() error {
		if to() == nil {
			return nil // went back by AddSplitsBack
		}
		return to().AddSplits(splits)
	})
}

func (c enumeratorContext[T]) NoMoreSplits(subtask int) {
	to := c.reader(subtask)
	c.j.queue = append(c.j.queue, func() error {
		if to() != nil {
			to().NoMoreSplits()
		}
		return nil
	})
}

func (c enumeratorContext[T]) Send(subtask int, event []byte) {
	to := c.reader(subtask)
	c.j.queue = append(c.j.queue, func() error {
		if to() == nil {
			return nil
		}
		return to().HandleEvent(event)
	})
}

// reader returns who is the reader of a subtask now, as long as it is the same.
func (c enumeratorContext[T]) reader(subtask int) func() connector.Reader[T] {
	var sentTo *DrivenReader[T]
	if subtask < len(c.j.Readers) {
		sentTo = c.j.Readers[subtask]
	}
	return func() connector.Reader[T] {
		d := c.j.Readers[subtask]
		if sentTo != nil && sentTo != d {
			return nil
		}
		return d.Reader
	}
}

func (c enumeratorContext[T]) CallAsync(work func(context.Context) (any, error), done func(any, error), every time.Duration) {
	c.j.asyncs = append(c.j.asyncs, &asyncWork{work, done, every})
}
