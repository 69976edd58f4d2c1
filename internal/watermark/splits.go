package watermark

import "time"

// Splits holds the watermark of a source subtask: the least of its active splits,
// so that a fast split does not make the records of a slow one late.
//
// Before a split is named, and for readers that never name one, all records
// belong to one split without a name, which is waited for like any other.
//
// A Splits belongs to the task loop. Observe is the only method called for each
// record; it is inlined.
type Splits struct {
	cur      *split
	custom   bool // Strategy.New is set
	strategy Strategy
	unnamed  split
	named    []*split // in the order of AddSplit
	byID     map[string]*split

	// What the splits other than cur say: computed when it is asked for, because
	// it does not change while records of cur are read.
	othersValid  bool
	othersLeast  int64 // least watermark of the active ones
	othersActive int

	reached int64 // combined watermark
	out     int64 // combined watermark given out by Advance

	pausedAt time.Duration // valid while paused
	paused   bool
	pauses   time.Duration // sum of all pauses that are over
}

// split is the state of one split. Seen collects that a record came, and is
// worked into idle and emptySince when somebody asks.
type split struct {
	Generator
	custom Custom
	seen   bool
	idle   bool
	empty  bool          // polled and found empty since the last record
	since  time.Duration // with empty: since when, pauses left out
	floor  int64         // restored
	id     string
}

// SplitTime is what is saved of a split.
type SplitTime struct {
	ID        string
	Watermark int64
	Idle      bool
}

// NewSplits makes the state of a source subtask without splits. Restored is the
// lower bound to start from, [None] on a fresh start.
func NewSplits(strategy Strategy, restored int64) *Splits {
	s := &Splits{strategy: strategy, custom: strategy.New != nil, byID: map[string]*split{}, reached: restored, out: restored}
	s.init(&s.unnamed, SplitTime{Watermark: None})
	s.cur = &s.unnamed
	return s
}

func (s *Splits) init(sp *split, t SplitTime) {
	*sp = split{id: t.ID, floor: t.Watermark, idle: t.Idle, Generator: NewGenerator(s.strategy.boundMillis())}
	if s.strategy.New != nil {
		sp.custom = s.strategy.New()
	}
}

// Observe sees the event time of a record of the current split.
func (s *Splits) Observe(timestampMillis int64) {
	// Written for the inliner, whose budget it just meets: a variable for s.cur
	// is one too many.
	s.cur.seen = true
	s.cur.newest = max(s.cur.newest, timestampMillis)
	if s.custom {
		s.observeCustom(timestampMillis)
	}
}

// observeCustom is not inlined, so that Observe can be.
//
//go:noinline
func (s *Splits) observeCustom(timestampMillis int64) { s.cur.custom.Observe(timestampMillis) }

// ObserveAll is Observe for the records of a batch, for a source that has their
// event times in one slice.
func (s *Splits) ObserveAll(timestampsMillis []int64) {
	if len(timestampsMillis) == 0 {
		return
	}
	if s.custom {
		for _, t := range timestampsMillis {
			s.Observe(t)
		}
		return
	}
	newest := s.cur.newest
	for _, t := range timestampsMillis {
		newest = max(newest, t)
	}
	s.cur.seen, s.cur.newest = true, newest
}

// ObserveEach is Observe and Advance in one, for a watermark after every record.
func (s *Splits) ObserveEach(timestampMillis int64) (watermark int64, advanced bool) {
	s.Observe(timestampMillis)
	return s.Advance()
}

// AddSplit says that a split was assigned: from now on it holds back time. A new
// split has Watermark None; for a restored one, pass what [Splits.Snapshot] saved.
// A split that is there already is left as it is, and the empty id is no split.
func (s *Splits) AddSplit(t SplitTime) {
	if _, ok := s.byID[t.ID]; ok || t.ID == "" {
		return
	}
	// Time that the unnamed split has reached is not lost. But what named splits
	// have reached must not count yet: when several are restored one after the
	// other, the first ones are ahead of those that are still to be added.
	if len(s.named) == 0 {
		s.fold()
	}
	sp := new(split)
	s.init(sp, t)
	s.byID[t.ID] = sp
	s.named = append(s.named, sp)
	s.unnamedOrOnly()
}

// unnamedOrOnly: a reader that never has two splits need not call StartSplit, so
// the only split is current by itself.
func (s *Splits) unnamedOrOnly() {
	if len(s.named) == 1 && s.cur == &s.unnamed {
		s.cur = s.named[0]
	}
	s.othersValid = false
}

