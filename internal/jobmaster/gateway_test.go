package jobmaster

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cutwater-io/cutwater/internal/rpc"
)

var errBroken = errors.New("broken by the test")

func TestWhatAnEnumeratorAssignsInStartReachesItsReaders(t *testing.T) {
	bubble(t, setup{enumerator: func(e *fakeEnumerator) {
		e.onStart = func() error { e.assign(1); e.assign(0); return nil }
	}}, func(w *world) {
		got := w.happened("split", "deploy src")
		w.want(got, "deploy src.0 from 0", "deploy src.1 from 0", "split B → src.0", "split A → src.1")
	})
}

func TestS340ASplitAssignedRightBehindTheSnapshotIsWithTheEnumeratorAfterARestore(t *testing.T) {
	bubble(t, setup{manual: true, restarts: 1}, func(w *world) {
		e := w.enum()
		w.inLoop(func() {
			e.onSnapshot = func() error {
				// The first thing the enumerator does behind its snapshot.
				w.jm.post(func() { e.assign(0) })
				return nil
			}
		})
		w.next()
		w.want(w.happened("trigger ", "split"), "trigger 1 src.0", "trigger 1 src.1")
		w.ackAll(1)
		w.want(w.happened("split", "checkpoint"), "split A → src.0", "checkpoint 1 published", "checkpoint 1 complete")
		w.fail("sink.0", errBroken)
		time.Sleep(2 * time.Second)
		// The reader's part of checkpoint 1 is from before the split came.
		w.want(w.happened("enumerator"), "enumerator A B C D")
	})
}

func TestS341AnEventSentBeforeTheSnapshotIsBeforeTheTrigger(t *testing.T) {
	bubble(t, setup{manual: true, restarts: 1}, func(w *world) {
		e := w.enum()
		w.inLoop(func() {
			e.assign(0)
			e.onSnapshot = func() error { e.assign(1); return nil } // while it is taken is before it
		})
		w.next()
		w.want(w.happened("trigger ", "split"), "split A → src.0", "split B → src.1", "trigger 1 src.0", "trigger 1 src.1")
		w.ackAll(1)
		w.fail("sink.0", errBroken)
		time.Sleep(2 * time.Second)
		w.want(w.happened("enumerator"), "enumerator C D")
	})
}

func TestS342ALostEventFailsTheTaskAndTheCheckpoint(t *testing.T) {
	bubble(t, setup{manual: true, restarts: 1}, func(w *world) {
		w.next()
		w.ack("src.0", 1)
		synctest.Wait()
		w.happened()
		w.losing("event", "src.0", func() { w.inLoop(func() { w.enum().assign(0) }) })
		got := w.happened("failed", "the connection broke", "cancel", "restart ")
		w.want(got, `source "src": the connection broke`, "checkpoint 1 failed: CHECKPOINT_COORDINATOR_SUSPEND", "cancel src.0", "cancel src.1", "cancel sink.0", "restart 1 in 1s")
		time.Sleep(2 * time.Second)
		w.want(w.happened("enumerator"), "enumerator fresh")
	})
}

// losing runs f while messages of one kind to one subtask do not arrive.
func (w *world) losing(message, to string, f func()) {
	set := func(lose bool) {
		a := w.attempt(to)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.lose = nil
		if lose {
			w.lose = func(m string, at identAttempt) bool { return m == message && at == a }
		}
	}
	set(true)
	f()
	w.mu.Lock()
	w.lose = nil
	w.mu.Unlock()
}

func TestS343TheGatewayOpensToEachReaderWhenThatReaderTookItsSnapshot(t *testing.T) {
	bubble(t, setup{manual: true}, func(w *world) {
		w.next()
		w.inLoop(func() { w.enum().assign(0); w.enum().assign(1) })
		w.want(w.happened("split"))
		w.jm.SnapshotTaken(rpc.SnapshotTaken{Token: w.jm.token, Attempt: w.attempt("src.0"), Checkpoint: 1})
		w.want(w.happened("split"), "split A → src.0")
		w.inLoop(func() { w.enum().assign(0) })
		w.want(w.happened("split"), "split C → src.0")
		w.jm.SnapshotTaken(rpc.SnapshotTaken{Token: w.jm.token, Attempt: w.attempt("src.1"), Checkpoint: 1})
		w.want(w.happened("split"), "split B → src.1")
	})
}

func TestS344AnAbortOpensTheGatewayAndWhatWasKeptComesInOrder(t *testing.T) {
	bubble(t, setup{manual: true, checkpoints: tolerant}, func(w *world) {
		w.next()
		w.inLoop(func() { e := w.enum(); e.assign(0); e.ctx.Send(0, []byte("x")); e.assign(0); e.ctx.NoMoreSplits(0) })
		w.want(w.happened("→"))
		w.jm.DeclineCheckpoint(rpc.DeclineCheckpoint{Token: w.jm.token, Job: w.job, Attempt: w.attempt("sink.0"), Checkpoint: 1})
		w.want(w.happened("→", "failed"), "split A → src.0", "event x → src.0", "split B → src.0", "no more splits → src.0", "checkpoint 1 failed: CHECKPOINT_DECLINED")
	})
}

