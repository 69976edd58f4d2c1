package connectortest

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
)

// The script of the kill tests: three checkpoints of which the second is
// aborted, then the end.
const killRecords = 11

// play brings the run from where it is to the end of its input.
func (r *sinkRun[T]) play() error {
	if err := r.Start(); err != nil {
		return err
	}
	for r.Next < killRecords {
		if err := r.Write(min(3, killRecords-r.Next)); err != nil {
			return err
		}
		s, err := r.Prepare(r.Next == killRecords)
		if err != nil {
			return err
		}
		if s.Checkpoint%3 == 2 && r.Next < killRecords {
			continue // aborted
		}
		if err := r.Complete(s); err != nil {
			return err
		}
		if err := r.Notify(s.Checkpoint); err != nil {
			return err
		}
	}
	return r.Close()
}

// watch checks at every step that nothing is visible too early.
func (r *sinkRun[T]) watch(also func(what string) error) {
	r.Step = func(what string) error {
		if strings.HasPrefix(what, "after") { // before a call it is as after the last
			if err := r.onlyCompleted(); err != nil && !errors.Is(err, ErrCrashed) {
				r.t.Fatalf("%s: %v", what, err)
			}
		}
		if also != nil {
			return also(what)
		}
		return nil
	}
}

// finish plays on after the last fault and checks the whole.
func (r *sinkRun[T]) finish() {
	r.t.Helper()
	r.watch(nil)
	if err := r.onlyCompleted(); err != nil {
		r.t.Fatalf("after the restart: %v\ncalls:\n\t%s", err, strings.Join(r.disk.Trace(), "\n\t"))
	}
	if err := r.play(); err != nil {
		r.t.Fatalf("the run after the fault: %v\ncalls:\n\t%s", err, strings.Join(r.disk.Trace(), "\n\t"))
	}
	r.visible(upTo(killRecords)...)
	r.noLeftovers()
}

// losses are the crashes that are tried at each point.
var losses = []Loss{LoseAll, LoseNothing, 2, 3, 4, 5}

// sinkKills stops the process, and the machine, at every point of a run.
func sinkKills[T any](t *testing.T, c SinkCase[T]) {
	t.Run("S357KilledBeforeAndAfterEveryCall", func(t *testing.T) {
		for at := 1; ; at++ {
			r, n := c.run(t, c.Parallelism), 0
			r.watch(func(string) error {
				if n++; n == at {
					return errKilled
				}
				return nil
			})
			err := r.play()
			if err == nil {
				if at < 20 {
					t.Fatalf("only %d steps", n)
				}
				return
			}
			if !errors.Is(err, errKilled) {
				t.Fatalf("before the kill at step %d: %v", at, err)
			}
			r.disk.Restart(LoseAll)
			r.finish()
		}
	})
	t.Run("S361CrashedAtEveryEffectOnTheDisk", func(t *testing.T) {
		eachEffect(t, c, func(r *sinkRun[T], at int, f Fault, loss Loss) bool {
			return r.crash(at, f, loss)
		})
	})
	t.Run("S363CrashedAgainDuringTheRestore", func(t *testing.T) {
		for first := 1; ; first += 2 {
			for _, second := range []int{1, 2, 3, 4, 6, 9, 13} {
				r := c.run(t, c.Parallelism)
				loss := losses[(first+second)%len(losses)]
				if !r.crash(first, Fault{Crash: true, After: first%4 == 1}, loss) {
					r.finish()
					return
				}
				r.crash(second, Fault{Crash: true, After: second%2 == 0}, losses[second%len(losses)])
				r.finish()
			}
		}
	})
}

// crash plays until the machine crashes at an effect, and restarts it. It
// returns false when the run ended before.
func (r *sinkRun[T]) crash(at int, f Fault, loss Loss) bool {
	r.t.Helper()
	r.watch(nil)
	r.disk.FailAt(at, f)
	err := r.play()
	if err == nil && !r.disk.Crashed() {
		r.disk.Heal()
		return false
	}
	if err != nil && !r.disk.Crashed() {
		r.t.Fatalf("before the crash at effect %d: %v", at, err)
	}
	r.disk.Restart(loss)
	return true
}

