package jobmaster

import (
	"context"
	"errors"
	"fmt"
	"strings"

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

// deleteObjects deletes beside the loop. What cannot be deleted stays as an
// orphan, which the sweep of the next start removes.
func (jm *JobMaster) deleteObjects(names []string) {
	if len(names) == 0 {
		return
	}
	jm.wg.Go(func() {
		for _, name := range names {
			if err := jm.cfg.Store.Delete(jm.ctx, name); err != nil && jm.ctx.Err() == nil {
				jm.cfg.Env.Log.Warn("an object of an aborted checkpoint could not be deleted; the next start removes it", "object", name, "error", err)
			}
		}
	})
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

// deleteCompleted removes a superseded checkpoint: first from the log, then its
// objects, so that the log never names what is gone.
func (jm *JobMaster) deleteCompleted(id ident.CheckpointID) {
	name := jm.complete[id]
	delete(jm.complete, id)
	jm.log(func(l *joblog.Log) error {
		ctx, cancel := jm.ioContext()
		defer cancel()
		m, err := manifest.Read(ctx, jm.cfg.Store, name)
		if err != nil {
			return err
		}
		if err := l.Append(ctx, joblog.Removed{Checkpoint: id}); err != nil {
			return err
		}
		return deleteManifest(ctx, jm, name, m)
	}, func(err error) {
		if err != nil {
			jm.cfg.Env.Log.Warn("a superseded checkpoint could not be deleted", "checkpoint", id, "error", err)
		}
		jm.step(checkpoint.Deleted{At: jm.now(), ID: id, Err: err})
	})
}

func deleteManifest(ctx context.Context, jm *JobMaster, name string, m *manifest.Manifest) error {
	var errs []error
	for _, object := range append(manifestObjects(m), name) {
		if err := jm.cfg.Store.Delete(ctx, object); err != nil {
			errs = append(errs, err)
		}
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
