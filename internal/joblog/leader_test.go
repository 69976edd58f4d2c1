package joblog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cutwater-io/cutwater/internal/blob"
	"github.com/cutwater-io/cutwater/internal/blob/blobtest"
	"github.com/cutwater-io/cutwater/internal/ident"
)

var ctx = context.Background()

func completed(id ident.CheckpointID) Completed {
	return Completed{Checkpoint: id, Manifest: fmt.Sprintf("chk/%d-u/manifest", id)}
}

func ids(list []Completed) string {
	var b strings.Builder
	for _, c := range list {
		fmt.Fprintf(&b, "%d ", c.Checkpoint)
	}
	return strings.TrimSpace(b.String())
}

func want(t *testing.T, what string, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("%s: error is %v, want %v", what, err, target)
	}
}

func TestS137ADeposedLeaderCannotPublish(t *testing.T) {
	s := blob.Memory()
	old, _ := mustOpen(t, s)
	mustReserve(t, old, 16)
	newer, _ := mustOpen(t, s)
	want(t, "append of the old leader", old.Append(ctx, completed(1)), ErrDeposed)
	want(t, "again", old.Append(ctx, completed(2)), ErrDeposed)
	want(t, "resolution of the old leader", old.Resolve(ctx, 1), ErrDeposed)
	_, err := old.Reserve(ctx, 16)
	want(t, "reservation of the old leader", err, ErrDeposed)
	if first := mustReserve(t, newer, 16); first != 17 {
		t.Errorf("the new leader's first id is %d", first)
	}
	if _, r := mustOpen(t, s); len(r.Completed) != 0 {
		t.Errorf("recovered %+v", r)
	}
}

// A stopped process wakes after its slot was filled, superseded and deleted. To
// put-if-absent the slot looks as it did before.
func TestS137ALeaderThatSleptThroughACompactionCannotPublish(t *testing.T) {
	s := blob.Memory()
	old, _ := mustOpen(t, s)
	mustReserve(t, old, 16)
	slot := old.next
	newer, _ := mustOpen(t, s)
	newer.every = 8
	first := mustReserve(t, newer, 100)
	for i := range uint64(50) {
		mustAppend(t, newer, completed(ident.CheckpointID(first+i)))
		if i > 0 {
			mustAppend(t, newer, Removed{Checkpoint: ident.CheckpointID(first + i - 1)})
		}
	}
	if _, err := s.Get(ctx, nameOf(slot)); !errors.Is(err, blob.ErrNotFound) {
		t.Fatalf("slot %d was not deleted, so this test shows nothing: %v", slot, err)
	}
	want(t, "append of the old leader", old.Append(ctx, completed(1)), ErrDeposed)
	if _, err := s.Get(ctx, nameOf(slot)); err != nil {
		t.Fatalf("the old leader did not win the free slot, so this test shows nothing: %v", err)
	}
	// What it left behind does not disturb, and is cleaned up.
	_, r := mustOpen(t, s)
	if got, wanted := ids(r.Completed), fmt.Sprint(first+49); got != wanted {
		t.Errorf("recovered checkpoints %q, want %q", got, wanted)
	}
}

// tornList hides what was written since: a directory that is read while one
// snapshot takes the place of another may show neither.
type tornList struct {
	blob.Store
	seen []string
}

func (s *tornList) List(ctx context.Context, prefix string) ([]string, error) {
	if s.seen != nil {
		return s.seen, nil
	}
	return s.Store.List(ctx, prefix)
}

func TestS137ALeaderThatSleptIsFoundEvenIfTheListShowsNothingNewer(t *testing.T) {
	s := blob.Memory()
	torn := &tornList{Store: s}
	old, _ := mustOpen(t, torn)
	mustReserve(t, old, 16)
	torn.seen, _ = s.List(ctx, prefix)
	newer, _ := mustOpen(t, s)
	newer.every = 8
	for range 50 {
		mustReserve(t, newer, 1)
	}
	want(t, "append of the old leader", old.Append(ctx, completed(1)), ErrDeposed)
	if _, err := s.Get(ctx, nameOf(old.next)); err != nil {
		t.Fatalf("the old leader did not win the free slot, so this test shows nothing: %v", err)
	}
}

func TestS062AFailedAppendIsNotInTheLog(t *testing.T) {
	f := &blobtest.Faulty{Store: blob.Memory()}
	l, _ := mustOpen(t, f)
	mustReserve(t, l, 16)
	mustAppend(t, l, completed(1))
	f.Fault = func(op, _ string) blobtest.Fault {
		if op == "put-if-absent" {
			return blobtest.Fail
		}
		return blobtest.None
	}
	err := l.Append(ctx, completed(2))
	if err == nil || errors.Is(err, blob.ErrUnknown) || errors.Is(err, ErrDeposed) {
		t.Fatalf("append: %v", err)
	}
	f.Fault = nil
	mustAppend(t, l, completed(3))
	if _, r := mustOpen(t, f); ids(r.Completed) != "1 3" {
		t.Errorf("recovered checkpoints %q", ids(r.Completed))
	}
}

