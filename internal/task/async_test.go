package task

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cutwater-io/cutwater/internal/blob"
	"github.com/cutwater-io/cutwater/internal/blob/blobtest"
	"github.com/cutwater-io/cutwater/internal/ident"
	"github.com/cutwater-io/cutwater/internal/manifest"
	"github.com/cutwater-io/cutwater/internal/segment"
)

// large is more than fits into an acknowledgement: the state becomes an object.
const large = 3 << 20

func TestAsynchronousPartStoresEachOperatorsStateAndAcknowledgesIt(t *testing.T) {
	bubble(t, setup{stateBytes: large}, func(w *world) {
		w.barriers(1)
		var objects []string
		for _, s := range w.acks[1] {
			objects = append(objects, s.State.Keyed.Object)
		}
		slices.Sort(objects)
		if len(objects) != 3 || !slices.Equal(objects, w.objects()) {
			t.Errorf("acknowledged %v, stored %v: want the same three", objects, w.objects())
		}
		for _, name := range objects {
			data, err := w.store.Get(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := segment.NewReader(bytes.NewReader(data), int64(len(data))); err != nil {
				t.Error(err)
			}
		}
		if got := w.metrics[1].Bytes; got < 3*large {
			t.Errorf("%d bytes were reported for three states of %d", got, large)
		}
	})
}

func TestSmallStateTravelsInTheAcknowledgement(t *testing.T) {
	bubble(t, setup{stateBytes: 1000}, func(w *world) {
		w.barriers(1)
		if names := w.objects(); len(names) > 0 {
			t.Errorf("stored %v", names)
		}
		if s := w.acks[1][0].State.Keyed; s == nil || len(s.Inline) < 1000 {
			t.Errorf("acknowledged %v", s)
		}
	})
}

func TestS256AFailedUploadDeclinesDeletesItsPartsAndTheTaskGoesOn(t *testing.T) {
	for _, op := range []string{"create", "commit"} {
		t.Run(op, func(t *testing.T) {
			failing := atomic.Bool{}
			calls := 0
			store := &blobtest.Faulty{Store: blob.Memory(), Fault: func(what, _ string) blobtest.Fault {
				if failing.Load() && what == op {
					if calls++; calls == 2 { // the first operator's object is stored already
						return blobtest.Fail
					}
				}
				return blobtest.None
			}}
			bubble(t, setup{stateBytes: large, store: store}, func(w *world) {
				failing.Store(true)
				w.happened()
				w.barriers(1)
				got := w.happened("ack", "decline")
				if len(got) != 1 || !strings.HasPrefix(got[0], `decline 1 CHECKPOINT_ASYNC_EXCEPTION operator "b": write state: `) || !strings.Contains(got[0], op+" chk/1/") {
					t.Errorf("got %q, want that the checkpoint is declined and why", got)
				}
				if names := w.objects(); len(names) > 0 {
					t.Errorf("objects of the declined checkpoint are left: %v", names)
				}
				failing.Store(false)
				w.records(0, 5)
				w.barriers(2)
				w.want(w.happened("ack", "decline"), "ack 2")
				if got := w.sum(2, "c"); got != 5 {
					t.Errorf("the next checkpoint holds %d, want 5", got)
				}
			})
		})
	}
}

func TestS256APanicWhileStateIsWrittenDeclinesTheCheckpoint(t *testing.T) {
	bubble(t, setup{operators: []string{"a"}, stateBytes: large, store: panicking{blob.Memory()}}, func(w *world) {
		w.happened()
		w.barriers(1)
		got := w.happened("ack", "decline")
		if len(got) != 1 || !strings.Contains(got[0], "decline 1 CHECKPOINT_ASYNC_EXCEPTION") || !strings.Contains(got[0], "the store is broken") {
			t.Errorf("got %q", got)
		}
	})
}

type panicking struct{ blob.Store }

func (panicking) Create(context.Context, string) (blob.Writer, error) { panic("the store is broken") }

func TestS257S266AnAbortClosesAHungUploadAtOnceAndNothingIsReported(t *testing.T) {
	bubble(t, setup{operators: []string{"a"}, stateBytes: large, newStore: hanging}, func(w *world) {
		store := w.store.Store.(*hangingStore)
		w.happened()
		w.barriers(1)
		<-store.hungC
		w.task.Aborted(1, 0)
		w.want(w.happened("ack", "decline", "aborted"), "a.aborted 1")
		if w.store.writers != 0 || w.captures[0].released != 1 {
			t.Errorf("the store hangs: %d writers are open, the snapshot was released %d times", w.store.writers, w.captures[0].released)
		}
	})
}

func TestS258AnAbortBehindTheAcknowledgementTakesNothingBack(t *testing.T) {
	bubble(t, setup{operators: []string{"a"}, stateBytes: large}, func(w *world) {
		w.barriers(1)
		w.want(w.happened("ack"), "ack 1")
		w.task.Aborted(1, 0)
		w.want(w.happened("ack", "decline", "aborted"), "a.aborted 1")
		if len(w.objects()) != 1 {
			t.Error("the task deleted an object that the JobMaster owns")
		}
	})
}

func TestS245ATaskCanceledWhileAnUploadHangsEndsAndAcknowledgesNothing(t *testing.T) {
	bubble(t, setup{operators: []string{"a"}, stateBytes: large, newStore: hanging}, func(w *world) {
		store := w.store.Store.(*hangingStore)
		w.barriers(1)
		<-store.hungC
		w.happened()
		w.cancel()
		if err := w.ended(); !errors.Is(err, ErrCanceled) {
			t.Errorf("the task ended with %v", err)
		}
		w.want(w.happened("ack", "decline"))
		if names := w.objects(); len(names) > 0 {
			t.Errorf("left in the store: %v", names)
		}
	})
}

// gatedStore lets objects become visible when the test says so.
type gatedStore struct {
	blob.Store
	commitC chan struct{}
}

func (s gatedStore) Create(ctx context.Context, name string) (blob.Writer, error) {
	w, err := s.Store.Create(context.WithoutCancel(ctx), name)
	return gatedWriter{w, s}, err
}

type gatedWriter struct {
	blob.Writer
	s gatedStore
}

func (w gatedWriter) Commit() error { <-w.s.commitC; return w.Writer.Commit() }
func (w gatedWriter) Abort()        {} // too late: the commit is under way

func TestS262AnUploadThatSucceedsAfterTheTaskWasCanceledIsDiscarded(t *testing.T) {
	bubble(t, setup{operators: []string{"a"}, stateBytes: large, newStore: func() blob.Store {
		return gatedStore{blob.Memory(), make(chan struct{})}
	}}, func(w *world) {
		w.barriers(1)
		w.happened()
		w.cancel()
		synctest.Wait() // the task has ended but for its upload
		close(w.store.Store.(gatedStore).commitC)
		w.ended()
		w.want(w.happened("ack", "decline"))
		if names := w.objects(); len(names) > 0 {
			t.Errorf("left in the store: %v", names)
		}
		w.store.writers = 0 // this store's Abort does nothing
	})
}

func TestS264ACheckpointThatIsRunningIsNotBegunAgain(t *testing.T) {
	bubble(t, setup{operators: []string{"a"}, source: true, stateBytes: large, newStore: hanging}, func(w *world) {
		store := w.store.Store.(*hangingStore)
		w.happened()
		w.task.Trigger(1, 0)
		<-store.hungC
		w.task.Trigger(1, 0)
		w.want(w.happened("snapshot", "ack", "decline"), "a.snapshot 1")
		close(store.answerC)
		w.want(w.happened("snapshot", "ack", "decline"), "ack 1")
	})
}

func TestS265TwoCheckpointsMayBeStoredAtATimeAndEndInAnyOrder(t *testing.T) {
	bubble(t, setup{operators: []string{"a"}, stateBytes: large, newStore: func() blob.Store {
		return &holding{Store: blob.Memory(), prefix: "chk/1/", goC: make(chan struct{})}
	}}, func(w *world) {
		w.barriers(1)
		w.barriers(2)
		w.want(w.happened("ack"), "ack 2")
		close(w.store.Store.(*holding).goC)
		w.want(w.happened("ack"), "ack 1")
	})
}

// holding keeps objects of one prefix waiting.
type holding struct {
	blob.Store
	prefix string
	goC    chan struct{}
}

func (s *holding) Create(ctx context.Context, name string) (blob.Writer, error) {
	if strings.HasPrefix(name, s.prefix) {
		<-s.goC
	}
	return s.Store.Create(ctx, name)
}

func TestS260WithoutStateTheAcknowledgementHoldsNone(t *testing.T) {
	bubble(t, setup{source: true, noLists: true}, func(w *world) {
		w.happened()
		w.task.Trigger(1, 0)
		w.want(w.happened("ack"), "ack 1")
		if states := w.acks[1]; states != nil {
			t.Errorf("acknowledged %v, want no state", states)
		}
	})
}

// Uploads end at random times, some fail, and aborts and the end of the task come
// in between. Each checkpoint has exactly one outcome, and nothing is left.
func TestS259ClosingAtRandomLeavesOneOutcomeAndNoOpenObject(t *testing.T) {
	const rounds = 1000
	outcomes := map[string]int{}
	for seed := range uint64(rounds / 20) {
		rng := rand.New(rand.NewPCG(seed, 259))
		slow := &slowStore{Store: blob.Memory()}
		for range 50 {
			slow.delays = append(slow.delays, time.Duration(rng.Int64N(int64(6*time.Millisecond))))
		}
		bubble(t, setup{operators: []string{"a", "b"}, source: true, stateBytes: 21 << 10, store: slow}, func(w *world) {
			w.happened()
			for id := ident.CheckpointID(1); id <= 20; id++ {
				w.task.Trigger(id, 0)
				slow.mayFail.Store(rng.IntN(3) == 0)
				time.Sleep(time.Duration(rng.Int64N(int64(8 * time.Millisecond))))
				if rng.IntN(2) == 0 {
					w.task.Aborted(id, 0)
				}
			}
			time.Sleep(time.Duration(rng.Int64N(int64(20 * time.Millisecond))))
			w.cancel()
			w.ended()
			owned := map[string]bool{}
			for _, states := range w.acks {
				for _, s := range states {
					owned[s.State.Keyed.Object] = true
				}
			}
			for _, name := range w.objects() {
				if !owned[name] {
					t.Errorf("seed %d: object %s belongs to nobody", seed, name)
				}
			}
			if len(owned) != len(w.objects()) {
				t.Errorf("seed %d: %d objects are acknowledged and %d stored", seed, len(owned), len(w.objects()))
			}
			seen := map[string]int{}
			for _, line := range w.happened("ack", "decline") {
				f := strings.Fields(line)
				seen[f[1]]++
				outcomes[f[0]]++
			}
			for id, n := range seen {
				if n > 1 {
					t.Errorf("seed %d: checkpoint %s has %d outcomes", seed, id, n)
				}
			}
			outcomes["closed"] += 20 - len(seen)
		})
	}
	for _, what := range []string{"ack", "decline", "closed"} {
		if outcomes[what] < rounds/20 {
			t.Errorf("only %d of %d ended with %q: the test does not see it", outcomes[what], rounds, what)
		}
	}
}

// slowStore takes its time, and fails now and then.
type slowStore struct {
	blob.Store
	delays  []time.Duration
	next    atomic.Int32
	mayFail atomic.Bool
}

func (s *slowStore) Create(ctx context.Context, name string) (blob.Writer, error) {
	select {
	case <-time.After(s.delays[int(s.next.Add(1))%len(s.delays)]):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s.mayFail.Load() {
		return nil, blobtest.ErrInjected
	}
	return s.Store.Create(ctx, name)
}

func TestS250CorruptStateFailsTheAttemptAndSaysWhose(t *testing.T) {
	store := blob.Memory()
	var good bytes.Buffer
	sw := segment.NewWriter(&good)
	if err := sw.WriteState(&capture{name: "x", bytes: 100}); err != nil {
		t.Fatal(err)
	}
	if _, err := sw.Close(); err != nil {
		t.Fatal(err)
	}
	bad := bytes.Clone(good.Bytes())
	bad[len(bad)-10] ^= 1
	put := func(name string, data []byte) *manifest.Handle {
		if err := store.Put(t.Context(), name, data); err != nil {
			t.Fatal(err)
		}
		return &manifest.Handle{Object: name, Size: int64(len(data))}
	}
	goodHandle, badHandle := put("good", good.Bytes()), put("bad", bad)
	for _, c := range []struct {
		name   string
		handle manifest.Handle
		words  []string
	}{
		{"corrupt", *badHandle, []string{`operator "b"`, "checkpoint 3", `object "bad"`}},
		{"missing", manifest.Handle{Object: "gone"}, []string{`operator "b"`, "checkpoint 3", "gone"}},
		{"inline", manifest.Handle{Inline: []byte("nonsense")}, []string{`operator "b"`, "checkpoint 3"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			states := map[ident.OperatorID]manifest.Restored{}
			for name, handle := range map[string]manifest.Handle{"a": *goodHandle, "b": c.handle, "c": *goodHandle} {
				states[ident.OperatorIDOf(name)] = manifest.Restored{Keyed: []manifest.KeyedPart{{Handle: handle}}}
			}
			bubble(t, setup{store: store, states: states, restored: 3}, func(w *world) {
				w.failed(c.words...)
				w.want(w.happened("running"))
			})
		})
	}
}

func TestARestoreThatFailsInAnOperatorClosesWhatItHasOpened(t *testing.T) {
	store := blob.Memory()
	var data bytes.Buffer
	sw := segment.NewWriter(&data)
	if err := sw.WriteState(&capture{name: "x", bytes: 100}); err != nil {
		t.Fatal(err)
	}
	size, err := sw.Close()
	if err == nil {
		err = store.Put(t.Context(), "state", data.Bytes())
	}
	if err != nil {
		t.Fatal(err)
	}
	states := map[ident.OperatorID]manifest.Restored{
		ident.OperatorIDOf("a"): {Keyed: []manifest.KeyedPart{{Handle: manifest.Handle{Object: "state", Size: size}}}},
	}
	for _, what := range []string{"", "error", "panic"} {
		bubble(t, setup{store: store, states: states, restored: 3, hooks: map[string]func(*probe) error{
			"a.open": func(p *probe) error {
				read := 0
				err := p.ctx.Restored.Each("x", func(segment.StateInfo, uint16, []byte, int) error { read++; return nil })
				switch {
				case err != nil:
					return err
				case what == "error":
					return errBroken
				case what == "panic":
					panic("user code")
				}
				p.w.log(fmt.Sprint("read ", read))
				return nil
			},
		}}, func(w *world) {
			synctest.Wait()
			if what != "" {
				w.ended()
			}
			if n := w.store.readers; n != 0 {
				t.Errorf("%s: %d objects are open after the restore", what, n)
			}
		})
	}
}
