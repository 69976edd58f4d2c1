package connectortest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cutwater-io/cutwater/connector"
)

// SourceCase describes a source to the conformance suite.
type SourceCase[T any] struct {
	// Open fills the outside world (files, for a source that reads files) and
	// returns the source and every record in it. It is called for each run.
	Open func(t *testing.T, files connector.Files) (s connector.Source[T], want []T)
	// Key tells records apart; nil is fmt.Sprint. Equal records are counted.
	Key func(v T) string
	// Unbounded: the source never finishes.
	Unbounded bool
}

// Source runs the conformance suite: wherever a run is stopped and restored, with
// however many readers, it emits just the records that are missing.
func Source[T any](t *testing.T, c SourceCase[T]) {
	if c.Key == nil {
		c.Key = func(v T) string { return fmt.Sprint(v) }
	}
	t.Run("AllRecordsOnceForAnyNumberOfReaders", c.allOnce)
	t.Run("S357StoppedAfterAnyRecordAndRestored", c.stopAnywhere)
	t.Run("S357CheckpointsAtEveryRecordDisturbNothing", c.checkpointEverywhere)
	t.Run("S355RestoredWithMoreOrFewerReaders", c.rescale)
	t.Run("S345AReaderThatFailedGetsItsSplitsBack", c.readerFails)
	t.Run("S347AFreshStartReadsAllAgain", c.freshStart)
	t.Run("S349ReadersWithoutSplitsAskAgainAfterTheRestore", c.noSplits)
	t.Run("S356NotificationsOfCheckpointsAreHarmless", c.notifications)
	t.Run("StateOfAStrangerIsAnError", c.nonsense)
}

// start opens a world and starts the source in it.
func (c SourceCase[T]) start(t *testing.T, readers int) (*SourceJob[T], connector.Source[T], []T) {
	t.Helper()
	env := NewEnv(NewDisk())
	s, want := c.Open(t, env.Files)
	j, err := StartSource(env, s, readers, nil)
	if err != nil {
		t.Fatal(err)
	}
	return j, s, want
}

func (c SourceCase[T]) restore(t *testing.T, env connector.Env, s connector.Source[T], readers int, from SourceState) *SourceJob[T] {
	t.Helper()
	j, err := StartSource(env, s, readers, &from)
	if err != nil {
		t.Fatalf("restore: %v", err)
	}
	return j
}

// same checks that records are the expected ones, in any order.
func (c SourceCase[T]) same(t *testing.T, what string, want, got []T) {
	t.Helper()
	keys := func(vs []T) []string {
		var ks []string
		for _, v := range vs {
			ks = append(ks, c.Key(v))
		}
		slices.Sort(ks)
		return ks
	}
	w, g := keys(want), keys(got)
	if slices.Equal(w, g) {
		return
	}
	t.Fatalf("%s: %d records, want %d; missing %.300q; too many %.300q", what, len(g), len(w), minus(w, g), minus(g, w))
}

// minus returns what sorted a has more often than sorted b.
func minus(a, b []string) []string {
	var rest []string
	for _, k := range a {
		if len(b) > 0 && b[0] < k {
			n, _ := slices.BinarySearch(b, k)
			b = b[n:]
		}
		if len(b) > 0 && b[0] == k {
			b = b[1:]
		} else {
			rest = append(rest, k)
		}
	}
	return rest
}

func (c SourceCase[T]) drain(t *testing.T, j *SourceJob[T], limit int, stop func(int) bool) []T {
	t.Helper()
	got, err := j.Drain(limit, stop)
	if err != nil {
		t.Fatal(err)
	}
	if stop == nil && j.Finished() == c.Unbounded {
		t.Fatalf("finished is %v after the last record", j.Finished())
	}
	return got
}

