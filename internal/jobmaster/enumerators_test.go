package jobmaster

import (
	"testing"
	"time"

	"github.com/cutwater-io/cutwater/internal/rpc"
)

// A split that is kept at the gateway for one checkpoint was in neither half of the
// next one, when two were under way: found by package sim.
func TestS343TheNextSnapshotOfTheEnumeratorsWaitsForWhatAGatewayKeeps(t *testing.T) {
	cfg := tolerant
	cfg.MaxConcurrent = 2
	bubble(t, setup{manual: true, checkpoints: cfg}, func(w *world) {
		w.next()
		w.inLoop(func() { w.enum().assign(0) })
		time.Sleep(interval)
		w.want(w.happened("trigger ", "split"), "trigger 1 src.0", "trigger 1 src.1")
		w.jm.SnapshotTaken(rpc.SnapshotTaken{Token: w.jm.token, Attempt: w.attempt("src.0"), Checkpoint: 1})
		w.want(w.happened("trigger ", "split"), "split A → src.0", "trigger 2 src.0", "trigger 2 src.1")
	})
}

func TestS344ACheckpointThatIsAbortedWhileItsSnapshotWaitsClosesNoGateway(t *testing.T) {
	cfg := tolerant
	cfg.MaxConcurrent = 2
	bubble(t, setup{manual: true, checkpoints: cfg}, func(w *world) {
		w.next()
		w.inLoop(func() { w.enum().assign(0) })
		time.Sleep(interval)
		w.want(w.happened("split"))
		w.jm.DeclineCheckpoint(rpc.DeclineCheckpoint{Token: w.jm.token, Job: w.job, Attempt: w.attempt("sink.0"), Checkpoint: 2})
		w.want(w.happened("split", "failed"), "split A → src.0", "checkpoint 2 failed: CHECKPOINT_DECLINED")
		w.inLoop(func() { w.enum().assign(1) })
		w.want(w.happened("split"), "split B → src.1")
	})
}
