// Package blob is where snapshots are kept: an object store seen through the
// few operations that every such store has. Objects are immutable once
// published; no caller ever renames one.
//
//	segments, manifests          job log
//	  Create / Put              PutIfAbsent
//	        |                        |
//	        v                        v
//	+--------------------- Store ---------------------+
//	|  DirStore: files, written beside, synced,       |
//	|            then given their name                |
//	|  MemoryStore: for tests                         |
//	+-------------------------------------------------+
//
// # What a store promises
//
// Under its name an object is absent or complete, at every moment and after
// every crash. When a call has returned nil the object is durable. Of several
// callers of PutIfAbsent for one name exactly one gets nil. List shows every
// object that existed during the whole call.
//
// # Rules for callers
//
//   - Never use a name twice, but for PutIfAbsent, where that is the point.
//   - An error that is [ErrUnknown] says that the write may have happened, or
//     may yet. Any other error says that it has not and will not.
//   - End every [Writer] with Commit or Abort. Deferring Abort is right: after
//     Commit it does nothing.
//   - Objects in one directory of names ("chk/7-u/") are deleted by one process
//     and only when no other writes there any more.
//
// The package starts no goroutines. Implementations pass blobtest.TestStore.
//
// Start reading in blob.go, then dir.go and dirwriter.go.
package blob
