package jobmaster

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cutwater-io/cutwater/internal/barrier"
	"github.com/cutwater-io/cutwater/internal/blob"
	"github.com/cutwater-io/cutwater/internal/blob/blobtest"
	"github.com/cutwater-io/cutwater/internal/ident"
	"github.com/cutwater-io/cutwater/internal/rpc"
)

func TestS038AnAcknowledgementOfAnotherJobIsLoggedAndTouchesNothing(t *testing.T) {
	bubble(t, setup{manual: true, checkpoints: tolerant}, func(w *world) {
		w.next()
		w.ack("src.0", 1)
		w.ack("src.1", 1)
		w.happened()
		foreign := rpc.AcknowledgeCheckpoint{Token: w.jm.token, Job: ident.JobID{9}, Attempt: w.attempt("sink.0"), Checkpoint: 1}
		w.jm.AcknowledgeCheckpoint(foreign)
		w.jm.DeclineCheckpoint(rpc.DeclineCheckpoint{Token: w.jm.token, Job: ident.JobID{9}, Attempt: w.attempt("sink.0"), Checkpoint: 1})
		stale := foreign
		stale.Job, stale.Token = w.job, w.jm.token-1 // nor of a JobMaster of the past
		w.jm.AcknowledgeCheckpoint(stale)
		w.want(w.happened())
		if !w.warned("another job") {
			t.Error("nothing was logged")
		}
		w.ack("sink.0", 1)
		w.want(w.happened("1 complete", "failed"), "checkpoint 1 complete")
	})
}

func TestAnAbortedCheckpointsObjectsAreDeletedAndTheNextOneIsWhole(t *testing.T) {
	bubble(t, setup{manual: true, checkpoints: tolerant, restarts: 1}, func(w *world) {
		w.next()
		w.ack("src.0", 1)
		w.ack("src.1", 1)
		w.jm.DeclineCheckpoint(rpc.DeclineCheckpoint{
			Token: w.jm.token, Job: w.job, Attempt: w.attempt("sink.0"), Checkpoint: 1, Reason: barrier.ReasonAsyncException, Cause: "disk full",
		})
		w.want(w.happened("failed"), "checkpoint 1 failed: CHECKPOINT_ASYNC_EXCEPTION: disk full")
		w.ack("sink.0", 1) // late
		w.want(w.objects())
		w.complete(2)
		if n := len(w.objects()); n != 4 {
			t.Errorf("%v is stored, want three states and a manifest", w.objects())
		}
		w.fail("src.0", errBroken)
		time.Sleep(time.Second)
		w.want(w.happened("deploy", "ended"), "deploy src.0 from 2", "deploy src.1 from 2", "deploy sink.0 from 2")
	})
}

func TestS422ARepeatedAcknowledgementNeverTakesAnObjectFromACompletedCheckpoint(t *testing.T) {
	bubble(t, setup{manual: true}, func(w *world) {
		w.next()
		w.ack("src.0", 1)
		w.ack("src.1", 1)
		again := w.ack("sink.0", 1)
		before := w.objects()
		w.jm.AcknowledgeCheckpoint(again)
		if after := w.objects(); !slices.Equal(before, after) {
			t.Errorf("of %v there is left %v", before, after)
		}
	})
}

func TestS056AnObjectThatCannotBeDeletedIsLoggedAndTheAbortEnds(t *testing.T) {
	bubble(t, setup{manual: true, checkpoints: tolerant, newStore: func() blob.Store {
		return &blobtest.Faulty{Store: blob.Memory(), Fault: func(op, name string) blobtest.Fault {
			if op == "delete" && strings.HasPrefix(name, "chk/1/") {
				return blobtest.Fail
			}
			return blobtest.None
		}}
	}}, func(w *world) {
		w.next()
		w.ack("src.0", 1)
		w.jm.DeclineCheckpoint(rpc.DeclineCheckpoint{Token: w.jm.token, Job: w.job, Attempt: w.attempt("sink.0"), Checkpoint: 1})
		w.want(w.happened("failed", "aborted"), "aborted 1 latest 0 src.0", "aborted 1 latest 0 src.1", "aborted 1 latest 0 sink.0", "checkpoint 1 failed: CHECKPOINT_DECLINED")
		if !w.warned("could not be deleted") {
			t.Error("nothing was logged")
		}
		w.complete(2)
	})
}

// In one process an acknowledgement is not decoded; one whose content makes no
// sense is treated as one that cannot be.
func TestS057AnAcknowledgementThatMakesNoSenseIsLoggedAndTheCheckpointExpires(t *testing.T) {
	cfg := tolerant
	cfg.Timeout = 5 * time.Second
	bubble(t, setup{manual: true, checkpoints: cfg}, func(w *world) {
		w.next()
		w.ack("src.0", 1)
		w.ack("src.1", 1)
		w.jm.AcknowledgeCheckpoint(rpc.AcknowledgeCheckpoint{
			Token: w.jm.token, Job: w.job, Attempt: w.attempt("sink.0"), Checkpoint: 1,
			States: []rpc.OperatorState{{Operator: ident.OperatorIDOf("who")}},
		})
		w.want(w.happened("complete", "failed"))
		if !w.warned("an operator that the job does not have") {
			t.Error("nothing was logged")
		}
		time.Sleep(5 * time.Second)
		w.want(w.happened("failed"), "checkpoint 1 failed: CHECKPOINT_EXPIRED")
		w.complete(2)
	})
}

