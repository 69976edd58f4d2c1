package jobmaster

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/connector/collect"
	"github.com/cutwater-io/cutwater/internal/blob"
	"github.com/cutwater-io/cutwater/internal/blob/blobtest"
	"github.com/cutwater-io/cutwater/internal/checkpoint"
	"github.com/cutwater-io/cutwater/internal/host"
	"github.com/cutwater-io/cutwater/internal/ident"
	"github.com/cutwater-io/cutwater/internal/joblog"
	"github.com/cutwater-io/cutwater/internal/plan"
	"github.com/cutwater-io/cutwater/internal/rpc"
	"github.com/cutwater-io/cutwater/internal/schedule"
	"github.com/cutwater-io/cutwater/internal/taskmanager"
	"github.com/cutwater-io/cutwater/stream"
	"github.com/cutwater-io/cutwater/window"
)

// ticker is a source of the numbers 0 to n-1 in splits, some of them every
// millisecond. Number i is i milliseconds old in event time.
type ticker struct {
	n, splits int64
	lastAt    atomic.Int64 // when the last number was emitted, in nanoseconds
}

func (s *ticker) Enumerator(ctx connector.EnumeratorContext, restored []byte) (connector.Enumerator, error) {
	e := &tickerEnumerator{ctx: ctx}
	for split := range s.splits {
		e.free = append(e.free, split)
	}
	if restored != nil {
		e.free = e.free[:0]
		for b := restored; len(b) > 0; b = b[8:] {
			e.free = append(e.free, int64(binary.LittleEndian.Uint64(b)))
		}
	}
	return e, nil
}

// tickerEnumerator gives one split for each request, so that splits are assigned
// while checkpoints are taken.
type tickerEnumerator struct {
	ctx  connector.EnumeratorContext
	free []int64
}

func (e *tickerEnumerator) Start() error  { return nil }
func (e *tickerEnumerator) AddReader(int) {}
func (e *tickerEnumerator) HandleRequest(subtask int) {
	if len(e.free) == 0 {
		e.ctx.NoMoreSplits(subtask)
		return
	}
	e.ctx.Assign(subtask, tickerSplit(e.free[0], e.free[0]))
	e.free = e.free[1:]
}
func (e *tickerEnumerator) AddSplitsBack([]connector.Split, int) {}
func (e *tickerEnumerator) HandleEvent(int, []byte)              {}
func (e *tickerEnumerator) NotifyComplete(uint64)                {}
func (e *tickerEnumerator) Close() error                         { return nil }
func (e *tickerEnumerator) Snapshot(uint64) ([]byte, error) {
	var b []byte
	for _, split := range e.free {
		b = binary.LittleEndian.AppendUint64(b, uint64(split))
	}
	return b, nil
}

func tickerSplit(id, next int64) connector.Split {
	return connector.Split{ID: strconv.FormatInt(id, 10), Data: binary.LittleEndian.AppendUint64(nil, uint64(next))}
}

func (s *ticker) Reader(ctx connector.ReaderContext) (connector.Reader[int64], error) {
	return &tickerReader{s: s, ctx: ctx}, nil
}

type tickerReader struct {
	s         *ticker
	ctx       connector.ReaderContext
	splits    []connector.Split
	requested bool
	noMore    bool
	due       time.Time
}

func (r *tickerReader) AddSplits(splits []connector.Split) error {
	r.splits = append(r.splits, splits...)
	r.requested = false
	return nil
}
func (r *tickerReader) NoMoreSplits()               { r.noMore = true }
func (r *tickerReader) HandleEvent([]byte) error    { return nil }
func (r *tickerReader) NotifyComplete(uint64) error { return nil }
func (r *tickerReader) Close() error                { return nil }
func (r *tickerReader) Snapshot(uint64) ([]connector.Split, error) {
	return slices.Clone(r.splits), nil
}

