package jobmaster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cutwater-io/cutwater/internal/blob"
	"github.com/cutwater-io/cutwater/internal/blob/blobtest"
	"github.com/cutwater-io/cutwater/internal/checkpoint"
	"github.com/cutwater-io/cutwater/internal/ident"
	"github.com/cutwater-io/cutwater/internal/operator"
	"github.com/cutwater-io/cutwater/internal/rpc"
)

type identAttempt = ident.AttemptID
type checkpointID = ident.CheckpointID

// tolerant survives any number of failed checkpoints.
var tolerant = checkpoint.Config{TolerableFailures: checkpoint.UnlimitedFailures}

func TestS383TheJobFailsWithTheFirstFailureBeyondItsRestarts(t *testing.T) {
	bubble(t, setup{restarts: 3}, func(w *world) {
		for i := range 3 {
			w.fail("src.0", errBroken)
			w.want(w.happened("restart "), fmt.Sprintf("restart %d in 1s", i+1))
			time.Sleep(time.Second)
			w.want(w.happened("running"), "3 tasks running")
		}
		last := errors.New("the fourth failure")
		w.fail("src.1", last)
		if err := w.ended(); !errors.Is(err, last) {
			t.Errorf("the job ended with %v", err)
		}
		w.want(w.happened("job ", "restart "), "job failed: the fourth failure")
	})
}

func TestS386TwoTasksThatFailTogetherAreOneRestart(t *testing.T) {
	bubble(t, setup{restarts: 1}, func(w *world) {
		w.fail("src.0", errBroken)
		w.fail("src.1", errors.New("another"))
		time.Sleep(time.Second)
		w.want(w.happened("restart ", "running"), "3 tasks running", "restart 1 in 1s", "3 tasks running")
	})
}

func TestS387WhatFailsDuringTheRestartDelayIsNoFurtherRestart(t *testing.T) {
	bubble(t, setup{restarts: 2}, func(w *world) {
		old := w.attempt("sink.0")
		w.fail("src.0", errBroken)
		time.Sleep(time.Second / 2)
		w.happened()
		w.jm.TaskStateChanged(rpc.TaskStateChanged{Token: w.jm.token, Attempt: old, State: rpc.Failed, Err: errBroken})
		time.Sleep(time.Second / 2)
		w.want(w.happened("restart ", "running", "deploy"), "deploy src.0 from 0", "deploy src.1 from 0", "deploy sink.0 from 0", "3 tasks running")
		// Nor is what an attempt of the past still says.
		w.jm.TaskStateChanged(rpc.TaskStateChanged{Token: w.jm.token, Attempt: old, State: rpc.Failed, Err: errBroken})
		w.want(w.happened())
	})
}

func TestS387TheDelayBeginsWhenTheLastTaskIsGone(t *testing.T) {
	bubble(t, setup{restarts: 1}, func(w *world) {
		w.losing("cancel", "sink.0", func() { // it takes its time
			w.fail("src.0", errBroken)
			synctest.Wait()
		})
		time.Sleep(time.Minute)
		w.want(w.happened("restart ", "deploy"), "deploy src.0 from 0", "deploy src.1 from 0", "deploy sink.0 from 0")
		w.end("sink.0", rpc.Canceled, nil)
		w.want(w.happened("restart "), "restart 1 in 1s")
	})
}

func TestS388AnErrorThatNoRestartCanCureEndsTheJob(t *testing.T) {
	bubble(t, setup{restarts: 5}, func(w *world) {
		w.fail("sink.0", fmt.Errorf("commit: %w", operator.ErrPermanent))
		if err := w.ended(); !errors.Is(err, operator.ErrPermanent) {
			t.Errorf("the job ended with %v", err)
		}
		w.want(w.happened("restart 1", "cancel "), "cancel src.0", "cancel src.1", "cancel sink.0")
	})
}

func TestS389S250ARestoreThatFailsCountsAsAFailure(t *testing.T) {
	for _, c := range []struct {
		name       string
		failures   int
		wantEnd    bool
		enumerator bool
	}{
		{"cured in time", 2, false, false},
		{"never cured", 3, true, false},
		{"an enumerator that cannot be made", 2, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			broken := &atomic.Int32{}
			bubble(t, setup{restarts: 3, newStore: func() blob.Store {
				return &blobtest.Faulty{Store: blob.Memory(), Fault: func(op, name string) blobtest.Fault {
					if op == "get" && strings.HasPrefix(name, "chk/") && !c.enumerator && broken.Add(-1) >= 0 {
						return blobtest.Fail
					}
					return blobtest.None
				}}
			}, enumerator: func(e *fakeEnumerator) {
				e.onStart = func() error {
					if c.enumerator && broken.Add(-1) >= 0 {
						return errBroken
					}
					return nil
				}
			}}, func(w *world) {
				w.complete(1)
				broken.Store(int32(c.failures))
				w.fail("src.0", errBroken)
				time.Sleep(time.Minute / 10)
				w.want(w.happened(" in 1s"), "restart 1 in 1s", "restart 2 in 1s", "restart 3 in 1s")
				if !c.wantEnd {
					if !w.warned("the job could not be restarted") {
						t.Error("nobody was told why")
					}
					time.Sleep(2 * interval)
					if got := w.happened(" complete"); len(got) == 0 {
						t.Error("no checkpoint completes behind the restart")
					}
					return
				}
				if err := w.ended(); err == nil || !strings.Contains(err.Error(), "restart from checkpoint 1") {
					t.Errorf("the job ended with %v", err)
				}
			})
		})
	}
}