func (c SourceCase[T]) checkpoint(t *testing.T, j *SourceJob[T]) SourceState {
	t.Helper()
	s, err := j.Checkpoint()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (c SourceCase[T]) allOnce(t *testing.T) {
	for _, readers := range []int{1, 2, 5} {
		for _, limit := range []int{1, 7, 512} {
			j, _, want := c.start(t, readers)
			c.same(t, fmt.Sprintf("%d readers, %d records a poll", readers, limit), want, c.drain(t, j, limit, nil))
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func (c SourceCase[T]) stopAnywhere(t *testing.T) {
	_, _, want := c.start(t, 1)
	for n := range len(want) + 1 {
		for readers := 1; readers <= 3; readers += 2 {
			j, s, _ := c.start(t, readers)
			got := c.drain(t, j, 1, func(emitted int) bool { return emitted >= n })
			state := c.checkpoint(t, j)
			// What comes after the checkpoint is lost with the process.
			c.drain(t, j, 2, func(emitted int) bool { return emitted >= 3 })
			j = c.restore(t, j.Env, s, readers, state)
			got = append(got, c.drain(t, j, 4, nil)...)
			c.same(t, fmt.Sprintf("stopped after %d records with %d readers", n, readers), want, got)
		}
	}
}

func (c SourceCase[T]) checkpointEverywhere(t *testing.T) {
	j, s, want := c.start(t, 2)
	var got []T
	for idle := 0; idle < 4; {
		n := len(got)
		for i := range j.Readers {
			one, err := j.Poll(i, 1)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, one...)
		}
		j.RunAsync()
		state := c.checkpoint(t, j)
		c.onePlace(t, state)
		// Each of them can be restored and leads to the same whole.
		r := c.restore(t, j.Env, s, 1, state)
		c.same(t, fmt.Sprintf("checkpoint %d", state.Checkpoint), want, append(slices.Clone(got), c.drain(t, r, 5, nil)...))
		if len(got) == n {
			idle++
		} else {
			idle = 0
		}
	}
	c.same(t, "with a checkpoint at every record", want, got)
}

// onePlace checks that no split is with two readers.
func (c SourceCase[T]) onePlace(t *testing.T, state SourceState) {
	t.Helper()
	seen := map[string]bool{}
	for _, s := range state.AllSplits() {
		if s.ID == "" || seen[s.ID] {
			t.Fatalf("S340: split %q is in checkpoint %d twice, or has no name", s.ID, state.Checkpoint)
		}
		seen[s.ID] = true
	}
}

func (c SourceCase[T]) rescale(t *testing.T) {
	_, _, all := c.start(t, 1)
	for _, p := range [][]int{{1, 3, 2}, {4, 1, 5}, {3, 2, 1}, {2, 7, 2}} {
		j, s, want := c.start(t, p[0])
		third := len(all)/3 + 1
		got := c.drain(t, j, 1, func(emitted int) bool { return emitted >= third })
		for _, readers := range p[1:] {
			state := c.checkpoint(t, j)
			j = c.restore(t, j.Env, s, readers, state)
			got = append(got, c.drain(t, j, 1, func(emitted int) bool { return emitted >= third })...)
		}
		got = append(got, c.drain(t, j, 3, nil)...)
		c.same(t, fmt.Sprintf("readers %v", p), want, got)
	}
}

// readerFails lets one reader fail: it restarts from the checkpoint, the others
// and the enumerator go on.
func (c SourceCase[T]) readerFails(t *testing.T) {
	_, _, all := c.start(t, 1)
	for n := range len(all) {
		j, _, want := c.start(t, 2)
		c.drain(t, j, 1, func(emitted int) bool { return emitted >= n/2 })
		state := c.checkpoint(t, j)
		if n%3 == 0 {
			if err := j.Complete(state.Checkpoint); err != nil {
				t.Fatal(err)
			}
		}
		failing := n % 2
		keep := len(j.Readers[failing].Got)
		c.drain(t, j, 1, func(emitted int) bool { return emitted >= n-n/2 })
		if err := j.RestartReader(failing, state.Splits[failing], keep); err != nil {
			t.Fatal(err)
		}
		c.drain(t, j, 2, nil)
		c.same(t, fmt.Sprintf("reader %d failed after %d records", failing, n), want, append(slices.Clone(j.Readers[0].Got), j.Readers[1].Got...))
	}
}

func (c SourceCase[T]) freshStart(t *testing.T) {
	j, s, want := c.start(t, 2)
	c.drain(t, j, 2, func(emitted int) bool { return emitted >= len(want)/2 })
	fresh, err := StartSource(j.Env, s, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.same(t, "a fresh start after a failure without a checkpoint", want, c.drain(t, fresh, 9, nil))
}

func (c SourceCase[T]) noSplits(t *testing.T) {
	// Before anything, with more readers than can have splits.
	j, s, want := c.start(t, 9)
	state := c.checkpoint(t, j)
	j = c.restore(t, j.Env, s, 9, state)
	c.same(t, "restored from the very begin", want, c.drain(t, j, 2, nil))
	// After everything.
	state = c.checkpoint(t, j)
	j = c.restore(t, j.Env, s, 3, state)
	c.same(t, "restored from the very end", nil, c.drain(t, j, 2, nil))
}

func (c SourceCase[T]) notifications(t *testing.T) {
	j, _, want := c.start(t, 2)
	var got []T
	for range len(want) + 3 {
		got = append(got, c.drain(t, j, 1, func(emitted int) bool { return emitted >= 2 })...)
		state := c.checkpoint(t, j)
		for range 2 { // a notification may come twice
			if err := j.Complete(state.Checkpoint); err != nil {
				t.Fatal(err)
			}
		}
	}
	c.same(t, "with notifications", want, append(got, c.drain(t, j, 3, nil)...))
}

func (c SourceCase[T]) nonsense(t *testing.T) {
	j, s, _ := c.start(t, 1)
	if _, err := StartSource(j.Env, s, 1, &SourceState{Enumerator: []byte("\xff\xffnonsense")}); err == nil {
		t.Error("the enumerator accepted nonsense as its state")
	}
	err := j.Readers[0].Reader.AddSplits([]connector.Split{{ID: "nonsense", Data: []byte("\xff\xffnonsense")}})
	if err == nil {
		t.Error("the reader accepted nonsense as a split")
	}
}