func (r *tickerReader) Poll(out *connector.Output[int64]) (connector.PollResult, error) {
	now := time.Now()
	if wait := r.due.Sub(now); wait > 0 {
		out.WakeAfter = wait
		return connector.Wait, nil
	}
	r.due = now.Add(time.Millisecond)
	if len(r.splits) < 3 && !r.noMore && !r.requested {
		r.requested = true
		r.ctx.RequestSplit()
	}
	if len(r.splits) == 0 && r.noMore {
		return connector.Finished, nil
	}
	for i := 0; i < len(r.splits); i++ {
		s := &r.splits[i]
		next := int64(binary.LittleEndian.Uint64(s.Data))
		out.StartSplit(s.ID)
		for range 2 {
			if next >= r.s.n {
				break
			}
			v := next
			out.Emit(&v, v)
			next += r.s.splits
			r.s.lastAt.Store(now.UnixNano())
		}
		*s = connector.Split{ID: s.ID, Data: binary.LittleEndian.AppendUint64(nil, uint64(next))}
		if next >= r.s.n {
			out.FinishSplit(s.ID)
			r.splits = slices.Delete(r.splits, i, i+1)
			i--
		}
	}
	out.WakeAfter = time.Millisecond
	return connector.Wait, nil
}

// noise is what happens to messages between JobMaster and TaskManager.
type noise struct {
	notifications, acks disturbance
	failures            bool // tasks are killed now and then
	store               func(rng *draws) blob.Store
	checkpoints         checkpoint.Config
}

// disturbance of one kind of message, in percent.
type disturbance struct {
	lost, repeated, late int
	longest              time.Duration // of a delay
}

// draws is a source of chance for many goroutines.
type draws struct {
	mu  sync.Mutex
	rng *rand.Rand
}

func (d *draws) n(n int64) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rng.Int64N(n)
}

// line carries messages and disturbs them. Late messages overtake each other.
type line struct {
	rng *draws
	ctx context.Context
	wg  sync.WaitGroup
	// how often what happened
	lost, repeated, late atomic.Int64
}

func (l *line) send(d disturbance, deliver func()) {
	times := 1
	switch p := int(l.rng.n(100)); {
	case p < d.lost:
		l.lost.Add(1)
		return
	case p < d.lost+d.repeated:
		l.repeated.Add(1)
		times = 2
	}
	for range times {
		if int(l.rng.n(100)) >= d.late {
			deliver()
			continue
		}
		l.late.Add(1)
		wait := time.Duration(l.rng.n(int64(d.longest)))
		l.wg.Go(func() {
			select {
			case <-time.After(wait):
				deliver()
			case <-l.ctx.Done():
			}
		})
	}
}

// noisyTaskManager disturbs notifications on their way to tasks.
type noisyTaskManager struct {
	rpc.TaskManager
	l *line
	n *noise

	mu       sync.Mutex
	deployed []ident.AttemptID
	token    ident.FencingToken
}

func (t *noisyTaskManager) Deploy(d rpc.Deploy) {
	t.mu.Lock()
	t.deployed, t.token = append(t.deployed, d.Attempt), d.Token
	t.mu.Unlock()
	t.TaskManager.Deploy(d)
}

func (t *noisyTaskManager) NotifyCheckpointComplete(m rpc.NotifyCheckpointComplete) {
	t.l.send(t.n.notifications, func() { t.TaskManager.NotifyCheckpointComplete(m) })
}

func (t *noisyTaskManager) NotifyCheckpointAborted(m rpc.NotifyCheckpointAborted) {
	t.l.send(t.n.notifications, func() { t.TaskManager.NotifyCheckpointAborted(m) })
}

// killSome cancels a random task of the latest attempts now and then.
func (t *noisyTaskManager) killSome() {
	for {
		select {
		case <-time.After(time.Duration(t.l.rng.n(int64(400 * time.Millisecond)))):
		case <-t.l.ctx.Done():
			return
		}
		t.mu.Lock()
		a := t.deployed[len(t.deployed)-1-int(t.l.rng.n(3))]
		token := t.token
		t.mu.Unlock()
		t.TaskManager.Cancel(rpc.Cancel{Token: token, Attempt: a})
	}
}

// noisyJobMaster disturbs acknowledgements on their way to the JobMaster.
type noisyJobMaster struct {
	rpc.JobMaster
	l *line
	n *noise
}

