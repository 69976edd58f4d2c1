package manifest

import (
	"context"
	"fmt"

	"github.com/cutwater-io/cutwater/internal/blob"
	"github.com/cutwater-io/cutwater/internal/ident"
)

// Prefix returns where the objects of one attempt of a checkpoint go. unique is
// a number that nobody drew before (connector.Env.Random), so that a name is
// never used twice, also not by a leader that does not know it is deposed.
func Prefix(id ident.CheckpointID, unique uint64) string {
	return fmt.Sprintf("chk/%d-%016x/", id, unique)
}

// Name returns the manifest's name below a prefix.
func Name(prefix string) string { return prefix + "manifest" }

// Write encodes m and puts it into an object. That publishes nothing: only a
// log entry does (package joblog). An error that is blob.ErrUnknown leaves open
// whether the object is there; since nothing refers to it, the checkpoint may
// simply be aborted.
func Write(ctx context.Context, s blob.Store, name string, m *Manifest) error {
	b, err := Encode(m)
	if err != nil {
		return err
	}
	if err := s.Put(ctx, name, b); err != nil {
		return fmt.Errorf("write manifest of checkpoint %d: %w", m.Checkpoint, err)
	}
	return nil
}

// Read reads a manifest. An error, in particular blob.ErrNotFound and
// blob.ErrCorrupt, must stop the restore: falling back silently to an older
// checkpoint would repeat what sinks have committed.
func Read(ctx context.Context, s blob.Store, name string) (*Manifest, error) {
	b, err := s.Get(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("read manifest %s: %w", name, err)
	}
	m, err := Decode(b)
	if err != nil {
		return nil, fmt.Errorf("read manifest %s: %w", name, err)
	}
	return m, nil
}
