package checkpoint

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cutwater-io/cutwater/internal/ident"
)

// plan is who takes part in a checkpoint. It is made once per change of the task
// set and never changed, so that a pending checkpoint keeps the one it began with
// (specification 3.8).
type plan struct {
	tasks []Task // ascending by subtask; a subtask occurs once
	// waited counts the tasks that must acknowledge: all that have not finished.
	waited int
	// problem is why no checkpoint can start; nil when one can.
	problem error
}

func newPlan(tasks []Task, noneAfterFinish bool) *plan {
	p := &plan{tasks: slices.Clone(tasks)}
	slices.SortFunc(p.tasks, func(a, b Task) int { return cmp.Compare(place(a.Attempt.Subtask), place(b.Attempt.Subtask)) })
	triggered, finished := 0, 0
	for i, t := range p.tasks {
		if i > 0 && p.tasks[i-1].Attempt.Subtask == t.Attempt.Subtask {
			panic(fmt.Sprintf("checkpoint: subtask %v is twice in the task set", t.Attempt.Subtask))
		}
		switch {
		case t.Finished:
			finished++
			continue
		case !t.Running && p.problem == nil:
			// All tasks that must acknowledge are looked at, not only those that
			// are triggered: a checkpoint that meets a task still being restored
			// hangs until its timeout (defect D7).
			p.problem = fmt.Errorf("task %v is not running", t.Attempt)
		}
		p.waited++
		if t.Trigger {
			triggered++
		}
	}
	switch {
	case p.problem != nil:
	case p.waited == 0:
		p.problem = fmt.Errorf("none of the job's %d tasks is left to take part", len(p.tasks))
	case finished > 0 && noneAfterFinish:
		p.problem = fmt.Errorf("%d tasks have finished and checkpoints after that are switched off", finished)
	case triggered == 0:
		p.problem = fmt.Errorf("no task of the job can be triggered")
	}
	return p
}

// place is a number for a subtask that orders by vertex, then by index.
func place(s ident.SubtaskID) uint64 { return uint64(uint32(s.Vertex))<<32 | uint64(uint32(s.Index)) }

// find returns the place of the subtask, or -1.
func (p *plan) find(s ident.SubtaskID) int {
	// By hand, because this is the inner loop of an acknowledgement.
	lo, hi, want := 0, len(p.tasks), place(s)
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if place(p.tasks[mid].Attempt.Subtask) < want {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == len(p.tasks) || p.tasks[lo].Attempt.Subtask != s {
		return -1
	}
	return lo
}

// expects returns the place of an attempt that must acknowledge, or -1 when this
// very attempt need not.
func (p *plan) expects(a ident.AttemptID) int {
	i := p.find(a.Subtask)
	if i < 0 || p.tasks[i].Attempt != a || p.tasks[i].Finished {
		return -1
	}
	return i
}

// lost returns a task of p that cannot acknowledge any more, now that next is the
// task set: its attempt was replaced, or runs no longer without having finished.
func (p *plan) lost(next *plan) (ident.AttemptID, bool) {
	j := 0
	for _, t := range p.tasks {
		if t.Finished {
			continue
		}
		for j < len(next.tasks) && place(next.tasks[j].Attempt.Subtask) < place(t.Attempt.Subtask) {
			j++
		}
		if j == len(next.tasks) || next.tasks[j].Attempt != t.Attempt {
			return t.Attempt, true
		}
		if n := next.tasks[j]; !n.Running && !n.Finished {
			return t.Attempt, true
		}
	}
	return ident.AttemptID{}, false
}

// appendTriggered appends the attempts that are told to start.
func (p *plan) appendTriggered(to []ident.AttemptID) []ident.AttemptID {
	for _, t := range p.tasks {
		if t.Trigger && !t.Finished {
			to = append(to, t.Attempt)
		}
	}
	return to
}

// appendAlive appends the attempts that are told how a checkpoint ended.
func (p *plan) appendAlive(to []ident.AttemptID) []ident.AttemptID {
	for _, t := range p.tasks {
		if !t.Finished {
			to = append(to, t.Attempt)
		}
	}
	return to
}