func (j *noisyJobMaster) AcknowledgeCheckpoint(m rpc.AcknowledgeCheckpoint) {
	j.l.send(j.n.acks, func() { j.JobMaster.AcknowledgeCheckpoint(m) })
}

func (j *noisyJobMaster) DeclineCheckpoint(m rpc.DeclineCheckpoint) {
	j.l.send(j.n.acks, func() { j.JobMaster.DeclineCheckpoint(m) })
}

func (j *noisyJobMaster) SnapshotTaken(m rpc.SnapshotTaken) {
	j.l.send(j.n.acks, func() { j.JobMaster.SnapshotTaken(m) })
}

// outcome is what a job under noise did.
type outcome struct {
	line                        *line
	completed, failed, restarts int
	triggered                   int
	mostPending                 int
	took                        time.Duration
	store                       blob.Store
	source                      *ticker
}

// underNoise runs a job of 4 tasks to its end in virtual time.
func underNoise(t *testing.T, seed uint64, n noise, source *ticker, build func(p *stream.Pipeline, numbers stream.Stream[int64])) outcome {
	t.Helper()
	rng := &draws{rng: rand.New(rand.NewPCG(seed, 421))}
	var store blob.Store = blob.Memory()
	if n.store != nil {
		store = n.store(rng)
	}
	p := stream.New("noise")
	build(p, p.From(source, stream.Name("numbers"), stream.Parallelism(2)))
	prog, err := p.Program()
	if err != nil {
		t.Fatal(err)
	}
	pl, err := plan.Make(prog.Graph, plan.Options{Parallelism: 2})
	if err != nil {
		t.Fatal(err)
	}
	env := host.Env(slog.New(slog.NewTextHandler(io.Discard, nil)))
	log, recovered, err := openLog(t, store, env.Random)
	if err != nil {
		t.Fatal(err)
	}
	cfg := n.checkpoints
	cfg.TolerableFailures = checkpoint.UnlimitedFailures
	if cfg.Interval == 0 {
		cfg.Interval, cfg.Timeout = 20*time.Millisecond, 150*time.Millisecond
	}
	o := outcome{store: store, source: source}
	var jm *JobMaster
	jm = New(Config{
		Program: prog, Plan: pl, Checkpoints: cfg, Env: env, Store: store, Log: log, Recovered: recovered, Restart: schedule.Strategy{Kind: schedule.Fixed, Attempts: 1 << 20, Delay: 5 * time.Millisecond},
		Observer: func(e Event) {
			switch e := e.(type) {
			case CheckpointTriggered:
				o.triggered++
			case CheckpointCompleted:
				o.completed++
			case CheckpointFailed:
				o.failed++
			case Restarting:
				o.restarts++
			case TaskFailed:
				if !strings.Contains(e.Err.Error(), "canceled by nobody") {
					t.Errorf("seed %d: %v", seed, e.Err)
				}
			}
			o.mostPending = max(o.mostPending, jm.coord.Pending())
			if err := jm.coord.Check(); err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
		},
	})
	work, cancel := context.WithCancel(t.Context())
	defer cancel()
	l := &line{rng: rng, ctx: work}
	o.line = l
	tm := taskmanager.New(work, taskmanager.Config{
		Program: prog, Plan: pl, Job: log.Job(), Env: env, Store: store, Checkpoints: true, JobMaster: &noisyJobMaster{jm, l, &n},
	})
	noisy := &noisyTaskManager{TaskManager: tm, l: l, n: &n}
	jm.Attach(noisy)
	if n.failures {
		l.wg.Go(noisy.killSome)
	}
	begin := time.Now()
	limited, stop := context.WithTimeoutCause(t.Context(), time.Hour, errors.New("an hour of virtual time is over: the job hangs"))
	defer stop()
	if err := jm.Run(limited); err != nil {
		t.Errorf("seed %d: the job failed: %v (%d checkpoints completed, %d failed, %d restarts)", seed, err, o.completed, o.failed, o.restarts)
	}
	o.took = time.Since(begin)
	cancel()
	tm.Wait()
	l.wg.Wait()
	return o
}

