package manifest

import (
	"fmt"
	"maps"
	"slices"

	"github.com/cutwater-io/cutwater/internal/keygroup"
)

// Restored is what one new subtask receives.
type Restored struct {
	Subtask int32
	// Range is the subtask's key groups.
	Range Range
	// Lists is its list state, ascending by name. Elements are shared between
	// subtasks and with the manifest: they must not be changed.
	Lists []ListState
	// Keyed is where its keyed state is, ascending by key group. The parts do
	// not overlap. Key groups that no part has are empty.
	Keyed []KeyedPart
}

// Empty reports whether there is nothing to restore.
func (r *Restored) Empty() bool { return len(r.Lists) == 0 && len(r.Keyed) == 0 }

// KeyedPart is a piece of keyed state: those key groups of a segment that are in
// Read. The segment may hold more; they belong to other subtasks.
type KeyedPart struct {
	Handle Handle
	Read   Range
}

// Assign deals the state of an operator out to parallelism new subtasks
// (specification 5.2 and 5.4) and returns what each gets, by subtask, and the
// max parallelism to run with.
//
// declaredMax is what the new program says. The stored one wins when explicit
// is false, because declaredMax is then only derived from the parallelism. An
// explicit different one is an error, and so is a parallelism above the stored
// max: keys cannot move between key groups.
func Assign(o *OperatorState, parallelism, declaredMax int, explicit bool) ([]Restored, int, error) {
	maxParallelism := int(o.MaxParallelism)
	if err := o.check(); err != nil {
		return nil, 0, fmt.Errorf("restore operator %q: %w", o.Name, err)
	}
	if explicit && declaredMax != maxParallelism {
		return nil, 0, fmt.Errorf("restore operator %q: its state has max parallelism %d and the program sets %d; it cannot change, set %d or leave it out",
			o.Name, maxParallelism, declaredMax, maxParallelism)
	}
	if parallelism < 1 || parallelism > maxParallelism {
		return nil, 0, fmt.Errorf("restore operator %q: parallelism %d is not between 1 and the max parallelism %d of its state; lower it or start without state",
			o.Name, parallelism, maxParallelism)
	}
	restored := make([]Restored, parallelism)
	for i := range restored {
		restored[i].Subtask = int32(i)
		restored[i].Range = rangeOf(i, parallelism, maxParallelism)
		restored[i].Keyed = keyedParts(o, restored[i].Range)
	}
	if err := assignLists(restored, o); err != nil {
		return nil, 0, fmt.Errorf("restore operator %q: %w", o.Name, err)
	}
	return restored, maxParallelism, nil
}

func rangeOf(i, p, maxParallelism int) Range {
	first, last := keygroup.RangeOf(i, p, maxParallelism)
	return Range{First: first, Last: last}
}

// keyedParts returns the stored handles that have key groups of r, clipped to
// it. check has found them ascending and without overlap.
func keyedParts(o *OperatorState, r Range) []KeyedPart {
	var parts []KeyedPart
	for i := range o.Subtasks {
		s := &o.Subtasks[i]
		if s.Keyed == nil {
			continue
		}
		read := Range{First: max(s.Range.First, r.First), Last: min(s.Range.Last, r.Last)}
		if read.First <= read.Last {
			parts = append(parts, KeyedPart{Handle: *s.Keyed, Read: read})
		}
	}
	return parts
}

// stored is one named list state of an operator, of all old subtasks that have
// it, ascending by subtask.
type stored struct {
	mode     Mode
	subtasks []int32
	lists    [][][]byte
}

func assignLists(restored []Restored, o *OperatorState) error {
	byName := make(map[string]*stored)
	for i := range o.Subtasks {
		s := &o.Subtasks[i]
		for _, l := range s.Lists {
			st := byName[l.Name]
			if st == nil {
				st = &stored{mode: l.Mode}
				byName[l.Name] = st
			}
			if st.mode != l.Mode {
				return fmt.Errorf("list state %q has mode %s in subtask %d and %s in another", l.Name, l.Mode, s.Subtask, st.mode)
			}
			st.subtasks = append(st.subtasks, s.Subtask)
			st.lists = append(st.lists, l.Elements)
		}
	}
	same := len(restored) == int(o.Parallelism)
	next := 0 // where the next split state begins to deal
	// Sorted names: the result must not depend on the order of a map.
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		st := byName[name]
		switch {
		case st.mode == Split && same:
			for i, subtask := range st.subtasks {
				restored[subtask].add(name, Split, st.lists[i])
			}
		case st.mode == Split:
			next = dealSplit(restored, name, st, next)
		case st.mode == Union:
			all := slices.Concat(st.lists...)
			for i := range restored {
				restored[i].add(name, Union, all)
			}
		case st.mode == Broadcast:
			assignBroadcast(restored, name, st, same)
		}
	}
	return nil
}

// dealSplit gives runs of all elements to the subtasks, beginning with subtask
// start: the first ones get one more when it does not divide. It returns the
// first subtask that did not get an extra element, where the next state starts,
// so that many small states do not all end up at subtask 0.
func dealSplit(restored []Restored, name string, st *stored, start int) int {
	all := slices.Concat(st.lists...)
	n := len(restored)
	share, extra := len(all)/n, len(all)%n
	for k := range n {
		size := share
		if k < extra {
			size++
		}
		if size > 0 {
			restored[(start+k)%n].add(name, Split, all[:size:size])
		}
		all = all[size:]
	}
	return (start + extra) % n
}

// assignBroadcast gives new subtask i the list of old subtask i mod p. Old
// subtasks that had finished have no list; then the others stand in, since all
// lists are equal.
func assignBroadcast(restored []Restored, name string, st *stored, same bool) {
	for i := range restored {
		from := i % len(st.lists)
		if same {
			if own, ok := slices.BinarySearch(st.subtasks, int32(i)); ok {
				from = own
			}
		}
		restored[i].add(name, Broadcast, st.lists[from])
	}
}

func (r *Restored) add(name string, mode Mode, elements [][]byte) {
	r.Lists = append(r.Lists, ListState{Name: name, Mode: mode, Elements: elements})
}

// String returns the mode as it is spelled in messages.
func (m Mode) String() string {
	switch m {
	case Split:
		return "split"
	case Union:
		return "union"
	case Broadcast:
		return "broadcast"
	}
	return fmt.Sprintf("mode(%d)", uint8(m))
}
