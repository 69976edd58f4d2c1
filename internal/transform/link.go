package transform

import (
	"github.com/cutwater-io/cutwater/internal/batch"
	"github.com/cutwater-io/cutwater/internal/exchange"
	"github.com/cutwater-io/cutwater/internal/ident"
	"github.com/cutwater-io/cutwater/internal/keygroup"
	"github.com/cutwater-io/cutwater/internal/operator"
)

// Unkeyed makes the typed parts of an edge without keys. partition is asked when
// a task is built, because it depends on the parallelisms: it returns
// "broadcast", "rebalance" or "forward".
func Unkeyed[T any](pointers bool, broadcast bool) operator.Link {
	shape := batch.Shape{Limit: batch.Limit[T](), Values: true, Pointers: pointers}
	return operator.Link{
		Writer: func(ctx *operator.Context, task exchange.Task, channels []*exchange.Channel) (exchange.Output, any) {
			w := exchange.NewWriter[struct{}, T](task, shape, channels)
			in := operator.In[T]{Control: writerControl{w}}
			switch {
			case len(channels) == 1:
				in.Record = w.Forward()
			case broadcast:
				in.Record = w.Broadcast()
			default:
				// Subtasks begin at different channels, so that many senders
				// with few records do not all load the first one.
				in.Record = w.Rebalance(ctx.Subtask)
			}
			return w, in
		},
		Receiver: func(down any) operator.Receiver { return receiver[T]{down.(operator.In[T])} },
		Chain:    func(_ *operator.Context, down any) (any, operator.Operator) { return down, nil },
	}
}

type receiver[T any] struct{ in operator.In[T] }

func (r receiver[T]) Process(records batch.Records, at operator.Place, mark func(int64) bool) (operator.Place, bool) {
	b := records.(*batch.Batch[struct{}, T])
	record := r.in.Record
	for _, m := range b.Marks[at.Marks:] {
		for i := at.Records; i < int(m.Pos); i++ {
			record(&b.V[i], b.Ts[i])
		}
		at.Records = int(m.Pos)
		at.Marks++
		if mark(m.Watermark) {
			return at, false
		}
	}
	for i := at.Records; i < len(b.V); i++ {
		record(&b.V[i], b.Ts[i])
	}
	return at, true
}

// writerControl forwards what travels in band to every channel of an edge.
type writerControl struct{ out exchange.Output }

func (c writerControl) Watermark(ts int64) { c.out.Watermark(ts) }
func (c writerControl) Status(idle bool) {
	c.out.Event(batch.Element{Kind: batch.KindStatus, Idle: idle})
}

// Key says how a keyed edge finds the key of a record. One of Value and Ref is
// set: the user's function as it was given, so that no other closure is called
// in between.
type Key[K, T any] struct {
	Value   func(v T) K
	Ref     func(v *T) K
	Hash    func(k *K) uint64
	HashAll func(hashes []uint64, keys []K)
	Check   func(k *K) error // nil: every key is fine
}

// take returns a function that takes the key out of a record.
func (key *Key[K, T]) take() func(v *T, k *K) {
	if value := key.Value; value != nil {
		return func(v *T, k *K) { *k = value(*v) }
	}
	ref := key.Ref
	return func(v *T, k *K) { *k = ref(v) }
}

// Keyed makes the typed parts of an edge by key. values is false when the
// consumer needs keys and times only.
func Keyed[K comparable, T any](key Key[K, T], pointers, values bool) operator.Link {
	shape := batch.Shape{Limit: batch.Limit[T](), Keyed: true, Values: values, Pointers: pointers}
	return operator.Link{
		Writer: func(ctx *operator.Context, task exchange.Task, channels []*exchange.Channel) (exchange.Output, any) {
			w := exchange.NewWriter[K, T](task, shape, channels)
			keys := exchange.Keys[K, T]{
				Key: key.take(), Hash: key.Hash, Check: key.Check, MaxParallelism: ctx.MaxParallelism,
				Target: keygroup.Targets(len(channels), ctx.MaxParallelism),
			}
			record := w.Partition(keys, func(_ *T, err error) { ctx.Fail("", err) })
			return w, operator.In[T]{Record: record, Control: writerControl{w}}
		},
		Receiver: func(down any) operator.Receiver { return keyedReceiver[K, T]{down.(operator.KeyedIn[K, T])} },
		Chain: func(ctx *operator.Context, down any) (any, operator.Operator) {
			l := newLocalKeyed(ctx, key, down.(operator.KeyedIn[K, T]), shape)
			return operator.In[T]{Record: l.record(), Control: l}, l
		},
	}
}

type keyedReceiver[K, T any] struct{ in operator.KeyedIn[K, T] }

func (r keyedReceiver[K, T]) Process(records batch.Records, at operator.Place, mark func(int64) bool) (operator.Place, bool) {
	return handOver(r.in, records.(*batch.Batch[K, T]), at, mark)
}

