// Package host is the real world behind [connector.Env]: the machine's clock,
// its file system and its random numbers. Everything above it takes these as
// values, so that a simulation can put its own in their place.
//
//	connectors, blob, statedir ----> connector.Env / blob.FS
//	                                     ^            ^
//	                             host (this package)  host/crashfs (tests:
//	                             the operating system  loses what was not synced)
//
// Rules for callers: the values are stateless and may be used from any
// goroutine; the package starts none. Files opened here belong to whoever
// opened them.
//
// Start reading in files.go.
package host
