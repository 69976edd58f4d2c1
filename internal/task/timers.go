package task

import "container/heap"

// timers are actions due at a wall-clock time: watermarks by interval, retries,
// processing-time windows. There are few, one or two an operator; the timers of
// users are state and live with their operator.
type timers struct {
	heap timerHeap
	seq  int64
}

type timer struct {
	millis int64
	seq    int64 // timers of the same time fire in the order they were set
	f      func() error
}

func (t *timers) add(millis int64, f func() error) {
	t.seq++
	heap.Push(&t.heap, timer{millis, t.seq, f})
}

// fire runs what is due.
func (t *timers) fire(nowMillis int64) error {
	for len(t.heap) > 0 && t.heap[0].millis <= nowMillis {
		x := heap.Pop(&t.heap).(timer)
		if err := x.f(); err != nil {
			return err
		}
	}
	return nil
}

// next is when the first timer is due; false when there is none.
func (t *timers) next() (millis int64, ok bool) {
	if len(t.heap) == 0 {
		return 0, false
	}
	return t.heap[0].millis, true
}

type timerHeap []timer

func (h timerHeap) Len() int { return len(h) }
func (h timerHeap) Less(i, j int) bool {
	if h[i].millis != h[j].millis {
		return h[i].millis < h[j].millis
	}
	return h[i].seq < h[j].seq
}
func (h timerHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *timerHeap) Push(x any)   { *h = append(*h, x.(timer)) }
func (h *timerHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	old[len(old)-1] = timer{}
	*h = old[:len(old)-1]
	return x
}
