package run

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/internal/blob"
	"github.com/cutwater-io/cutwater/internal/ident"
	"github.com/cutwater-io/cutwater/internal/joblog"
	"github.com/cutwater-io/cutwater/internal/jobmaster"
	"github.com/cutwater-io/cutwater/internal/manifest"
	"github.com/cutwater-io/cutwater/internal/operator"
	"github.com/cutwater-io/cutwater/internal/plan"
	"github.com/cutwater-io/cutwater/internal/segment"
)

// beginning is where a run starts: it decides from the job's log and the
// configuration, and plans the job accordingly.
type beginning struct {
	prog  *operator.Program
	cfg   Config
	env   connector.Env
	store blob.Store
	log   *joblog.Log
	// recovered is what the log says, also after what the beginning has added.
	recovered joblog.Recovered
}

// decide returns the plan, and what to restore; nil for a fresh start.
func (b *beginning) decide(ctx context.Context) (*plan.Plan, *jobmaster.Restore, error) {
	latest, ok := b.recovered.Latest()
	switch {
	case b.cfg.Restore == Latest && !ok, b.cfg.Restore == None:
		if ok {
			if err := b.log.Append(ctx, joblog.Fresh{}); err != nil {
				return nil, nil, fmt.Errorf("start fresh: %w", err)
			}
			b.recovered = b.log.State()
		}
		pl, err := plan.Make(b.prog.Graph, plan.Options{Parallelism: b.cfg.Parallelism})
		return pl, nil, err
	case b.cfg.Restore != Latest:
		if ok {
			// Whatever starts the program again after a crash uses the same
			// flags: the job's own progress wins, or it would be thrown away.
			b.cfg.Log.Warn("the job continues from its own checkpoint; the one to start from was for its first start only", "checkpoint", latest.Checkpoint, "restore", b.cfg.Restore)
			break
		}
		var err error
		if latest, err = b.adopt(ctx, string(b.cfg.Restore)); err != nil {
			return nil, nil, fmt.Errorf("restore from %q: %w", b.cfg.Restore, err)
		}
		b.recovered = b.log.State()
	}
	m, err := manifest.Read(ctx, b.store, latest.Manifest)
	if err != nil {
		return nil, nil, fmt.Errorf("restore the latest checkpoint %d: %w; an older one is never used silently: repair the state directory, or start with -restore none", latest.Checkpoint, err)
	}
	return b.deal(m)
}

// deal plans the job so that the state of a checkpoint fits: a restored operator
// keeps its number of key groups.
func (b *beginning) deal(m *manifest.Manifest) (*plan.Plan, *jobmaster.Restore, error) {
	pl, err := plan.Make(b.prog.Graph, plan.Options{Parallelism: b.cfg.Parallelism, AdoptMax: jobmaster.AdoptMax(m)})
	if err != nil {
		return nil, nil, err
	}
	restore, err := jobmaster.Deal(m, pl, b.cfg.AllowNonRestored)
	return pl, restore, err
}

