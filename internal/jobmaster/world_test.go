package jobmaster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/internal/blob"
	"github.com/cutwater-io/cutwater/internal/blob/blobtest"
	"github.com/cutwater-io/cutwater/internal/checkpoint"
	"github.com/cutwater-io/cutwater/internal/host"
	"github.com/cutwater-io/cutwater/internal/ident"
	"github.com/cutwater-io/cutwater/internal/joblog"
	"github.com/cutwater-io/cutwater/internal/manifest"
	"github.com/cutwater-io/cutwater/internal/operator"
	"github.com/cutwater-io/cutwater/internal/plan"
	"github.com/cutwater-io/cutwater/internal/rpc"
	"github.com/cutwater-io/cutwater/internal/schedule"
	"github.com/cutwater-io/cutwater/internal/transform"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// setup says how a world differs from the usual one.
type setup struct {
	checkpoints checkpoint.Config
	restarts    int
	newStore    func() blob.Store // called in the bubble
	manual      bool              // tasks acknowledge only when the test says so
	enumerator  func(e *fakeEnumerator)
}

// world is a JobMaster with everything around it: a store in memory, an enumerator
// and a TaskManager that write down what is done to them. It lives in a synctest
// bubble: time is virtual, and after synctest.Wait the JobMaster has done all it
// can. The job is a source of two subtasks and a sink of one.
//
//	enumerator ◀──▶ JobMaster ◀──▶ fake TaskManager: src.0 src.1 ──▶ sink.0
type world struct {
	t      *testing.T
	s      setup
	jm     *JobMaster
	store  blob.Store
	job    ident.JobID
	cancel context.CancelCauseFunc
	doneC  chan struct{}
	err    error

	mu     sync.Mutex // guards the fields below
	lines  []string
	logged strings.Builder
	alive  map[ident.AttemptID]rpc.Deploy
	lose   func(message string, to ident.AttemptID) bool // it does not arrive
	enums  []*fakeEnumerator
}

var errStopped = errors.New("stopped by the test")

// bubble runs a test with one JobMaster, which is canceled when f returns.
func bubble(t *testing.T, s setup, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, s: s, store: blob.Memory(), doneC: make(chan struct{}), alive: map[ident.AttemptID]rpc.Deploy{}}
		if s.newStore != nil {
			w.store = s.newStore()
		}
		w.start()
		synctest.Wait()
		f(w)
		w.cancel(errStopped)
		<-w.doneC
	})
}

const interval = 10 * time.Second

func (w *world) start() {
	cfg := w.s.checkpoints
	if cfg.Interval == 0 {
		cfg.Interval = interval
	}
	env := host.Env(slog.New(slog.NewTextHandler(w, nil)))
	g := &plan.Graph{
		Name: "world",
		Nodes: []plan.Node{
			{ID: ident.OperatorIDOf("src"), Name: "src", Source: true, NoChain: true, Parallelism: 2},
			{ID: ident.OperatorIDOf("sink"), Name: "sink", NoChain: true, Parallelism: 1},
		},
		Edges: []plan.Edge{{To: 1, Partition: plan.Rebalance}},
	}
	prog := &operator.Program{Graph: g, Factories: []operator.Factory{{Enumerator: w.enumerator}, {}}, Links: make([]operator.Link, 1)}
	pl, err := plan.Make(g, plan.Options{Parallelism: 1})
	if err != nil {
		w.t.Fatal(err)
	}
	log, recovered, err := joblog.Open(w.t.Context(), w.store, "world", env.Random)
	if err != nil {
		w.t.Fatal(err)
	}
	w.job = log.Job()
	var restore *Restore
	if latest, ok := recovered.Latest(); ok {
		if restore, err = Load(w.t.Context(), w.store, latest.Manifest, pl, false); err != nil {
			w.t.Fatal(err)
		}
	}
	w.jm = New(Config{
		Program: prog, Plan: pl, Checkpoints: cfg, Env: env, Store: w.store, Log: log, Recovered: recovered, Restore: restore,
		Restart: schedule.Strategy{Kind: schedule.Fixed, Attempts: w.s.restarts, Delay: time.Second}, Observer: func(e Event) {
			line := e.String()
			if c, ok := e.(CheckpointCompleted); ok {
				line = fmt.Sprintf("checkpoint %d complete", c.Checkpoint)
			}
			w.log(line)
		},
	})
	w.jm.Attach(fakeTaskManager{w})
	ctx, cancel := context.WithCancelCause(w.t.Context())
	w.cancel = cancel
	go func() {
		defer close(w.doneC)
		w.err = w.jm.Run(ctx)
	}()
}

