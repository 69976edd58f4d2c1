package transform

import (
	"time"

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

func (r receiver[T]) Process(records batch.Records, mark func(int64)) {
	b := records.(*batch.Batch[struct{}, T])
	record := r.in.Record
	from := 0
	for _, m := range b.Marks {
		for i := from; i < int(m.Pos); i++ {
			record(&b.V[i], b.Ts[i])
		}
		from = int(m.Pos)
		mark(m.Watermark)
	}
	for i := from; i < len(b.V); i++ {
		record(&b.V[i], b.Ts[i])
	}
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

func (r keyedReceiver[K, T]) Process(records batch.Records, mark func(int64)) {
	b := records.(*batch.Batch[K, T])
	from := 0
	for _, m := range b.Marks {
		if int(m.Pos) > from {
			r.in.Batch(b, from, int(m.Pos))
		}
		from = int(m.Pos)
		mark(m.Watermark)
	}
	if b.Len() > from {
		r.in.Batch(b, from, b.Len())
	}
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

func (l *localKeyed[K, T]) flush() {
	n := l.n
	if n == 0 {
		return
	}
	l.n = 0
	b := l.b
	b.K, b.H, b.Ts = l.k[:n], b.H[:n], l.ts[:n]
	if l.v != nil {
		b.V = l.v[:n]
	}
	l.key.HashAll(b.H, b.K)
	l.down.Batch(b, 0, n)
	b.Reset()
}

func (l *localKeyed[K, T]) Watermark(ts int64) {
	l.flush()
	l.down.Watermark(ts)
}

func (l *localKeyed[K, T]) Status(idle bool) {
	l.flush()
	l.down.Status(idle)
}

func (l *localKeyed[K, T]) PrepareBarrier(ident.CheckpointID) error { l.flush(); return nil }
func (l *localKeyed[K, T]) Finish() error                           { l.flush(); return nil }
func (l *localKeyed[K, T]) Idle()                                   { l.flush() }

const defaultBufferTimeout = 10 * time.Millisecond
