package manifest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cutwater-io/cutwater/internal/ident"
)

// keyed returns an operator whose p subtasks have keyed state in all their key
// groups.
func keyed(p, maxParallelism int) *OperatorState {
	o := &OperatorState{Name: "count", Parallelism: int32(p), MaxParallelism: int32(maxParallelism)}
	for i := range p {
		o.Subtasks = append(o.Subtasks, SubtaskState{Subtask: int32(i),
			Keyed: &Handle{Object: fmt.Sprintf("old-%d", i), Size: 1}, Range: rangeOf(i, p, maxParallelism)})
	}
	return o
}

// lists returns an operator with a list state in each old subtask.
func lists(name string, mode Mode, elements ...string) *OperatorState {
	o := &OperatorState{Name: "source", Parallelism: int32(len(elements)), MaxParallelism: 128}
	for i, e := range elements {
		if e != "" {
			o.Subtasks = append(o.Subtasks, SubtaskState{Subtask: int32(i), Lists: []ListState{list(name, mode, e)}})
		}
	}
	return o
}

func list(name string, mode Mode, elements string) ListState {
	l := ListState{Name: name, Mode: mode}
	for _, e := range strings.Fields(elements) {
		l.Elements = append(l.Elements, []byte(e))
	}
	return l
}

func assign(t *testing.T, o *OperatorState, p int) []Restored {
	t.Helper()
	r, maxParallelism, err := Assign(o, p, 256, false)
	if err != nil {
		t.Fatal(err)
	}
	if maxParallelism != int(o.MaxParallelism) || len(r) != p {
		t.Fatalf("max parallelism %d, %d subtasks", maxParallelism, len(r))
	}
	return r
}

// shape spells what each subtask gets of a list state: "a b | c".
func shape(r []Restored, name string) string {
	var parts []string
	for _, s := range r {
		part := "-"
		for _, l := range s.Lists {
			if l.Name == name {
				part = strings.TrimSpace(fmt.Sprintf("%s", l.Elements))
			}
		}
		parts = append(parts, strings.Trim(part, "[]"))
	}
	return strings.Join(parts, " | ")
}

func TestS270S293RangesCoverAllKeyGroupsOnceAndAreEven(t *testing.T) {
	for maxParallelism := 1; maxParallelism <= 200; maxParallelism++ {
		for p := 1; p <= maxParallelism; p++ {
			next, least, most := 0, maxParallelism, 0
			for i := range p {
				r := rangeOf(i, p, maxParallelism)
				if int(r.First) != next || r.Last < r.First {
					t.Fatalf("M=%d p=%d: subtask %d has %v after key group %d", maxParallelism, p, i, r, next-1)
				}
				for g := int(r.First); g <= int(r.Last); g++ {
					if g*p/maxParallelism != i {
						t.Fatalf("M=%d p=%d: key group %d is in the range of subtask %d and belongs to %d", maxParallelism, p, g, i, g*p/maxParallelism)
					}
				}
				next = int(r.Last) + 1
				least, most = min(least, next-int(r.First)), max(most, next-int(r.First))
			}
			if next != maxParallelism || most-least > 1 {
				t.Fatalf("M=%d p=%d: ends at %d, sizes from %d to %d", maxParallelism, p, next, least, most)
			}
		}
	}
}

func TestS271RangesAreThoseOfTheSpecification(t *testing.T) {
	for _, c := range []struct {
		maxParallelism, p int
		want              string
	}{
		{128, 3, "[{0 42} {43 85} {86 127}]"},
		{128, 5, "[{0 25} {26 51} {52 76} {77 102} {103 127}]"},
		{10, 4, "[{0 2} {3 4} {5 7} {8 9}]"},
		{4096, 3, "[{0 1365} {1366 2730} {2731 4095}]"},
		{3, 3, "[{0 0} {1 1} {2 2}]"},
	} {
		var got []Range
		for i := range c.p {
			got = append(got, rangeOf(i, c.p, c.maxParallelism))
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("M=%d p=%d: %v, want %s", c.maxParallelism, c.p, got, c.want)
		}
	}
}

