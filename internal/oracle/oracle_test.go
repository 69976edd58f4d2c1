package oracle

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cutwater-io/cutwater/connector/nexmark"
	"github.com/google/go-cmp/cmp"
)

func TestTheAnswerEqualsCountingWholeBidsOneByOne(t *testing.T) {
	for _, group := range []uint64{1, 50, 5000} {
		cfg := nexmark.Config{OutOfOrderGroup: group, NoPadding: true}
		g, err := nexmark.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		want := map[Cell]int64{}
		var e nexmark.Event
		for k := range uint64(30_000) {
			if g.Event(k, &e); e.Kind == nexmark.KindBid {
				want[Cell{e.Bid.Auction, e.Bid.DateTimeMillis / 500 * 500}]++
			}
		}
		got, err := BidsPerAuction(cfg, 30_000, 500)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("group %d: %s", group, d)
		}
	}
}

func TestEveryBidOfTheStandardStreamIsCountedOnce(t *testing.T) {
	got, err := BidsPerAuction(nexmark.Config{}, 50_000, 1000)
	if err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	for _, n := range got {
		sum += n
	}
	if sum != 46_000 {
		t.Errorf("%d bids, want 46000", sum)
	}
}

func TestWrongArgumentsSayWhatIsWrong(t *testing.T) {
	for want, f := range map[string]func() error{
		"windows of 0 ms": func() error { _, err := BidsPerAuction(nexmark.Config{}, 1, 0); return err },
		"before 1970":     func() error { _, err := BidsPerAuction(nexmark.Config{BaseMillis: -1}, 1, 1); return err },
		"EventsPerSecond": func() error { _, err := BidsPerAuction(nexmark.Config{EventsPerSecond: -1}, 1, 1); return err },
		"committed files": func() error { _, err := Compare(nil, filepath.Join(t.TempDir(), "none")); return err },
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}

// write makes files below a new directory.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

var answer = map[Cell]int64{{1, 0}: 5, {1, 1000}: 6, {2, 0}: 7}

func TestEqualFilesAreEqualInAnyOrderAndStagedOnesAreNotRead(t *testing.T) {
	dir := write(t, map[string]string{
		"part-0-1-0.txt":        "2,0,7\n",
		"day/part-1-1-0.txt":    "auction,window_start_ms,count\n1,1000,6\n1,0,5\n",
		".staged/part-0-2.txt":  "1,0,5\n",
		"_tmp/part-0-2.txt":     "1,0,5\n",
		"day/.part-1-2.pending": "broken",
	})
	r, err := Compare(answer, dir)
	if err != nil {
		t.Fatal(err)
	}
	if want := "3 results in 2 files: 0 lost, 0 duplicated, 0 wrong (the answer has 3 results of 18 bids)"; !r.OK() || r.String() != want {
		t.Errorf("OK %v, %s", r.OK(), r)
	}
}

func TestTheDirectoryItselfMayBeHidden(t *testing.T) {
	dir := write(t, map[string]string{".cutwater-demo/part-0-1-0.txt": "2,0,7\n1,1000,6\n1,0,5\n"})
	if r, err := Compare(answer, filepath.Join(dir, ".cutwater-demo")); err != nil || !r.OK() {
		t.Errorf("%v, %v", r, err)
	}
}

func TestLostDuplicatedWrongAndUnreadableResultsAreTold(t *testing.T) {
	dir := write(t, map[string]string{
		"a.txt": "1,0,5\n1,0,5\n2,0,8\n9,9,1\n",
		"b.txt": "x,0,1\n1,2\n1,0,5,5\n\n1,1000,6",
	})
	r, err := Compare(answer, dir)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.ReplaceAll(`8 results in 2 files: 1 lost, 1 duplicated, 2 wrong, 5 unreadable (the answer has 3 results of 18 bids)
  duplicated: auction 1, window 0: count 5 again at DIR/a.txt:2
  wrong: auction 2, window 0: count 8, want 7, at DIR/a.txt:3
  wrong: auction 9, window 9: count 1, want 0, at DIR/a.txt:4
  unreadable: not auction,window_start_ms,count: DIR/b.txt:1
  unreadable: not auction,window_start_ms,count: DIR/b.txt:2
  unreadable: not auction,window_start_ms,count: DIR/b.txt:3
  unreadable: not auction,window_start_ms,count: DIR/b.txt:4
  unreadable: not auction,window_start_ms,count: DIR/b.txt:5
  lost: auction 1, window 1000: want count 6`, "DIR", dir)
	if got := r.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if r.OK() {
		t.Error("the report says that all is well")
	}
}

func TestAReportKeepsTenDifferencesAndCountsTheRest(t *testing.T) {
	want := map[Cell]int64{}
	for i := range int64(25) {
		want[Cell{i, 0}] = 1
	}
	r, err := Compare(want, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.First) != 10 || r.Lost != 25 || !strings.HasSuffix(r.String(), "and 15 more") {
		t.Errorf("%d kept, %d lost: %s", len(r.First), r.Lost, r)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"1,2,3", "1,2", "", ",,", "-1,-2,-3", "1,2,3,4", "+1,2,3"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		c, n, ok := parse(line)
		if !ok {
			return
		}
		c2, n2, ok := parse(fmt.Appendf(nil, "%d,%d,%d", c.Auction, c.WindowStartMillis, n))
		if !ok || c2 != c || n2 != n {
			t.Errorf("%q reads as %v %d, written again as %v %d", line, c, n, c2, n2)
		}
	})
}

// BenchmarkBidsPerAuction reports the time per event.
func BenchmarkBidsPerAuction(b *testing.B) {
	if _, err := BidsPerAuction(nexmark.Config{}, uint64(b.N), 1000); err != nil {
		b.Fatal(err)
	}
}