func TestS348AnEnumeratorThatCannotBeSnapshottedAbortsTheCheckpoint(t *testing.T) {
	for _, how := range []string{"error", "panic"} {
		t.Run(how, func(t *testing.T) {
			bubble(t, setup{checkpoints: tolerant}, func(w *world) {
				e := w.enum()
				w.inLoop(func() {
					e.onSnapshot = func() error {
						if how == "panic" {
							panic("broken by the test")
						}
						return errBroken
					}
				})
				time.Sleep(interval + 1)
				got := w.happened("checkpoint 1", "trigger")
				if len(got) != 1 || !strings.HasPrefix(got[0], "checkpoint 1 failed: IO_EXCEPTION: source \"src\": snapshot enumerator") || !strings.Contains(got[0], "broken by the test") {
					t.Fatalf("got %q", got)
				}
				w.inLoop(func() { e.assign(0) })
				w.want(w.happened("split"), "split A → src.0")
				w.inLoop(func() { e.onSnapshot = nil })
				w.complete(2)
			})
		})
	}
}

func TestS348AFailedEnumeratorFailsTheJobWhenThePolicySaysSo(t *testing.T) {
	bubble(t, setup{}, func(w *world) { // no failure is tolerated, and there are no restarts
		w.inLoop(func() { w.enum().onSnapshot = func() error { return errBroken } })
		time.Sleep(interval + 1)
		if err := w.ended(); !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "1 checkpoints failed in a row") {
			t.Errorf("the job ended with %v", err)
		}
	})
}

func TestAPanicOfAnEnumeratorFailsTheJobAndNotTheProcess(t *testing.T) {
	for name, use := range map[string]func(e *fakeEnumerator, f func() error){
		"Start":          func(e *fakeEnumerator, f func() error) { e.onStart = f },
		"AddReader":      func(e *fakeEnumerator, f func() error) { e.onReader = f },
		"NotifyComplete": func(e *fakeEnumerator, f func() error) { e.onComplete = f },
		"work": func(e *fakeEnumerator, f func() error) {
			e.onReader = func() error {
				e.ctx.CallAsync(func(context.Context) (any, error) { return nil, f() }, func(_ any, err error) { panic(err) }, 0)
				return nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{enumerator: func(e *fakeEnumerator) { use(e, func() error { panic("a bug of the connector") }) }}, func(w *world) {
				time.Sleep(interval + 1)
				if err := w.ended(); err == nil || !strings.Contains(err.Error(), `source "src"`) || !strings.Contains(err.Error(), "a bug of the connector") {
					t.Errorf("the job ended with %v", err)
				}
				if n := w.enum().closed; n != 1 {
					t.Errorf("the enumerator was closed %d times", n)
				}
			})
		})
	}
}

// Discovery finds a split every three seconds and puts it among the free ones, or
// assigns it at once. Whenever a checkpoint is taken, each split that was found is
// either in the enumerator's part or was sent to a reader before.
func TestS350ASplitFoundDuringACheckpointIsOnOneSideOfIt(t *testing.T) {
	bubble(t, setup{manual: true, checkpoints: tolerant, enumerator: func(e *fakeEnumerator) {
		n := 0
		e.onStart = func() error {
			e.ctx.CallAsync(func(context.Context) (any, error) { return nil, nil }, func(any, error) {
				n++
				e.free = append(e.free, string(rune('a'+n-1)))
				if n%2 == 0 {
					e.assign(n / 2 % 2)
				}
			}, 3*time.Second)
			return nil
		}
		e.onSnapshot = func() error { e.w.log("snapshot holds " + strings.Join(e.free, " ")); return nil }
	}}, func(w *world) {
		sent := map[string]bool{}
		collect := func(lines []string) {
			for _, l := range lines {
				if f := strings.Fields(l); f[0] == "split" {
					sent[f[1]] = true
				}
			}
		}
		for id := range uint64(6) {
			w.next()
			lines := w.happened()
			at := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "snapshot holds") })
			trigger := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "trigger ") })
			if at < 0 || trigger < 0 {
				t.Fatal(lines)
			}
			collect(lines[:trigger])
			held := strings.Fields(lines[at])[2:]
			for _, s := range held {
				if sent[s] {
					t.Errorf("checkpoint %d: split %s is with the enumerator and with a reader", id+1, s)
				}
			}
			if n := len(held) + len(sent); n < 4+3*int(id) {
				t.Errorf("checkpoint %d holds %d splits (%v, sent %v)", id+1, n, held, sent)
			}
			collect(lines[trigger:])
			time.Sleep(4 * time.Second) // splits are found while the gateway is closed
			w.want(w.happened("split"))
			w.ackAll(checkpointID(id + 1))
			collect(w.happened())
		}
		if len(sent) < 8 {
			t.Errorf("only %v was assigned", sent)
		}
	})
}

func TestS352AfterAFailoverTheNewEnumeratorsGatewayIsOpen(t *testing.T) {
	bubble(t, setup{manual: true, restarts: 1}, func(w *world) {
		w.next() // the gateway is closed for checkpoint 1
		old := w.enum()
		w.inLoop(func() { old.assign(0) })
		w.happened()
		w.fail("sink.0", errBroken)
		time.Sleep(time.Second) // no more: the next checkpoint would close the gateway again
		synctest.Wait()
		if old.closed != 1 {
			t.Errorf("the old enumerator was closed %d times", old.closed)
		}
		// The abort lets through to the old attempt what was kept for it.
		w.want(w.happened("split", "cancel src.0", "enumerator"), "split A → src.0", "cancel src.0", "enumerator fresh")
		w.inLoop(func() { old.assign(1); w.enum().assign(1) }) // S347: the old one's late calls are ignored
		w.want(w.happened("split"), "split A → src.1")
	})
}
