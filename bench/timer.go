package main

import (
	"github.com/cutwater-io/cutwater/internal/timer"
)

// Timers of keys: the queue of the engine against a binary heap. No public API
// shows it alone.

// timerHeap is a binary heap as everybody writes it, without package
// container/heap, whose calls through an interface would cost it dear.
type timerHeap struct {
	entries []timerEntry
	seq     uint64
}

type timerEntry struct {
	at, key   int64
	hash, seq uint64
}

func (a *timerEntry) before(b *timerEntry) bool {
	return a.at < b.at || a.at == b.at && a.seq < b.seq
}

func (h *timerHeap) Add(at, key int64, hash uint64) {
	h.seq++
	e := timerEntry{at, key, hash, h.seq}
	h.entries = append(h.entries, e)
	i := len(h.entries) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !e.before(&h.entries[parent]) {
			break
		}
		h.entries[i] = h.entries[parent]
		i = parent
	}
	h.entries[i] = e
}

func (h *timerHeap) Pop(until int64) (at, key int64, hash uint64, ok bool) {
	if len(h.entries) == 0 || h.entries[0].at > until {
		return 0, 0, 0, false
	}
	first := h.entries[0]
	n := len(h.entries) - 1
	last := h.entries[n]
	h.entries = h.entries[:n]
	if n == 0 {
		return first.at, first.key, first.hash, true
	}
	i := 0
	for {
		child := 2*i + 1
		if child >= n {
			break
		}
		if child+1 < n && h.entries[child+1].before(&h.entries[child]) {
			child++
		}
		if !h.entries[child].before(&last) {
			break
		}
		h.entries[i] = h.entries[child]
		i = child
	}
	h.entries[i] = last
	return first.at, first.key, first.hash, true
}

// timerQueue is what both have.
type timerQueue interface {
	Add(at, key int64, hash uint64)
	Pop(until int64) (at, key int64, hash uint64, ok bool)
}

// timing sets a timer for each of a million keys, within
// the next minute, and while time goes on, a millisecond a step, each that fires
// is set again, three times over. So a million are waiting nearly all the time.
func timing(q timerQueue, keys int) (int, uint64, error) {
	const (
		horizon = 60_000
		times   = 3
	)
	for k := range uint64(keys) {
		q.Add(firstMillis+below(scramble(k), horizon), int64(k), k)
	}
	fired := 0
	var sum uint64
	for now := int64(firstMillis); fired < keys*times; now++ {
		for {
			at, key, hash, ok := q.Pop(now)
			if !ok {
				break
			}
			fired++
			sum = sum*31 + uint64(at) ^ uint64(key)
			if fired <= keys*(times-1) {
				q.Add(at+1+below(scramble(hash+uint64(at)), horizon), key, hash)
			}
		}
	}
	return fired, sum, nil
}

func timerContest() *contest {
	n := manyKeys / scale
	return &contest{
		name: "TimerWheel",
		contestants: []contestant{
			{name: "heap", run: func() (int, uint64, error) { return timing(&timerHeap{}, n) }},
			{name: "wheel", run: func() (int, uint64, error) { return timing(&timer.Queue[int64]{}, n) }},
		},
		rows: func(m measured) []row {
			r := versus(m, "TimerWheel, register and fire, 1 M waiting", "wheel", "heap", 0.15)
			r.Of = "timer queue"
			return []row{r}
		},
	}
}