func openLog(t *testing.T, store blob.Store, random func() uint64) (log *joblog.Log, r joblog.Recovered, err error) {
	for range 100 { // of a store that fails
		if log, r, err = joblog.Open(t.Context(), store, "noise", random); err == nil {
			break
		}
	}
	return log, r, err
}

// sums is a job that adds up numbers by their last digit and emits every number
// once with the count of its key: any loss or repetition shows.
func sums(c *collect.Collector[string]) func(p *stream.Pipeline, numbers stream.Stream[int64]) {
	return func(p *stream.Pipeline, numbers stream.Stream[int64]) {
		numbers.KeyBy(func(n int64) int64 { return n % 10 }).
			Stateful(func(_ *stream.Ctx[int64], count *int64, n int64, out *stream.Emitter[string]) error {
				*count++
				out.Emit(fmt.Sprintf("%d %d", n%10, *count))
				return nil
			}, stream.Name("count")).
			To(c.Sink(), stream.Name("out"))
	}
}

// checkSums: each key's counts are 1 to n, each once.
func checkSums(t *testing.T, seed uint64, n int64, got []string) {
	t.Helper()
	seen := map[string]int{}
	for _, s := range got {
		seen[s]++
	}
	for key := range int64(10) {
		for i := range n / 10 {
			s := fmt.Sprintf("%d %d", key, i+1)
			if seen[s] != 1 {
				t.Fatalf("seed %d: %q came %d times", seed, s, seen[s])
			}
			delete(seen, s)
		}
	}
	if len(seen) > 0 {
		t.Fatalf("seed %d: unexpected %v", seed, slices.Collect(maps.Keys(seen)))
	}
}

func TestS421NotificationsThatAreRepeatedReorderedAndLateChangeNothing(t *testing.T) {
	total := outcome{line: &line{}}
	for seed := range uint64(15) {
		synctest.Test(t, func(t *testing.T) {
			c := collect.New[string]()
			o := underNoise(t, seed, noise{
				notifications: disturbance{lost: 10, repeated: 30, late: 60, longest: 70 * time.Millisecond}, failures: seed%2 == 1,
			}, &ticker{n: 2000, splits: 8}, sums(c))
			checkSums(t, seed, 2000, c.Values())
			total.add(o)
		})
	}
	total.check(t, 60, 5, 50)
}

func TestS422AcknowledgementsThatAreLostRepeatedAndLateChangeNothing(t *testing.T) {
	total := outcome{line: &line{}}
	for seed := range uint64(15) {
		synctest.Test(t, func(t *testing.T) {
			c := collect.New[string]()
			o := underNoise(t, seed, noise{
				acks: disturbance{lost: 3, repeated: 30, late: 40, longest: 170 * time.Millisecond}, failures: seed%2 == 1,
			}, &ticker{n: 2000, splits: 8}, sums(c))
			checkSums(t, seed, 2000, c.Values())
			total.add(o)
		})
	}
	total.check(t, 15, 5, 15)
	if total.failed < 10 {
		t.Errorf("only %d checkpoints failed: none expired", total.failed)
	}
}

func (o *outcome) add(b outcome) {
	o.completed += b.completed
	o.failed += b.failed
	o.restarts += b.restarts
	o.line.lost.Add(b.line.lost.Load())
	o.line.late.Add(b.line.late.Load())
	o.line.repeated.Add(b.line.repeated.Load())
}

// check makes sure that the test saw what it is about.
func (o *outcome) check(t *testing.T, completed, restarts int, disturbed int64) {
	t.Helper()
	l := o.line
	t.Logf("%d checkpoints completed, %d failed, %d restarts; %d messages lost, %d repeated, %d late", o.completed, o.failed, o.restarts, l.lost.Load(), l.repeated.Load(), l.late.Load())
	if o.completed < completed || o.restarts < restarts || l.lost.Load() < disturbed/5 || l.repeated.Load() < disturbed || l.late.Load() < disturbed {
		t.Error("too little happened")
	}
}

