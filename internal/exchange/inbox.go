package exchange

import (
	"sync"

	"github.com/cutwater-io/cutwater/internal/batch"
	"github.com/cutwater-io/cutwater/internal/ident"
)

// Waker is a task's one condition: whatever the task may wait for wakes it
// through here. Many wakes before the task looks are one.
type Waker struct{ c chan struct{} }

// NewWaker makes a waker that is not woken.
func NewWaker() *Waker { return &Waker{c: make(chan struct{}, 1)} }

// Wake never blocks and may be called from any goroutine.
func (w *Waker) Wake() {
	select {
	case w.c <- struct{}{}:
	default:
	}
}

// C is received from by the task alone. A task that was woken must look at
// everything it waits for before it waits again.
func (w *Waker) C() <-chan struct{} { return w.c }

// Inbox is all input of one task: the channels of all its gates. The FIFOs are
// filled by senders; every other method belongs to the receiving task.
type Inbox struct {
	waker *Waker

	mu       sync.Mutex // guards the fields below and the queues of all channels
	channels []*Channel
	ready    []*Channel // have elements and are not blocked; each at most once
}

// NewInbox makes an inbox without channels. waker is woken when something
// arrives.
func NewInbox(waker *Waker) *Inbox { return &Inbox{waker: waker} }

// Channel is a FIFO from one sending subtask to one receiving subtask.
type Channel struct {
	ID   ident.ChannelID
	From ident.SubtaskID // the sender, for error messages

	inbox *Inbox
	// guarded by inbox.mu
	queue   []batch.Element
	head    int
	listed  bool // in inbox.ready
	blocked bool
	closed  bool
}

// Add makes a channel of this inbox. All channels are added before the first
// element is sent.
func (in *Inbox) Add(id ident.ChannelID, from ident.SubtaskID) *Channel {
	c := &Channel{ID: id, From: from, inbox: in}
	in.channels = append(in.channels, c)
	return c
}

// Channels returns the channels in the order they were added.
func (in *Inbox) Channels() []*Channel { return in.channels }

// Send appends an element. It is called by the sender's goroutine alone, and
// never blocks: the credit for a batch was having it.
func (c *Channel) Send(e batch.Element) {
	in := c.inbox
	in.mu.Lock()
	if c.closed {
		in.mu.Unlock()
		if e.Kind == batch.KindRecords {
			e.Records.Release()
		}
		return
	}
	if c.head > 0 && len(c.queue) == cap(c.queue) {
		// A channel that is never quite empty would grow for ever.
		n := copy(c.queue, c.queue[c.head:])
		clear(c.queue[n:])
		c.queue, c.head = c.queue[:n], 0
	}
	c.queue = append(c.queue, e)
	wake := false
	if !c.listed && !c.blocked {
		c.listed = true
		in.ready = append(in.ready, c)
		wake = len(in.ready) == 1
	}
	in.mu.Unlock()
	if wake {
		in.waker.Wake()
	}
}

// Next takes the next element of the channel that has been ready longest; ok is
// false when there is none. Channels take turns element by element.
func (in *Inbox) Next() (c *Channel, e batch.Element, ok bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.ready) == 0 {
		return nil, batch.Element{}, false
	}
	c = in.ready[0]
	copy(in.ready, in.ready[1:])
	in.ready = in.ready[:len(in.ready)-1]
	e = c.queue[c.head]
	c.queue[c.head] = batch.Element{}
	c.head++
	if c.head == len(c.queue) {
		c.queue, c.head = c.queue[:0], 0
		c.listed = false
	} else {
		in.ready = append(in.ready, c)
	}
	return c, e, true
}

// Block stops reading a channel from the next element on. It panics when the
// channel is blocked: that is a bug of the caller.
func (in *Inbox) Block(c *Channel) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if c.blocked {
		panic("exchange: channel " + c.ID.String() + " is blocked already")
	}
	c.blocked = true
	if c.listed {
		c.listed = false
		for i, r := range in.ready {
			if r == c {
				in.ready = append(in.ready[:i], in.ready[i+1:]...)
				break
			}
		}
	}
}

// Unblock reads a blocked channel again.
func (in *Inbox) Unblock(c *Channel) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !c.blocked {
		panic("exchange: channel " + c.ID.String() + " is not blocked")
	}
	c.blocked = false
	if c.head < len(c.queue) {
		c.listed = true
		in.ready = append(in.ready, c)
	}
}

// Close drops everything queued, and everything sent from now on: the end of a
// task that failed or was cancelled. Batches go back to their senders.
func (in *Inbox) Close() {
	in.mu.Lock()
	var drop []batch.Records
	for _, c := range in.channels {
		c.closed = true
		for _, e := range c.queue[c.head:] {
			if e.Kind == batch.KindRecords {
				drop = append(drop, e.Records)
			}
		}
		c.queue, c.head, c.listed = nil, 0, false
	}
	in.ready = nil
	in.mu.Unlock()
	for _, r := range drop {
		r.Release()
	}
}
