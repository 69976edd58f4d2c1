package watermark

import (
	"testing"
	"time"
)

// The scenario files ask for the watermark after each line. Here several things
// happen before somebody asks.

func mustAdvanceTo(t *testing.T, s *Splits, want int64) {
	t.Helper()
	if got, _ := s.Advance(); got != want {
		t.Errorf("watermark %s, want %s", word(got), word(want))
	}
}

func newSplit(id string) SplitTime { return SplitTime{ID: id, Watermark: None} }

func idleAfterASecond(p Policy) Strategy { return Strategy{IdleAfter: time.Second, AllIdle: p} }

func TestWhatRecordsReachedBeforeTheFirstSplitIsNotLost(t *testing.T) {
	s := NewSplits(Ascending(), None)
	s.Observe(10)
	s.AddSplit(newSplit("a"))
	mustAdvanceTo(t, s, 9)
}

func TestWhatASplitReachedBeforeItFinishedIsNotLost(t *testing.T) {
	s := NewSplits(Ascending(), None)
	s.AddSplit(newSplit("a"))
	s.Observe(10)
	s.FinishSplit("a")
	mustAdvanceTo(t, s, 9)
}

func TestWhatASplitReachedBeforeItBecameIdleIsNotLost(t *testing.T) {
	for _, id := range []string{"", "a"} {
		s := NewSplits(idleAfterASecond(Keep), None)
		s.AddSplit(newSplit(id))
		s.Observe(10)
		s.EmptySplit(id, 0)
		s.EmptySplit(id, time.Second)
		mustAdvanceTo(t, s, 9)
		if !s.Idle() {
			t.Errorf("split %q is not idle", id)
		}
	}
}

func TestAnIdleSplitWakesUpAlsoWhenAnotherIsReadBeforeAnybodyAsks(t *testing.T) {
	s := NewSplits(idleAfterASecond(Keep), None)
	s.AddSplit(SplitTime{ID: "a", Watermark: None, Idle: true})
	s.AddSplit(newSplit("b"))
	s.StartSplit("a")
	s.Observe(5)
	s.StartSplit("b")
	s.Observe(200)
	mustAdvanceTo(t, s, 4)
}

func TestARecordBetweenTwoEmptyPollsStartsTheCountAnew(t *testing.T) {
	s := NewSplits(idleAfterASecond(Keep), None)
	s.AddSplit(newSplit("a"))
	s.EmptySplit("a", 0)
	s.Observe(5)
	s.EmptySplit("a", time.Second)
	if s.Idle() {
		t.Error("the split is idle a moment after a record")
	}
}

func TestASnapshotKnowsThatARecordJustCame(t *testing.T) {
	s := NewSplits(Ascending(), None)
	s.AddSplit(SplitTime{ID: "a", Watermark: None, Idle: true})
	s.Observe(5)
	if got := s.Snapshot(nil); len(got) != 1 || got[0] != (SplitTime{ID: "a", Watermark: 4}) {
		t.Errorf("snapshot %v", got)
	}
}

func TestTheEmptyIDIsNoSplit(t *testing.T) {
	s := NewSplits(Ascending(), None)
	s.AddSplit(newSplit(""))
	s.StartSplit("a")
	s.Observe(5)
	mustAdvanceTo(t, s, 4)
	if got := s.Snapshot(nil); len(got) != 1 {
		t.Errorf("snapshot %v", got)
	}
}

// outside is a generator that goes by something else than records.
type outside struct{ watermark *int64 }

func (o outside) Observe(int64)    {}
func (o outside) Watermark() int64 { return *o.watermark }

func TestAGeneratorThatGoesByMoreThanRecordsIsAskedForEverySplit(t *testing.T) {
	now := int64(10)
	s := NewSplits(CustomGenerator(func() Custom { return outside{&now} }), None)
	s.StartSplit("a")
	s.StartSplit("b")
	mustAdvanceTo(t, s, 10)
	now = 20
	mustAdvanceTo(t, s, 20)
	now = 15
	mustAdvanceTo(t, s, 20)
}

func TestD58ASplitThatIsRestoredAheadDoesNotMakeTheNextOneLate(t *testing.T) {
	s := NewSplits(Ascending(), 99)
	s.AddSplit(SplitTime{ID: "a", Watermark: 499})
	s.AddSplit(SplitTime{ID: "b", Watermark: 299})
	s.AddSplit(SplitTime{ID: "c", Watermark: None})
	if wm, ok := s.Advance(); ok {
		t.Errorf("time goes to %d before c was read", wm)
	}
	s.FinishSplit("c")
	if wm, ok := s.Advance(); !ok || wm != 299 {
		t.Errorf("time goes to %d (%t), want 299", wm, ok)
	}
}
