package window_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cutwater-io/cutwater/window"
	"pgregory.net/rapid"
)

// anyMillis draws event times everywhere, often close to the ends of time.
func anyMillis() *rapid.Generator[window.Millis] {
	near := rapid.Int64Range(0, 100_000)
	return rapid.Custom(func(t *rapid.T) window.Millis {
		d := window.Millis(near.Draw(t, "distance"))
		switch rapid.IntRange(0, 4).Draw(t, "where") {
		case 0:
			return window.MinMillis + d
		case 1:
			return window.MaxMillis - d
		case 2:
			return -d
		case 3:
			return d
		}
		return window.Millis(rapid.Int64().Draw(t, "anywhere"))
	})
}

func anyDuration(name string, t *rapid.T) time.Duration {
	// Small numbers meet all remainders and keep the naive searches short.
	return time.Duration(rapid.Int64Range(1, 60).Draw(t, name)) * time.Millisecond
}

func anyPaned() *rapid.Generator[window.Assigner] {
	return rapid.Custom(func(t *rapid.T) window.Assigner {
		size := anyDuration("size", t)
		offset := window.Offset(time.Duration(rapid.Int64Range(-200, 200).Draw(t, "offset")) * time.Millisecond)
		if rapid.Bool().Draw(t, "tumbling") {
			return window.Tumbling(size, offset)
		}
		return window.Sliding(size, anyDuration("slide", t), offset)
	})
}

func TestEveryWindowGivenForATimeContainsItAndHasTheFullSize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, ts := anyPaned().Draw(t, "windows"), anyMillis().Draw(t, "time")
		for _, w := range a.Windows(nil, ts) {
			if !w.Contains(ts) {
				t.Fatalf("%s: %s does not contain %d", a, w, ts)
			}
			clipped := w.Start == window.MinMillis || w.End == window.MaxMillis
			if !clipped && int64(w.End-w.Start) != a.SizeMillis {
				t.Fatalf("%s: %s is not %d ms long", a, w, a.SizeMillis)
			}
			if !clipped && (int64(w.Start)%a.SlideMillis-a.OffsetMillis)%a.SlideMillis != 0 {
				t.Fatalf("%s: %s is not aligned", a, w)
			}
		}
	})
}

func TestWindowsOfATimeAreExactlyThoseANaiveSearchFinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := anyPaned().Draw(t, "windows")
		ts := window.Millis(rapid.Int64Range(-50_000, 50_000).Draw(t, "time"))
		var want []window.Window
		for s := ts - window.Millis(a.SizeMillis) + 1; s <= ts; s++ {
			if (int64(s)-a.OffsetMillis)%a.SlideMillis == 0 {
				want = append(want, window.Window{Start: s, End: s + window.Millis(a.SizeMillis)})
			}
		}
		if got := a.Windows(nil, ts); !slices.Equal(got, want) {
			t.Fatalf("%s at %d: got %v, want %v", a, ts, got, want)
		}
	})
}

func TestPanesCoverEachWindowExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, ts := anyPaned().Draw(t, "windows"), anyMillis().Draw(t, "time")
		for _, w := range a.Windows(nil, ts) {
			panes, at := int64(0), w.Start
			for at < w.End {
				p := a.Pane(at)
				if p.Start != at && !(at == w.Start && w.Start == window.MinMillis) {
					t.Fatalf("%s: the pane of %d starts at %d", a, at, p.Start)
				}
				if p.End <= at || p.End > w.End {
					t.Fatalf("%s: pane %s leaves window %s", a, p, w)
				}
				if !slices.Contains(a.Windows(nil, at), w) {
					t.Fatalf("%s: pane %s does not name its window %s", a, p, w)
				}
				at = p.End
				panes++
			}
			clipped := w.Start == window.MinMillis || w.End == window.MaxMillis
			if !clipped && panes != a.PanesPerWindow() {
				t.Fatalf("%s: %d panes, want %d", a, panes, a.PanesPerWindow())
			}
		}
	})
}

