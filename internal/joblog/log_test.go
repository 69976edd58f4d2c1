package joblog

import (
	"context"
	"testing"

	"github.com/cutwater-io/cutwater/internal/blob"
)

// numbers returns a source of numbers that never repeats, across all calls.
var drawn uint64

func random() uint64 { drawn++; return drawn * 0x9e3779b97f4a7c15 }

func mustOpen(t *testing.T, s blob.Store) (*Log, Recovered) {
	t.Helper()
	l, r, err := Open(context.Background(), s, "word-count", random)
	if err != nil {
		t.Fatal(err)
	}
	return l, r
}

func mustAppend(t *testing.T, l *Log, entries ...Entry) {
	t.Helper()
	for _, e := range entries {
		if err := l.Append(context.Background(), e); err != nil {
			t.Fatal(err)
		}
	}
}

func mustReserve(t *testing.T, l *Log, count uint32) uint64 {
	t.Helper()
	first, err := l.Reserve(context.Background(), count)
	if err != nil {
		t.Fatal(err)
	}
	return uint64(first)
}

func TestANewLogIsEmptyAndAnOldOneIsRecovered(t *testing.T) {
	for name, store := range map[string]blob.Store{"memory": blob.Memory(), "directory": blob.Dir(t.TempDir(), nil)} {
		t.Run(name, func(t *testing.T) {
			l, r := mustOpen(t, store)
			if _, ok := r.Latest(); ok || r.Token != 1 || r.NextID != 1 || r.Finished {
				t.Fatalf("new log: %+v", r)
			}
			if first := mustReserve(t, l, 16); first != 1 {
				t.Fatalf("first id is %d", first)
			}
			mustAppend(t, l, Completed{Checkpoint: 1, Manifest: "chk/1-a/manifest"}, Completed{Checkpoint: 2, Manifest: "chk/2-b/manifest"}, Removed{Checkpoint: 1})

			_, again := mustOpen(t, store)
			latest, ok := again.Latest()
			if !ok || latest.Checkpoint != 2 || latest.Manifest != "chk/2-b/manifest" || len(again.Completed) != 1 {
				t.Errorf("recovered %+v", again)
			}
			if again.Job != r.Job || again.Token != 2 || again.NextID != 17 || again.LastStop != Died {
				t.Errorf("recovered %+v", again)
			}
		})
	}
}