// Most notifications are lost, the last ones of the job too. A task that missed its
// last one is told again by the next checkpoint, also when its sources have finished.
func TestS120AJobEndsAlsoWhenMostNotificationsAreLost(t *testing.T) {
	for seed := range uint64(15) {
		synctest.Test(t, func(t *testing.T) {
			c := collect.New[string]()
			underNoise(t, seed, noise{notifications: disturbance{lost: 60, late: 30, longest: 50 * time.Millisecond}}, &ticker{n: 500, splits: 4}, sums(c))
			checkSums(t, seed, 500, c.Values())
		})
	}
}

func TestS416AStoreThatFailsNowAndThenCostsNothingButTime(t *testing.T) {
	for seed := range uint64(6) {
		synctest.Test(t, func(t *testing.T) {
			c := collect.New[string]()
			failures := 0
			o := underNoise(t, seed, noise{failures: seed%2 == 1, store: func(rng *draws) blob.Store {
				return &blobtest.Faulty{Store: blob.Memory(), Fault: func(op, _ string) blobtest.Fault {
					if op != "get" && op != "list" && rng.n(100) < 30 {
						failures++
						return []blobtest.Fault{blobtest.Fail, blobtest.Unsent, blobtest.Unanswered}[rng.n(3)]
					}
					return blobtest.None
				}}
			}}, &ticker{n: 2000, splits: 8}, sums(c))
			checkSums(t, seed, 2000, c.Values())
			if o.completed < 2 || failures < 10 {
				t.Errorf("seed %d: %d checkpoints completed, the store failed %d times", seed, o.completed, failures)
			}
			// What could not be deleted is found by the next run.
			memory := o.store.(*blobtest.Faulty).Store
			again := collect.New[string]()
			underNoise(t, seed, noise{store: func(*draws) blob.Store { return memory }}, &ticker{n: 2000, splits: 8}, sums(again))
			checkSums(t, seed, 2000, again.Values())
			left, err := memory.List(t.Context(), "chk/")
			if err != nil {
				t.Fatal(err)
			}
			log, err := joblog.Read(t.Context(), memory)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range left { // the log may name one that it failed to take off
				if !slices.ContainsFunc(append(log.Former, log.Completed...), func(c joblog.Completed) bool { return c.Manifest == name }) {
					t.Errorf("seed %d: left in the store: %s", seed, name)
				}
			}
		})
	}
}

// entangled is state whose parts must agree with each other.
type entangled struct {
	Count  int64
	Text   string
	Parts  []int64
	Digits map[int64]int64
	Inner  struct{ First, Last string }
}

func (s *entangled) add(n int64) (sound bool) {
	sum := int64(0)
	for _, k := range s.Digits {
		sum += k
	}
	sound = int64(len(s.Text)) == s.Count && int64(len(s.Parts)) == s.Count && sum == s.Count && strings.Count(s.Text, "x") == len(s.Text)
	if s.Count > 0 {
		sound = sound && s.Inner.First == fmt.Sprint(s.Parts[0]) && s.Inner.Last == fmt.Sprint(s.Parts[s.Count-1])
	} else {
		s.Digits = map[int64]int64{}
		s.Inner.First = fmt.Sprint(n)
	}
	s.Count++
	s.Text += "x"
	s.Parts = append(s.Parts, n)
	s.Digits[n/10%10]++
	s.Inner.Last = fmt.Sprint(n)
	return sound
}

// The task encodes and changes state, with the very codec with which the
// asynchronous part writes the snapshot beside it.
func TestS269StateEncodedBesideTheTaskThatChangesItIsNeverCorrupt(t *testing.T) {
	restarts := 0
	for seed := range uint64(6) {
		synctest.Test(t, func(t *testing.T) {
			c := collect.New[string]()
			cfg := checkpoint.Config{Interval: 10 * time.Millisecond, Timeout: time.Second, MaxConcurrent: 3}
			o := underNoise(t, seed, noise{failures: true, checkpoints: cfg}, &ticker{n: 4000, splits: 8}, func(p *stream.Pipeline, numbers stream.Stream[int64]) {
				numbers.KeyBy(func(n int64) string { return strings.Repeat("key", int(n%10)) }).
					Stateful(func(_ *stream.Ctx[string], s *entangled, n int64, out *stream.Emitter[string]) error {
						if !s.add(n) {
							return fmt.Errorf("the parts of a state do not belong together: %+v", s)
						}
						out.Emit(fmt.Sprintf("%d %d", n%10, s.Count))
						return nil
					}, stream.Name("count")).
					To(c.Sink(), stream.Name("out"))
			})
			restarts += o.restarts
			checkSums(t, seed, 4000, c.Values())
		})
	}
	if restarts < 5 {
		t.Errorf("only %d restarts: little was restored", restarts)
	}
}

