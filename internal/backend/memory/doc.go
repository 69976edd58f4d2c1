// Package memory keeps keyed state in memory: tables that one task updates at
// the speed of a flat hash table, and that can be frozen at a barrier without
// stopping the task for longer than a copy of the directory.
//
//	hash of a key (64 bits)
//	+----------------------------+---------------+
//	| position in the subtask's  |   low 32 bits |
//	| key-group range, top bits  |               |
//	+-------------+--------------+-------+-------+
//	              |                      |
//	   directory  v                      v
//	   {page, version} ---> page: header | slot | slot | slot | ...   64 B + 4 KiB
//	   {page, version} ---> page (the same one: it has not split yet)
//	   {page, version} ---> the empty page, until the first write
//
//	      Table --Snapshot--> copy of the directory --WriteGroups--> segment
//	        |                        |
//	        | first write to a page  | old pages, immutable
//	        v of an older version    v
//	       copy of the page      given back after the last Release
//
// The rules for callers:
//
//   - One goroutine, the task, calls everything on a Table. The exceptions are
//     WriteGroups and Release of a snapshot, which run anywhere.
//   - A pointer to a value is valid until the next call that may write to the
//     same table; see poison.go for the build tag that exposes pointers kept
//     longer. Values from Get, Scan and All are only read: they may belong
//     to a snapshot. Values from Resolve and Upsert count as written.
//   - The caller passes the key's hash with the key and never a hash of another
//     function. Keys equal themselves: NaN is refused before it gets here.
//   - Whoever takes a snapshot releases it, also when writing failed.
//   - Tables are closed before their arena; snapshots may outlive both.
//
// How entries are kept is decided once, when the table is made:
//
//	keys and values           pages            after a snapshot
//	no pointers, <= 512 byte  off heap, arena  first write copies the page
//	no pointers, larger       Go heap          first write copies the page
//	strings                   Go heap          first write copies the page
//	slices, maps, pointers    Go heap          and first access clones the value
//
// String keys are not kept inline in off-heap pages, although keys of up to 15
// bytes would fit the 16 of a string's header. Scan and All hand out *K, a real
// Go string, which would have to be made for each entry, from memory that goes
// when the pane does; and whatever keeps that string, as a result on its way to
// the next operator does, would read a recycled page. A copy per entry that is
// handed out costs what the second line of a search costs now. That one is read
// before the search: from 100 K keys on, the update of a string key takes 0.43 to
// 0.6 of the time of a Go map. With a thousand keys, which lie in the first
// cache, it takes 1.15. What remains is the collector's share below.
//
// Limits: pages that became sparse by deletions are not merged, so a table keeps
// the pages of its largest size until Clear or Close, and fills them again. The
// collector reads pages on the Go heap: about a sixth of the processor at a
// million string keys. Memory of an arena goes back to the operating system at
// Close only.
//
// The package starts no goroutine but the one that prepares the next slab of an
// arena; see Arena. Start reading at Table in table.go, then resolve.go for the
// hot loop, split.go for copy on write, snapshot.go for who frees what.
package memory