// Write takes the JobMaster's log.
func (w *world) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.logged.Write(p)
}

func (w *world) log(line string) {
	line, _, _ = strings.Cut(line, "\n")
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, line)
}

// happened returns what was written down since the last call, only the lines that
// contain one of the words if any are given.
func (w *world) happened(words ...string) []string {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	var lines []string
	for _, l := range w.lines {
		if len(words) == 0 || slices.ContainsFunc(words, func(word string) bool { return strings.Contains(l, word) }) {
			lines = append(lines, l)
		}
	}
	w.lines = nil
	return lines
}

func (w *world) want(got []string, want ...string) {
	w.t.Helper()
	if !slices.Equal(got, want) {
		w.t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// warned returns whether the JobMaster logged the words.
func (w *world) warned(words string) bool {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Contains(w.logged.String(), words)
}

// next lets time pass until the next periodic checkpoint has been triggered.
func (w *world) next() {
	w.t.Helper()
	for range 40 {
		time.Sleep(interval / 20)
		synctest.Wait()
		w.mu.Lock()
		ok := slices.ContainsFunc(w.lines, func(l string) bool { return strings.HasSuffix(l, " triggered") })
		w.mu.Unlock()
		if ok {
			return
		}
	}
	w.t.Fatalf("no checkpoint was triggered: %v", w.happened())
}

// ended waits for the end of the job.
func (w *world) ended() error {
	w.t.Helper()
	synctest.Wait()
	select {
	case <-w.doneC:
		return w.err
	default:
		w.t.Fatalf("the job still runs: %v", w.happened())
		return nil
	}
}

// attempt is the present attempt of a subtask, "src.0", "src.1" or "sink.0".
func (w *world) attempt(name string) ident.AttemptID {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for a := range w.alive {
		if nameOf(a) == name {
			return a
		}
	}
	w.t.Fatalf("%s does not run", name)
	return ident.AttemptID{}
}

func nameOf(a ident.AttemptID) string {
	return fmt.Sprintf("%s.%d", []string{"src", "sink"}[a.Subtask.Vertex], a.Subtask.Index)
}

var everyTask = []string{"sink.0", "src.0", "src.1"}

// ack acknowledges a checkpoint for a subtask, with an object of its own.
func (w *world) ack(name string, id ident.CheckpointID) rpc.AcknowledgeCheckpoint {
	w.t.Helper()
	a := w.attempt(name)
	object := fmt.Sprintf("chk/%d/%s-%d", id, name, a.Attempt)
	store := w.store
	if faulty, ok := store.(*blobtest.Faulty); ok {
		store = faulty.Store // tasks have no trouble here
	}
	if err := store.Put(context.Background(), object, []byte("state")); err != nil {
		w.t.Fatal(err)
	}
	m := rpc.AcknowledgeCheckpoint{
		Token: w.jm.token, Job: w.job, Attempt: a, Checkpoint: id,
		States: []rpc.OperatorState{{Operator: w.jm.cfg.Plan.Graph.Nodes[a.Subtask.Vertex].ID, State: manifest.SubtaskState{
			Subtask: a.Subtask.Index, Keyed: &manifest.Handle{Object: object, Size: 5}, Range: w.keyGroups(a),
		}}},
	}
	w.jm.SnapshotTaken(rpc.SnapshotTaken{Token: w.jm.token, Attempt: a, Checkpoint: id})
	w.jm.AcknowledgeCheckpoint(m)
	return m
}

func (w *world) keyGroups(a ident.AttemptID) manifest.Range {
	groups := w.jm.cfg.Plan.Max[a.Subtask.Vertex]
	if a.Subtask.Vertex == 1 {
		return manifest.Range{First: 0, Last: uint16(groups - 1)}
	}
	half := uint16(groups / 2)
	return manifest.Range{First: uint16(a.Subtask.Index) * half, Last: (uint16(a.Subtask.Index)+1)*half - 1}
}

func (w *world) ackAll(id ident.CheckpointID) {
	for _, name := range everyTask {
		w.ack(name, id)
	}
}

// complete lets a checkpoint begin and complete, and returns its id.
func (w *world) complete(id ident.CheckpointID) {
	w.t.Helper()
	w.next()
	if w.s.manual {
		w.ackAll(id)
	}
	synctest.Wait()
	if got := w.happened(); !slices.Contains(got, fmt.Sprintf("checkpoint %d complete", id)) {
		w.t.Fatalf("checkpoint %d did not complete: %v", id, got)
	}
}

// fail ends a task with an error.
func (w *world) fail(name string, err error) { w.end(name, rpc.Failed, err) }

func (w *world) end(name string, state rpc.TaskState, err error) {
	w.t.Helper()
	a := w.attempt(name)
	w.mu.Lock()
	delete(w.alive, a)
	w.mu.Unlock()
	w.jm.TaskStateChanged(rpc.TaskStateChanged{Token: w.jm.token, Attempt: a, State: state, Err: err})
}

// objects are the names of the state objects and manifests in the store.
func (w *world) objects() []string {
	synctest.Wait()
	names, err := w.store.List(context.Background(), "chk/")
	if err != nil {
		w.t.Fatal(err)
	}
	return names
}

// fakeTaskManager runs nothing: a task that is deployed says that it runs, one that
// is canceled says so, and a trigger is acknowledged by all tasks at once.
type fakeTaskManager struct{ w *world }

func (f fakeTaskManager) lost(what string, a ident.AttemptID) bool {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	return f.w.lose != nil && f.w.lose(what, a)
}

func (f fakeTaskManager) Deploy(d rpc.Deploy) {
	w := f.w
	w.log(fmt.Sprintf("deploy %s from %d", nameOf(d.Attempt), d.RestoredFrom))
	w.mu.Lock()
	w.alive[d.Attempt] = d
	w.mu.Unlock()
	if d.Attempt.Subtask.Vertex == 0 {
		w.jm.OperatorEvent(rpc.OperatorEvent{Token: d.Token, Attempt: d.Attempt, Operator: ident.OperatorIDOf("src"), Kind: operator.EventReaderReady})
	}
	w.jm.TaskStateChanged(rpc.TaskStateChanged{Token: d.Token, Attempt: d.Attempt, State: rpc.Running})
}

func (f fakeTaskManager) Cancel(m rpc.Cancel) {
	w := f.w
	w.log("cancel " + nameOf(m.Attempt))
	if f.lost("cancel", m.Attempt) {
		return
	}
	w.mu.Lock()
	_, ok := w.alive[m.Attempt]
	delete(w.alive, m.Attempt)
	w.mu.Unlock()
	if ok {
		w.jm.TaskStateChanged(rpc.TaskStateChanged{Token: m.Token, Attempt: m.Attempt, State: rpc.Canceled})
	}
}

func (f fakeTaskManager) TriggerCheckpoint(m rpc.TriggerCheckpoint) error {
	w := f.w
	w.log(fmt.Sprintf("trigger %d %s", m.Checkpoint, nameOf(m.Attempt)))
	if f.lost("trigger", m.Attempt) {
		return fmt.Errorf("trigger: %w", rpc.ErrUnknownTask)
	}
	if !w.s.manual && m.Attempt.Subtask.Index == 1 {
		w.ackAll(m.Checkpoint)
	}
	return nil
}

func (f fakeTaskManager) NotifyCheckpointComplete(m rpc.NotifyCheckpointComplete) {
	if f.lost("complete", m.Attempt) {
		return
	}
	f.w.log(fmt.Sprintf("complete %d %s", m.Checkpoint, nameOf(m.Attempt)))
}

func (f fakeTaskManager) NotifyCheckpointAborted(m rpc.NotifyCheckpointAborted) {
	f.w.log(fmt.Sprintf("aborted %d latest %d %s", m.Checkpoint, m.LatestCompleted, nameOf(m.Attempt)))
}

func (f fakeTaskManager) Finish(m rpc.Finish) {
	f.w.log("finish " + nameOf(m.Attempt))
}

func (f fakeTaskManager) OperatorEvent(m rpc.OperatorEvent) error {
	if f.lost("event", m.Attempt) {
		return errors.New("the connection broke")
	}
	what := "no more splits"
	switch m.Kind {
	case operator.EventCustom:
		what = "event " + string(m.Payload)
	case operator.EventAddSplits:
		splits, err := transform.DecodeSplits(m.Payload)
		if err != nil {
			return err
		}
		what = "split"
		for _, s := range splits {
			what += " " + s.ID
		}
	}
	f.w.log(fmt.Sprintf("%s → %s", what, nameOf(m.Attempt)))
	return nil
}

// fakeEnumerator holds splits that are not assigned, and does in its methods what
// the test says.
type fakeEnumerator struct {
	w        *world
	ctx      connector.EnumeratorContext
	free     []string
	restored string // "fresh", or what it was restored from
	// what the methods do; nil: nothing
	onStart, onSnapshot, onReader, onComplete func() error
	closed                                    int
}

func (w *world) enumerator(ctx connector.EnumeratorContext, restored []byte) (connector.Enumerator, error) {
	e := &fakeEnumerator{w: w, ctx: ctx, restored: "fresh", free: []string{"A", "B", "C", "D"}}
	if restored != nil {
		e.restored = string(restored)
		e.free = strings.Fields(string(restored))
	}
	w.mu.Lock()
	w.enums = append(w.enums, e)
	w.mu.Unlock()
	w.log("enumerator " + e.restored)
	if w.s.enumerator != nil {
		w.s.enumerator(e)
	}
	return e, nil
}

// enum is the present enumerator.
func (w *world) enum() *fakeEnumerator {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.enums[len(w.enums)-1]
}

// inLoop runs f in the JobMaster's goroutine, as the methods of an enumerator are.
func (w *world) inLoop(f func()) {
	w.jm.post(f)
	synctest.Wait()
}

// assign gives the next free split to a reader.
func (e *fakeEnumerator) assign(subtask int) {
	s := e.free[0]
	e.free = e.free[1:]
	e.ctx.Assign(subtask, connector.Split{ID: s})
}

func does(f func() error) error {
	if f == nil {
		return nil
	}
	return f()
}

func (e *fakeEnumerator) Start() error                         { return does(e.onStart) }
func (e *fakeEnumerator) AddReader(int)                        { does(e.onReader) }
func (e *fakeEnumerator) AddSplitsBack([]connector.Split, int) {}
func (e *fakeEnumerator) HandleRequest(int)                    {}
func (e *fakeEnumerator) HandleEvent(int, []byte)              {}
func (e *fakeEnumerator) NotifyComplete(uint64)                { does(e.onComplete) }
func (e *fakeEnumerator) Close() error                         { e.closed++; return nil }
func (e *fakeEnumerator) Snapshot(uint64) ([]byte, error) {
	err := does(e.onSnapshot)
	return []byte(strings.Join(e.free, " ")), err
}
