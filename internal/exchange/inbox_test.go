package exchange

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/cutwater-io/cutwater/internal/batch"
	"github.com/cutwater-io/cutwater/internal/ident"
)

// numbered is an element that can be told from others.
func numbered(n int) batch.Element {
	return batch.Element{Kind: batch.KindBarrier, Checkpoint: ident.CheckpointID(n)}
}

func newTestInbox(channels int) *Inbox {
	in := NewInbox(NewWaker())
	for i := range channels {
		in.Add(ident.ChannelID{Channel: int32(i)}, ident.SubtaskID{Index: int32(i)})
	}
	return in
}

// A model: one slice per channel, and which are blocked. Next must return the
// oldest element of a channel that is not blocked, and nothing only when there is
// none.
func TestEachChannelIsAFIFOAndBlockedOnesAreNotRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 4).Draw(t, "channels")
		in := newTestInbox(n)
		queued := make([][]int, n)
		blocked := make([]bool, n)
		last := 0
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			i := rapid.IntRange(0, n-1).Draw(t, "channel")
			switch rapid.SampledFrom([]string{"send", "send", "next", "next", "block"}).Draw(t, "step") {
			case "send":
				last++
				queued[i] = append(queued[i], last)
				in.Channels()[i].Send(numbered(last))
			case "block":
				if blocked[i] {
					in.Unblock(in.Channels()[i])
				} else {
					in.Block(in.Channels()[i])
				}
				blocked[i] = !blocked[i]
			case "next":
				c, e, ok := in.Next()
				if !ok {
					for k := range n {
						if !blocked[k] && len(queued[k]) > 0 {
							t.Fatalf("nothing to read, but channel %d has %v", k, queued[k])
						}
					}
					continue
				}
				k := int(c.ID.Channel)
				if blocked[k] || len(queued[k]) == 0 || queued[k][0] != int(e.Checkpoint) {
					t.Fatalf("read %v from channel %d (blocked: %t) that holds %v", e, k, blocked[k], queued[k])
				}
				queued[k] = queued[k][1:]
			}
		}
	})
}

func TestChannelsThatHaveElementsTakeTurns(t *testing.T) {
	in := newTestInbox(3)
	for n := range 9 {
		in.Channels()[n/3].Send(numbered(n))
	}
	var order []int32
	for c, _, ok := in.Next(); ok; c, _, ok = in.Next() {
		order = append(order, c.ID.Channel)
	}
	for i, c := range order {
		if int(c) != i%3 {
			t.Fatalf("channels were read in the order %v", order)
		}
	}
}

func TestTheFirstElementWakesTheReaderAndABlockedChannelDoesNot(t *testing.T) {
	in := newTestInbox(2)
	woken := func() bool {
		select {
		case <-in.waker.C():
			return true
		default:
			return false
		}
	}
	in.Block(in.Channels()[0])
	in.Channels()[0].Send(numbered(1))
	if woken() {
		t.Error("an element of a blocked channel woke the reader")
	}
	in.Channels()[1].Send(numbered(2))
	if !woken() {
		t.Error("an element that can be read woke nobody")
	}
}

func TestAChannelIsBlockedOnceAndUnblockedOnce(t *testing.T) {
	panics := func(f func()) (panicked bool) {
		defer func() { panicked = recover() != nil }()
		f()
		return false
	}
	in := newTestInbox(1)
	c := in.Channels()[0]
	if !panics(func() { in.Unblock(c) }) {
		t.Error("a channel that was not blocked was unblocked")
	}
	in.Block(c)
	if !panics(func() { in.Block(c) }) {
		t.Error("a blocked channel was blocked again")
	}
}

// A channel between a fast sender and a slow reader is never quite empty.
func TestAChannelThatIsNeverEmptyDoesNotGrow(t *testing.T) {
	in := newTestInbox(1)
	c := in.Channels()[0]
	c.Send(numbered(0))
	for n := 1; n < 100_000; n++ {
		c.Send(numbered(n))
		_, e, ok := in.Next()
		if !ok || int(e.Checkpoint) != n-1 {
			t.Fatalf("read %v after %d elements", e, n)
		}
	}
	if cap(c.queue) > 64 {
		t.Errorf("a channel with one element takes room for %d", cap(c.queue))
	}
}

func TestAClosedInboxGivesAllBatchesBackAndTakesNoMore(t *testing.T) {
	in := newTestInbox(1)
	c := in.Channels()[0]
	home := make(chan *batch.Batch[struct{}, int], 4)
	fresh := func() batch.Element {
		b := batch.New[struct{}, int](batch.Shape{Limit: 8, Values: true}, home, nil)
		return batch.Element{Kind: batch.KindRecords, Records: b}
	}
	c.Send(fresh())
	c.Send(numbered(1))
	c.Send(fresh())
	in.Close()
	c.Send(fresh())
	if len(home) != 3 {
		t.Errorf("%d batches came back to the sender, want 3", len(home))
	}
	if _, e, ok := in.Next(); ok {
		t.Errorf("a closed inbox returned %v", e)
	}
}
