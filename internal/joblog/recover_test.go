package joblog

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cutwater-io/cutwater/internal/blob"
	"github.com/cutwater-io/cutwater/internal/ident"
)

func TestS134AnUnreadableEntryIsAnErrorAndNeverAnOlderCheckpoint(t *testing.T) {
	s := blob.Memory()
	l, _ := mustOpen(t, s)
	mustReserve(t, l, 16)
	mustAppend(t, l, completed(1), completed(2))
	for slot := uint64(1); slot < l.next; slot++ {
		intact, err := s.Get(ctx, nameOf(slot))
		if err != nil {
			t.Fatal(err)
		}
		for at := range intact {
			damaged := bytes.Clone(intact)
			damaged[at] ^= 1 << (at % 8)
			s.Put(ctx, nameOf(slot), damaged)
			if _, _, err := Open(ctx, s, "word-count", random); !errors.Is(err, blob.ErrCorrupt) || !strings.Contains(err.Error(), nameOf(slot)) {
				t.Fatalf("byte %d of entry %d damaged: %v", at, slot, err)
			}
		}
		for _, cut := range []int{0, 1, len(intact) - 1} {
			s.Put(ctx, nameOf(slot), intact[:cut])
			if _, err := Read(ctx, s); !errors.Is(err, blob.ErrCorrupt) {
				t.Fatalf("entry %d cut to %d bytes: %v", slot, cut, err)
			}
		}
		s.Put(ctx, nameOf(slot), intact)
	}
	if _, r := mustOpen(t, s); ids(r.Completed) != "1 2" {
		t.Errorf("recovered checkpoints %q", ids(r.Completed))
	}
}

func TestS134AMissingEntryIsAnError(t *testing.T) {
	for missing := uint64(1); missing <= 4; missing++ {
		s := blob.Memory()
		l, _ := mustOpen(t, s)
		mustReserve(t, l, 16)
		mustAppend(t, l, completed(1), completed(2))
		s.Delete(ctx, nameOf(missing))
		_, _, err := Open(ctx, s, "word-count", random)
		if !errors.Is(err, blob.ErrCorrupt) || !strings.Contains(err.Error(), nameOf(missing)+" is missing") {
			t.Errorf("entry %d missing: %v", missing, err)
		}
	}
}

func TestAnEntryCopiedToAnotherSlotIsAnError(t *testing.T) {
	s := blob.Memory()
	l, _ := mustOpen(t, s)
	mustReserve(t, l, 16)
	mustAppend(t, l, completed(1))
	b, _ := s.Get(ctx, nameOf(l.next-1))
	s.Put(ctx, nameOf(l.next), b)
	if _, err := Read(ctx, s); !errors.Is(err, blob.ErrCorrupt) {
		t.Errorf("error is %v", err)
	}
}

func TestS135TheLatestIsTheGreatestNumberNotTheLastName(t *testing.T) {
	s := blob.Memory()
	l, _ := mustOpen(t, s)
	mustReserve(t, l, 16)
	mustAppend(t, l, completed(9), completed(11), completed(10))
	_, r := mustOpen(t, s)
	if latest, _ := r.Latest(); latest.Checkpoint != 11 || ids(r.Completed) != "9 10 11" {
		t.Errorf("recovered checkpoints %q", ids(r.Completed))
	}
}

func TestS136IdsAreNeverUsedTwice(t *testing.T) {
	s := blob.Memory()
	above := uint64(0)
	for range 10 {
		l, r := mustOpen(t, s)
		if uint64(r.NextID) <= above {
			t.Fatalf("next id %d, used were ids up to %d", r.NextID, above)
		}
		for range 3 {
			first := mustReserve(t, l, DefaultReserve)
			if first <= above {
				t.Fatalf("first id %d, used were ids up to %d", first, above)
			}
			above = first + DefaultReserve - 1
		}
	}
}

func TestS140AfterASavepointOfAnotherJobIdsGoOnAboveIt(t *testing.T) {
	s := blob.Memory()
	l, _ := mustOpen(t, s)
	mustAppend(t, l, Completed{Checkpoint: 41, Kind: Savepoint, Manifest: "savepoint/x/manifest"})
	if first := mustReserve(t, l, 16); first != 42 {
		t.Errorf("first id is %d", first)
	}
}

func TestS076AFinishedJobStartsFreshAndACanceledOneDoesNot(t *testing.T) {
	for status, wanted := range map[Status]string{Finished: "", Canceled: "1 2", Failed: "1 2", Suspended: "1 2"} {
		s := blob.Memory()
		l, _ := mustOpen(t, s)
		mustReserve(t, l, 16)
		mustAppend(t, l, completed(1), completed(2), Stopped{Status: status, Message: "why"})
		if l.Append(ctx, completed(3)) == nil {
			t.Errorf("%s: a checkpoint was completed after the end", status)
		}
		l, r := mustOpen(t, s)
		if ids(r.Completed) != wanted || r.LastStop != status || r.Finished != (status == Finished) {
			t.Errorf("%s: recovered %+v", status, r)
		}
		if status != Finished {
			continue
		}
		// The next run dies before its first checkpoint: still fresh.
		l, r = mustOpen(t, s)
		if len(r.Completed) != 0 || !r.Finished || r.LastStop != Died || ids(r.Former) != "1 2" {
			t.Errorf("after a fresh run that died: %+v", r)
		}
		// The next gets that far: its checkpoint counts.
		first := ident.CheckpointID(mustReserve(t, l, 16))
		mustAppend(t, l, completed(first), Removed{Checkpoint: 1})
		if _, r = mustOpen(t, s); ids(r.Completed) != "17" || r.Finished || ids(r.Former) != "2" {
			t.Errorf("after a fresh run with a checkpoint: %+v", r)
		}
	}
}