// lostAnswers makes every put's outcome unknown; with effect or without.
func lostAnswers(fault blobtest.Fault) func(op, name string) blobtest.Fault {
	return func(op, _ string) blobtest.Fault {
		if op == "put-if-absent" || op == "get" {
			return fault
		}
		return blobtest.None
	}
}

func TestS063AnUnknownOutcomeIsResolvedByTheSlot(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault blobtest.Fault
		want  string
		err   error
	}{
		{"the entry was written", blobtest.Unanswered, "1 2", nil},
		{"the entry was not written", blobtest.Unsent, "1", ErrLost},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &blobtest.Faulty{Store: blob.Memory()}
			l, _ := mustOpen(t, f)
			mustReserve(t, l, 16)
			mustAppend(t, l, completed(1))
			f.Fault = lostAnswers(c.fault)
			want(t, "append", l.Append(ctx, completed(2)), blob.ErrUnknown)
			want(t, "resolve while the store is away", l.Resolve(ctx, 2), blob.ErrUnknown)
			// A definite refusal of the resolution leaves the entry unknown too.
			f.Fault = lostAnswers(blobtest.Fail)
			want(t, "resolve while the store refuses", l.Resolve(ctx, 2), blob.ErrUnknown)
			f.Fault = nil
			for range 2 { // the second time nothing is unknown
				if err := l.Resolve(ctx, 2); !errors.Is(err, c.err) {
					t.Fatalf("resolve: %v, want %v", err, c.err)
				}
				if err := l.Resolve(ctx, 1); err != nil {
					t.Fatalf("resolve of what was known all along: %v", err)
				}
			}
			if got := ids(l.State().Completed); got != c.want {
				t.Errorf("state has checkpoints %q, want %q", got, c.want)
			}
			if _, r := mustOpen(t, f); ids(r.Completed) != c.want {
				t.Errorf("recovered checkpoints %q, want %q", ids(r.Completed), c.want)
			}
		})
	}
}

func TestS063TheNextAppendResolvesAnUnknownOutcomeToo(t *testing.T) {
	for fault, wanted := range map[blobtest.Fault]string{blobtest.Unanswered: "1 2 3", blobtest.Unsent: "1 3"} {
		f := &blobtest.Faulty{Store: blob.Memory()}
		l, _ := mustOpen(t, f)
		mustReserve(t, l, 16)
		mustAppend(t, l, completed(1))
		f.Fault = lostAnswers(fault)
		want(t, "append", l.Append(ctx, completed(2)), blob.ErrUnknown)
		f.Fault = nil
		mustAppend(t, l, completed(3))
		if _, r := mustOpen(t, f); ids(r.Completed) != wanted || ids(l.State().Completed) != wanted {
			t.Errorf("fault %d: recovered checkpoints %q, state %q, want %q", fault, ids(r.Completed), ids(l.State().Completed), wanted)
		}
	}
}

func TestS064TheSameEntryAgainIsSuccess(t *testing.T) {
	f := &blobtest.Faulty{Store: blob.Memory()}
	l, _ := mustOpen(t, f)
	mustReserve(t, l, 16)
	f.Fault = lostAnswers(blobtest.Unanswered)
	want(t, "append", l.Append(ctx, completed(1)), blob.ErrUnknown)
	f.Fault = nil
	mustAppend(t, l, completed(1))
	if _, r := mustOpen(t, f); ids(r.Completed) != "1" {
		t.Errorf("recovered checkpoints %q", ids(r.Completed))
	}
}

func TestOneLostAnswerIsNotEvenNoticed(t *testing.T) {
	f := &blobtest.Faulty{Store: blob.Memory()}
	l, _ := mustOpen(t, f)
	once := true
	f.Fault = func(op, _ string) blobtest.Fault {
		if op == "put-if-absent" && once {
			once = false
			return blobtest.Unanswered
		}
		return blobtest.None
	}
	if first := mustReserve(t, l, 16); first != 1 || once {
		t.Errorf("first id %d, answer lost: %t", first, !once)
	}
	if first := mustReserve(t, l, 16); first != 17 {
		t.Errorf("next id %d", first)
	}
}

func TestTwoProcessesThatOpenAtOnceGetDifferentTokensAndTheLaterLeads(t *testing.T) {
	s := blob.Memory()
	var a, b *Log
	// The second opens in the middle of the first one's claim.
	f := &blobtest.Faulty{Store: s}
	f.Fault = func(op, name string) blobtest.Fault {
		if op == "put-if-absent" && name == nameOf(2) && b == nil {
			b, _ = mustOpen(t, s)
		}
		return blobtest.None
	}
	a, _ = mustOpen(t, f)
	if a.Job() != b.Job() || a.Token() != 2 || b.Token() != 1 {
		t.Errorf("tokens %d and %d, jobs %s and %s", a.Token(), b.Token(), a.Job(), b.Job())
	}
	want(t, "append of the first claim", b.Append(ctx, Stopped{Status: Failed}), ErrDeposed)
	mustReserve(t, a, 1)
}
