package jobmaster

import (
	"errors"
	"slices"

	"github.com/cutwater-io/cutwater/internal/checkpoint"
	"github.com/cutwater-io/cutwater/internal/ident"
)

// errAbandoned answers a snapshot that waited until its checkpoint was aborted.
var errAbandoned = errors.New("the checkpoint was aborted before the enumerators were snapshotted")

// snapshotCoordinators takes the state of all enumerators and closes their gateways.
//
// With more than one checkpoint under way it waits until no gateway keeps an event
// for an older one. Such an event was decided on, and so is missing in the
// enumerator's state, but its reader would get it behind the barrier of this
// checkpoint: a split would be in neither half. The simulation found it (package
// sim, "overlapping checkpoints at one gateway").
func (jm *JobMaster) snapshotCoordinators(id ident.CheckpointID) {
	if slices.ContainsFunc(jm.gateways, (*gateway).keeps) {
		jm.postponed = id
		return
	}
	jm.postponed = 0
	states := map[ident.OperatorID][]byte{}
	var err error
	for _, g := range jm.gateways {
		state, e := g.snapshot(id)
		if e != nil {
			err = errors.Join(err, e)
			continue
		}
		states[g.id] = state
	}
	jm.hold(id).coordinators = states
	jm.step(checkpoint.CoordinatorsSnapshotted{At: jm.now(), ID: id, Err: err})
}

// maybeSnapshot goes on with a snapshot that waited for a gateway, which may be open
// now.
func (jm *JobMaster) maybeSnapshot() {
	if id := jm.postponed; id != 0 {
		jm.snapshotCoordinators(id)
	}
}

// abandonSnapshot answers for a checkpoint that was aborted while its snapshot
// waited. To take it now would close gates that nobody opens.
func (jm *JobMaster) abandonSnapshot(id ident.CheckpointID) {
	if jm.postponed == id {
		jm.postponed = 0
		jm.step(checkpoint.CoordinatorsSnapshotted{At: jm.now(), ID: id, Err: errAbandoned})
	}
}
