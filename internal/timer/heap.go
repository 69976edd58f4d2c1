package timer

// heap is a binary heap of entries in one slice, ordered by time and, among
// those of the same time, by when they came.
type heap[K any] struct {
	entries []heapEntry[K]
	seq     uint64
}

type heapEntry[K any] struct {
	entry[K]
	seq uint64
}

func (a *heapEntry[K]) before(b *heapEntry[K]) bool {
	return a.at < b.at || a.at == b.at && a.seq < b.seq
}

func (h *heap[K]) push(e entry[K]) {
	h.seq++
	h.entries = append(h.entries, heapEntry[K]{e, h.seq})
	i := len(h.entries) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !h.entries[i].before(&h.entries[parent]) {
			break
		}
		h.entries[i], h.entries[parent] = h.entries[parent], h.entries[i]
		i = parent
	}
}

// pop takes the first entry out. REQUIRES: there is one.
func (h *heap[K]) pop() entry[K] {
	first := h.entries[0].entry
	n := len(h.entries) - 1
	h.entries[0] = h.entries[n]
	h.entries[n] = heapEntry[K]{}
	h.entries = h.entries[:n]
	for i := 0; ; {
		child := 2*i + 1
		if child >= n {
			break
		}
		if child+1 < n && h.entries[child+1].before(&h.entries[child]) {
			child++
		}
		if !h.entries[child].before(&h.entries[i]) {
			break
		}
		h.entries[i], h.entries[child] = h.entries[child], h.entries[i]
		i = child
	}
	return first
}
