package blob

import "github.com/cutwater-io/cutwater/connector"

// FS is the file system under a [DirStore]: what connectors have, and two
// operations more. host.Files is the real one; host/crashfs stands in for it in
// tests and loses at a crash what was not synced.
type FS interface {
	connector.Files
	// Link gives a file a second name and fails with fs.ErrExist when newName
	// is taken. Exactly one of several callers succeeds, also between
	// processes.
	Link(oldName, newName string) error
	// TryLock locks a file, which is made if needed, without waiting. The
	// lock ends with unlock or with the process.
	TryLock(name string) (unlock func() error, err error)
}