func TestS391APendingCheckpointIsAbortedByAFailoverAndItsLateAcknowledgementsAreDiscarded(t *testing.T) {
	bubble(t, setup{manual: true, restarts: 1}, func(w *world) { // no failed checkpoint is tolerated: it must not count
		w.complete(1)
		w.next()
		w.ack("src.0", 2)
		late := w.ack("src.1", 2) // delivered; repeated below
		synctest.Wait()
		w.happened()
		w.fail("sink.0", errBroken)
		got := w.happened("failed")
		if len(got) != 1 || !strings.HasPrefix(got[0], "checkpoint 2 failed: ") {
			t.Errorf("got %q", got)
		}
		time.Sleep(time.Second)
		w.want(w.happened("deploy"), "deploy src.0 from 1", "deploy src.1 from 1", "deploy sink.0 from 1")
		if err := w.store.Put(t.Context(), late.States[0].State.Keyed.Object, []byte("again")); err != nil {
			t.Fatal(err)
		}
		w.jm.AcknowledgeCheckpoint(late)
		for _, name := range w.objects() {
			if !strings.HasPrefix(name, "chk/1") {
				t.Errorf("object %s of the aborted checkpoint is left", name)
			}
		}
		w.complete(3)
	})
}

// gatedLog answers writes of the job log when the test says so.
type gatedLog struct {
	blob.Store
	closed atomic.Bool
	openC  chan error // one value for each write; an error is its answer
}

func (s *gatedLog) PutIfAbsent(ctx context.Context, name string, data []byte) error {
	if s.closed.Load() {
		if err := <-s.openC; err != nil {
			return err
		}
	}
	return s.Store.PutIfAbsent(ctx, name, data)
}

func TestS392ACheckpointOnItsWayIntoTheLogWhenATaskFailsIsTheOneToRestoreOrNone(t *testing.T) {
	for _, published := range []bool{true, false} {
		t.Run(fmt.Sprint(published), func(t *testing.T) {
			bubble(t, setup{manual: true, restarts: 1, checkpoints: tolerant, newStore: func() blob.Store {
				return &gatedLog{Store: blob.Memory(), openC: make(chan error)}
			}}, func(w *world) {
				log := w.store.(*gatedLog)
				w.complete(1)
				w.next()
				log.closed.Store(true)
				w.ackAll(2)
				synctest.Wait()
				w.happened()
				w.fail("sink.0", errBroken)
				time.Sleep(time.Minute)
				w.want(w.happened("deploy")) // what to restore is not known yet
				log.closed.Store(false)
				want := checkpointID(2)
				if published {
					log.openC <- nil
				} else {
					log.openC <- errBroken
					want = 1
				}
				var deployed []string
				for _, task := range []string{"src.0", "src.1", "sink.0"} {
					deployed = append(deployed, fmt.Sprintf("deploy %s from %d", task, want))
				}
				w.want(w.happened("deploy"), deployed...)
				w.complete(3)
			})
		})
	}
}

func TestS393BeforeTheFirstCheckpointARestartBeginsFromNothing(t *testing.T) {
	bubble(t, setup{restarts: 1}, func(w *world) {
		w.inLoop(func() { w.enum().assign(0) })
		w.happened()
		w.fail("src.0", errBroken)
		time.Sleep(time.Second)
		w.want(w.happened("deploy", "enumerator", "starting", "restoring"), "enumerator fresh", "starting fresh",
			"deploy src.0 from 0", "deploy src.1 from 0", "deploy sink.0 from 0")
		w.complete(1)
	})
}

func TestS395AJobCanceledDuringTheRestartDelayEndsAtOnceAndKeepsItsCheckpoint(t *testing.T) {
	bubble(t, setup{restarts: 1}, func(w *world) {
		w.complete(1)
		w.fail("src.0", errBroken)
		time.Sleep(time.Second / 2)
		begin := time.Now()
		w.happened()
		w.cancel(errStopped)
		<-w.doneC
		if d := time.Since(begin); d != 0 {
			t.Errorf("the end took %v", d)
		}
		w.want(w.happened("job ", "deploy"), "job canceled: stopped by the test")
		if names := w.objects(); !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, "chk/1") }) {
			t.Errorf("the checkpoint is gone: %v", names)
		}
	})
}

func TestATaskCanceledByNobodyIsAFailure(t *testing.T) {
	bubble(t, setup{restarts: 1}, func(w *world) {
		w.end("src.0", rpc.Canceled, nil)
		w.want(w.happened("restart ", "canceled by nobody"), "the task was canceled by nobody", "restart 1 in 1s")
	})
}
