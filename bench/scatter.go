package main

import (
	"fmt"

	"github.com/cutwater-io/cutwater/internal/batch"
	"github.com/cutwater-io/cutwater/internal/exchange"
	"github.com/cutwater-io/cutwater/internal/ident"
	"github.com/cutwater-io/cutwater/internal/keygroup"
)

// keyedBatch is the columns of a batch on a keyed edge.
type keyedBatch struct {
	k, h []uint64
	ts   []int64
	v    []event
}

func newKeyedBatch() keyedBatch {
	b := keyedBatch{make([]uint64, 512), make([]uint64, 512), make([]int64, 512), make([]event, 512)}
	for i := range b.v {
		makeEvent(uint64(i), &b.v[i])
	}
	return b
}

func (b *keyedBatch) copy(from *keyedBatch) {
	copy(b.k, from.k)
	copy(b.h, from.h)
	copy(b.ts, from.ts)
	copy(b.v, from.v)
}

// scatterContest is Scatter: the sender's side of a keyed edge, which hashes the
// key of each record and appends it to the batch of the subtask that owns it,
// against copying the same columns from batch to batch, as many as the edge has.
// The receiver gives batches back unread.
func scatterContest(targets int) *contest {
	n := scaled(16_000_000)
	batches := make([]keyedBatch, 8*targets)
	for i := range batches {
		batches[i] = newKeyedBatch()
	}
	name := fmt.Sprintf("Scatter%d", targets)
	return &contest{
		name: name,
		contestants: []contestant{
			{name: "copy", run: func() (int, uint64, error) {
				half := len(batches) / 2
				for i := range n / 512 {
					batches[i%half].copy(&batches[half+i%half])
				}
				return n / 512 * 512, 0, nil
			}},
			{name: "writer", run: func() (int, uint64, error) { return scatter(n, targets, batches[0].v) }},
		},
		rows: func(m measured) []row {
			r := versus(m, name, "writer", "copy", 8)
			r.Of = "exchange"
			return []row{r}
		},
	}
}

func scatter(n, targets int, records []event) (int, uint64, error) {
	const groups = 128
	h, err := keygroup.For[uint64]()
	if err != nil {
		return 0, 0, err
	}
	in := exchange.NewInbox(exchange.NewWaker())
	for i := range targets {
		in.Add(ident.ChannelID{Channel: int32(i)}, ident.SubtaskID{})
	}
	var now, overdrawn int64
	task := exchange.Task{Waker: exchange.NewWaker(), NowNanos: &now, Overdrawn: &overdrawn}
	shape := batch.Shape{Limit: batch.Limit[event](), Keyed: true, Values: true}
	w := exchange.NewWriter[uint64, event](task, shape, in.Channels())
	put := w.Partition(exchange.Keys[uint64, event]{
		Key: func(v *event, k *uint64) { *k = v.Session }, Hash: h.Hash,
		MaxParallelism: groups, Target: keygroup.Targets(targets, groups),
	}, func(_ *event, err error) { panic(err) }) // integers are keys
	for done := 0; done < n; done += len(records) {
		for i := range records {
			put(&records[i], 0)
		}
		for _, e, ok := in.Next(); ok; _, e, ok = in.Next() {
			e.Records.Release()
		}
	}
	return n, 0, nil
}
