package exchange

import (
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/cutwater-io/cutwater/internal/batch"
)

// wire is a writer and the inbox behind it.
type wire struct {
	in        *Inbox
	w         *Writer[int, int]
	done      chan struct{}
	waker     *Waker
	now       int64
	overdrawn int64
}

func newWire(channels, limit int, keyed bool) *wire {
	x := &wire{in: newTestInbox(channels), done: make(chan struct{}), waker: NewWaker(), now: 1}
	task := Task{Waker: x.waker, Done: x.done, NowNanos: &x.now, Overdrawn: &x.overdrawn}
	x.w = NewWriter[int, int](task, batch.Shape{Limit: limit, Keyed: keyed, Values: true}, x.in.Channels())
	return x
}

// drain reads everything: records as their values, other elements as -1, by
// channel. Batches go back.
func (x *wire) drain() map[int32][]int {
	all := map[int32][]int{}
	for c, e, ok := x.in.Next(); ok; c, e, ok = x.in.Next() {
		if e.Kind != batch.KindRecords {
			all[c.ID.Channel] = append(all[c.ID.Channel], -1)
			continue
		}
		all[c.ID.Channel] = append(all[c.ID.Channel], e.Records.(*batch.Batch[int, int]).V...)
		e.Records.Release()
	}
	return all
}

// Records and events of a channel arrive in the order in which they were written,
// whatever was flushed when.
func TestRecordsAndEventsKeepTheirOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := newWire(1, rapid.IntRange(1, 5).Draw(t, "limit"), false)
		put := x.w.Forward()
		var sent, got []int
		for n := range rapid.IntRange(1, 100).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"record", "record", "record", "flush", "event", "read"}).Draw(t, "step") {
			case "record":
				if x.w.Ready() {
					put(&n, 0)
					sent = append(sent, n)
				}
			case "flush":
				x.w.Flush()
			case "event":
				x.w.Event(numbered(n))
				sent = append(sent, -1)
			case "read":
				got = append(got, x.drain()[0]...)
			}
		}
		x.w.Flush()
		got = append(got, x.drain()[0]...)
		if fmt.Sprint(sent) != fmt.Sprint(got) {
			t.Fatalf("sent %v\n got %v", sent, got)
		}
	})
}

func TestAWriterIsReadyWhileEachChannelHasCredit(t *testing.T) {
	x := newWire(2, 1, false)
	put := x.w.Rebalance(0)
	v := 7
	for n := range credits {
		if !x.w.Ready() {
			t.Fatalf("not ready after %d batches a channel", n)
		}
		put(&v, 0)
		put(&v, 0)
	}
	if x.w.Ready() {
		t.Fatalf("ready with all %d batches of each channel under way", credits)
	}
	// One batch of one channel comes back: the other still has none.
	_, e, _ := x.in.Next()
	e.Records.Release()
	if x.w.Ready() {
		t.Error("ready although one channel has no credit")
	}
	select {
	case <-x.waker.C():
	default:
		t.Error("the batch that came back woke nobody")
	}
	x.drain()
	if !x.w.Ready() || x.overdrawn != 0 {
		t.Errorf("ready: %t, overdrawn: %d", x.w.Ready(), x.overdrawn)
	}
}

func TestAWriterOverdrawsUpToABoundAndThenBlocksUntilABatchComesBack(t *testing.T) {
	x := newWire(1, 1, false)
	put := x.w.Forward()
	v := 7
	for range credits + overdraft {
		put(&v, 0)
	}
	if x.overdrawn != overdraft {
		t.Errorf("%d batches were overdrawn, want %d", x.overdrawn, overdraft)
	}
	blocked := make(chan struct{})
	go func() {
		defer close(blocked)
		put(&v, 0) // blocks
	}()
	select {
	case <-blocked:
		t.Fatal("a writer took a batch beyond its bound")
	default:
	}
	_, e, _ := x.in.Next()
	e.Records.Release()
	<-blocked
}

func TestABlockedWriterGivesUpWhenItsTaskIsCanceled(t *testing.T) {
	x := newWire(1, 1, false)
	put := x.w.Forward()
	v := 7
	for range credits + overdraft {
		put(&v, 0)
	}
	close(x.done)
	defer func() {
		if _, ok := recover().(Canceled); !ok {
			t.Error("the writer did not panic with Canceled")
		}
	}()
	put(&v, 0)
}

