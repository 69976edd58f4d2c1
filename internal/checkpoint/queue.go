package checkpoint

import (
	"slices"
	"sort"
)

// request is a wish that waits for its turn.
type request struct {
	id     RequestID // 0: periodic
	kind   Kind
	forced bool
}

func (r request) periodic() bool { return r.id == 0 }

// before: savepoints first, then forced ones, then those somebody asked for. Age
// decides within a class, by the order of insertion.
func (r request) before(o request) bool {
	switch {
	case r.kind != o.kind:
		return r.kind == Savepoint
	case r.forced != o.forced:
		return r.forced
	default:
		return !r.periodic() && o.periodic()
	}
}

// queue holds requests in the order of their turn, bounded by maxQueuedRequests.
//
// At most one of them is periodic: a tick that finds one waiting adds nothing.
// Otherwise a checkpoint that takes ten intervals would be followed by a burst of
// ten, which is what the rule against bursts after a late timer is meant to avoid.
type queue struct{ list []request }

// add puts r in its place. When the queue is full, dropped is the request that
// must be refused: r itself, unless a periodic one can make room.
func (q *queue) add(r request) (dropped request, overflow bool) {
	if len(q.list) == maxQueuedRequests && !q.list[len(q.list)-1].periodic() {
		return r, true
	}
	i := sort.Search(len(q.list), func(i int) bool { return r.before(q.list[i]) })
	q.list = slices.Insert(q.list, i, r)
	if len(q.list) <= maxQueuedRequests {
		return request{}, false
	}
	last := len(q.list) - 1
	dropped = q.list[last]
	q.list = q.list[:last]
	return dropped, true
}

func (q *queue) hasPeriodic() bool {
	// Periodic requests are last in the order of non-forced checkpoints, and
	// there are no requests after those.
	return len(q.list) > 0 && q.list[len(q.list)-1].periodic()
}

// pop removes and returns the first request.
//
// REQUIRES: the queue is not empty.
func (q *queue) pop() request {
	r := q.list[0]
	q.list = slices.Delete(q.list, 0, 1)
	return r
}