// slowWrites takes ten seconds for every write.
type slowWrites struct{ blob.Store }

func (s slowWrites) Create(ctx context.Context, name string) (blob.Writer, error) {
	time.Sleep(10 * time.Second)
	return s.Store.Create(ctx, name)
}
func (s slowWrites) Put(ctx context.Context, name string, data []byte) error {
	time.Sleep(10 * time.Second)
	return s.Store.Put(ctx, name, data)
}
func (s slowWrites) PutIfAbsent(ctx context.Context, name string, data []byte) error {
	time.Sleep(10 * time.Second)
	return s.Store.PutIfAbsent(ctx, name, data)
}

func TestS417ASlowStoreDoesNotSlowTheRecordsDown(t *testing.T) {
	lastAt := map[bool]time.Duration{}
	for _, slow := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := collect.New[string]()
			source := &ticker{n: 100_000, splits: 1}
			begin := time.Now()
			o := underNoise(t, 1, noise{checkpoints: checkpoint.Config{Interval: time.Second}, store: func(*draws) blob.Store {
				if slow {
					begin = begin.Add(20 * time.Second) // the log is opened before the job begins
					return slowWrites{blob.Memory()}
				}
				return blob.Memory()
			}}, source, sums(c))
			checkSums(t, 1, 100_000, c.Values())
			lastAt[slow] = time.Unix(0, source.lastAt.Load()).Sub(begin)
			if o.mostPending > 1 || o.completed < 2 {
				t.Errorf("slow %t: %d checkpoints under way at a time, %d completed", slow, o.mostPending, o.completed)
			}
		})
	}
	if d := lastAt[true] - lastAt[false]; d > time.Second {
		t.Errorf("the last record came after %v, with a slow store after %v", lastAt[false], lastAt[true])
	}
}

// Windows fire while tasks are killed. What was late before a failure is not late
// behind it and the other way round: no window comes back, none is missing.
func TestS405S406WindowsAreTheSameWithAndWithoutFailures(t *testing.T) {
	const size = 50 * time.Millisecond
	windows := func(c *collect.Collector[string]) func(p *stream.Pipeline, numbers stream.Stream[int64]) {
		return func(p *stream.Pipeline, numbers stream.Stream[int64]) {
			numbers.SourceTime(stream.BoundedOutOfOrderness(20*time.Millisecond), stream.Name("time")).
				KeyBy(func(n int64) int64 { return n % 7 }).
				Window(window.Tumbling(size)).Count(stream.Name("windows")).
				Map(func(r window.Result[int64, int64]) string {
					return fmt.Sprintf("%d [%d) %d", r.Key, r.Window.End, r.Value)
				}, stream.Name("format")).
				To(c.Sink(), stream.Name("out"))
		}
	}
	const n = 2100
	var want []string
	for end := int64(50); end <= n; end += 50 {
		count := map[int64]int{}
		for i := end - 50; i < end; i++ {
			count[i%7]++
		}
		for key, k := range count {
			want = append(want, fmt.Sprintf("%d [%d) %d", key, end, k))
		}
	}
	slices.Sort(want)
	restarts := 0
	for seed := range uint64(15) {
		synctest.Test(t, func(t *testing.T) {
			c := collect.New[string]()
			o := underNoise(t, seed, noise{failures: seed > 0}, &ticker{n: n, splits: 2}, windows(c))
			restarts += o.restarts
			got := c.Values()
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("seed %d: %d results, want %d, after %d restarts", seed, len(got), len(want), o.restarts)
				for _, s := range got {
					if !slices.Contains(want, s) {
						t.Logf("unexpected %s", s)
					}
				}
			}
		})
	}
	if restarts < 15 {
		t.Errorf("only %d restarts", restarts)
	}
}
