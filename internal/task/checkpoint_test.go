package task

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/internal/batch"
	"github.com/cutwater-io/cutwater/internal/ident"
	"github.com/cutwater-io/cutwater/internal/manifest"
)

var errBroken = errors.New("broken by the test")

func breaks(*probe) error { return errBroken }

func TestACheckpointGoesHeadToTailBeforeTheBarrierAndTailToHeadBehindIt(t *testing.T) {
	bubble(t, setup{}, func(w *world) {
		w.happened()
		w.barriers(1)
		w.want(w.happened(), "a.prepare 1", "b.prepare 1", "c.prepare 1", "c.snapshot 1", "b.snapshot 1", "a.snapshot 1", "taken 1", "ack 1")
		w.want(w.received(0), "barrier 1")
		w.want(w.received(1), "barrier 1")
	})
}

// Downstream must not wait for the snapshot: its own alignment begins with the
// barrier.
func TestABarrierIsSentBeforeTheFirstSnapshotIsTaken(t *testing.T) {
	bubble(t, setup{hooks: map[string]func(*probe) error{
		"c.snapshot": func(p *probe) error {
			if _, e, ok := p.w.out[0].Next(); !ok || e.Kind != batch.KindBarrier {
				p.w.t.Error("the barrier is not downstream when the snapshot is taken")
			}
			return nil
		},
	}}, func(w *world) { w.barriers(1) })
}

func TestS403TimeStandsStillUntilEveryChannelHasReportedOrIsIdle(t *testing.T) {
	bubble(t, setup{}, func(w *world) {
		w.watermark(0, 10)
		w.records(0, 1)
		w.want(w.received(0), "1")
		w.watermark(1, 4)
		w.records(0, 2)
		w.want(w.received(1), "<4", "2")
		w.want(w.received(0), "<4")
		w.in[1].Send(batch.Element{Kind: batch.KindStatus, Idle: true})
		w.records(0, 3)
		w.want(w.received(0), "<10", "3")
	})
}

// After a restore time begins where the slowest of the former subtasks was (D58),
// and then again waits for every channel; that a channel was idle is forgotten.
func TestS403S404AfterARestoreTimeWaitsForEveryChannelAndIdlenessIsForgotten(t *testing.T) {
	var state manifest.Restored
	bubble(t, setup{}, func(w *world) {
		w.watermark(0, 30)
		w.in[1].Send(batch.Element{Kind: batch.KindStatus, Idle: true})
		synctest.Wait()
		w.barriers(1)
		for _, s := range w.acks[1] {
			if s.Operator == ident.OperatorIDOf("a") {
				state.Lists = s.State.Lists
			}
		}
	})
	slower := binary.LittleEndian.AppendUint64([]byte{0}, 25) // of another subtask
	for i := range state.Lists {
		if state.Lists[i].Name == watermarkState {
			state.Lists[i].Elements = append(state.Lists[i].Elements, slower)
		}
	}
	bubble(t, setup{restored: 1, states: map[ident.OperatorID]manifest.Restored{ident.OperatorIDOf("a"): state}}, func(w *world) {
		w.watermark(0, 40)
		w.records(0, 1)
		w.want(w.received(0), "1") // channel 1 counts again
		w.watermark(1, 20)
		w.records(0, 2)
		w.want(w.received(1), "2") // 20 is before what was reached already
		w.received(0)
		w.watermark(1, 35)
		w.records(0, 3)
		w.want(w.received(0), "<35", "3")
	})
}

func TestS168ABarrierNeverCutsWhatWasEmittedBeforeIt(t *testing.T) {
	// Each input record becomes 600 results: two full batches, and the third is
	// open when the barrier comes.
	bubble(t, setup{operators: []string{"a"}, hooks: map[string]func(*probe) error{
		"a.record": func(p *probe) error {
			for i := range int64(2*600 - 1) {
				p.emit(i)
			}
			return nil
		},
	}}, func(w *world) {
		w.records(0, 7)
		w.barriers(1)
		for channel := range 2 {
			got := w.received(channel)
			if len(got) != 601 || got[600] != "barrier 1" {
				t.Errorf("channel %d: %d elements, the last is %q; want 600 records and then the barrier", channel, len(got), got[len(got)-1])
			}
		}
	})
}

