package transform

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cutwater-io/cutwater/agg"
	"github.com/cutwater-io/cutwater/internal/operator"
	"github.com/cutwater-io/cutwater/internal/watermark"
	"github.com/cutwater-io/cutwater/window"
)

// event is the record of the tests: Key says where it goes, ID which one it is.
type event struct {
	Key int
	ID  int64
}

type idSum struct{ N, Sum int64 }

// summing counts records and adds their IDs; with an inverse.
var summing = agg.Agg[event, idSum, string]{
	Name:  "id sum",
	Add:   func(a *idSum, e *event) { a.N++; a.Sum += e.ID },
	Merge: func(a, b *idSum) { a.N += b.N; a.Sum += b.Sum },
	Sub:   func(a, b *idSum) { a.N -= b.N; a.Sum -= b.Sum },
	Get:   func(a *idSum) string { return fmt.Sprint(a.N, " records, sum ", a.Sum) },
}

func withoutInverse(a agg.Agg[event, idSum, string]) agg.Agg[event, idSum, string] {
	a.Sub = nil
	return a
}

type result = window.Result[int, string]

var eventKeys = func() *KeyType[int] {
	kt, err := NewKeyType[int]()
	if err != nil {
		panic(err)
	}
	return kt
}()

func keyOf(e event) int { return e.Key }

// windowRig is a rig for windows of any kind over events.
func windowRig(t failer, parallelism int, a window.Assigner, lateness int64, ag agg.Agg[event, idSum, string]) *rig[int, event, result] {
	t.Helper()
	if err := a.Validate(); err != nil {
		t.Fatalf("assigner: %v", err)
	}
	win := Windowing[event]{Assigner: a, LatenessMillis: lateness, Late: NewTag[event]("late")}
	make := Panes[int, event, idSum]
	if a.Kind == window.KindSession {
		make = SessionWindows[int, event, idSum]
	}
	build, err := make(win, Aggregating[int](ag), eventKeys)
	if err != nil {
		t.Fatalf("build: %v", err)
	}
	return newRig[int, event, result](t, parallelism, eventKeys, keyOf, build)
}

func got(w window.Window, key int, s idSum) string {
	return fmt.Sprint(result{Key: key, Window: w, Value: summing.Get(&s)}, " at ", int64(w.Last()))
}

// paneModel computes windows that are the same for all keys as slowly as it can.
type paneModel struct {
	a        window.Assigner
	lateness int64
	now      int64
	// cells holds every window of every key that takes records.
	cells    map[paneCell]*idSum
	out      []string
	late     []event
	counted  int64
	finished func(window.Window) bool
}

type paneCell struct {
	w   window.Window
	key int
}

func newPaneModel(a window.Assigner, lateness int64) *paneModel {
	return &paneModel{a: a, lateness: lateness, now: watermark.None, cells: map[paneCell]*idSum{}}
}

func (m *paneModel) isFinished(w window.Window) bool {
	end := int64(w.Last()) + m.lateness
	if end < int64(w.Last()) {
		end = math.MaxInt64
	}
	return m.now != watermark.None && end <= m.now
}

func (m *paneModel) record(e event, ts int64) {
	windows := m.a.Windows(nil, window.Millis(ts))
	taken, refired := false, false
	for _, w := range windows {
		if m.isFinished(w) {
			continue
		}
		taken = true
		c := paneCell{w, e.Key}
		if m.cells[c] == nil {
			m.cells[c] = &idSum{}
		}
		summing.Add(m.cells[c], &e)
		if m.now != watermark.None && int64(w.Last()) <= m.now {
			refired = true
			m.out = append(m.out, got(w, e.Key, *m.cells[c]))
		}
	}
	if refired {
		m.counted++
	}
	if len(windows) > 0 && !taken {
		m.late = append(m.late, e)
	}
}

func (m *paneModel) watermark(ts int64) {
	if ts <= m.now {
		return
	}
	before := m.now
	m.now = ts
	for c, s := range m.cells {
		if last := int64(c.w.Last()); last <= ts && last > before {
			m.out = append(m.out, got(c.w, c.key, *s))
		}
		if m.isFinished(c.w) {
			delete(m.cells, c)
		}
	}
}

func (m *paneModel) took() []string {
	slices.Sort(m.out)
	out := append([]string{}, m.out...)
	m.out = nil
	return out
}

// origins are where the tests put time: before and after 1970, where windows
// begin, and near the ends of what an int64 can say.
var origins = []int64{0, -7, -1_000_003, 1_700_000_000_000, math.MaxInt64 - 60, math.MaxInt64, math.MinInt64 + 40}

