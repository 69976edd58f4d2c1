package connectortest

import (
	"testing"

	"github.com/cutwater-io/cutwater/connector"
)

// sinkScenarios are the scenarios of the specification for sinks of two phases,
// as far as they can be played on every sink.
func sinkScenarios[T any](t *testing.T, c SinkCase[T]) {
	scenario := func(name string, play func(r *sinkRun[T])) {
		t.Run(name, func(t *testing.T) {
			r := c.run(t, 1)
			r.must(r.Start())
			play(r)
		})
	}
	scenario("S358OnlyTheTransactionOfTheCompletedCheckpointIsVisible", func(r *sinkRun[T]) {
		r.must(r.Write(3))
		s := r.prepare()
		r.must(r.Write(2))
		r.visible()
		r.must(r.Complete(s))
		r.must(r.Notify(s.Checkpoint))
		r.visible(0, 1, 2)
	})
	scenario("S359ALostNotificationIsMadeUpForByTheNext", func(r *sinkRun[T]) {
		r.must(r.Write(2))
		r.must(r.Complete(r.prepare()))
		r.must(r.Write(2))
		s := r.prepare()
		r.must(r.Complete(s))
		r.must(r.Notify(s.Checkpoint))
		r.visible(0, 1, 2, 3)
	})
	scenario("S360ALaterPreparedTransactionStaysPending", func(r *sinkRun[T]) {
		r.must(r.Write(2))
		s := r.prepare()
		r.must(r.Write(2))
		later := r.prepare()
		r.must(r.Complete(s))
		r.must(r.Notify(s.Checkpoint))
		r.visible(0, 1)
		r.must(r.Complete(later))
		r.must(r.Notify(later.Checkpoint))
		r.visible(0, 1, 2, 3)
	})
	scenario("S361APreparedTransactionOfACompletedCheckpointIsCommittedAfterTheRestore", func(r *sinkRun[T]) {
		r.must(r.Write(2))
		r.must(r.Complete(r.prepare()))
		r.must(r.Write(1))
		r.disk.Restart(LoseAll)
		r.must(r.Start())
		r.visible(0, 1)
		r.noLeftovers()
	})
	scenario("S362APreparedTransactionOfAnIncompleteCheckpointIsDroppedAfterTheRestore", func(r *sinkRun[T]) {
		r.must(r.Write(2))
		r.must(r.Checkpoint(false))
		r.must(r.Write(2))
		r.prepare()
		r.disk.Restart(LoseNothing)
		r.must(r.Start())
		r.visible(0, 1)
		r.noLeftovers()
		r.must(r.Write(3))
		r.must(r.Checkpoint(true))
		r.visible(0, 1, 2, 3, 4)
	})
	scenario("S363ACommitThatIsRepeatedAfterTheRestoreChangesNothing", func(r *sinkRun[T]) {
		r.must(r.Write(3))
		r.must(r.Checkpoint(false))
		for range 3 {
			r.disk.Restart(LoseAll)
			r.must(r.Start())
			r.visible(0, 1, 2)
		}
	})
	scenario("S365ACommitWhoseResultIsNotKnownIsRepeatedAndVisibleOnce", func(r *sinkRun[T]) {
		r.must(r.Write(2))
		s := r.prepare()
		r.must(r.Complete(s))
		pending := r.pending
		r.must(r.Notify(s.Checkpoint))
		r.pending = pending
		r.must(r.Notify(s.Checkpoint))
		r.visible(0, 1)
	})
	scenario("S366ACommittableThatMeansNothingFails", func(r *sinkRun[T]) {
		outcomes, err := r.committers[0].Commit(1, false, []connector.Committable{{Data: []byte("\xffnonsense")}})
		if len(outcomes) != 1 || outcomes[0] != connector.Failed || err == nil {
			r.t.Fatalf("outcomes %v, error %v; want one that failed, and the reason", outcomes, err)
		}
	})
	scenario("S368TheDataOfAnAbortedCheckpointIsCommittedWithTheNext", func(r *sinkRun[T]) {
		r.must(r.Write(2))
		r.prepare() // aborted: nobody tells the sink
		r.must(r.Write(2))
		r.must(r.Checkpoint(false))
		r.visible(0, 1, 2, 3)
	})
	scenario("S369TheDataOfASavepointIsCommittedWithTheNextCheckpoint", func(r *sinkRun[T]) {
		r.must(r.Write(2))
		r.must(r.Complete(r.prepare())) // a savepoint: complete, and no notification
		r.must(r.Write(2))
		r.must(r.Checkpoint(false))
		r.visible(0, 1, 2, 3)
	})
	scenario("S370AFailoverAfterAnAbortMakesNoDuplicates", func(r *sinkRun[T]) {
		r.must(r.Write(2))
		r.must(r.Checkpoint(false))
		r.must(r.Write(2))
		r.prepare() // aborted
		r.must(r.Write(1))
		r.must(r.Close())
		r.must(r.Start())
		r.noLeftovers()
		r.must(r.Write(3))
		r.must(r.Checkpoint(true))
		r.visible(0, 1, 2, 3, 4)
	})
	scenario("S372AWriterOfAnOldAttemptCannotMakeAnythingVisible", func(r *sinkRun[T]) {
		r.must(r.Write(2))
		zombie := r.writers[0].(connector.CommittingWriter[T])
		r.must(r.Start())
		v := r.Value(100)
		// It may fail, or succeed in vain.
		_ = zombie.Write(&v, 0)
		_, _ = zombie.Prepare(1000)
		r.must(r.Write(2))
		r.must(r.Checkpoint(false))
		_ = zombie.Close()
		r.visible(0, 1)
	})
	scenario("S373TheEndCommitsTheLastTransactionAndOpensNone", func(r *sinkRun[T]) {
		r.must(r.Write(1))
		r.must(r.Checkpoint(true))
		s := r.prepare()
		if len(s.pending) > 0 {
			r.t.Fatal("a checkpoint without data has committables")
		}
		r.must(r.Close())
		r.visible(0)
		r.noLeftovers()
	})
	scenario("S374CloseDropsTheOpenTransactionAndLeavesThePreparedOne", func(r *sinkRun[T]) {
		r.must(r.Write(2))
		s := r.prepare()
		r.must(r.Write(1))
		r.must(r.Close())
		r.must(r.Complete(s))
		r.must(r.Start())
		r.visible(0, 1)
		r.noLeftovers()
	})
	t.Run("S371TransactionsOfFourSubtasksAreCommittedByTwo", func(t *testing.T) {
		r := c.run(t, 4)
		r.must(r.Start())
		r.must(r.Write(8))
		r.must(r.Complete(r.prepare()))
		r.must(r.Write(4))
		r.prepare()
		r.disk.Restart(LoseNothing)
		r.Parallelism = 2
		r.must(r.Start())
		r.visible(upTo(8)...)
		r.noLeftovers()
		r.must(r.Write(4))
		r.must(r.Checkpoint(true))
		r.visible(upTo(12)...)
	})
	t.Run("S372SweepLeavesOtherJobsOperatorsSharesAndLiveTransactionsAlone", func(t *testing.T) { sweepSpares(t, c) })
}

