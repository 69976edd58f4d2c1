package transform

import (
	"bytes"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/cutwater-io/cutwater/internal/backend/memory"
	"github.com/cutwater-io/cutwater/internal/batch"
	"github.com/cutwater-io/cutwater/internal/keygroup"
	"github.com/cutwater-io/cutwater/internal/manifest"
	"github.com/cutwater-io/cutwater/internal/operator"
	"github.com/cutwater-io/cutwater/internal/segment"
)

// failer is what rigs need of a test: *testing.T and *rapid.T have it.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// emitted is one record that an operator has emitted.
type emitted[U any] struct {
	value U
	ts    int64
}

// rig runs a keyed operator alone: all its subtasks in one goroutine, with a wall
// clock and timers of its own, and collects what they emit. It can take a
// checkpoint and go on from it at another parallelism.
type rig[K comparable, T, U any] struct {
	t     failer
	build func(*operator.Context) (operator.Operator, []any, error)
	kt    *KeyType[K]
	key   func(T) K
	now   int64 // wall clock
	// mail says that mail always waits: a firing then stops behind each key.
	mail bool

	subs []*sub[K, T]
	out  []emitted[U]
	late []T
	// marks are the watermarks forwarded by each subtask; inBand has the statuses
	// too.
	marks  [][]int64
	inBand [][]string
	// Counters of subtasks that are gone.
	lateCount, lateCounted int64
}

type sub[K comparable, T any] struct {
	ctx    *operator.Context
	op     operator.Operator
	in     operator.KeyedIn[K, T]
	alarms []alarm
}

type alarm struct {
	millis int64
	f      func() error
}

const rigMax = 16 // key groups

func newRig[K comparable, T, U any](t failer, parallelism int, kt *KeyType[K], key func(T) K,
	build func(*operator.Context) (operator.Operator, []any, error)) *rig[K, T, U] {
	r := &rig[K, T, U]{t: t, build: build, kt: kt, key: key}
	r.start(parallelism, nil)
	return r
}

func (r *rig[K, T, U]) start(parallelism int, restored []manifest.Restored) {
	r.t.Helper()
	r.subs = nil
	r.marks = make([][]int64, parallelism)
	r.inBand = make([][]string, parallelism)
	for i := range parallelism {
		s := &sub[K, T]{}
		first, last := keygroup.RangeOf(i, parallelism, rigMax)
		task := &operator.Task{Arena: memory.NewArena(), NowMillis: r.now, Mail: new(atomic.Bool)}
		task.At = func(millis int64, f func() error) { s.alarms = append(s.alarms, alarm{millis, f}) }
		ctx := &operator.Context{
			Name: "op", Subtask: i, Parallelism: parallelism, MaxParallelism: rigMax,
			Groups: manifest.Range{First: first, Last: last}, Task: task, Sides: map[string]int{"late": 1},
			Outputs: [][]any{
				{operator.In[U]{Record: func(v *U, ts int64) { r.out = append(r.out, emitted[U]{*v, ts}) }, Control: &probe[K, T, U]{r, i}}},
				{operator.In[T]{Record: func(v *T, _ int64) { r.late = append(r.late, *v) }, Control: &probe[K, T, U]{nil, i}}},
			},
		}
		s.ctx = ctx
		if restored != nil {
			ctx.RestoredFrom = 1
			ctx.Restored = restoredOf(r.t, &restored[i])
		}
		op, ins, err := r.build(ctx)
		if err != nil {
			r.t.Fatalf("build: %v", err)
		}
		s.op, s.in = op, ins[0].(operator.KeyedIn[K, T])
		r.subs = append(r.subs, s)
		if err := op.Open(); err != nil {
			r.t.Fatalf("open: %v", err)
		}
		ctx.Restored = nil
	}
	r.settle()
}

// probe is the control behind an output.
type probe[K comparable, T, U any] struct {
	r *rig[K, T, U]
	i int
}

func (p *probe[K, T, U]) Watermark(ts int64) {
	if p.r != nil {
		p.r.marks[p.i] = append(p.r.marks[p.i], ts)
		p.r.inBand[p.i] = append(p.r.inBand[p.i], fmt.Sprint("watermark ", ts))
	}
}

func (p *probe[K, T, U]) Status(idle bool) {
	if p.r != nil {
		p.r.inBand[p.i] = append(p.r.inBand[p.i], fmt.Sprint("idle ", idle))
	}
}

func restoredOf(t failer, m *manifest.Restored) *operator.Restored {
	r := &operator.Restored{Lists: m.Lists}
	for _, part := range m.Keyed {
		s, err := segment.NewReader(bytes.NewReader(part.Handle.Inline), part.Handle.Size)
		if err != nil {
			t.Fatalf("restore: %v", err)
		}
		r.Keyed = append(r.Keyed, operator.KeyedPart{Segment: s, Read: part.Read})
	}
	return r
}

// record is a record with its event time.
type record[T any] struct {
	v  T
	ts int64
}

// send gives a batch of records to the subtasks of their keys.
func (r *rig[K, T, U]) send(records ...record[T]) {
	batches := make([]*batch.Batch[K, T], len(r.subs))
	for i := range batches {
		batches[i] = batch.New[K, T](batch.Shape{Limit: 64, Keyed: true, Values: true}, nil, nil)
	}
	for _, rec := range records {
		k := r.key(rec.v)
		h := r.kt.hasher.Hash(&k)
		b := batches[keygroup.Subtask(keygroup.Of(h, rigMax), len(r.subs), rigMax)]
		b.K, b.H = append(b.K, k), append(b.H, h)
		b.V, b.Ts = append(b.V, rec.v), append(b.Ts, rec.ts)
	}
	for i, b := range batches {
		if b.Len() > 0 {
			r.subs[i].in.Batch(b, 0, b.Len())
		}
	}
	r.settle()
}

