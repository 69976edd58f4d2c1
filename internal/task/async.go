package task

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/cutwater-io/cutwater/internal/barrier"
	"github.com/cutwater-io/cutwater/internal/blob"
	"github.com/cutwater-io/cutwater/internal/ident"
	"github.com/cutwater-io/cutwater/internal/manifest"
	"github.com/cutwater-io/cutwater/internal/operator"
	"github.com/cutwater-io/cutwater/internal/segment"
)

// inlineBytes is the size up to which keyed state travels in the
// acknowledgement instead of an object of its own.
const inlineBytes = 20 << 10

// asyncPart is the asynchronous part of one checkpoint: what the synchronous
// part captured, and later what was stored. Its goroutine owns it from start
// until it posts its end; before and after that the task loop does.
type asyncPart struct {
	id      ident.CheckpointID
	pending []pendingState
	states  []OperatorState
	objects []string // stored by this part, to be deleted if it is discarded
	metrics Metrics
	err     error
	cancel  context.CancelFunc
}

// pendingState is what one operator put into the checkpoint.
type pendingState struct {
	link  link
	lists []manifest.ListState
	keyed []segment.Source
}

func (p *asyncPart) add(l *link, s *operator.Snapshot) {
	if len(s.Lists)+len(s.Keyed) == 0 {
		return
	}
	p.pending = append(p.pending, pendingState{*l, s.Lists, s.Keyed})
}

// release gives back captured state that was not written.
func (p *asyncPart) release() {
	for i := range p.pending {
		for _, k := range p.pending[i].keyed {
			k.Release()
		}
		p.pending[i].keyed = nil
	}
	p.pending = nil
}

// discard deletes what the part has stored. It runs when nobody else has the
// part any more.
func (p *asyncPart) discard(t *Task) {
	p.release()
	for _, name := range p.objects {
		// A failure leaves an orphan, which the sweep of the store removes.
		_ = t.cfg.Store.Delete(context.Background(), name)
	}
	p.objects = nil
}

// startAsync writes the captured state beside the task loop. The goroutine ends
// by posting AsyncDone or AsyncFailed, and Run waits for it.
func (t *Task) startAsync(id ident.CheckpointID) {
	p := t.async[id]
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	subtask := t.cfg.Attempt.Subtask.Index
	go func() {
		defer cancel()
		begin := t.cfg.Env.Clock.Now()
		err := p.guardedWrite(ctx, t, subtask)
		p.release()
		p.metrics.Async = t.cfg.Env.Clock.Now().Sub(begin)
		if err != nil {
			p.discard(t)
			p.err = err
		}
		// When the mailbox is closed already, Run counts asyncEnd itself.
		t.mail.post(func() error {
			<-t.asyncEnd
			if err != nil {
				failed := t.stepTask(barrier.AsyncFailed{Checkpoint: id, Reason: barrier.ReasonAsyncException})
				delete(t.async, id)
				return failed
			}
			return t.stepTask(barrier.AsyncDone{Checkpoint: id})
		})
		t.asyncEnd <- struct{}{}
	}()
}

// guardedWrite turns a panic into an error: state is encoded by codecs of users,
// and here nobody else would recover it.
func (p *asyncPart) guardedWrite(ctx context.Context, t *Task, subtask int32) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("write state: panic: %v\n%s", r, userStack())
		}
	}()
	return p.write(ctx, t, subtask)
}

// write stores the part's state operator by operator.
func (p *asyncPart) write(ctx context.Context, t *Task, subtask int32) error {
	for i := range p.pending {
		s := &p.pending[i]
		state := manifest.SubtaskState{Subtask: subtask, Lists: s.lists}
		if len(s.keyed) > 0 {
			handle, err := p.writeKeyed(ctx, t, s)
			if err != nil {
				return fmt.Errorf("operator %q: write state: %w", s.link.name, err)
			}
			state.Keyed, state.Range = handle, s.link.ctx.Groups
			p.metrics.Bytes += handle.Size
		}
		if !state.Empty() {
			p.states = append(p.states, OperatorState{Operator: s.link.id, State: state})
		}
	}
	return nil
}

func (p *asyncPart) writeKeyed(ctx context.Context, t *Task, s *pendingState) (*manifest.Handle, error) {
	out := &spill{ctx: ctx, create: func() (blob.Writer, error) {
		name := fmt.Sprintf("chk/%d/%016x-%016x", p.id, t.cfg.Unique, t.cfg.Env.Random())
		p.objects = append(p.objects, name)
		return t.cfg.Store.Create(ctx, name)
	}}
	// A panic must not leave the object open; after Commit this does nothing.
	defer out.abort()
	w := segment.NewWriter(out)
	for i, src := range s.keyed {
		err := w.WriteState(src)
		s.keyed[i] = released{}
		src.Release()
		if err != nil {
			return nil, err
		}
	}
	size, err := w.Close()
	if err != nil {
		return nil, err
	}
	if out.object == nil {
		return &manifest.Handle{Inline: out.head.Bytes(), Size: size}, nil
	}
	if err := out.object.Commit(); err != nil {
		return nil, err
	}
	return &manifest.Handle{Object: p.objects[len(p.objects)-1], Size: size}, nil
}

// released stands for captured state that has been given back.
type released struct{ segment.Source }

func (released) Release() {}

// spill keeps what is written in memory until it is too much, then in an object.
type spill struct {
	ctx    context.Context
	head   bytes.Buffer
	create func() (blob.Writer, error)
	object blob.Writer
	stop   func() bool // ends the watch over ctx
}

func (s *spill) Write(p []byte) (int, error) {
	if s.ctx.Err() != nil {
		return 0, errors.New("the checkpoint was aborted")
	}
	if s.object == nil {
		if s.head.Len()+len(p) <= inlineBytes {
			return s.head.Write(p)
		}
		object, err := s.create()
		if err != nil {
			return 0, err
		}
		s.object = object
		// A write that hangs in storage ends when the checkpoint is aborted.
		s.stop = context.AfterFunc(s.ctx, object.Abort)
		if _, err := object.Write(s.head.Bytes()); err != nil {
			return 0, err
		}
	}
	return s.object.Write(p)
}

func (s *spill) abort() {
	if s.object != nil {
		s.stop()
		s.object.Abort()
	}
}
