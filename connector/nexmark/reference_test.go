package nexmark_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/cutwater-io/cutwater/connector/nexmark"
	"github.com/google/go-cmp/cmp"
)

func TestEventsEqualTheReferenceFileByteForByte(t *testing.T) {
	dir := os.Getenv("CUTWATER_TESTDATA")
	if dir == "" {
		t.Skip("CUTWATER_TESTDATA is not set: it names the folder with nexmark_events.jsonl, the events of the reference generator")
	}
	f, err := os.Open(filepath.Join(dir, "nexmark_events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	g, err := nexmark.New(nexmark.Config{Seed: 1, EventsPerSecond: 100, BaseMillis: 1_436_918_340_000, OutOfOrderGroup: 50})
	if err != nil {
		t.Fatal(err)
	}
	var buf []byte
	k := uint64(0)
	for lines := bufio.NewScanner(f); lines.Scan(); k++ {
		var e, parsed nexmark.Event
		g.Event(k, &e)
		if buf, err = e.AppendJSON(buf[:0]); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(buf, lines.Bytes()) {
			t.Fatalf("event %d is\n%s\nwant\n%s", k, buf, lines.Bytes())
		}
		if err := json.Unmarshal(lines.Bytes(), &parsed); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(e, parsed); d != "" {
			t.Fatalf("event %d changes on its way through JSON: %s", k, d)
		}
	}
	if k != 12_500 {
		t.Errorf("the file has %d events, want 12500", k)
	}
}