func TestARunWithoutStateDoesNotFallBackToTheStateItGaveUp(t *testing.T) {
	s := blob.Memory()
	l, _ := mustOpen(t, s)
	mustReserve(t, l, 16)
	mustAppend(t, l, completed(1))
	l, _ = mustOpen(t, s)
	mustAppend(t, l, Fresh{})
	_, r := mustOpen(t, s)
	if len(r.Completed) != 0 || ids(r.Former) != "1" || r.Finished {
		t.Errorf("recovered %+v", r)
	}
}

func TestF009TheDirectoryOfAnotherJobIsRefused(t *testing.T) {
	s := blob.Memory()
	l, _ := mustOpen(t, s)
	_, _, err := Open(ctx, s, "fraud", random)
	if err == nil || !strings.Contains(err.Error(), `belongs to job "word-count", use another directory`) {
		t.Errorf("error is: %v", err)
	}
	mustReserve(t, l, 1) // and its leader was not deposed by the attempt
}

func TestAppendRefusesWhatCannotFollow(t *testing.T) {
	l, _ := mustOpen(t, blob.Memory())
	mustReserve(t, l, 16)
	mustAppend(t, l, completed(1))
	before := l.next
	for name, e := range map[string]Entry{
		"an id not reserved":               completed(17),
		"id zero":                          completed(0),
		"a checkpoint that is there":       completed(1),
		"no manifest":                      Completed{Checkpoint: 2},
		"removal of an unknown checkpoint": Removed{Checkpoint: 2},
		"a claim":                          Claim{Token: 9},
		"a reservation":                    Reserve{First: 17, Count: 1},
		"a stop without a status":          Stopped{},
	} {
		err := l.Append(ctx, e)
		if err == nil || errors.Is(err, blob.ErrUnknown) || errors.Is(err, ErrDeposed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := l.Reserve(ctx, 0); err == nil {
		t.Error("zero ids were reserved")
	}
	if l.next != before {
		t.Error("something was written")
	}
}

func TestReadDoesNotClaim(t *testing.T) {
	s := blob.Memory()
	if _, err := Read(ctx, s); !errors.Is(err, ErrNoLog) {
		t.Errorf("of an empty store: %v", err)
	}
	l, _ := mustOpen(t, s)
	mustReserve(t, l, 16)
	mustAppend(t, l, completed(1))
	r, err := Read(ctx, s)
	if err != nil || ids(r.Completed) != "1" || r.Token != l.Token() || r.JobName != "word-count" {
		t.Errorf("read %+v, %v", r, err)
	}
	mustAppend(t, l, completed(2))
}

func TestS419TenThousandCheckpointsLeaveAShortLog(t *testing.T) {
	s := blob.Memory()
	l, _ := mustOpen(t, s)
	longest := 0
	next, reserved := ident.CheckpointID(0), ident.CheckpointID(0)
	for i := range 10_000 {
		if next++; next > reserved {
			next = ident.CheckpointID(mustReserve(t, l, DefaultReserve))
			reserved = next + DefaultReserve - 1
		}
		mustAppend(t, l, completed(next))
		if i > 0 {
			mustAppend(t, l, Removed{Checkpoint: next - 1})
		}
		if i%1000 == 999 { // a restart now and then
			var r Recovered
			if l, r = mustOpen(t, s); ids(r.Completed) != fmt.Sprint(next) {
				t.Fatalf("after %d checkpoints: recovered %q", i+1, ids(r.Completed))
			}
			next = r.NextID - 1
			reserved = next
			mustAppend(t, l, Removed{Checkpoint: r.Completed[0].Checkpoint})
			first := ident.CheckpointID(mustReserve(t, l, DefaultReserve))
			next, reserved = first, first+DefaultReserve-1
			mustAppend(t, l, completed(next))
		}
		names, _ := s.List(ctx, "")
		longest = max(longest, len(names))
	}
	t.Logf("at most %d entries at a time", longest)
	if longest > 2*snapshotEvery {
		t.Errorf("the log had %d entries", longest)
	}
}

func TestS144TenRestartsInARowChangeNothing(t *testing.T) {
	s := blob.Memory()
	l, _ := mustOpen(t, s)
	mustReserve(t, l, 16)
	mustAppend(t, l, completed(1), completed(2))
	for range 10 {
		_, r := mustOpen(t, s)
		if ids(r.Completed) != "1 2" || r.NextID != 17 {
			t.Fatalf("recovered %+v", r)
		}
	}
}
