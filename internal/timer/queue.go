package timer

// Queue is a priority queue of (time, key), the zero value of which is empty: a
// binary heap in one slice. Entries of the same time come out in the order they
// went in. It belongs to one goroutine.
type Queue[K any] struct {
	heap []entry[K]
	seq  uint64
}

type entry[K any] struct {
	at   int64
	seq  uint64
	hash uint64
	key  K
}

func (a *entry[K]) before(b *entry[K]) bool {
	return a.at < b.at || a.at == b.at && a.seq < b.seq
}

// Len is the number of entries.
func (q *Queue[K]) Len() int { return len(q.heap) }

// Add puts an entry in. hash is the key's hash, so that it need not be computed
// again.
func (q *Queue[K]) Add(at int64, key K, hash uint64) {
	q.seq++
	q.heap = append(q.heap, entry[K]{at: at, seq: q.seq, key: key, hash: hash})
	i := len(q.heap) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !q.heap[i].before(&q.heap[parent]) {
			break
		}
		q.heap[i], q.heap[parent] = q.heap[parent], q.heap[i]
		i = parent
	}
}

// Next is the time of the first entry; ok is false when there is none.
func (q *Queue[K]) Next() (at int64, ok bool) {
	if len(q.heap) == 0 {
		return 0, false
	}
	return q.heap[0].at, true
}

// Pop takes the first entry out if its time is until or earlier.
func (q *Queue[K]) Pop(until int64) (at int64, key K, hash uint64, ok bool) {
	if len(q.heap) == 0 || q.heap[0].at > until {
		return 0, key, 0, false
	}
	first := q.heap[0]
	n := len(q.heap) - 1
	q.heap[0] = q.heap[n]
	q.heap[n] = entry[K]{}
	q.heap = q.heap[:n]
	for i := 0; ; {
		child := 2*i + 1
		if child >= n {
			break
		}
		if child+1 < n && q.heap[child+1].before(&q.heap[child]) {
			child++
		}
		if !q.heap[child].before(&q.heap[i]) {
			break
		}
		q.heap[i], q.heap[child] = q.heap[child], q.heap[i]
		i = child
	}
	return first.at, first.key, first.hash, true
}
