package blob_test

import (
	"path/filepath"
	"testing"

	"github.com/cutwater-io/cutwater/internal/blob"
	"github.com/cutwater-io/cutwater/internal/blob/blobtest"
	"github.com/cutwater-io/cutwater/internal/host/crashfs"
)

func TestTheMemoryStoreIsAStore(t *testing.T) {
	blobtest.TestStore(t, func(t *testing.T) blob.Store { return blob.Memory() })
}

func TestTheDirectoryStoreIsAStore(t *testing.T) {
	blobtest.TestStore(t, func(t *testing.T) blob.Store {
		s := blob.Dir(filepath.Join(t.TempDir(), "not", "made", "yet"), nil)
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s
	})
}

func TestTheDirectoryStoreOnTheCrashFileSystemIsAStore(t *testing.T) {
	blobtest.TestStore(t, func(t *testing.T) blob.Store { return blob.Dir("/state", crashfs.New()) })
}
