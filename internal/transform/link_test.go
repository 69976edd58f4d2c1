package transform

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cutwater-io/cutwater/internal/batch"
	"github.com/cutwater-io/cutwater/internal/operator"
)

func TestABatchIsLeftAtTheWatermarkThatBeginsAFiringAndGoneOnWithBehindIt(t *testing.T) {
	var log []string
	control := spoken(func(s string) { log = append(log, s) })
	keyed := Keyed(Keying(eventKeys, keyOf, nil), false, true).Receiver(operator.KeyedIn[int, event]{Control: control, Batch: func(b *batch.Batch[int, event], from, to int) {
		for _, e := range b.V[from:to] {
			log = append(log, fmt.Sprint("record ", e.ID))
		}
	}})
	plain := Unkeyed[event](false, false).Receiver(operator.In[event]{Control: control, Record: func(e *event, _ int64) {
		log = append(log, fmt.Sprint("record ", e.ID))
	}})
	kb := batch.New[int, event](batch.Shape{Limit: 8, Keyed: true, Values: true}, nil, nil)
	pb := batch.New[struct{}, event](batch.Shape{Limit: 8, Values: true}, nil, nil)
	mark := func(ts int64) { kb.AddMark(ts); pb.AddMark(ts) }
	record := func(id int64) {
		kb.K, kb.H, kb.V, kb.Ts = append(kb.K, 1), append(kb.H, 1), append(kb.V, event{1, id}), append(kb.Ts, id)
		pb.V, pb.Ts = append(pb.V, event{1, id}), append(pb.Ts, id)
	}
	mark(1)
	record(2)
	record(3)
	mark(3)
	record(4)
	mark(4)
	want := []string{"mark 1", "record 2", "record 3", "mark 3", "record 4", "mark 4"}
	for name, r := range map[string]struct {
		receiver operator.Receiver
		records  batch.Records
	}{"keyed": {keyed, kb}, "unkeyed": {plain, pb}} {
		for _, stops := range [][]int64{nil, {3}, {1, 3, 4}} {
			log = nil
			calls := 1
			at, done := operator.Place{}, false
			m := func(ts int64) bool {
				log = append(log, fmt.Sprint("mark ", ts))
				return slices.Contains(stops, ts)
			}
			for at, done = r.receiver.Process(r.records, at, m); !done; calls++ {
				if last := log[len(log)-1]; last != fmt.Sprint("mark ", stops[calls-1]) {
					t.Fatalf("%s: it was left behind %q", name, last)
				}
				at, done = r.receiver.Process(r.records, at, m)
			}
			if d := cmp.Diff(want, log); d != "" || calls != len(stops)+1 {
				t.Errorf("%s, stopped at %v, %d calls (-want +got):\n%s", name, stops, calls, d)
			}
		}
	}
}

func TestAKeyedEdgeInAChainKeepsTheOrderOfRecordsWatermarksAndStatuses(t *testing.T) {
	for _, firing := range []int{0, 1} {
		var log []string
		ctx := &operator.Context{Name: "op", MaxParallelism: rigMax, Task: &operator.Task{Mail: new(atomic.Bool), Firing: firing}}
		control := spoken(func(s string) { log = append(log, s) })
		in, op := Keyed(Keying(eventKeys, keyOf, nil), false, true).Chain(ctx, operator.KeyedIn[int, event]{Control: control, Batch: func(b *batch.Batch[int, event], from, to int) {
			for i := from; i < to; i++ {
				if b.H[i] != eventKeys.hasher.Hash(&b.K[i]) || b.K[i] != b.V[i].Key {
					t.Errorf("record %v came with key %d", b.V[i], b.K[i])
				}
				log = append(log, fmt.Sprint("record ", b.V[i].ID, " at ", b.Ts[i]))
			}
		}})
		edge := in.(operator.In[event])
		send := func(id int64) { edge.Record(&event{int(id % 3), id}, id) }
		send(1)
		edge.Watermark(1)
		send(2)
		send(3)
		edge.Watermark(3)
		if firing == 1 {
			// Something is firing: everything waits for it.
			if len(log) > 0 {
				t.Errorf("handed over while something fires: %v", log)
			}
			if ctx.Task.Firing != 2 {
				t.Errorf("%d operators are counted as firing, want 2", ctx.Task.Firing)
			}
			ctx.Task.Firing-- // it has ended
			for op.(operator.Resumer).Resume() {
			}
			if ctx.Task.Firing != 0 {
				t.Errorf("%d operators are counted as firing at the end", ctx.Task.Firing)
			}
		}
		edge.Status(true)
		send(4)
		op.PrepareBarrier(1)
		send(5)
		op.Idle()
		send(6)
		op.Finish()
		want := []string{"record 1 at 1", "watermark 1", "record 2 at 2", "record 3 at 3", "watermark 3", "idle true", "record 4 at 4", "record 5 at 5", "record 6 at 6"}
		if d := cmp.Diff(want, log); d != "" {
			t.Errorf("firing=%d (-want +got):\n%s", firing, d)
		}
	}
}

