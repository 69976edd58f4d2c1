// Package plan turns the graph of a job into what is run: operators into
// chains, chains into subtasks, edges into channels. It is pure: names, numbers
// and edges only; the typed parts stand beside it in operator.Program.
//
//	Graph (operators, edges)          Plan (vertices, exchanges)
//
//	lines ─▶ split ═key═▶ count ─▶ print
//	   └── chain ──┘        └─ chain ─┘
//	     vertex 0  ═══════▶  vertex 1
//
// Start reading with [Graph] and [Make].
package plan
