package operator

import (
	"github.com/cutwater-io/cutwater/internal/ident"
	"github.com/cutwater-io/cutwater/internal/manifest"
	"github.com/cutwater-io/cutwater/internal/segment"
)

// Operator is one parallel instance of an operator. Embed [Base] for the parts
// that have nothing to do.
type Operator interface {
	// Open restores state from the context and starts. It is called before
	// any record, from the end of the chain to its head.
	Open() error
	// PrepareBarrier is prepareSnapshotPreBarrier: the last chance to emit
	// records that belong before the barrier. Called from head to tail.
	PrepareBarrier(id ident.CheckpointID) error
	// Snapshot is the synchronous part: it takes an immutable view of the
	// state and returns at once. Called from tail to head.
	Snapshot(id ident.CheckpointID, s *Snapshot) error
	// NotifyComplete tells that a checkpoint is complete and durable.
	NotifyComplete(id ident.CheckpointID) error
	// NotifyAborted tells that a checkpoint will never be complete.
	NotifyAborted(id ident.CheckpointID) error
	// Finish is called at the end of data when final results are wanted, from
	// head to tail. It may emit. Barriers may still follow.
	Finish() error
	// Idle is called when the task has nothing to read: what is held back
	// only to make batches must go out.
	Idle()
	// Close releases everything. It is called once, also after a failure.
	Close() error
}

// Resumer is an operator that may return from a watermark, a timer or Finish with
// a part of the work left, because there are many keys to fire and mail waits. It
// counts itself in [Task].Firing meanwhile. The task then calls Resume, of the last
// such operator in the chain, until nothing is left; it reads no input and takes
// no barrier before, but it does hear its mail.
type Resumer interface {
	// Resume does some more of the work; false: there was nothing to do.
	Resume() bool
}

// Settler is an operator that may still have something to do for a checkpoint that
// is complete: then its task does not end yet.
type Settler interface {
	// Settled reports whether nothing is left to do.
	Settled() bool
}

// Base does nothing in every method of [Operator].
type Base struct{}

func (Base) Open() error                                  { return nil }
func (Base) PrepareBarrier(ident.CheckpointID) error      { return nil }
func (Base) Snapshot(ident.CheckpointID, *Snapshot) error { return nil }
func (Base) NotifyComplete(ident.CheckpointID) error      { return nil }
func (Base) NotifyAborted(ident.CheckpointID) error       { return nil }
func (Base) Finish() error                                { return nil }
func (Base) Idle()                                        {}
func (Base) Close() error                                 { return nil }

// Snapshot collects what one operator puts into a checkpoint.
type Snapshot struct {
	Lists []manifest.ListState
	Keyed []segment.Source
}

// AddList adds operator state; elements are kept, not copied. An empty list is
// absent from the checkpoint.
func (s *Snapshot) AddList(name string, mode manifest.Mode, elements [][]byte) {
	if len(elements) > 0 {
		s.Lists = append(s.Lists, manifest.ListState{Name: name, Mode: mode, Elements: elements})
	}
}

// AddKeyed adds keyed state that is written later, beside the task.
func (s *Snapshot) AddKeyed(src segment.Source) { s.Keyed = append(s.Keyed, src) }

// Release gives up everything collected and not written.
func (s *Snapshot) Release() {
	for _, k := range s.Keyed {
		k.Release()
	}
	s.Keyed = nil
}

// Restored is what a checkpoint holds for one operator instance.
type Restored struct {
	Lists []manifest.ListState
	// Keyed are the segments that hold some of the instance's key groups. They
	// may be read until Open returns.
	Keyed []KeyedPart
}

// KeyedPart is a segment and which of its key groups to read.
type KeyedPart struct {
	Segment *segment.Reader
	Read    manifest.Range
}

// Each calls f for each stored group of every state that is named name, in the
// order of segments and groups.
func (r *Restored) Each(name string, f func(info segment.StateInfo, group uint16, data []byte, entries int) error) error {
	if r == nil {
		return nil
	}
	for _, part := range r.Keyed {
		for _, info := range part.Segment.States() {
			if info.ID.Name != name {
				continue
			}
			for _, g := range info.Groups {
				if !part.Read.Contains(g.KeyGroup) {
					continue
				}
				data, n, err := part.Segment.Group(info.ID, g.KeyGroup)
				if err != nil {
					return err
				}
				if err := f(info, g.KeyGroup, data, n); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// List returns the elements of a named list; nil when there are none. It may be
// called on nil.
func (r *Restored) List(name string) [][]byte {
	if r == nil {
		return nil
	}
	for i := range r.Lists {
		if r.Lists[i].Name == name {
			return r.Lists[i].Elements
		}
	}
	return nil
}