func TestElementsAndTheirSideOutputs(t *testing.T) {
	var log []string
	tag := NewTag[string]("late")
	build := func(f func(*operator.Context) (operator.Operator, []any, error)) operator.In[int64] {
		t.Helper()
		log = nil
		out := operator.In[int64]{Record: func(v *int64, ts int64) { log = append(log, fmt.Sprint(*v, "@", ts)) }, Control: spoken(func(s string) { log = append(log, s) })}
		side := operator.In[string]{Record: func(v *string, ts int64) { log = append(log, fmt.Sprint("side ", *v, "@", ts)) }, Control: spoken(func(s string) { log = append(log, "side "+s) })}
		_, ins, err := f(&operator.Context{Name: "op", Task: &operator.Task{}, Outputs: [][]any{{out}, {side}}, Sides: map[string]int{"late": 1}})
		if err != nil {
			t.Fatal(err)
		}
		return ins[0].(operator.In[int64])
	}
	boom := errors.New("boom")
	for _, s := range []struct {
		name string
		f    func(*operator.Context) (operator.Operator, []any, error)
		want []string
	}{
		{"map", Map(func(v int64) int64 { return v * 10 }), []string{"30@7", "40@7", "watermark 9"}},
		{"map into", MapInto(func(v, u *int64) { *u += *v }), []string{"3@7", "4@7", "watermark 9"}},
		{"filter", Filter(func(v int64) bool { return v == 4 }), []string{"4@7", "watermark 9"}},
		{"filter by reference", FilterRef(func(v *int64) bool { return *v == 3 }), []string{"3@7", "watermark 9"}},
		{"flat map", FlatMap(func(v int64) iter.Seq[int64] { return slices.Values([]int64{v, -v}) }), []string{"3@7", "-3@7", "4@7", "-4@7", "watermark 9"}},
		{"flat map into", FlatMapInto(func(v *int64, e *Emitter[int64]) {
			e.EmitRef(v)
			e.EmitAt(*v, 100)
			e.SideOutput(tag, fmt.Sprint("s", *v))
			e.SideOutput(NewTag[int]("nobody"), 1)
		}), []string{"3@7", "3@100", "side s3@7", "4@7", "4@100", "side s4@7", "watermark 9", "side watermark 9"}},
		{"process", Process(func(v int64, e *Emitter[int64]) error {
			if v == 0 {
				return boom
			}
			e.Emit(v)
			return nil
		}), []string{"3@7", "4@7", "watermark 9", "side watermark 9"}},
	} {
		in := build(s.f)
		for _, v := range []int64{3, 4} {
			in.Record(&v, 7)
		}
		in.Watermark(9)
		got := slices.DeleteFunc(log, func(l string) bool { return l == "side watermark 9" && !slices.Contains(s.want, l) })
		if d := cmp.Diff(s.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", s.name, d)
		}
		if s.name == "process" {
			func() {
				defer func() {
					if f, ok := recover().(*operator.Failure); !ok || !errors.Is(f, boom) {
						t.Errorf("process: %v", f)
					}
				}()
				zero := int64(0)
				in.Record(&zero, 0)
			}()
		}
	}
}