// watermark gives a watermark to all subtasks.
func (r *rig[K, T, U]) watermark(ts int64) {
	r.pushWatermark(ts)
	r.settle()
}

// pushWatermark does not let firings go on to their ends.
func (r *rig[K, T, U]) pushWatermark(ts int64) {
	for _, s := range r.subs {
		s.ctx.Task.Mail.Store(r.mail)
		s.in.Watermark(ts)
	}
}

// settle lets everything go on that has been begun, and fires timers that are due.
func (r *rig[K, T, U]) settle() {
	r.t.Helper()
	for _, s := range r.subs {
		for {
			s.ctx.Task.Mail.Store(r.mail)
			resumed := false
			if rs, ok := s.op.(operator.Resumer); ok {
				resumed = rs.Resume()
			}
			if !resumed && s.ctx.Task.Firing != 0 {
				r.t.Fatalf("%d operators are counted as firing, and nothing is left to do", s.ctx.Task.Firing)
			}
			i := slices.IndexFunc(s.alarms, func(a alarm) bool { return a.millis <= r.now })
			if i >= 0 {
				f := s.alarms[i].f
				s.alarms = slices.Delete(s.alarms, i, i+1)
				if err := f(); err != nil {
					r.t.Fatalf("timer: %v", err)
				}
			}
			if !resumed && i < 0 {
				break
			}
		}
	}
}

// clock moves the wall clock.
func (r *rig[K, T, U]) clock(millis int64) {
	r.now = millis
	for _, s := range r.subs {
		s.ctx.Task.NowMillis = millis
	}
	r.settle()
}

// snapshot takes a checkpoint of all subtasks.
func (r *rig[K, T, U]) snapshot() *manifest.OperatorState {
	r.t.Helper()
	o := &manifest.OperatorState{Name: "op", Parallelism: int32(len(r.subs)), MaxParallelism: rigMax}
	for i, s := range r.subs {
		if err := s.op.PrepareBarrier(1); err != nil {
			r.t.Fatalf("prepare barrier: %v", err)
		}
		snap := &operator.Snapshot{}
		if err := s.op.Snapshot(1, snap); err != nil {
			r.t.Fatalf("snapshot: %v", err)
		}
		state := subtaskState(r.t, i, s.ctx.Groups, snap)
		if !state.Empty() {
			o.Subtasks = append(o.Subtasks, state)
		}
	}
	return o
}

func subtaskState(t failer, subtask int, groups manifest.Range, snap *operator.Snapshot) manifest.SubtaskState {
	state := manifest.SubtaskState{Subtask: int32(subtask), Lists: snap.Lists}
	if len(snap.Keyed) > 0 {
		var buf bytes.Buffer
		w := segment.NewWriter(&buf)
		for _, src := range snap.Keyed {
			if err := w.WriteState(src); err != nil {
				t.Fatalf("write state: %v", err)
			}
			src.Release()
		}
		size, err := w.Close()
		if err != nil {
			t.Fatalf("write state: %v", err)
		}
		state.Keyed, state.Range = &manifest.Handle{Inline: buf.Bytes(), Size: size}, groups
	}
	return state
}

// restore closes all subtasks and goes on from a checkpoint.
func (r *rig[K, T, U]) restore(o *manifest.OperatorState, parallelism int) {
	r.t.Helper()
	r.close()
	restored, _, err := manifest.Assign(o, parallelism, rigMax, true)
	if err != nil {
		r.t.Fatalf("assign: %v", err)
	}
	r.start(parallelism, restored)
}

// finish is the end of the input.
func (r *rig[K, T, U]) finish() {
	r.watermark(int64(1<<63 - 1))
	for _, s := range r.subs {
		if err := s.op.Finish(); err != nil {
			r.t.Fatalf("finish: %v", err)
		}
	}
	r.settle()
}

func (r *rig[K, T, U]) close() {
	r.lateCount, r.lateCounted = r.counts()
	for _, s := range r.subs {
		if err := s.op.Close(); err != nil {
			r.t.Fatalf("close: %v", err)
		}
		if s.ctx.Task.Arena != nil {
			s.ctx.Task.Arena.Close()
		}
	}
	r.subs = nil
}

// counts are the late records so far: dropped and counted.
func (r *rig[K, T, U]) counts() (dropped, counted int64) {
	dropped, counted = r.lateCount, r.lateCounted
	for _, s := range r.subs {
		dropped += s.ctx.Task.Late
		counted += s.ctx.Task.LateCounted
	}
	return dropped, counted
}

// took returns what was emitted since it was asked last, as text in a stable
// order: results of one moment of different keys come in any.
func (r *rig[K, T, U]) took() []string {
	s := []string{}
	for _, e := range r.out {
		s = append(s, fmt.Sprint(e.value, " at ", e.ts))
	}
	r.out = nil
	slices.Sort(s)
	return s
}

func entries[K comparable, T, U any](r *rig[K, T, U], count func(op operator.Operator) int) int {
	n := 0
	for _, s := range r.subs {
		n += count(s.op)
	}
	return n
}
