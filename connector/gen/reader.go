package gen

import (
	"fmt"
	"math"
	"time"

	"github.com/cutwater-io/cutwater/connector"
)

// run is how many numbers of one split are made before another one takes its
// turn. Short, so that time ascends nearly evenly over the splits; long enough
// that changing the split costs nothing.
const run = 64

// minWait keeps a limited source from waking for every single record.
const minWait = time.Millisecond

// reader makes the records of its splits.
type reader[T any] struct {
	end   uint64
	plain func(i uint64, v *T)
	timed func(i uint64, v *T) int64

	// splits holds those not finished.
	splits  []split
	noMore  bool
	current string // id of the split read last, for where
	number  uint64 // the number made last, for where
	at      func() string
	v       T // the record being made; Emit copies it

	// perSecond 0 means no limit. Number n is due (n-base)/perSecond after
	// started.
	perSecond float64
	clock     connector.Clock
	started   time.Time
	base      uint64
}

func (r *reader[T]) AddSplits(splits []connector.Split) error {
	for _, c := range splits {
		s, err := decodeSplit(c.Data)
		if err != nil {
			return err
		}
		r.splits = append(r.splits, s)
	}
	// New splits start the clock anew: a restart is no reason for a burst.
	r.started = time.Time{}
	return nil
}

func (r *reader[T]) NoMoreSplits() { r.noMore = true }

func (r *reader[T]) HandleEvent([]byte) error { return nil }

func (r *reader[T]) NotifyComplete(uint64) error { return nil }

func (r *reader[T]) Close() error { return nil }

func (r *reader[T]) Snapshot(uint64) ([]connector.Split, error) {
	out := make([]connector.Split, len(r.splits))
	for i := range r.splits {
		out[i] = r.splits[i].encode()
	}
	return out, nil
}

func (r *reader[T]) Poll(out *connector.Output[T]) (connector.PollResult, error) {
	out.At = r.at
	due := r.due()
	for left := uint64(max(out.Max, 1)); left > 0 && len(r.splits) > 0; {
		i := r.furthestBehind()
		s := &r.splits[i]
		total := s.total(r.end)
		if s.count >= total {
			r.finish(i, out)
			continue
		}
		n := min(left, total-s.count)
		if len(r.splits) > 1 {
			n = min(n, run)
		}
		if d := s.total(due); d < s.count+n {
			if d <= s.count {
				// The others are no earlier: all wait.
				out.WakeAfter = r.until(s.next())
				return connector.Wait, nil
			}
			n = d - s.count
		}
		if out.StartSplit != nil {
			out.StartSplit(s.id)
		}
		r.current = s.id
		if r.timed != nil {
			r.makeTimed(s, n, out)
		} else {
			r.makePlain(s, n, out)
		}
		left -= n
		if s.count == total {
			r.finish(i, out)
		}
	}
	switch {
	case len(r.splits) > 0:
		return connector.More, nil
	case r.noMore:
		return connector.Finished, nil
	}
	out.WakeAfter = 0 // assigned splits wake the reader
	return connector.Wait, nil
}

// makePlain makes the next n records of s: the loop the whole package is about.
func (r *reader[T]) makePlain(s *split, n uint64, out *connector.Output[T]) {
	f, emit, v := r.plain, out.Emit, &r.v
	i := s.next()
	for range n {
		r.number = i
		f(i, v)
		emit(v, connector.NoTimestamp)
		i += s.of
	}
	s.count += n
}

// makeTimed is makePlain with event time; skipped numbers count as made, so that
// a long stretch of them cannot hold the task loop.
func (r *reader[T]) makeTimed(s *split, n uint64, out *connector.Output[T]) {
	f, emit, v := r.timed, out.Emit, &r.v
	i := s.next()
	for range n {
		r.number = i
		if ts := f(i, v); ts != Skip {
			emit(v, ts)
		}
		i += s.of
	}
	s.count += n
}

// furthestBehind returns the split whose next number is smallest.
func (r *reader[T]) furthestBehind() int {
	best := 0
	for i := 1; i < len(r.splits); i++ {
		if r.splits[i].next() < r.splits[best].next() {
			best = i
		}
	}
	return best
}

func (r *reader[T]) finish(i int, out *connector.Output[T]) {
	id := r.splits[i].id
	r.splits = append(r.splits[:i], r.splits[i+1:]...)
	if out.FinishSplit != nil {
		out.FinishSplit(id)
	}
}

// due returns the first number that may not be made yet.
func (r *reader[T]) due() uint64 {
	if r.perSecond == 0 || len(r.splits) == 0 {
		return math.MaxUint64
	}
	now := r.clock.Now()
	if r.started.IsZero() {
		r.started, r.base = now, r.splits[r.furthestBehind()].next()
	}
	// A clock set back gives no more records; it never takes any away.
	n := max(now.Sub(r.started).Seconds(), 0) * r.perSecond
	if n >= float64(math.MaxUint64-r.base) {
		return math.MaxUint64
	}
	return r.base + uint64(n) + 1
}

// until returns how long it takes until number n is due.
func (r *reader[T]) until(n uint64) time.Duration {
	seconds := float64(n-r.base)/r.perSecond - r.clock.Now().Sub(r.started).Seconds()
	if seconds > time.Hour.Seconds() {
		return time.Hour // looks again then; it also keeps the conversion from overflowing
	}
	return max(time.Duration(math.Round(seconds*float64(time.Second))), minWait)
}

// where says which record is being made, for error messages.
func (r *reader[T]) where() string { return fmt.Sprintf("number %d of split %s", r.number, r.current) }
