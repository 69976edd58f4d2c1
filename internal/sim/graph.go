package main

import (
	"math/rand/v2"
	"slices"

	"github.com/cutwater-io/cutwater/internal/keygroup"
)

// groups is the number of key groups, and the greatest parallelism.
const groups = 8

type kind uint8

const (
	source kind = iota
	counter
	writer    // the sink's first phase
	committer // its second, where it is a task of its own
)

type pattern uint8

const (
	hashed pattern = iota
	spread         // to any subtask, in turn
	pointwise
	broadcast
)

// graph is the random job: sources, counting operators, one sink.
type graph struct {
	vertices []vertex
	splits   []split
	recs     []rec // all records there are; a record is named by its place here
	chained  bool  // writer and committer are one task
}

type vertex struct {
	kind  kind
	keyed bool
	in    []edge // one gate each
	out   []int  // consumers, with repetition
	// times[s] is how often each record of source s comes out of this vertex,
	// and told[s] how often it comes in by broadcast.
	times, told []int
}

type edge struct {
	from int
	how  pattern
}

type split struct {
	source     int // its vertex
	first, end int // its records
}

type rec struct {
	split, source int
	group         uint16
	sum           uint64 // stands for its content
}

// digest tells sets of records apart: how many, and a sum over their contents.
type digest struct{ n, sum uint64 }

func (d *digest) add(r *rec)           { d.n++; d.sum += r.sum }
func (d *digest) plus(o digest, k int) { d.n += o.n * uint64(k); d.sum += o.sum * uint64(k) }
func (d *digest) merge(o digest)       { d.n += o.n; d.sum += o.sum }

func newGraph(rng *rand.Rand) *graph {
	g := &graph{chained: rng.IntN(2) == 0}
	for range 1 + rng.IntN(4)/3 {
		g.vertices = append(g.vertices, vertex{kind: source})
	}
	sources := len(g.vertices)
	for v := range sources {
		for range 1 + rng.IntN(4) {
			s := split{source: v, first: len(g.recs)}
			for range 2 + rng.IntN(22) {
				g.recs = append(g.recs, rec{len(g.splits), v, keygroup.Of(rng.Uint64(), groups), rng.Uint64()})
			}
			s.end = len(g.recs)
			g.splits = append(g.splits, s)
		}
	}
	unread := make([]int, 0, 8)
	for v := range sources {
		unread = append(unread, v)
	}
	for range rng.IntN(4) {
		v := vertex{kind: counter, keyed: rng.IntN(4) > 0}
		how := func() pattern {
			if v.keyed {
				return hashed
			}
			return spread + pattern(rng.IntN(2))
		}
		from := unread[rng.IntN(len(unread))]
		v.in = append(v.in, edge{from, how()})
		unread = slices.DeleteFunc(unread, func(x int) bool { return x == from })
		if rng.IntN(2) == 0 { // union, two inputs, or a broadcast side input
			second := rng.IntN(len(g.vertices))
			e := edge{second, how()}
			if rng.IntN(3) == 0 {
				e.how = broadcast
			}
			v.in = append(v.in, e)
			unread = slices.DeleteFunc(unread, func(x int) bool { return x == second })
		}
		unread = append(unread, len(g.vertices))
		g.vertices = append(g.vertices, v)
	}
	sink := vertex{kind: writer}
	for _, from := range unread {
		sink.in = append(sink.in, edge{from, pattern(rng.IntN(3))})
	}
	g.vertices = append(g.vertices, sink)
	if !g.chained {
		g.vertices = append(g.vertices, vertex{kind: committer, in: []edge{{len(g.vertices) - 1, pointwise}}})
	}
	for i := range g.vertices {
		v := &g.vertices[i]
		v.times, v.told = make([]int, sources), make([]int, sources)
		if v.kind == source {
			v.times[i] = 1
		}
		for _, e := range v.in {
			g.vertices[e.from].out = append(g.vertices[e.from].out, i)
			for s := range sources {
				if e.how == broadcast {
					v.told[s] += g.vertices[e.from].times[s]
				} else {
					v.times[s] += g.vertices[e.from].times[s]
				}
			}
		}
	}
	return g
}

// sinkOf is the vertex of the writers.
func (g *graph) sinkOf() int {
	if g.chained {
		return len(g.vertices) - 1
	}
	return len(g.vertices) - 2
}

// prefix is what the sources have read up to positions, by source and key group.
func (g *graph) prefix(at []int) [][groups]digest {
	d := make([][groups]digest, len(g.vertices[0].times))
	for s := range g.splits {
		for r := g.splits[s].first; r < at[s]; r++ {
			d[g.recs[r].source][g.recs[r].group].add(&g.recs[r])
		}
	}
	return d
}

// parallelism draws how many subtasks each vertex has.
func (g *graph) parallelism(rng *rand.Rand) []int {
	p := make([]int, len(g.vertices))
	same := 1 + rng.IntN(4)
	mixed := rng.IntN(2) == 0
	for i := range p {
		p[i] = same
		if mixed {
			p[i] = 1 + rng.IntN(4)
		}
	}
	return p
}