func TestS225RecordsEmittedWhilePreparingAreBeforeTheBarrierAndInTheSnapshotBehind(t *testing.T) {
	bubble(t, setup{hooks: map[string]func(*probe) error{
		"a.prepare": func(p *probe) error { p.emit(40); p.emit(2); return nil },
	}}, func(w *world) {
		w.barriers(1)
		w.want(w.received(0), "40", "barrier 1")
		w.want(w.received(1), "2", "barrier 1")
		for name, want := range map[string]int64{"a": 0, "b": 42, "c": 42} {
			if got := w.sum(1, name); got != want {
				t.Errorf("the snapshot of %s holds %d, want %d", name, got, want)
			}
		}
	})
}

func TestS226AFailedSynchronousPartGivesBackWhatWasCapturedAndFailsTheTask(t *testing.T) {
	bubble(t, setup{stateBytes: 100, hooks: map[string]func(*probe) error{"b.snapshot": breaks}}, func(w *world) {
		w.happened()
		w.barriers(1)
		w.failed("checkpoint 1", "broken by the test")
		w.want(w.happened("snapshot", "taken", "ack", "decline"), "c.snapshot 1", "b.snapshot 1")
		w.want(w.received(0), "barrier 1") // downstream must not be told otherwise: the JobMaster does
		if len(w.captures) != 2 {
			t.Fatalf("%d snapshots were captured, want those of c and b", len(w.captures))
		}
	})
}

func TestS226APanicInTheSynchronousPartGivesBackWhatWasCapturedToo(t *testing.T) {
	bubble(t, setup{stateBytes: 100, hooks: map[string]func(*probe) error{
		"a.snapshot": func(*probe) error { panic("user code") },
	}}, func(w *world) {
		w.barriers(1)
		w.failed("user code")
		if len(w.captures) != 3 {
			t.Fatalf("%d snapshots were captured, want 3", len(w.captures))
		}
	})
}

func TestS227AnOperatorThatFailsBeforeTheBarrierSendsNone(t *testing.T) {
	bubble(t, setup{hooks: map[string]func(*probe) error{"b.prepare": breaks}}, func(w *world) {
		w.barriers(1)
		w.failed("checkpoint 1", "broken by the test")
		w.want(w.received(0))
		w.want(w.happened("snapshot"))
	})
}

func TestS228CompletionsReachOperatorsOnceAndInAscendingOrder(t *testing.T) {
	bubble(t, setup{operators: []string{"a"}}, func(w *world) {
		w.happened()
		for _, id := range []ident.CheckpointID{3, 8, 3, 5} {
			w.task.Complete(id, 0)
		}
		w.want(w.happened(), "a.complete 3", "a.complete 8")
	})
}

func TestS229CompletionsUpToTheRestoredCheckpointAreIgnored(t *testing.T) {
	bubble(t, setup{operators: []string{"a"}, restored: 5}, func(w *world) {
		w.happened()
		for _, id := range []ident.CheckpointID{5, 4, 6} {
			w.task.Complete(id, 0)
		}
		w.want(w.happened(), "a.complete 6")
	})
}

func TestS230AllOperatorsHearOfACompletionAlsoWhenOneFails(t *testing.T) {
	second := func(*probe) error { return errors.New("the second error") }
	bubble(t, setup{hooks: map[string]func(*probe) error{"b.complete": breaks, "a.complete": second}}, func(w *world) {
		w.happened()
		w.task.Complete(1, 0)
		w.want(w.happened("complete"), "c.complete 1", "b.complete 1", "a.complete 1")
		w.failed("broken by the test", "the second error")
		if text := w.err.Error(); strings.Index(text, "broken") > strings.Index(text, "second") {
			t.Errorf("the first error is not told first: %v", text)
		}
	})
}

