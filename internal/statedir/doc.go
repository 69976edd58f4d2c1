// Package statedir makes one process the owner of a state directory.
//
//	.cutwater/
//	    .lock          flock(2)ed by the owner for as long as it lives
//	    .owner.json    who that is: pid, host, start time
//	    log/ chk/ ...  objects (package blob)
//
// The lock is the operating system's, so it is gone with its process however
// that ends, and a stale .owner.json means nothing. A second process is told who
// holds the directory and what to do. The names begin with a dot, so that a blob
// store in the same directory does not take them for objects.
//
// Rules for callers: acquire before opening the job log, release after the last
// write. The lock guards against a second process of the same machine (and of
// others, on network file systems with working locks); against a leader that
// lost the lock unnoticed the job log's claims guard. No goroutines.
//
// Start reading in lock.go.
package statedir