// StartSplit says that the following records belong to a split. One that was not
// added is.
func (s *Splits) StartSplit(id string) {
	if id == s.cur.id {
		return
	}
	s.cur.settle()
	s.cur = s.find(id)
	s.othersValid = false
}

// EmptySplit says that a split was polled and had nothing, at now on any
// monotonic clock. The empty id is the subtask as a whole, if it has no splits.
func (s *Splits) EmptySplit(id string, now time.Duration) {
	sp := s.find(id)
	sp.settle()
	now = s.unpaused(now)
	if !sp.empty {
		sp.empty, sp.since = true, now
		return
	}
	if s.strategy.IdleAfter > 0 && now-sp.since >= s.strategy.IdleAfter && !sp.idle {
		s.fold() // what it has reached is not lost
		sp.idle = true
		s.othersValid = false
	}
}

// FinishSplit says that a split ended: it no longer holds back time.
func (s *Splits) FinishSplit(id string) {
	sp, ok := s.byID[id]
	if !ok {
		return
	}
	s.fold()
	delete(s.byID, id)
	for i, n := range s.named {
		if n == sp {
			s.named = append(s.named[:i], s.named[i+1:]...)
			break
		}
	}
	if s.cur == sp {
		s.cur = &s.unnamed
	}
	s.unnamedOrOnly()
}

// Pause says that the task stopped polling at now, for example because no output
// was free. Until Resume no time counts as idle.
func (s *Splits) Pause(now time.Duration) {
	if !s.paused {
		s.paused, s.pausedAt = true, now
	}
}

// Resume says that the task polls again.
func (s *Splits) Resume(now time.Duration) {
	if s.paused {
		s.paused = false
		s.pauses += now - s.pausedAt
	}
}

func (s *Splits) unpaused(now time.Duration) time.Duration {
	if s.paused {
		now = s.pausedAt
	}
	return now - s.pauses
}

// Advance returns the watermark to emit, and whether it is newer than the last.
func (s *Splits) Advance() (watermark int64, advanced bool) {
	s.fold()
	advanced = s.reached > s.out
	s.out = s.reached
	return s.out, advanced
}

// Watermark returns what Advance returned last: what downstream knows.
func (s *Splits) Watermark() int64 { return s.out }

// Idle tells whether all splits are idle. It does not change between Advance and
// the next call of another method.
func (s *Splits) Idle() bool {
	s.others()
	return s.othersActive == 0 && !s.curActive()
}

// Snapshot appends the state of all splits to dst, in the order they were added.
func (s *Splits) Snapshot(dst []SplitTime) []SplitTime {
	for _, sp := range s.named {
		dst = append(dst, SplitTime{ID: sp.id, Watermark: sp.watermark(), Idle: sp.idle && !sp.seen})
	}
	return dst
}

func (s *Splits) find(id string) *split {
	if id == "" {
		return &s.unnamed
	}
	sp, ok := s.byID[id]
	if !ok {
		s.AddSplit(SplitTime{ID: id, Watermark: None})
		sp = s.byID[id]
	}
	return sp
}

// fold brings reached up to date.
func (s *Splits) fold() {
	s.others()
	least := s.othersLeast
	if s.curActive() {
		least = min(least, s.cur.watermark())
	} else if s.othersActive == 0 {
		if s.strategy.AllIdle != AdvanceToMax {
			return
		}
		least = s.mostAdvanced()
	}
	s.reached = max(s.reached, least)
}

// curActive: the unnamed split counts only as long as there is no other.
func (s *Splits) curActive() bool {
	s.cur.settle()
	return !s.cur.idle && (s.cur != &s.unnamed || len(s.named) == 0)
}

func (s *Splits) others() {
	if s.othersValid && !s.custom { // a generator of the user may go by more than records
		return
	}
	s.othersValid, s.othersLeast, s.othersActive = true, EndOfTime, 0
	for _, sp := range s.named {
		if sp != s.cur && !sp.idle {
			s.othersActive++
			s.othersLeast = min(s.othersLeast, sp.watermark())
		}
	}
}

// mostAdvanced leaves out the unnamed split: reached has all it knows.
func (s *Splits) mostAdvanced() int64 {
	most := None
	for _, sp := range s.named {
		most = max(most, sp.watermark())
	}
	return most
}

// settle works a record that came into the idleness of its split.
func (sp *split) settle() {
	if sp.seen {
		sp.seen, sp.idle, sp.empty = false, false, false
	}
}

func (sp *split) watermark() int64 {
	if sp.custom != nil {
		sp.floor = max(sp.floor, sp.custom.Watermark())
		return sp.floor
	}
	return max(sp.floor, sp.Generator.Watermark())
}