// adopt makes the latest checkpoint in another state directory this job's own: its
// objects are copied under new names, a manifest of our own names them, and the
// log publishes it. From then on it is a checkpoint like others, and the other
// directory is not needed any more.
//
// Whatever can be wrong is found before anything is written, except a full disk
// and the like; what a failed copy leaves is swept by the next start, because its
// id is reserved.
func (b *beginning) adopt(ctx context.Context, path string) (joblog.Completed, error) {
	none := joblog.Completed{}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return none, fmt.Errorf("there is no such directory: use %q, %q, or the path of a state directory", Latest, None)
	}
	// Nothing is written there, so its lock is not taken: the other job may run.
	from := blob.Dir(path, nil)
	defer from.Close()
	theirs, err := joblog.Read(ctx, from)
	if errors.Is(err, joblog.ErrNoLog) {
		return none, errors.New("there is no job in this directory")
	}
	if err != nil {
		return none, err
	}
	latest, ok := theirs.Latest()
	if !ok {
		why := "none was completed yet"
		if theirs.Finished {
			why = "the job has read all its input and finished"
		}
		return none, fmt.Errorf("job %q has no checkpoint there: %s", theirs.JobName, why)
	}
	m, err := manifest.Read(ctx, from, latest.Manifest)
	if err != nil {
		return none, explainGone(latest.Checkpoint, err)
	}
	if _, _, err := b.deal(m); err != nil {
		return none, err
	}
	for _, h := range objects(m) {
		if err := verify(ctx, from, h); err != nil {
			return none, explainGone(latest.Checkpoint, err)
		}
	}
	id, err := b.reserveAbove(ctx, m.Checkpoint)
	if err != nil {
		return none, err
	}
	for _, h := range objects(m) {
		name := fmt.Sprintf("chk/%d/%016x-%016x", id, b.env.Random(), b.env.Random())
		if err := copyObject(ctx, b.store, name, from, h); err != nil {
			return none, explainGone(latest.Checkpoint, err)
		}
		h.Object = name
	}
	m.Job, m.JobName, m.Checkpoint, m.Token = b.log.Job(), b.prog.Graph.Name, id, b.log.Token()
	own := joblog.Completed{Checkpoint: id, Kind: joblog.Periodic, Manifest: manifest.Name(manifest.Prefix(id, b.env.Random()))}
	if err := manifest.Write(ctx, b.store, own.Manifest, m); err != nil {
		return none, err
	}
	return own, b.log.Append(ctx, own)
}

// explainGone adds what to do when a checkpoint went away while it was read.
func explainGone(id ident.CheckpointID, err error) error {
	if errors.Is(err, blob.ErrNotFound) {
		return fmt.Errorf("checkpoint %d: %w; if the other job is running it has replaced that checkpoint meanwhile: try again", id, err)
	}
	return fmt.Errorf("checkpoint %d: %w", id, err)
}

// objects are the handles of all objects that a manifest refers to.
func objects(m *manifest.Manifest) []*manifest.Handle {
	var all []*manifest.Handle
	for i := range m.Operators {
		for j := range m.Operators[i].Subtasks {
			if k := m.Operators[i].Subtasks[j].Keyed; k != nil && k.Object != "" {
				all = append(all, k)
			}
		}
	}
	return all
}

// verify reads a whole segment: every part of it is checksummed.
func verify(ctx context.Context, s blob.Store, h *manifest.Handle) error {
	obj, err := s.Open(ctx, h.Object)
	if err != nil {
		return err
	}
	defer obj.Close()
	r, err := segment.NewReader(obj, obj.Size())
	if err != nil {
		return fmt.Errorf("object %q: %w", h.Object, err)
	}
	for _, info := range r.States() {
		for _, g := range info.Groups {
			if _, _, err := r.Group(info.ID, g.KeyGroup); err != nil {
				return fmt.Errorf("object %q: %w", h.Object, err)
			}
		}
	}
	return nil
}

// reserveAbove reserves a checkpoint id that is at least id, so that ids of the
// job go on above those that are in the state already.
func (b *beginning) reserveAbove(ctx context.Context, id ident.CheckpointID) (ident.CheckpointID, error) {
	for {
		next := b.log.State().NextID
		count := uint64(1)
		if id > next {
			count = min(uint64(id-next)+1, 1<<31)
		}
		first, err := b.log.Reserve(ctx, uint32(count))
		if err != nil {
			return 0, err
		}
		if last := first + ident.CheckpointID(count) - 1; last >= id {
			return last, nil
		}
	}
}

// copyBytes is how much of an object is in memory while it is copied.
const copyBytes = 1 << 20

func copyObject(ctx context.Context, to blob.Store, name string, from blob.Store, h *manifest.Handle) error {
	src, err := from.Open(ctx, h.Object)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := to.Create(ctx, name)
	if err != nil {
		return err
	}
	defer dst.Abort() // nothing after Commit
	buf := make([]byte, copyBytes)
	for at := int64(0); at < src.Size(); {
		n, err := src.ReadAt(buf[:min(copyBytes, src.Size()-at)], at)
		if n == 0 && err != nil {
			return fmt.Errorf("read object %q: %w", h.Object, err)
		}
		if _, err := dst.Write(buf[:n]); err != nil {
			return err
		}
		at += int64(n)
	}
	return dst.Commit()
}
