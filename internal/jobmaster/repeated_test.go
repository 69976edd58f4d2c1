package jobmaster

import (
	"slices"
	"strings"
	"testing"

	"github.com/cutwater-io/cutwater/internal/blob"
	"github.com/cutwater-io/cutwater/internal/blob/blobtest"
)

// Between "superseded" and "the log says removed" the objects of a checkpoint are
// not yet anybody's to delete: found by package sim.
func TestS422ARepeatedAcknowledgementTakesNothingWhileTheLogStillNamesItsCheckpoint(t *testing.T) {
	allowed := -1 // entries of the log that can still be written; -1: all
	bubble(t, setup{manual: true, checkpoints: tolerant, newStore: func() blob.Store {
		return &blobtest.Faulty{Store: blob.Memory(), Fault: func(op, name string) blobtest.Fault {
			if allowed < 0 || !strings.HasPrefix(name, "log/") || !strings.HasPrefix(op, "put") {
				return blobtest.None
			}
			if allowed == 0 {
				return blobtest.Fail
			}
			allowed--
			return blobtest.None
		}}
	}}, func(w *world) {
		w.next()
		w.ack("src.0", 1)
		w.ack("src.1", 1)
		again := w.ack("sink.0", 1)
		w.happened()
		w.next()
		allowed = 1 // completed 2, and not removed 1
		w.ackAll(2)
		if got := w.happened("2 complete"); len(got) != 1 {
			t.Fatalf("checkpoint 2 did not complete: %v", got)
		}
		before := w.objects()
		w.jm.AcknowledgeCheckpoint(again)
		if after := w.objects(); !slices.Equal(before, after) || len(before) != 8 {
			t.Errorf("of %v there is left %v", before, after)
		}
		allowed = -1
	})
}