func TestS068ALostCompletionIsRepairedByTheNextMessage(t *testing.T) {
	bubble(t, setup{manual: true, checkpoints: tolerant}, func(w *world) {
		w.next()
		w.losing("complete", "src.1", func() {
			w.ackAll(1)
			w.want(w.happened("complete"), "complete 1 src.0", "complete 1 sink.0", "checkpoint 1 complete")
		})
		w.next()
		w.jm.DeclineCheckpoint(rpc.DeclineCheckpoint{Token: w.jm.token, Job: w.job, Attempt: w.attempt("sink.0"), Checkpoint: 2})
		w.want(w.happened("aborted"), "aborted 2 latest 1 src.0", "aborted 2 latest 1 src.1", "aborted 2 latest 1 sink.0")
	})
}

func TestS116S118ATaskWhoseSourcesHaveFinishedIsTriggeredItself(t *testing.T) {
	bubble(t, setup{manual: true}, func(w *world) {
		w.end("src.0", rpc.Finished, nil)
		w.next()
		w.want(w.happened("trigger "), "trigger 1 src.1")
		w.ack("src.1", 1)
		w.ack("sink.0", 1)
		w.happened()
		w.end("src.1", rpc.Finished, nil)
		w.next()
		w.want(w.happened("trigger "), "trigger 2 sink.0")
		w.ack("sink.0", 2)
		w.want(w.happened("2 complete", "complete 2"), "complete 2 sink.0", "checkpoint 2 complete")
	})
}

// Checkpoints complete, are declined, expire, and are cut off by failures of tasks,
// at random. At all times those triggered are those completed, those failed and
// those under way.
func TestS411TriggeredIsCompletedAndFailedAndUnderWay(t *testing.T) {
	for seed := range uint64(5) {
		rng := rand.New(rand.NewPCG(seed, 411))
		cfg := tolerant
		cfg.Timeout, cfg.MaxConcurrent = 12*time.Second, 2
		bubble(t, setup{manual: true, restarts: 1000, checkpoints: cfg}, func(w *world) {
			count := map[string]int{}
			for range 400 {
				time.Sleep(time.Duration(rng.Int64N(int64(2 * time.Second))))
				w.inLoop(func() {})
				w.step(rng)
				synctest.Wait()
				pending := 0
				w.inLoop(func() { pending = w.jm.coord.Pending() })
				for _, l := range w.happened("checkpoint ") {
					if f := strings.Fields(l); f[0] == "checkpoint" {
						count[strings.TrimSuffix(f[2], ":")]++
					}
				}
				if count["triggered"] != count["complete"]+count["failed"]+pending {
					t.Fatalf("seed %d: %v and %d under way", seed, count, pending)
				}
			}
			if count["complete"] < 5 || count["failed"] < 5 {
				t.Errorf("seed %d: too little happened: %v", seed, count)
			}
		})
	}
}

// step does something to the job at random.
func (w *world) step(rng *rand.Rand) {
	id, whole := checkpointID(0), false
	w.inLoop(func() {
		whole = w.jm.exec.failing == nil && len(w.alive) == 3
		for held := range w.jm.held {
			id = max(id, held)
		}
	})
	if !whole {
		return
	}
	name := everyTask[rng.IntN(3)]
	switch n := rng.IntN(40); {
	case n == 0:
		w.fail(name, errBroken)
	case id == 0:
	case n <= 4:
		w.jm.DeclineCheckpoint(rpc.DeclineCheckpoint{Token: w.jm.token, Job: w.job, Attempt: w.attempt(name), Checkpoint: id})
	default:
		w.ack(name, id)
	}
}

func TestNothingStaysWhenTheStoreFailsNowAndThen(t *testing.T) {
	for seed := range uint64(5) {
		rng := rand.New(rand.NewPCG(seed, 416))
		var draws []bool
		for range 4000 {
			draws = append(draws, rng.IntN(100) < 30)
		}
		next := &atomic.Int32{}
		failing := &atomic.Bool{}
		bubble(t, setup{restarts: 100, checkpoints: tolerant, newStore: func() blob.Store {
			return &blobtest.Faulty{Store: blob.Memory(), Fault: func(op, name string) blobtest.Fault {
				if failing.Load() && strings.Contains("commit put put-if-absent delete", op) && draws[int(next.Add(1))%len(draws)] {
					return blobtest.Fail
				}
				return blobtest.None
			}}
		}}, func(w *world) {
			failing.Store(true)
			done := 0
			for range 60 {
				time.Sleep(interval)
				done += len(w.happened("complete"))
			}
			failing.Store(false)
			time.Sleep(3 * interval)
			if done < 10 {
				t.Errorf("seed %d: %d checkpoints of 60 completed", seed, done)
			}
			latest := checkpointID(0)
			w.inLoop(func() { latest = w.jm.coord.LatestCompleted() })
			for _, name := range w.objects() {
				if !strings.HasPrefix(name, fmt.Sprintf("chk/%d", latest)) {
					t.Errorf("seed %d: object %s is left; the latest checkpoint is %d", seed, name, latest)
				}
			}
		})
	}
}
