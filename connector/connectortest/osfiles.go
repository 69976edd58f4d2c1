package connectortest

import (
	"io/fs"
	"os"

	"github.com/cutwater-io/cutwater/connector"
)

// OSFiles is the file system of the machine.
func OSFiles() connector.Files { return osFiles{} }

type osFiles struct{}

func (osFiles) Open(name string) (connector.File, error) { return osFile(os.Open(name)) }

func (osFiles) Create(name string) (connector.File, error) {
	return osFile(os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644))
}

func (osFiles) OpenAppend(name string) (connector.File, error) {
	return osFile(os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644))
}

// osFile keeps a nil *os.File from becoming an interface that is not nil.
func osFile(f *os.File, err error) (connector.File, error) {
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (osFiles) Stat(name string) (fs.FileInfo, error)      { return os.Stat(name) }
func (osFiles) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }
func (osFiles) MkdirAll(name string) error                 { return os.MkdirAll(name, 0o755) }
func (osFiles) Rename(oldName, newName string) error       { return os.Rename(oldName, newName) }
func (osFiles) Remove(name string) error                   { return os.Remove(name) }

func (osFiles) SyncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	if err := d.Sync(); err != nil {
		d.Close()
		return err
	}
	return d.Close()
}
