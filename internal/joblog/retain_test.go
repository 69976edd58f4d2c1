package joblog

import (
	"errors"
	"testing"

	"github.com/cutwater-io/cutwater/internal/blob"
	"github.com/cutwater-io/cutwater/internal/blob/blobtest"
	"github.com/cutwater-io/cutwater/internal/ident"
)

func TestS065AFailedRemovalLeavesBothCheckpointsComplete(t *testing.T) {
	f := &blobtest.Faulty{Store: blob.Memory()}
	l, _ := mustOpen(t, f)
	mustReserve(t, l, 16)
	mustAppend(t, l, completed(1), completed(2))
	f.Fault = func(op, _ string) blobtest.Fault { return blobtest.Fail }
	if l.Append(ctx, Removed{Checkpoint: 1}) == nil {
		t.Fatal("the removal succeeded on a store that fails")
	}
	f.Fault = nil
	if _, r := mustOpen(t, f); ids(r.Completed) != "1 2" {
		t.Errorf("recovered checkpoints %q", ids(r.Completed))
	}
}

func TestS078AfterTheEndCheckpointsCanStillBeRemoved(t *testing.T) {
	s := blob.Memory()
	l, _ := mustOpen(t, s)
	mustReserve(t, l, 16)
	mustAppend(t, l, completed(1), completed(2), Stopped{Status: Finished}, Removed{Checkpoint: 1}, Removed{Checkpoint: 2})
	if _, r := mustOpen(t, s); len(r.Completed)+len(r.Former) != 0 || !r.Finished {
		t.Errorf("recovered %+v", r)
	}
}

func TestS079ADeposedLeaderDeletesNothing(t *testing.T) {
	f := &blobtest.Faulty{Store: blob.Memory()}
	l, _ := mustOpen(t, f)
	l.every = 4
	for len(l.stale) < 2 { // so that there is something it could delete
		mustReserve(t, l, 1)
		if l.next > 100 {
			t.Fatal("nothing ever waits for deletion")
		}
		f.Fault = func(op, _ string) blobtest.Fault {
			if op == "delete" {
				return blobtest.Fail
			}
			return blobtest.None
		}
	}
	mustOpen(t, f.Store)
	f.Fault = func(op, name string) blobtest.Fault {
		if op == "delete" {
			t.Errorf("%s was deleted", name)
		}
		return blobtest.None
	}
	for range 5 {
		if _, err := l.Reserve(ctx, 1); !errors.Is(err, ErrDeposed) {
			t.Fatalf("reserve: %v", err)
		}
	}
}

func TestS145AfterAnOutageTheLogGoesOn(t *testing.T) {
	f := &blobtest.Faulty{Store: blob.Memory()}
	l, _ := mustOpen(t, f)
	l.every = 4
	mustReserve(t, l, 100)
	n := 0
	for _, fault := range []blobtest.Fault{blobtest.Fail, blobtest.Unsent, blobtest.Unanswered, blobtest.Fail} {
		f.Fault = func(string, string) blobtest.Fault { return fault }
		for range 10 {
			n++
			if l.Append(ctx, completed(ident.CheckpointID(n))) == nil {
				t.Fatal("an append succeeded during an outage")
			}
		}
	}
	f.Fault = nil
	for range 10 {
		n++
		mustAppend(t, l, completed(ident.CheckpointID(n)))
	}
	_, r := mustOpen(t, f)
	// Of those in the outage the one may be there whose answer was lost.
	if len(r.Completed) != 11 || r.Completed[0].Checkpoint != 11 && r.Completed[0].Checkpoint != 21 || r.Completed[1].Checkpoint != 41 {
		t.Errorf("recovered checkpoints %q", ids(r.Completed))
	}
}

func BenchmarkAppendToADirectory(b *testing.B) {
	l, _, err := Open(ctx, blob.Dir(b.TempDir(), nil), "word-count", random)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := l.Reserve(ctx, 1); err != nil {
			b.Fatal(err)
		}
	}
}
