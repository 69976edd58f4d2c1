package jobmaster

import (
	"testing"
	"time"

	"github.com/cutwater-io/cutwater/internal/rpc"
)

// A task that has finished puts nothing into a checkpoint, so one that began while
// the others were finishing was newest and not whole: found by package sim.
func TestS127NoCheckpointBeginsBehindTheFinalOne(t *testing.T) {
	bubble(t, setup{manual: true}, func(w *world) {
		for _, name := range everyTask {
			w.jm.EndOfData(rpc.EndOfData{Token: w.jm.token, Attempt: w.attempt(name)})
		}
		w.want(w.happened("trigger "), "trigger 1 src.0", "trigger 1 src.1")
		w.ackAll(1)
		w.want(w.happened("finish", "1 complete"), "checkpoint 1 complete", "finish src.0", "finish src.1", "finish sink.0")
		w.end("src.0", rpc.Finished, nil)
		time.Sleep(3 * interval)
		w.want(w.happened("trigger"))
		w.end("src.1", rpc.Finished, nil)
		w.end("sink.0", rpc.Finished, nil)
		if err := w.ended(); err != nil {
			t.Error(err)
		}
	})
}
