package jobmaster

import (
	"context"
	"fmt"

	"github.com/cutwater-io/cutwater/internal/blob"
	"github.com/cutwater-io/cutwater/internal/ident"
	"github.com/cutwater-io/cutwater/internal/keygroup"
	"github.com/cutwater-io/cutwater/internal/manifest"
	"github.com/cutwater-io/cutwater/internal/plan"
)

// Restore is a checkpoint dealt out to the subtasks of a plan.
type Restore struct {
	Checkpoint   ident.CheckpointID
	Dropped      []string // operators of the checkpoint that the program has not
	states       map[ident.SubtaskID]map[ident.OperatorID]manifest.Restored
	coordinators map[ident.OperatorID][]byte
}

// AdoptMax returns the numbers of key groups of a checkpoint, for plan.Options.
func AdoptMax(m *manifest.Manifest) func(ident.OperatorID) int {
	return func(id ident.OperatorID) int {
		for i := range m.Operators {
			if m.Operators[i].ID == id {
				return int(m.Operators[i].MaxParallelism)
			}
		}
		return 0
	}
}

// Deal deals the state of a checkpoint out to the subtasks of a plan, or says in
// a sentence why that cannot be.
func Deal(m *manifest.Manifest, p *plan.Plan, allowNonRestored bool) (*Restore, error) {
	if m.HashName != keygroup.HashName {
		return nil, fmt.Errorf("checkpoint %d hashes keys with %q and this version with %q: its keyed state cannot be found again", m.Checkpoint, m.HashName, keygroup.HashName)
	}
	declared := make([]manifest.Declared, len(p.Graph.Nodes))
	for i := range p.Graph.Nodes {
		declared[i] = manifest.Declared{ID: p.Graph.Nodes[i].ID, Name: p.Graph.Nodes[i].Name}
	}
	matched, dropped, err := manifest.Match(m, declared, allowNonRestored)
	if err != nil {
		return nil, fmt.Errorf("restore checkpoint %d: %w", m.Checkpoint, err)
	}
	r := &Restore{
		Checkpoint: m.Checkpoint, Dropped: dropped,
		states:       map[ident.SubtaskID]map[ident.OperatorID]manifest.Restored{},
		coordinators: map[ident.OperatorID][]byte{},
	}
	for i, op := range matched {
		if op == nil {
			continue
		}
		n := &p.Graph.Nodes[i]
		v := &p.Vertices[p.VertexOf[i]]
		parts, _, err := manifest.Assign(op, v.Parallelism, p.Max[i], n.MaxParallelism > 0)
		if err != nil {
			return nil, fmt.Errorf("restore checkpoint %d: %w", m.Checkpoint, err)
		}
		if op.Coordinator != nil {
			r.coordinators[n.ID] = op.Coordinator
		}
		for s := range parts {
			if parts[s].Empty() {
				continue
			}
			id := ident.SubtaskID{Vertex: v.ID, Index: int32(s)}
			if r.states[id] == nil {
				r.states[id] = map[ident.OperatorID]manifest.Restored{}
			}
			r.states[id][n.ID] = parts[s]
		}
	}
	return r, nil
}

// Load reads a manifest and deals it out.
func Load(ctx context.Context, store blob.Store, name string, p *plan.Plan, allowNonRestored bool) (*Restore, error) {
	m, err := manifest.Read(ctx, store, name)
	if err != nil {
		return nil, err
	}
	return Deal(m, p, allowNonRestored)
}

// load makes the checkpoint id what the next attempts start from. State that the
// program does not have any more was accepted when the run began.
func (jm *JobMaster) load(id ident.CheckpointID) error {
	if id == 0 {
		jm.restore = nil
		return nil
	}
	name, ok := jm.complete[id]
	if !ok {
		return fmt.Errorf("checkpoint %d is not in the log", id)
	}
	r, err := Load(jm.ctx, jm.cfg.Store, name, jm.cfg.Plan, true)
	if err != nil {
		return err
	}
	jm.restore = r
	return nil
}