func TestS231AllOperatorsHearOfAnAbortAlsoWhenOneFails(t *testing.T) {
	bubble(t, setup{hooks: map[string]func(*probe) error{"c.aborted": breaks}}, func(w *world) {
		w.happened()
		w.task.Aborted(1, 0)
		w.want(w.happened("aborted"), "c.aborted 1", "b.aborted 1", "a.aborted 1")
		w.failed("broken by the test")
	})
}

func TestS232AnAbortBringsTheCompletionThatWasLost(t *testing.T) {
	bubble(t, setup{operators: []string{"a"}}, func(w *world) {
		w.happened()
		w.task.Aborted(9, 8)
		w.want(w.happened(), "a.complete 8", "a.aborted 9")
	})
}

func TestS233ATaskThatHasEndedDoesNotHearNotifications(t *testing.T) {
	bubble(t, setup{}, func(w *world) {
		w.cancel()
		if err := w.ended(); !errors.Is(err, ErrCanceled) {
			t.Fatalf("the task ended with %v", err)
		}
		w.happened()
		w.task.Complete(1, 0)
		w.task.Aborted(2, 1)
		if w.task.Trigger(3, 0) {
			t.Error("a task that has ended took a trigger")
		}
		w.want(w.happened())
	})
}

// A timer that is due when the barriers arrive emits 100. Whichever comes first,
// the snapshots behind it agree with what stands before the barrier.
func TestS234ATimerFiresWhollyBeforeOrWhollyBehindASnapshot(t *testing.T) {
	before, behind := 0, 0
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 1))
		due := time.Duration(rng.IntN(3)) * time.Millisecond
		bubble(t, setup{hooks: map[string]func(*probe) error{
			"a.open": func(p *probe) error {
				p.ctx.Task.At(time.Now().Add(time.Millisecond).UnixMilli(), func() error { p.sum += 100; p.emit(100); return nil })
				return nil
			},
		}}, func(w *world) {
			w.records(0, 1)
			w.barrier(0, 1)
			time.Sleep(due)
			w.barrier(1, 1)
			time.Sleep(2 * time.Millisecond)
			got := append(w.received(0), w.received(1)...)
			at, barrier := slices.Index(got, "100"), 0
			// Records alternate between the channels: the timer's is on the
			// second, behind or before that channel's barrier.
			for i, e := range got {
				if e == "barrier 1" {
					barrier = i
				}
			}
			want := int64(1)
			if at < 0 {
				t.Fatalf("seed %d: the timer did not fire: %v", seed, got)
			}
			if at < barrier {
				want = 101
				before++
			} else {
				behind++
			}
			for _, name := range []string{"a", "b", "c"} {
				if sum := w.sum(1, name); sum != want {
					t.Errorf("seed %d: %v, and the snapshot of %s holds %d, want %d", seed, got, name, sum, want)
				}
			}
		})
	}
	if before == 0 || behind == 0 {
		t.Errorf("the timer was before the snapshot %d times and behind it %d times: the test does not see both", before, behind)
	}
}

func TestS235ACallbackThatBecomesDueDuringASnapshotRunsBehindIt(t *testing.T) {
	bubble(t, setup{hooks: map[string]func(*probe) error{
		"a.prepare": func(p *probe) error {
			p.ctx.Task.At(time.Now().UnixMilli(), func() error { p.w.log("timer"); p.emit(7); return nil })
			doneC := make(chan struct{})
			go func() { // as a connector's goroutine would
				p.ctx.Task.Post(func() error { p.w.log("mail"); p.emit(8); return nil })
				close(doneC)
			}()
			<-doneC
			return nil
		},
	}}, func(w *world) {
		w.happened()
		w.barriers(1)
		w.want(w.happened("mail", "timer", "snapshot", "taken"), "c.snapshot 1", "b.snapshot 1", "a.snapshot 1", "taken 1", "mail", "timer")
		w.want(w.received(0), "barrier 1", "8")
		w.want(w.received(1), "barrier 1", "7")
		if got := w.sum(1, "c"); got != 0 {
			t.Errorf("the snapshot of c holds %d, want 0", got)
		}
	})
}

