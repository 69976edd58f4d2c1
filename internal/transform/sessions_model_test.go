package transform

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cutwater-io/cutwater/internal/operator"
	"github.com/cutwater-io/cutwater/internal/watermark"
	"github.com/cutwater-io/cutwater/window"
)

// sessionModel keeps sessions by looking at all of them for each record.
type sessionModel struct {
	a        window.Assigner
	lateness int64
	now      int64
	sessions []modelSession
	out      []string
	late     []event
	counted  int64
}

type modelSession struct {
	w     window.Window
	key   int
	sum   idSum
	fired bool
}

func (m *sessionModel) isFinished(w window.Window) bool {
	end := int64(w.Last()) + m.lateness
	if end < int64(w.Last()) {
		end = math.MaxInt64
	}
	return m.now != watermark.None && end <= m.now
}

func (m *sessionModel) record(e event, ts int64) {
	alone := m.a.Pane(window.Millis(ts))
	alone.Start = window.Millis(ts)
	s := modelSession{w: alone, key: e.Key, sum: idSum{1, e.ID}}
	var kept []modelSession
	for _, o := range m.sessions {
		if o.key == e.Key && o.w.Overlaps(alone) {
			s.w = s.w.Cover(o.w)
			summing.Merge(&s.sum, &o.sum)
		} else {
			kept = append(kept, o)
		}
	}
	if m.isFinished(s.w) {
		m.late = append(m.late, e)
		return
	}
	if m.now != watermark.None && int64(s.w.Last()) <= m.now {
		s.fired = true
		m.counted++
		m.out = append(m.out, got(s.w, s.key, s.sum))
	}
	m.sessions = append(kept, s)
}

func (m *sessionModel) watermark(ts int64) {
	if ts <= m.now {
		return
	}
	m.now = ts
	for i := range m.sessions {
		if s := &m.sessions[i]; !s.fired && int64(s.w.Last()) <= ts {
			s.fired = true
			m.out = append(m.out, got(s.w, s.key, s.sum))
		}
	}
	m.sessions = slices.DeleteFunc(m.sessions, func(s modelSession) bool { return m.isFinished(s.w) })
}

func (m *sessionModel) took() []string {
	slices.Sort(m.out)
	out := append([]string{}, m.out...)
	m.out = nil
	return out
}

func sessionEntries(op operator.Operator) int { return op.(*sessionOp[int, event, idSum]).table.Len() }

// TestS273SessionsEqualANaiveModelThroughRestoresAtAnyParallelism: merging, gaps
// that are exactly met, disorder, lateness, and checkpoints in firings (D58).
func TestS273SessionsEqualANaiveModelThroughRestoresAtAnyParallelism(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := window.Session(time.Duration(rapid.IntRange(1, 9).Draw(t, "gap")) * time.Millisecond)
		lateness := rapid.Int64Range(0, 12).Draw(t, "lateness")
		r := windowRig(t, rapid.IntRange(1, 3).Draw(t, "parallelism"), a, lateness, summing)
		defer func() { r.close() }()
		m := &sessionModel{a: a, lateness: lateness, now: watermark.None}
		origin := rapid.SampledFrom(origins).Draw(t, "origin")
		id := int64(0)
		next := func(t *rapid.T) record[event] {
			id++
			rec := record[event]{event{rapid.IntRange(0, 3).Draw(t, "key"), id}, timeline{origin, m.now}.record(t)}
			m.record(rec.v, rec.ts)
			return rec
		}
		step := func(what string) {
			t.Helper()
			if d := cmp.Diff(m.took(), r.took()); d != "" {
				t.Fatalf("%s, after %s (-model +operator):\n%s", a, what, d)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"records": func(t *rapid.T) {
				var batch []record[event]
				for range rapid.IntRange(1, 6).Draw(t, "n") {
					batch = append(batch, next(t))
				}
				r.send(batch...)
				step("records")
			},
			"watermark": func(t *rapid.T) {
				ts := timeline{origin, m.now}.watermark(t)
				m.watermark(ts)
				r.watermark(ts)
				step("watermark")
			},
			"restore": func(t *rapid.T) {
				r.restore(r.snapshot(), rapid.IntRange(1, 4).Draw(t, "parallelism"))
				step("restore")
			},
			"restore in the middle of a firing": func(t *rapid.T) {
				ts := timeline{origin, m.now}.watermark(t)
				m.watermark(ts)
				r.mail = true
				r.pushWatermark(ts)
				r.restore(r.snapshot(), rapid.IntRange(1, 4).Draw(t, "parallelism"))
				r.mail = false
				step("restore in a firing")
			},
			"": func(t *rapid.T) {
				dropped, counted := r.counts()
				if dropped != int64(len(m.late)) || counted != m.counted {
					t.Fatalf("%s: %d late records dropped and %d counted, the model has %d and %d", a, dropped, counted, len(m.late), m.counted)
				}
				if d := cmp.Diff(sortedEvents(m.late), sortedEvents(r.late)); d != "" {
					t.Fatalf("%s: late records (-model +operator):\n%s", a, d)
				}
				keys := map[int]bool{}
				for _, s := range m.sessions {
					keys[s.key] = true
				}
				if n := entries(r, sessionEntries); n != len(keys) {
					t.Fatalf("%s: %d keys have state, the model has %d", a, n, len(keys))
				}
			},
		})
		m.watermark(math.MaxInt64)
		r.finish()
		step("the end of the input")
	})
}

func TestASessionThatEndsIn1970SurvivesARestore(t *testing.T) {
	// Its deadline is the number 0, which must not be taken for "none".
	r := windowRig(t, 1, window.Session(5*time.Millisecond), 0, summing)
	defer func() { r.close() }()
	r.send(record[event]{event{1, 7}, -4})
	r.restore(r.snapshot(), 2)
	r.watermark(0)
	want := []string{got(window.Window{Start: -4, End: 1}, 1, idSum{1, 7})}
	if d := cmp.Diff(want, r.took()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestARecordExactlyOneGapAfterTheLastBeginsAnotherSession(t *testing.T) {
	r := windowRig(t, 1, window.Session(5*time.Millisecond), 0, summing)
	defer func() { r.close() }()
	r.send(record[event]{event{1, 1}, 100}, record[event]{event{1, 2}, 105}, record[event]{event{1, 4}, 104})
	r.watermark(200)
	want := []string{got(window.Window{Start: 100, End: 110}, 1, idSum{3, 7})}
	if d := cmp.Diff(want, r.took()); d != "" {
		t.Errorf("104 joins both (-want +got):\n%s", d)
	}
	r.send(record[event]{event{1, 1}, 300}, record[event]{event{1, 2}, 305})
	r.watermark(400)
	want = []string{got(window.Window{Start: 300, End: 305}, 1, idSum{1, 1}), got(window.Window{Start: 305, End: 310}, 1, idSum{1, 2})}
	if d := cmp.Diff(want, r.took()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