// Each key group is read by exactly its new owner, from exactly its old one.
func TestS273S274S291EachKeyGroupGoesFromItsOldOwnerToItsNewOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		maxParallelism := rapid.IntRange(1, 400).Draw(t, "M")
		from := rapid.IntRange(1, maxParallelism).Draw(t, "from")
		to := rapid.IntRange(1, maxParallelism).Draw(t, "to")
		restored, _, err := Assign(keyed(from, maxParallelism), to, 128, false)
		if err != nil {
			t.Fatal(err)
		}
		next := 0
		for i, r := range restored {
			if r.Subtask != int32(i) || r.Range != rangeOf(i, to, maxParallelism) {
				t.Fatalf("subtask %d is %+v", i, r)
			}
			for _, part := range r.Keyed {
				for g := int(part.Read.First); g <= int(part.Read.Last); g++ {
					owner := fmt.Sprintf("old-%d", g*from/maxParallelism)
					if g != next || g*to/maxParallelism != i || part.Handle.Object != owner {
						t.Fatalf("subtask %d reads key group %d from %s; expected is group %d from %s", i, g, part.Handle.Object, next, owner)
					}
					next++
				}
			}
		}
		if next != maxParallelism {
			t.Fatalf("key groups end at %d", next)
		}
	})
}

func TestS273TwoSubtasksBecomeThree(t *testing.T) {
	got := assign(t, keyed(2, 128), 3)
	want := [][]KeyedPart{
		{{Handle{Object: "old-0", Size: 1}, Range{0, 42}}},
		{{Handle{Object: "old-0", Size: 1}, Range{43, 63}}, {Handle{Object: "old-1", Size: 1}, Range{64, 85}}},
		{{Handle{Object: "old-1", Size: 1}, Range{86, 127}}},
	}
	for i := range want {
		if diff := cmp.Diff(want[i], got[i].Keyed); diff != "" {
			t.Errorf("subtask %d: %s", i, diff)
		}
	}
}

func TestTheSameParallelismGivesEachSubtaskItsOwn(t *testing.T) {
	for i, r := range assign(t, keyed(5, 128), 5) {
		if len(r.Keyed) != 1 || r.Keyed[0].Handle.Object != fmt.Sprintf("old-%d", i) || r.Keyed[0].Read != r.Range {
			t.Errorf("subtask %d gets %+v", i, r.Keyed)
		}
	}
	if got := shape(assign(t, lists("splits", Split, "a b c", "", "d"), 3), "splits"); got != "a b c | - | d" {
		t.Errorf("splits: %s", got)
	}
}

func TestS276SplitElementsAreDealtInRuns(t *testing.T) {
	got := shape(assign(t, lists("splits", Split, "a b c d e f g"), 3), "splits")
	if got != "a b c | d e | f g" {
		t.Errorf("got %s", got)
	}
	got = shape(assign(t, lists("splits", Split, "a b", "c", "d"), 2), "splits")
	if got != "a b | c d" {
		t.Errorf("got %s", got)
	}
}

func TestS277TheNextSplitStateBeginsWhereTheExtraElementsEnded(t *testing.T) {
	o := lists("a", Split, "1 2 3 4 5")
	o.Subtasks[0].Lists = append(o.Subtasks[0].Lists, list("b", Split, "x y"))
	got := assign(t, o, 4)
	if a := shape(got, "a"); a != "1 2 | 3 | 4 | 5" {
		t.Errorf("a: %s", a)
	}
	if b := shape(got, "b"); b != "- | x | y | -" {
		t.Errorf("b: %s", b)
	}
	// Sorted names decide, not the order in which they were stored.
	o.Subtasks[0].Lists[0], o.Subtasks[0].Lists[1] = o.Subtasks[0].Lists[1], o.Subtasks[0].Lists[0]
	if diff := cmp.Diff(got, assign(t, o, 4)); diff != "" {
		t.Error(diff)
	}
}

func TestS278UnionElementsGoToEverybody(t *testing.T) {
	for _, p := range []int{1, 2, 3} {
		want := strings.TrimSuffix(strings.Repeat("a b c | ", p), " | ")
		if got := shape(assign(t, lists("u", Union, "a", "b c"), p), "u"); got != want {
			t.Errorf("p=%d: %s", p, got)
		}
	}
}

func TestS279BroadcastCopiesGoToEverybody(t *testing.T) {
	o := lists("rules", Broadcast, "r0", "r1", "r2")
	if got := shape(assign(t, o, 5), "rules"); got != "r0 | r1 | r2 | r0 | r1" {
		t.Errorf("p=5: %s", got)
	}
	if got := shape(assign(t, o, 2), "rules"); got != "r0 | r1" {
		t.Errorf("p=2: %s", got)
	}
}

func TestS280ABroadcastCopyOfAnotherStandsInForAFinishedSubtask(t *testing.T) {
	if got := shape(assign(t, lists("rules", Broadcast, "r0", "", "r2"), 3), "rules"); got != "r0 | r2 | r2" {
		t.Errorf("got %s", got)
	}
}