// sweepSpares prepares transactions of several owners and lets one sweep.
func sweepSpares[T any](t *testing.T, c SinkCase[T]) {
	r := c.run(t, 1)
	sink := r.Sink.(connector.CommittingSink[T])
	base := WriterContext{World: r.Env, JobID: "job", OperatorID: "sink", Index: 0, Count: 1, AttemptNumber: 1}
	live, otherJob, otherOperator, otherShare := base, base, base, base
	live.AttemptNumber = 2
	otherJob.JobID = "job2"
	otherOperator.OperatorID = "sink2"
	otherShare.Index, otherShare.Count = 1, 2
	var spared []connector.Committable
	for i, ctx := range []WriterContext{base, live, otherJob, otherOperator, otherShare} {
		w, err := sink.Writer(ctx, nil)
		r.must(err)
		v := c.Value(i)
		r.must(w.Write(&v, 0))
		cs, err := w.(connector.CommittingWriter[T]).Prepare(uint64(10 + i))
		r.must(err)
		if len(cs) == 0 {
			t.Fatal("a transaction with a record in it has no committable")
		}
		if i > 0 {
			spared = append(spared, cs...)
		}
	}
	sweeper := base
	sweeper.Count = 2 // share 0 of 2: subtask 1 is another's
	k, err := sink.Committer(sweeper)
	r.must(err)
	r.must(k.Sweep(spared[:1]))
	for i, s := range spared {
		outcomes, err := k.Commit(20, true, []connector.Committable{s})
		if err != nil || outcomes[0] != connector.Committed {
			t.Fatalf("transaction %d is gone: %v", i, err)
		}
	}
	r.visible(1, 2, 3, 4)
	r.noLeftovers()
}
