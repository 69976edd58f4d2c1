// Package keygroup maps a key to its key group and a key group to the subtask
// that owns it. Key groups are the unit in which keyed state moves when the
// parallelism changes: a key never changes its group, a group changes its owner.
//
//	            Hasher.Hash        Of(h, M)         Subtask(g, p, M)
//	key *K  -----------------> h ------------> g ------------------> subtask
//	         uint64, the same     hi64(h * M)      ranges of groups,
//	         in every process     0 <= g < M       at most one apart in size
//
// M is the max parallelism: the number of key groups, fixed for the life of the
// state. Of is monotone in h: a table sorted by hash is sorted by key group, so a
// key group of a snapshot is one run of it.
//
// The hash is part of the format of all stored state: doc/format/hash.md defines
// it and testdata/golden.txt freezes it. [HashName] and M stand in every
// snapshot; a snapshot with another name cannot be restored. hash/maphash would
// not do: it differs from process to process.
//
// # Rules for callers
//
//   - Get a [Hasher] once per keyed edge with [For] and hold it. Its functions
//     may be used by any goroutine at any time.
//   - If Normalize is not nil, call it on every key before anything else sees
//     the key. It refuses NaN, which would never be found again, and makes -0
//     from +0: they are equal for Go but not as bytes.
//   - Check p and M with [Validate] where they come from the user. The other
//     functions REQUIRE valid arguments and do not look.
//
// The package is pure: no clock, no chance, no locks, no I/O, no goroutines.
// Start reading at keygroup.go (groups and ranges), then hasher.go.
package keygroup
