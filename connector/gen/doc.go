// Package gen makes records from numbers: sources for demos, tests, benchmarks
// and for data that can be computed. Record i is a pure function of i, so a
// restored or rescaled job continues with exactly the records that are missing.
//
//	numbers   0 1 2 3 4 5 6 7 8 9 ...
//	split 0   0     3     6     9        number = split + splits * count
//	split 1     1     4     7
//	split 2       2     5     8          position of a split = its count
//
// The numbers are dealt to a fixed set of splits like cards. The set is fixed at
// the first start (by [Splits], or one per reader); later starts only move whole
// splits, so the union of all records never depends on the parallelism. Each
// split ascends; several splits on one reader take turns, the one that is
// furthest behind first, in short runs.
//
// # Rules
//
//   - The function is called by all readers at the same time: it must not write
//     to anything shared. [PerReader] gives each reader a function of its own.
//   - To run with more readers than there are splits is allowed; the readers
//     without a split finish at once. Set [Splits] to the largest parallelism
//     you may want.
//
// Readers and enumerator start no goroutines. Begin reading at source.go; the
// loop that matters is in reader.go.
package gen