func TestNoElementIsLostOrRepeatedAtAnyParallelism(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawOperator(t, "a")
		to := rapid.IntRange(1, int(o.MaxParallelism)).Draw(t, "to")
		restored, _, err := Assign(&o, to, 128, false)
		if err != nil {
			t.Fatal(err)
		}
		var before, after []string
		for _, s := range o.Subtasks {
			for _, l := range s.Lists {
				if l.Mode == Split {
					before = append(before, elements(l)...)
				}
			}
		}
		most, least := 0, 1<<30
		for _, r := range restored {
			n := len(after)
			for _, l := range r.Lists {
				if l.Mode == Split {
					after = append(after, elements(l)...)
				}
			}
			n = len(after) - n
			most, least = max(most, n), min(least, n)
		}
		if !slices.Equal(before, after) {
			t.Fatalf("before %q, after %q", before, after)
		}
		if to != int(o.Parallelism) && most-least > 1 {
			t.Fatalf("between %d and %d elements", least, most)
		}
	})
}

func elements(l ListState) (s []string) {
	for _, e := range l.Elements {
		s = append(s, string(e))
	}
	return s
}

func TestS281ADerivedMaxParallelismGivesWayToTheStoredOne(t *testing.T) {
	_, maxParallelism, err := Assign(keyed(2, 128), 3, 256, false)
	if err != nil || maxParallelism != 128 {
		t.Errorf("max parallelism %d, %v", maxParallelism, err)
	}
	if _, _, err := Assign(keyed(2, 128), 3, 128, true); err != nil {
		t.Errorf("the same, explicitly: %v", err)
	}
}

func TestS282S283WhatCannotBeRestoredIsRefusedWithAReason(t *testing.T) {
	mixed := lists("x", Split, "a", "b")
	mixed.Subtasks[1].Lists[0].Mode = Union
	overlap := keyed(2, 128)
	overlap.Subtasks[1].Range.First = 60
	for _, c := range []struct {
		scenario    string
		o           *OperatorState
		p, declared int
		explicit    bool
		want        string
	}{
		{"S282", keyed(2, 128), 2, 256, true, `operator "count": its state has max parallelism 128 and the program sets 256; it cannot change, set 128 or leave it out`},
		{"S283", keyed(2, 128), 200, 128, false, `operator "count": parallelism 200 is not between 1 and the max parallelism 128`},
		{"parallelism 0", keyed(2, 128), 0, 128, false, "parallelism 0"},
		{"modes differ", mixed, 2, 128, false, `list state "x" has mode union in subtask 1 and split in another`},
		{"ranges overlap", overlap, 2, 128, false, "key groups 60 to 127 overlap"},
	} {
		if _, _, err := Assign(c.o, c.p, c.declared, c.explicit); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error is %v", c.scenario, err)
		}
	}
}

func declared(names ...string) (ops []Declared) {
	for _, n := range names {
		ops = append(ops, Declared{ID: ident.OperatorIDOf(n), Name: n})
	}
	return ops
}

func TestMatchFindsStateById(t *testing.T) {
	for _, c := range []struct {
		name    string
		ops     []Declared
		allow   bool
		dropped string
		err     string
	}{
		{"S285 S290 another order", declared("lines", "count"), false, "", ""},
		{"S289 an operator was added", declared("count", "new", "lines"), false, "", ""},
		{"S284 S287 an operator is gone", declared("lines"), false, "count", `does not have: "count"; give the operators their old names back`},
		{"S286 an operator is gone and may be", declared("lines"), true, "count", ""},
		{"S288 an operator is there twice", declared("count", "lines", "count"), true, "", `operators "count" and "count" have the same id`},
		{"all are gone", nil, false, "count lines", `"count", "lines"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			matched, dropped, err := Match(sample(), c.ops, c.allow)
			if c.err == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Fatalf("error is %v", err)
			}
			if strings.Join(dropped, " ") != c.dropped {
				t.Errorf("dropped %q", dropped)
			}
			if err != nil {
				return
			}
			for i, op := range c.ops {
				if want := op.Name != "new"; (matched[i] != nil) != want || want && matched[i].Name != op.Name {
					t.Errorf("operator %s got %v", op.Name, matched[i])
				}
			}
		})
	}
}

func TestAStoredOperatorWithoutStateNeedsNoMatch(t *testing.T) {
	m := &Manifest{Operators: []OperatorState{{ID: ident.OperatorIDOf("map"), Name: "map", Parallelism: 1, MaxParallelism: 128}}}
	if _, dropped, err := Match(m, nil, false); err != nil || dropped != nil {
		t.Errorf("dropped %q, %v", dropped, err)
	}
}
