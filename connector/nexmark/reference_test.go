package nexmark_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/cutwater-io/cutwater/connector/nexmark"
	"github.com/google/go-cmp/cmp"
)

// referenceConfig is what the reference file was made with.
var referenceConfig = nexmark.Config{Seed: 1, EventsPerSecond: 100, BaseMillis: 1_436_918_340_000, OutOfOrderGroup: 50}

// TestTheReferenceStreamHasItsKnownDigest needs no file: the digest is that of the
// 12,500 lines the reference generator wrote.
func TestTheReferenceStreamHasItsKnownDigest(t *testing.T) {
	const want = "a2ed72b485a636cd23ac5ea35f2aa299cda72156911fa109a75dc03e7543dd36"
	g := generator(t, referenceConfig)
	sum, buf := sha256.New(), []byte(nil)
	var e nexmark.Event
	for k := range uint64(12_500) {
		g.Event(k, &e)
		var err error
		if buf, err = e.AppendJSON(buf[:0]); err != nil {
			t.Fatal(err)
		}
		sum.Write(append(buf, '\n'))
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		t.Errorf("the digest is %s, want %s: every stored answer is for the other stream", got, want)
	}
}

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
	g := generator(t, referenceConfig)
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
