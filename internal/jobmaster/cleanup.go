package jobmaster

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cutwater-io/cutwater/internal/blob"
	"github.com/cutwater-io/cutwater/internal/checkpoint"
	"github.com/cutwater-io/cutwater/internal/ident"
	"github.com/cutwater-io/cutwater/internal/joblog"
	"github.com/cutwater-io/cutwater/internal/manifest"
	"github.com/cutwater-io/cutwater/internal/rpc"
)

// objectsOf are the objects that an acknowledgement owns.
func objectsOf(ack *rpc.AcknowledgeCheckpoint) []string {
	var names []string
	for _, s := range ack.States {
		if k := s.State.Keyed; k != nil && k.Object != "" {
			names = append(names, k.Object)
		}
	}
	return names
}

// deleteObjects deletes beside the loop, and what could not be deleted earlier with
// it. What is left when the job ends stays as an orphan, which the sweep of the next
// start removes.
func (jm *JobMaster) deleteObjects(names []string) {
	names = append(names, jm.orphans...)
	jm.orphans = nil
	if len(names) == 0 {
		return
	}
	jm.wg.Go(func() {
		var failed []string
		for _, name := range names {
			if err := jm.cfg.Store.Delete(jm.ctx, name); err != nil && jm.ctx.Err() == nil {
				jm.cfg.Env.Log.Warn("an object of an aborted checkpoint could not be deleted; it is tried again, at the latest by the next start", "object", name, "error", err)
				failed = append(failed, name)
			}
		}
		jm.post(func() { jm.orphans = append(jm.orphans, failed...) })
	})
}

// discardAck deletes what an acknowledgement owns that came too late or from an
// attempt of the past. One that was delivered twice names the objects of a
// checkpoint that has completed meanwhile: those belong to the checkpoint, and are
// deleted with it.
func (jm *JobMaster) discardAck(id ident.CheckpointID) {
	if _, complete := jm.complete[id]; !complete {
		jm.deleteObjects(objectsOf(jm.lastAck))
	}
}

// discard drops what is held for an aborted checkpoint.
func (jm *JobMaster) discard(id ident.CheckpointID) {
	h := jm.held[id]
	if h == nil {
		return
	}
	delete(jm.held, id)
	var names []string
	for _, ack := range h.acks {
		names = append(names, objectsOf(ack)...)
	}
	if h.manifest != "" {
		names = append(names, h.manifest)
	}
	jm.deleteObjects(names)
}

// deletion is a superseded checkpoint on its way out.
type deletion struct {
	id       ident.CheckpointID
	manifest string
	removed  bool // the log says so; touched by the log's operations only
}

// deleteCompleted removes a superseded checkpoint: first from the log, then its
// objects, so that the log never names what is gone. What could not be deleted
// earlier is tried again first: otherwise a store that fails now and then would
// fill up while the job runs.
func (jm *JobMaster) deleteCompleted(id ident.CheckpointID) {
	jm.deleteObjects(nil)
	again := jm.undeleted
	jm.undeleted = nil
	for _, d := range again {
		jm.tryDelete(d, func(error) {})
	}
	d := &deletion{id: id, manifest: jm.complete[id]}
	jm.tryDelete(d, func(err error) { jm.step(checkpoint.Deleted{At: jm.now(), ID: id, Err: err}) })
}

func (jm *JobMaster) tryDelete(d *deletion, done func(error)) {
	jm.log(func(l *joblog.Log) error {
		ctx, cancel := jm.ioContext()
		defer cancel()
		m, err := manifest.Read(ctx, jm.cfg.Store, d.manifest)
		if d.removed && errors.Is(err, blob.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if !d.removed {
			if err := l.Append(ctx, joblog.Removed{Checkpoint: d.id}); err != nil {
				return err
			}
			d.removed = true
		}
		return deleteManifest(ctx, jm, d.manifest, m)
	}, func(err error) {
		if d.removed {
			// Not before: while the log names it, an acknowledgement that is
			// delivered twice must find that its objects belong to a checkpoint.
			delete(jm.complete, d.id)
		}
		if err != nil {
			jm.cfg.Env.Log.Warn("a superseded checkpoint could not be deleted; the next one tries again", "checkpoint", d.id, "error", err)
			jm.undeleted = append(jm.undeleted, d)
		}
		done(err)
	})
}

// deleteManifest deletes the manifest last: it says what else there is.
func deleteManifest(ctx context.Context, jm *JobMaster, name string, m *manifest.Manifest) error {
	var errs []error
	for _, object := range manifestObjects(m) {
		if err := jm.cfg.Store.Delete(ctx, object); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) == 0 {
		errs = append(errs, jm.cfg.Store.Delete(ctx, name))
	}
	return errors.Join(errs...)
}

func manifestObjects(m *manifest.Manifest) []string {
	var names []string
	for i := range m.Operators {
		for j := range m.Operators[i].Subtasks {
			if k := m.Operators[i].Subtasks[j].Keyed; k != nil && k.Object != "" {
				names = append(names, k.Object)
			}
		}
	}
	return names
}

// sweepFormer takes the checkpoints of a job that FINISHED off the log, where they
// still are if its process died or its storage failed before it had deleted them,
// and then sweeps. In this order the log never names what is gone.
func (jm *JobMaster) sweepFormer() {
	r := &jm.cfg.Recovered
	if !r.Finished || len(r.Former) == 0 {
		jm.sweep()
		return
	}
	former := r.Former
	jm.log(func(l *joblog.Log) error {
		ctx, cancel := jm.ioContext()
		defer cancel()
		for _, c := range former {
			if err := l.Append(ctx, joblog.Removed{Checkpoint: c.Checkpoint}); err != nil {
				return err
			}
		}
		return nil
	}, func(err error) {
		if err != nil {
			jm.cfg.Env.Log.Warn("checkpoints of a run that finished could not be removed; the next start tries again", "error", err)
		} else {
			r.Former = nil
		}
		jm.sweep()
	})
}

// sweep deletes, beside the loop, objects of earlier runs that no checkpoint in
// the log refers to: what a crash left behind. Only ids below those that this run
// reserves are touched, so nothing being written now is.
func (jm *JobMaster) sweep() {
	kept := append(append([]joblog.Completed(nil), jm.cfg.Recovered.Completed...), jm.cfg.Recovered.Former...)
	next := jm.cfg.Recovered.NextID
	if next == 0 {
		return
	}
	jm.wg.Go(func() {
		live := map[string]bool{}
		for _, c := range kept {
			m, err := manifest.Read(jm.ctx, jm.cfg.Store, c.Manifest)
			if err != nil {
				return // on doubt keep everything
			}
			live[c.Manifest] = true
			for _, name := range manifestObjects(m) {
				live[name] = true
			}
		}
		names, err := jm.cfg.Store.List(jm.ctx, "chk/")
		if err != nil {
			return
		}
		for _, name := range names {
			if live[name] || checkpointOf(name) >= next || jm.ctx.Err() != nil {
				continue
			}
			if err := jm.cfg.Store.Delete(jm.ctx, name); err != nil {
				jm.cfg.Env.Log.Warn("an orphan of an earlier run could not be deleted", "object", name, "error", err)
			}
		}
	})
}

// checkpointOf is the id in an object's name, chk/<id>-… or chk/<id>/….
func checkpointOf(name string) ident.CheckpointID {
	var id ident.CheckpointID
	if _, err := fmt.Sscanf(strings.TrimPrefix(name, "chk/"), "%d", &id); err != nil {
		return ^ident.CheckpointID(0) // not ours: never below any id
	}
	return id
}