func TestAllTimesOfAPaneHaveTheSameWindows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, ts := anyPaned().Draw(t, "windows"), anyMillis().Draw(t, "time")
		p := a.Pane(ts)
		if !p.Contains(ts) {
			t.Fatalf("%s: pane %s does not contain %d", a, p, ts)
		}
		want := a.Windows(nil, p.Start)
		for _, at := range []window.Millis{ts, p.Last()} {
			if got := a.Windows(nil, at); !slices.Equal(got, want) {
				t.Fatalf("%s: windows of %d are %v, of the start of its pane %v", a, at, got, want)
			}
		}
	})
}

func TestNextEndIsTheFirstEndAfterATime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := anyPaned().Draw(t, "windows")
		ts := window.Millis(rapid.Int64Range(-50_000, 50_000).Draw(t, "time"))
		want := ts + 1
		for (int64(want)-a.SizeMillis-a.OffsetMillis)%a.SlideMillis != 0 {
			want++
		}
		if got := a.NextEnd(ts); got != want {
			t.Fatalf("%s after %d: got %d, want %d", a, ts, got, want)
		}
	})
}

func TestTimesBefore1970AreDividedTowardsThePast(t *testing.T) {
	for _, c := range []struct{ t, size, offset, want int64 }{
		{-1, 10, 0, -10}, {-10, 10, 0, -10}, {-11, 10, 0, -20}, {0, 10, 0, 0}, {9, 10, 0, 0},
		{0, 10, 3, -7}, {3, 10, 3, 3}, {2, 10, -7, -7}, {-8, 10, 3, -17},
	} {
		if got := window.Start(window.Millis(c.t), c.size, c.offset); int64(got) != c.want {
			t.Errorf("Start(%d, %d, %d) = %d, want %d", c.t, c.size, c.offset, got, c.want)
		}
	}
}

func TestTimesAtTheEndsSaturateAndDoNotWrap(t *testing.T) {
	a := window.Sliding(10*time.Second, 3*time.Second)
	last := window.Millis(0)
	for i, w := range a.Windows(nil, window.MaxMillis) {
		if w.End != window.MaxMillis || w.Start < last {
			t.Errorf("window %d of the end of time is %d to %d", i, w.Start, w.End)
		}
		last = w.Start
	}
	first := a.Windows(nil, window.MinMillis)
	if len(first) < 3 {
		t.Fatalf("the beginning of time is in %d windows, want 3 or 4", len(first))
	}
	for _, w := range first {
		if w.Start != window.MinMillis || w.End > 0 {
			t.Errorf("a window of the beginning of time is %d to %d", w.Start, w.End)
		}
	}
	single := window.Tumbling(time.Millisecond)
	if a, b := single.Pane(window.MaxMillis), single.Pane(window.MaxMillis-1); a != b || !a.Contains(window.MaxMillis) {
		t.Errorf("the last millisecond is in %d to %d, the one before in %d to %d", a.Start, a.End, b.Start, b.End)
	}
	if s := window.Start(window.MaxMillis, 1, 0); s != window.MaxMillis-1 {
		t.Errorf("the last window starts at %d", s)
	}
	if s := window.Session(time.Hour).Pane(window.MaxMillis - 5); s.End != window.MaxMillis || !s.Contains(window.MaxMillis) {
		t.Errorf("the last session is %d to %d", s.Start, s.End)
	}
}

func TestSlidesLargerThanTheSizeLeaveGapsWithoutWindows(t *testing.T) {
	a := window.Sliding(2*time.Second, 5*time.Second)
	if got := a.Windows(nil, 2000); len(got) != 0 {
		t.Errorf("a record in the gap got windows %v", got)
	}
	if got := a.Windows(nil, 1999); len(got) != 1 {
		t.Errorf("a record at the end of a window got windows %v", got)
	}
}

