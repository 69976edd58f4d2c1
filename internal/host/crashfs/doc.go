// Package crashfs is a file system in memory that can die. It counts and names
// every operation that changes something, can end the process at any of them,
// with or without its effect, and can then show the disk as it may look after a
// power failure: what was not synced is there, is not, or is torn.
//
//	test -> blob.Dir(root, FS) -> operations 1, 2, 3 ... n
//	                                          |
//	                       KillAt(n, ...)  all later ones fail with ErrKilled
//	                                          |
//	                   Restart()  the process died, the page cache lives
//	                   PowerLoss(seed)  unsynced data and names are lost at will
//
// The model is harsh where POSIX allows it. File content is durable after Sync;
// a name (made, linked, renamed, removed) after SyncDir of its directory; names
// that are not durable survive or not, each on its own. Unsynced content is cut
// or mixed in blocks of 512 bytes. A rename is one change, also between
// directories. After a failed Sync a repetition succeeds and does nothing, as on
// Linux. Locks end with the process.
//
// Rules for callers: an FS may be used from any goroutine; the order in which
// concurrent operations are counted is theirs. It starts no goroutine.
//
// Start reading in fs.go; crash.go holds the model.
package crashfs
