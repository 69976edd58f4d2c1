// Package agg holds aggregates: how many records become one value. An [Agg] is a
// value made of functions; write one as a literal or take a ready-made one.
//
//	records   v v v      v v            v
//	           \|/       \|             |      Add(acc, v)
//	pane       [A]       [A]           [A]     accumulators: plain structs, in checkpoints
//	             \        |            /       Merge(acc, other)
//	window        +----> [A] <--------+        Sub(acc, other) takes an old pane out again
//	                      |                    Get(acc)
//	                      v
//	                      V
//
// # Rules for writing one
//
//   - The zero value of A is the empty accumulator.
//   - A is encoded field by field into checkpoints: exported fields only, no
//     interfaces, functions or channels.
//   - Merge is associative, and merging an empty accumulator changes nothing. It
//     need not be commutative: other always holds records that came later or at
//     the same time on another path.
//   - Merge and Sub do not change other and keep nothing of it that a later Add
//     to acc would write to. Get changes nothing and keeps nothing of acc.
//   - Sub, where given, is exact: after Merge(acc, x) and Sub(acc, x), Get(acc)
//     answers as before. Long sliding windows are then cheap: one merge and one
//     subtraction a slide. Sums of floats have no Sub, because (a+b)-b is not
//     always a.
//   - Functions are pure. They are called by many subtasks at the same time.
//
// No function here starts a goroutine. Begin reading at agg.go.
package agg
