package main

import (
	"bytes"
	"math/rand/v2"

	"github.com/cutwater-io/cutwater/internal/backend/memory"
	"github.com/cutwater-io/cutwater/internal/segment"
)

// restoreContest is Restore: loading a snapshot into an empty table against
// putting the same keys in at random, in batches as records would.
func restoreContest(label string, keys int) *contest {
	n := keys / scale
	a := memory.NewArena()
	t, h, err := newTable(a)
	if err != nil {
		panic(err)
	}
	fillTable(t, h, n)
	var stored bytes.Buffer
	w := segment.NewWriter(&stored)
	snapshot := t.Snapshot(countID)
	if err := w.WriteState(snapshot); err != nil {
		panic(err) // a buffer takes everything
	}
	snapshot.Release()
	size, err := w.Close()
	if err != nil {
		panic(err)
	}
	t.Close()
	ks := make([]int64, n)
	for i, k := range rand.New(rand.NewPCG(1, 2)).Perm(n) {
		ks[i] = int64(k)
	}
	name := "Restore" + label
	return &contest{
		name: name,
		contestants: []contestant{
			{name: "restore", run: func() (int, uint64, error) {
				r, err := segment.NewReader(bytes.NewReader(stored.Bytes()), size)
				if err != nil {
					return 0, 0, err
				}
				t, _, err := newTable(a)
				if err != nil {
					return 0, 0, err
				}
				defer t.Close()
				if err := t.Restore(r, countID); err != nil {
					return 0, 0, err
				}
				return n, uint64(t.Len()), nil
			}},
			{name: "insert", run: func() (int, uint64, error) {
				t, h, err := newTable(a)
				if err != nil {
					return 0, 0, err
				}
				defer t.Close()
				hs, dst := make([]uint64, 512), make([]*int64, 512)
				for at := 0; at < n; at += 512 {
					part := ks[at:min(at+512, n)]
					h.HashAll(hs, part)
					t.Resolve(part, hs, dst)
					for _, v := range dst[:len(part)] {
						*v = 1
					}
				}
				return n, uint64(t.Len()), nil
			}},
		},
		rows: func(m measured) []row {
			r := versus(m, name, "restore", "insert", 1)
			r.Of = "table"
			return []row{r}
		},
	}
}