// handOver gives a batch to a keyed operator as runs between its marks.
func handOver[K, T any](in operator.KeyedIn[K, T], b *batch.Batch[K, T], at operator.Place, mark func(int64) bool) (operator.Place, bool) {
	for _, m := range b.Marks[at.Marks:] {
		if int(m.Pos) > at.Records {
			in.Batch(b, at.Records, int(m.Pos))
		}
		at.Records = int(m.Pos)
		at.Marks++
		if mark(m.Watermark) {
			return at, false
		}
	}
	if b.Len() > at.Records {
		in.Batch(b, at.Records, b.Len())
	}
	return at, true
}

// localKeyed is a keyed edge from one subtask to one inside a chain. Records are
// collected into a batch all the same: hashing and resolving the keys of many
// records at once lets their cache misses overlap, which is worth more than the
// copy.
type localKeyed[K comparable, T any] struct {
	operator.Base
	ctx  *operator.Context
	key  Key[K, T]
	down operator.KeyedIn[K, T]
	b    *batch.Batch[K, T]

	// The columns of b at full length, of which n records are in use. Storing at
	// an index is half the work of appending, which writes a length per column.
	n  int
	k  []K
	ts []int64
	v  []T // nil: the operator behind needs keys and times only

	held bool           // marks wait in b for a firing to end
	done operator.Place // with held: what has been handed over
}

func newLocalKeyed[K comparable, T any](ctx *operator.Context, key Key[K, T], down operator.KeyedIn[K, T], shape batch.Shape) *localKeyed[K, T] {
	b := batch.New[K, T](shape, nil, nil)
	l := &localKeyed[K, T]{ctx: ctx, key: key, down: down, b: b, k: b.K[:shape.Limit], ts: b.Ts[:shape.Limit]}
	if shape.Values {
		l.v = b.V[:shape.Limit]
	}
	return l
}

// record returns the input of the edge, for the usual kinds of edges without
// branches per record that always go the same way.
func (l *localKeyed[K, T]) record() func(v *T, ts int64) {
	value := l.key.Value
	if l.key.Check != nil || value == nil {
		return l.recordAny()
	}
	if l.v != nil {
		return func(v *T, ts int64) {
			k := value(*v)
			n := l.n
			l.k[n], l.ts[n], l.v[n] = k, ts, *v
			l.n = n + 1
			if n+1 >= len(l.k) {
				l.flush()
			}
		}
	}
	return func(v *T, ts int64) {
		k := value(*v)
		n := l.n
		l.k[n], l.ts[n] = k, ts
		l.n = n + 1
		if n+1 >= len(l.k) {
			l.flush()
		}
	}
}

func (l *localKeyed[K, T]) recordAny() func(v *T, ts int64) {
	key, check := l.key.take(), l.key.Check
	return func(v *T, ts int64) {
		n := l.n
		k := &l.k[n]
		key(v, k)
		if check != nil {
			if err := check(k); err != nil {
				l.ctx.Fail("", err)
			}
		}
		l.ts[n] = ts
		if l.v != nil {
			l.v[n] = *v
		}
		l.n = n + 1
		if n+1 >= len(l.k) {
			l.flush()
		}
	}
}

// flush hands over everything, marks included.
func (l *localKeyed[K, T]) flush() {
	if l.n == 0 && !l.held {
		return
	}
	l.handOver(func(ts int64) bool { l.down.Watermark(ts); return false })
}

// handOver hands over what is collected, as far as mark lets it.
func (l *localKeyed[K, T]) handOver(mark func(int64) bool) {
	l.release()
	n, b := l.n, l.b
	b.K, b.H, b.Ts = l.k[:n], b.H[:n], l.ts[:n]
	if l.v != nil {
		b.V = l.v[:n]
	}
	l.key.HashAll(b.H[l.done.Records:], b.K[l.done.Records:])
	var all bool
	if l.done, all = handOver(l.down, b, l.done, mark); !all {
		l.hold()
		return
	}
	l.n, l.done = 0, operator.Place{}
	b.Reset()
}

// Watermark passes a watermark on behind the records before it. While an operator
// of the chain is firing it stays in the batch as a mark: the records of a source
// that go on coming until its Poll returns must not hurry the firing.
func (l *localKeyed[K, T]) Watermark(ts int64) {
	if l.ctx.Task.Firing > 0 {
		l.b.Ts = l.ts[:l.n] // AddMark puts it at the end
		l.b.AddMark(ts)
		l.hold()
		return
	}
	l.flush()
	l.down.Watermark(ts)
}

func (l *localKeyed[K, T]) Status(idle bool) {
	l.flush()
	l.down.Status(idle)
}

// Resume hands over what was held back, up to the next mark that begins a firing.
func (l *localKeyed[K, T]) Resume() bool {
	if !l.held {
		return false
	}
	l.handOver(func(ts int64) bool {
		l.down.Watermark(ts)
		return l.ctx.Task.Firing > 0
	})
	return true
}

func (l *localKeyed[K, T]) hold() {
	if !l.held {
		l.held = true
		l.ctx.Task.Firing++
	}
}

func (l *localKeyed[K, T]) release() {
	if l.held {
		l.held = false
		l.ctx.Task.Firing--
	}
}

func (l *localKeyed[K, T]) PrepareBarrier(ident.CheckpointID) error { l.flush(); return nil }
func (l *localKeyed[K, T]) Finish() error                           { l.flush(); return nil }
func (l *localKeyed[K, T]) Idle()                                   { l.flush() }