func TestS252RecordsWatermarksAndBarriersKeepTheirOrder(t *testing.T) {
	bubble(t, setup{}, func(w *world) {
		for i := range int64(2) {
			w.records(0, 10+2*i, 11+2*i)
			w.watermark(0, 5*(i+1))
			w.watermark(1, 5*(i+1))
			synctest.Wait()
			w.barriers(ident.CheckpointID(i + 1))
		}
		w.want(w.received(0), "10", "<5", "barrier 1", "12", "<10", "barrier 2")
		w.want(w.received(1), "11", "<5", "barrier 1", "13", "<10", "barrier 2")
	})
}

func TestS253ACancelMarkerIsForwardedOnce(t *testing.T) {
	bubble(t, setup{}, func(w *world) {
		for _, c := range w.in {
			c.Send(batch.Element{Kind: batch.KindCancelMarker, Checkpoint: 4})
		}
		w.want(w.received(0), "cancel 4")
		w.want(w.received(1), "cancel 4")
	})
}

func TestS254ASinkAcknowledgesAndSendsNothing(t *testing.T) {
	bubble(t, setup{sink: true}, func(w *world) {
		w.happened()
		w.barriers(1)
		w.want(w.happened("taken", "ack"), "taken 1", "ack 1")
	})
}

func TestS407AlignmentIsTimedFromTheFirstBarrierToTheLast(t *testing.T) {
	bubble(t, setup{}, func(w *world) {
		time.Sleep(time.Second)
		w.barrier(0, 1)
		time.Sleep(2 * time.Second)
		w.barrier(1, 1)
		synctest.Wait()
		m := w.metrics[1]
		if m.Alignment != 2*time.Second {
			t.Errorf("alignment took %v, want 2s", m.Alignment)
		}
		if m.StartDelay != 0 {
			t.Errorf("the start delay is %v, want 0: the first barrier came at its own timestamp", m.StartDelay)
		}
	})
}

func TestS408AStartDelayIsNeverNegative(t *testing.T) {
	for _, c := range []struct{ ahead, want time.Duration }{{time.Minute, 0}, {-3 * time.Second, 3 * time.Second}} {
		bubble(t, setup{operators: []string{"a"}, source: true}, func(w *world) {
			w.task.Trigger(1, time.Now().Add(c.ahead).UnixMilli())
			w.happened()
			if got, ok := w.metrics[1]; !ok || got.StartDelay != c.want {
				t.Errorf("the JobMaster's clock is ahead by %v: start delay %v, want %v", c.ahead, got.StartDelay, c.want)
			}
		})
	}
}

func TestS255AnEventOfTheCoordinatorDuringASnapshotBelongsBehindIt(t *testing.T) {
	bubble(t, setup{operators: []string{"a"}, source: true, hooks: map[string]func(*probe) error{
		"a.prepare": func(p *probe) error {
			p.w.task.OperatorEvent(p.ctx.ID, 0, []byte("split"))
			return nil
		},
		"a.event": func(p *probe) error { p.sum++; return nil },
	}}, func(w *world) {
		w.happened()
		w.task.Trigger(1, 0)
		w.want(w.happened("event", "taken"), "taken 1", "a.event split")
		if got := w.sum(1, "a"); got != 0 {
			t.Errorf("the event is in the snapshot that was being taken")
		}
	})
}

func TestS246ABarrierThatWaitsWhenDataEndsIsStillServed(t *testing.T) {
	bubble(t, setup{checkpoints: true}, func(w *world) {
		w.happened()
		w.barrier(0, 1)
		w.endOfData()
		w.barrier(1, 1)
		w.in[1].Send(batch.Element{Kind: batch.KindEndOfData, Drain: true})
		w.want(w.happened("snapshot", "finish", "end of data"),
			"c.snapshot 1", "b.snapshot 1", "a.snapshot 1", "a.finish", "b.finish", "c.finish", "end of data")
	})
}