func TestSessionsThatTouchStayTwoAndThoseThatOverlapBecomeOne(t *testing.T) {
	s := window.Session(10 * time.Second)
	a, b, c := s.Pane(0), s.Pane(9_999), s.Pane(10_000)
	if !a.Overlaps(b) || !b.Overlaps(a) {
		t.Error("records 9.999 s apart must share a session")
	}
	if a.Overlaps(c) || c.Overlaps(a) {
		t.Error("records exactly one gap apart must not share a session")
	}
	if got := b.Cover(a); got != (window.Window{Start: 0, End: 19_999}) {
		t.Errorf("the merged session is %v", got)
	}
}

func TestSessionsAndTheEndOfTheStreamHaveNoPanesAndNoFixedEnds(t *testing.T) {
	for _, a := range []window.Assigner{window.Session(time.Second), window.EndOfStream()} {
		if a.PaneMillis() != 0 || a.PanesPerWindow() != 0 || a.NextEnd(5) != window.MaxMillis {
			t.Errorf("%s: panes of %d ms, %d a window, next end %s", a, a.PaneMillis(), a.PanesPerWindow(), a.NextEnd(5))
		}
	}
	for _, at := range []window.Millis{window.MinMillis, 0, window.MaxMillis} {
		if !window.EndOfStream().Pane(at).Contains(at) {
			t.Errorf("the one window does not contain %s", at)
		}
	}
}

func TestTimesOutsideFourDigitYearsAreWrittenAsNumbers(t *testing.T) {
	for m, want := range map[window.Millis]string{
		-62_167_219_200_000: "0000-01-01T00:00:00.000Z", -62_167_219_200_001: "-62167219200001ms",
		253_402_300_799_999: "9999-12-31T23:59:59.999Z", 253_402_300_800_000: "253402300800000ms",
	} {
		if got := m.String(); got != want {
			t.Errorf("%d is written %q, want %q", int64(m), got, want)
		}
	}
}

func TestWrongAssignersSayWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		a    window.Assigner
		want string
	}{
		{window.Assigner{}, "no windows were given"},
		{window.Tumbling(0), "tumbling windows with a size of 0s are empty"},
		{window.Tumbling(-time.Second), "size of -1s"},
		{window.Tumbling(1500 * time.Microsecond), "size 1.5ms of tumbling windows is not a whole number of milliseconds"},
		{window.Sliding(time.Second, 0), "slide of 0s"},
		{window.Sliding(time.Second, time.Microsecond), "slide 1µs of sliding"},
		{window.Session(0), "gap of 0s"},
		{window.Session(time.Second, window.Offset(time.Second)), "Offset has no meaning"},
		{window.Tumbling(time.Second, window.Offset(time.Nanosecond)), "offset 1ns"},
		{window.Assigner{Kind: window.KindTumbling}, "need a positive size"},
		{window.Assigner{Kind: window.KindSession}, "need a positive gap"},
		{window.Assigner{Kind: window.KindTumbling, SizeMillis: 10, SlideMillis: 5}, "use window.Sliding"},
		{window.Assigner{Kind: 9}, "unknown kind of windows 9"},
	} {
		err := c.a.Validate()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", c.a, err, c.want)
		}
	}
	for _, a := range []window.Assigner{
		window.Tumbling(time.Second), window.Sliding(7*time.Second, 3*time.Second), window.Sliding(time.Second, time.Hour),
		window.Session(time.Millisecond, window.ProcessingTime()), window.EndOfStream(), window.Tumbling(1<<63 - 775808),
	} {
		if err := a.Validate(); err != nil {
			t.Errorf("%s: %v", a, err)
		}
	}
}

func TestTwoSpellingsOfTheSameOffsetAreEqual(t *testing.T) {
	a := window.Tumbling(24*time.Hour, window.Offset(-8*time.Hour)).String()
	b := window.Tumbling(24*time.Hour, window.Offset(16*time.Hour)).String()
	if a != b {
		t.Errorf("%q is not %q", a, b)
	}
}

func BenchmarkStart(b *testing.B) {
	var sum window.Millis
	for i := 0; b.Loop(); i++ {
		sum += window.Start(window.Millis(i), 1000, 0)
	}
	_ = sum
}