// timeline draws times around where time has come to, so that windows fire one
// after the other and some records are late.
type timeline struct{ origin, now int64 }

func (l timeline) record(t *rapid.T) int64 {
	if rapid.IntRange(0, 19).Draw(t, "far") == 0 {
		return l.plus(rapid.Int64Range(-40, 200).Draw(t, "ts"))
	}
	return l.plus(rapid.Int64Range(-14, 20).Draw(t, "ts"))
}

func (l timeline) watermark(t *rapid.T) int64 {
	if rapid.IntRange(0, 9).Draw(t, "far") == 0 {
		return l.plus(rapid.Int64Range(-10, 100).Draw(t, "watermark"))
	}
	return l.plus(rapid.Int64Range(0, 6).Draw(t, "watermark"))
}

func (l timeline) plus(d int64) int64 {
	base := l.origin
	if l.now != watermark.None {
		base = l.now
	}
	switch {
	case d > 0 && base > math.MaxInt64-d:
		return math.MaxInt64
	case d < 0 && base < math.MinInt64+1-d:
		return math.MinInt64 + 1
	}
	return base + d
}

func drawAssigner(t *rapid.T) window.Assigner {
	ms := func(from, to int, label string) time.Duration {
		return time.Duration(rapid.IntRange(from, to).Draw(t, label)) * time.Millisecond
	}
	offset := window.Offset(ms(-9, 9, "offset"))
	switch rapid.IntRange(0, 4).Draw(t, "kind") {
	case 0:
		return window.Tumbling(ms(1, 12, "size"), offset)
	case 4:
		return window.EndOfStream()
	}
	return window.Sliding(ms(1, 14, "size"), ms(1, 18, "slide"), offset)
}

// TestS273WindowsEqualANaiveModelThroughRestoresAtAnyParallelism covers D58 too:
// time is restored, so no window fires twice.
func TestS273WindowsEqualANaiveModelThroughRestoresAtAnyParallelism(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := drawAssigner(t)
		lateness := rapid.Int64Range(0, 12).Draw(t, "lateness")
		ag := summing
		if rapid.Bool().Draw(t, "without inverse") {
			ag = withoutInverse(ag)
		}
		r := windowRig(t, rapid.IntRange(1, 3).Draw(t, "parallelism"), a, lateness, ag)
		defer func() { r.close() }()
		m := newPaneModel(a, lateness)
		origin := rapid.SampledFrom(origins).Draw(t, "origin")
		id := int64(0)
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
					id++
					rec := record[event]{event{rapid.IntRange(0, 4).Draw(t, "key"), id}, timeline{origin, m.now}.record(t)}
					batch = append(batch, rec)
					m.record(rec.v, rec.ts)
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
			"records in the middle of a firing": func(t *rapid.T) {
				ts := timeline{origin, m.now}.watermark(t)
				m.watermark(ts)
				id++
				rec := record[event]{event{rapid.IntRange(0, 4).Draw(t, "key"), id}, timeline{origin, m.now}.record(t)}
				m.record(rec.v, rec.ts)
				r.mail = true
				r.pushWatermark(ts)
				r.send(rec)
				r.mail = false
				step("records in a firing")
			},
			"": func(t *rapid.T) {
				dropped, counted := r.counts()
				if dropped != int64(len(m.late)) || counted != m.counted {
					t.Fatalf("%s: %d late records dropped and %d counted, the model has %d and %d", a, dropped, counted, len(m.late), m.counted)
				}
				if d := cmp.Diff(sortedEvents(m.late), sortedEvents(r.late)); d != "" {
					t.Fatalf("%s: late records (-model +operator):\n%s", a, d)
				}
				if len(m.cells) == 0 && m.now != watermark.None {
					if n := entries(r, paneEntries); n > 0 {
						t.Fatalf("%s: %d entries are kept for no window", a, n)
					}
				}
			},
		})
		m.watermark(math.MaxInt64)
		r.finish()
		step("the end of the input")
	})
}

func paneEntries(op operator.Operator) int {
	n := 0
	for _, p := range op.(*paneOp[int, event, idSum]).panes {
		n += p.table.Len()
	}
	return n
}

func sortedEvents(es []event) []event {
	es = slices.Clone(es)
	slices.SortFunc(es, func(a, b event) int { return int(a.ID - b.ID) })
	return append([]event{}, es...)
}