// eachEffect runs a test for every effect, kind of crash and loss, until the
// script has no more effects.
func eachEffect[T any](t *testing.T, c SinkCase[T], try func(r *sinkRun[T], at int, f Fault, loss Loss) bool) {
	for at := 1; ; at++ {
		for _, f := range []Fault{{Crash: true}, {Crash: true, After: true}, {Crash: true, Half: true}} {
			for _, loss := range losses {
				r := c.run(t, c.Parallelism)
				if !try(r, at, f, loss) {
					return
				}
				r.finish()
			}
		}
	}
}

// sinkErrors lets every effect fail without a crash: the attempt may go on when
// the sink can cope, or fail and be restored in the same process.
func sinkErrors[T any](t *testing.T, c SinkCase[T]) {
	t.Run("S364S367EveryEffectFailsOnceAndNothingIsLost", func(t *testing.T) {
		for at := 1; ; at++ {
			for _, f := range []Fault{{Err: syscall.EIO}, {Err: syscall.EIO, After: true}, {Err: syscall.ENOSPC, Half: true}} {
				r := c.run(t, c.Parallelism)
				r.watch(nil)
				before := r.disk.Effects()
				r.disk.FailAt(at, f)
				err := r.play()
				if r.disk.Effects()-before < at {
					return // the script ended before
				}
				if err == nil {
					r.visible(upTo(killRecords)...)
				}
				// The old attempt is closed, as far as it can be.
				_ = r.Close()
				r.finish()
			}
		}
	})
	t.Run("S367AfterAFailedWriteThereIsNoCheckpoint", func(t *testing.T) {
		for at := 1; at <= 16; at++ {
			r := c.run(t, 1)
			r.must(r.Start())
			r.disk.FailAt(at, Fault{Err: syscall.EIO, Half: true})
			// So many that a buffer is written on the way.
			err := r.Write(20_000)
			if err == nil {
				return // no more effects while writing
			}
			if _, again := r.Prepare(false); again == nil {
				t.Fatalf("a write failed (%v), and the checkpoint did not", err)
			}
		}
	})
	t.Run("S364OneCommitOfThreeFailsAndTheOthersAreCommitted", func(t *testing.T) {
		r := c.run(t, 3)
		r.must(r.Start())
		r.must(r.Write(9))
		s := r.prepare()
		r.must(r.Complete(s))
		before := r.disk.Effects()
		for i := 1; i < 3*commitTries; i++ {
			r.disk.FailAt(i, Fault{Err: syscall.EIO})
		}
		err := r.Notify(s.Checkpoint)
		if r.disk.Effects() == before {
			return // this sink does not commit on the disk
		}
		if err == nil {
			t.Fatal("commits that failed were reported as done")
		}
		if len(r.pending) == 0 || len(r.pending) == 3 {
			t.Fatalf("%d of 3 commits are left after one failed", len(r.pending))
		}
		_ = r.Close()
		r.must(r.Start())
		r.visible(upTo(9)...)
	})
}

// atLeastOnce is the suite for sinks of one phase.
func atLeastOnce[T any](t *testing.T, c SinkCase[T]) {
	t.Run("WithoutFailuresEveryRecordIsThereOnce", func(t *testing.T) {
		r := c.run(t, c.Parallelism)
		r.must(r.play())
		r.visible(upTo(killRecords)...)
	})
	t.Run("WhatWasFlushedAtABarrierIsVisible", func(t *testing.T) {
		r := c.run(t, c.Parallelism)
		r.must(r.Start())
		r.must(r.Write(5))
		r.prepare()
		r.visible(upTo(5)...)
	})
	t.Run("KilledBeforeAndAfterEveryCallNothingIsLost", func(t *testing.T) {
		for at := 1; ; at++ {
			r, n := c.run(t, c.Parallelism), 0
			r.Step = func(string) error {
				if n++; n == at {
					return errKilled
				}
				return nil
			}
			if r.play() == nil {
				return
			}
			r.disk.Restart(LoseAll)
			r.Step = nil
			r.must(r.play())
			if err := r.nothingLost(); err != nil {
				t.Fatalf("killed at step %d: %v", at, err)
			}
		}
	})
}

func (r *sinkRun[T]) nothingLost() error {
	got, err := r.seen.Visible()
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, v := range got {
		there[r.c.Key(v)] = true
	}
	for i := range killRecords {
		if k := r.c.Key(r.c.Value(i)); !there[k] {
			return fmt.Errorf("%q is lost", k)
		}
	}
	return nil
}
