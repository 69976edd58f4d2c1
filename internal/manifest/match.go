package manifest

import (
	"fmt"
	"strings"

	"github.com/cutwater-io/cutwater/internal/ident"
)

// Declared is an operator of the program that is to be restored.
type Declared struct {
	ID   ident.OperatorID
	Name string
}

// Empty reports whether there is nothing to restore.
func (o *OperatorState) Empty() bool {
	for i := range o.Subtasks {
		if !o.Subtasks[i].Empty() {
			return false
		}
	}
	return o.Coordinator == nil
}

// Match finds the state of each operator of a program by its id (specification
// 5.3). matched has one element per element of ops, nil where m has nothing
// for it: a new operator starts empty. dropped names the stored operators that
// have state and no match; that is an error unless allowNonRestored. Stored
// operators without state do not count.
//
// Callers must also compare m.HashName with the program's: under another hash
// keys are in other key groups.
func Match(m *Manifest, ops []Declared, allowNonRestored bool) (matched []*OperatorState, dropped []string, err error) {
	byID := make(map[ident.OperatorID]int, len(ops))
	for i, op := range ops {
		if first, ok := byID[op.ID]; ok {
			return nil, nil, fmt.Errorf("operators %q and %q have the same id %s: names of operators with state must be unique",
				ops[first].Name, op.Name, op.ID)
		}
		byID[op.ID] = i
	}
	matched = make([]*OperatorState, len(ops))
	for i := range m.Operators {
		o := &m.Operators[i]
		at, ok := byID[o.ID]
		switch {
		case ok && matched[at] != nil:
			return nil, nil, fmt.Errorf("checkpoint %d of job %q has the state of operator %q twice", m.Checkpoint, m.JobName, o.Name)
		case ok:
			matched[at] = o
		case !o.Empty():
			dropped = append(dropped, o.Name)
		}
	}
	if len(dropped) > 0 && !allowNonRestored {
		return nil, dropped, fmt.Errorf("checkpoint %d of job %q has state of operators that the program does not have: %s; give the operators their old names back, or allow non-restored state to drop it",
			m.Checkpoint, m.JobName, quoted(dropped))
	}
	return matched, dropped, nil
}

func quoted(names []string) string {
	var b strings.Builder
	for i, n := range names {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q", n)
	}
	return b.String()
}