func TestS248WithoutDrainNothingFinishesAndEverythingCloses(t *testing.T) {
	bubble(t, setup{}, func(w *world) {
		w.happened()
		w.in[0].Send(batch.Element{Kind: batch.KindEndOfData, Drain: true})
		w.in[1].Send(batch.Element{Kind: batch.KindEndOfData, Drain: false}) // S249: one is enough
		w.want(w.happened(), "end of data", "c.close", "b.close", "a.close")
		w.want(w.received(0), "end-of-data", "end-of-partition")
		if err := w.ended(); err != nil {
			t.Error(err)
		}
	})
}

func TestS249OneInputWithoutDrainMakesTheTaskEndWithoutDrain(t *testing.T) {
	for drained := range 2 {
		bubble(t, setup{}, func(w *world) {
			for i, c := range w.in {
				c.Send(batch.Element{Kind: batch.KindEndOfData, Drain: i == drained})
			}
			w.want(w.happened("finish"))
			w.ended()
		})
	}
}

func TestS242EveryOperatorIsClosedAlsoWhenOneFails(t *testing.T) {
	bubble(t, setup{hooks: map[string]func(*probe) error{"b.close": breaks}}, func(w *world) {
		w.happened()
		w.endOfData()
		w.want(w.happened("close"), "c.close", "b.close", "a.close")
		w.failed(`close operator "b"`, "broken by the test")
	})
}

func TestS242TheFirstErrorIsToldFirst(t *testing.T) {
	bubble(t, setup{hooks: map[string]func(*probe) error{
		"b.close":    breaks,
		"a.close":    func(*probe) error { panic("closing a") },
		"a.complete": func(*probe) error { return errors.New("the cause") },
	}}, func(w *world) {
		w.task.Complete(1, 0)
		w.failed("the cause", "broken by the test", "closing a")
		if text := w.err.Error(); strings.Index(text, "the cause") > strings.Index(text, "broken by the test") {
			t.Errorf("the cause is not told first: %v", text)
		}
	})
}

func TestS243ATaskCanceledWhileItAlignsGivesEverythingBack(t *testing.T) {
	bubble(t, setup{}, func(w *world) {
		w.barrier(0, 1)
		for i := range int64(20) {
			w.records(0, i) // behind the barrier: they wait
		}
		synctest.Wait()
		if len(w.home) != 0 {
			t.Fatalf("%d batches behind the barrier were read", len(w.home))
		}
		w.cancel()
		if err := w.ended(); !errors.Is(err, ErrCanceled) {
			t.Errorf("the task ended with %v", err)
		}
	})
}

func TestATaskCanceledWhileItWaitsForRoomEnds(t *testing.T) {
	bubble(t, setup{operators: []string{"a"}, hooks: map[string]func(*probe) error{
		"a.record": func(p *probe) error {
			for i := range int64(100_000) { // far beyond credits and overdraft
				p.emit(i)
			}
			return nil
		},
	}}, func(w *world) {
		w.records(0, 1)
		synctest.Wait()
		w.cancel()
		if err := w.ended(); !errors.Is(err, ErrCanceled) {
			t.Errorf("the task ended with %v", err)
		}
	})
}

func TestASourceThatFailsClosesItsOperators(t *testing.T) {
	for _, what := range []string{"error", "panic"} {
		bubble(t, setup{operators: []string{"a", "b"}, source: true, poll: func(*probe) (connector.PollResult, int64, error) {
			if what == "panic" {
				panic(errBroken)
			}
			return connector.More, 0, fmt.Errorf("read: %w", errBroken)
		}}, func(w *world) {
			w.failed("broken by the test")
			w.want(w.happened("close"), "b.close", "a.close")
		})
	}
}