func TestBatchesAreSentWhenTheirOldestRecordHasWaited(t *testing.T) {
	x := newWire(1, 100, false)
	put := x.w.Forward()
	v := 7
	x.now = 50
	put(&v, 0)
	x.now = 70
	put(&v, 0)
	x.w.FlushOpenedBefore(49)
	if got := x.drain(); len(got) > 0 {
		t.Errorf("a young batch was sent: %v", got)
	}
	x.w.FlushOpenedBefore(50)
	if got := x.drain()[0]; len(got) != 2 {
		t.Errorf("the old batch holds %v", got)
	}
}

func TestRebalanceDealsInTurnAndBroadcastGivesToAll(t *testing.T) {
	x := newWire(3, 10, false)
	put := x.w.Rebalance(2)
	for n := range 6 {
		put(&n, 0)
	}
	x.w.Flush()
	if got := x.drain(); fmt.Sprint(got) != fmt.Sprint(map[int32][]int{0: {1, 4}, 1: {2, 5}, 2: {0, 3}}) {
		t.Errorf("dealt %v", got)
	}
	all := x.w.Broadcast()
	for n := range 2 {
		all(&n, 0)
	}
	x.w.Flush()
	if got := x.drain(); fmt.Sprint(got) != fmt.Sprint(map[int32][]int{0: {0, 1}, 1: {0, 1}, 2: {0, 1}}) {
		t.Errorf("broadcast %v", got)
	}
}

func TestAKeyGoesToTheChannelOfItsGroupAndABadKeyNowhere(t *testing.T) {
	x := newWire(2, 4, true)
	bad := errors.New("bad key")
	var rejected []int
	put := x.w.Partition(Keys[int, int]{
		Key:  func(v *int, k *int) { *k = *v },
		Hash: func(k *int) uint64 { return uint64(*k) << 62 }, // keys 0..3 are the quarters
		Check: func(k *int) error {
			if *k == 3 {
				return bad
			}
			return nil
		},
		MaxParallelism: 4, Target: []uint16{0, 1, 1, 0},
	}, func(v *int, err error) {
		if err == bad {
			rejected = append(rejected, *v)
		}
	})
	for n := range 4 {
		put(&n, 0)
	}
	x.w.Flush()
	if got := x.drain(); fmt.Sprint(got) != fmt.Sprint(map[int32][]int{0: {0}, 1: {1, 2}}) || fmt.Sprint(rejected) != "[3]" {
		t.Errorf("keys went to %v, rejected %v", got, rejected)
	}
}

func TestAWatermarkStandsBetweenTheRecordsOfEachChannel(t *testing.T) {
	x := newWire(2, 10, false)
	put := x.w.Rebalance(0)
	for n := range 3 {
		put(&n, 0)
	}
	x.w.Watermark(5)
	x.w.Watermark(9) // replaces the one at the same place
	n := 3
	put(&n, 0)
	x.w.Flush()
	for want := range map[string]bool{"0: [0 2] [{2 9}]": true, "1: [1 3] [{1 9}]": true} {
		found := false
		for _, c := range x.in.Channels() {
			b := c.queue[0].Records.(*batch.Batch[int, int])
			found = found || fmt.Sprintf("%d: %v %v", c.ID.Channel, b.V, b.Marks) == want
		}
		if !found {
			t.Errorf("no channel holds %s", want)
		}
	}
}

func TestABatchThatComesBackKeepsNothingAlive(t *testing.T) {
	home := make(chan *batch.Batch[string, *int], 1)
	b := batch.New[string, *int](batch.Shape{Limit: 2, Keyed: true, Values: true, Pointers: true}, home, nil)
	b.V, b.K, b.Ts = append(b.V, new(int)), append(b.K, "key"), append(b.Ts, 1)
	b.AddMark(3)
	b.Release()
	back := <-home
	if back.Len() != 0 || len(back.Marks) != 0 || back.V[:1][0] != nil || back.K[:1][0] != "" {
		t.Errorf("a free batch still holds %v %v", back.V[:1], back.K[:1])
	}
}
