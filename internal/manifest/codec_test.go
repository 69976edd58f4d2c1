package manifest

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"flag"
	"hash/crc32"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cutwater-io/cutwater/internal/blob"
	"github.com/cutwater-io/cutwater/internal/blob/blobtest"
	"github.com/cutwater-io/cutwater/internal/ident"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden file")

// sample has every field and every form of a handle.
func sample() *Manifest {
	return &Manifest{
		Job:        ident.JobID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
		JobName:    "word-count",
		Checkpoint: 7,
		Token:      2,
		HashName:   "cutwater-1",
		Stats:      Stats{TriggeredMillis: 1_800_000_000_000, DurationMillis: 42, AlignmentMillis: 3, StartDelayMillis: -1, SyncMillis: 1, AsyncMillis: 38, Bytes: 1 << 20},
		Operators: []OperatorState{
			{
				ID: ident.OperatorIDOf("count"), Name: "count", Parallelism: 2, MaxParallelism: 128,
				Subtasks: []SubtaskState{
					{Subtask: 0, Keyed: &Handle{Object: "chk/7-4f0c/0", Size: 70_000}, Range: Range{0, 63}},
					{Subtask: 1, Keyed: &Handle{Inline: []byte("small"), Size: 5}, Range: Range{64, 127},
						Lists: []ListState{{Name: "watermarks", Mode: Union, Elements: [][]byte{{9}}}}},
				},
			},
			{
				ID: ident.OperatorIDOf("lines"), Name: "lines", Parallelism: 1, MaxParallelism: 128,
				Coordinator: []byte("unassigned: b.txt"),
				Subtasks: []SubtaskState{{Lists: []ListState{
					{Name: "splits", Mode: Split, Elements: [][]byte{[]byte("a.txt@17"), {}}},
					{Name: "rules", Mode: Broadcast},
				}}},
			},
		},
	}
}

func mustEncode(t interface {
	Helper()
	Fatal(...any)
}, m *Manifest) []byte {
	t.Helper()
	b, err := Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestTheBytesOfAManifestAreThoseOfTheGoldenFile(t *testing.T) {
	got := hex.Dump(mustEncode(t, sample()))
	const file = "testdata/manifest-v1.txt"
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the format has changed; if that is meant, it needs a new version:\n%s", cmp.Diff(string(want), got))
	}
}

func TestAManifestIsReadAsItWasWritten(t *testing.T) {
	got, err := Decode(mustEncode(t, sample()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sample(), got); diff != "" {
		t.Error(diff)
	}
	empty := &Manifest{}
	if got, err := Decode(mustEncode(t, empty)); err != nil || !cmp.Equal(got, empty) {
		t.Errorf("the empty one: %+v, %v", got, err)
	}
}

func TestDamageOfAnyByteIsFound(t *testing.T) {
	intact := mustEncode(t, sample())
	for at := range intact {
		for _, flip := range []byte{1, 0x80, 0xff} {
			b := bytes.Clone(intact)
			b[at] ^= flip
			if _, err := Decode(b); !errors.Is(err, blob.ErrCorrupt) {
				t.Fatalf("byte %d: %v", at, err)
			}
		}
		if _, err := Decode(intact[:at]); !errors.Is(err, blob.ErrCorrupt) {
			t.Fatalf("cut to %d bytes: %v", at, err)
		}
	}
	if _, err := Decode(append(bytes.Clone(intact), 0)); !errors.Is(err, blob.ErrCorrupt) {
		t.Fatalf("a byte too many: %v", err)
	}
}

func TestANewerFormatAsksForANewerProgram(t *testing.T) {
	b := mustEncode(t, sample())
	b[4] = 2
	_, err := Decode(resealed(b))
	if err == nil || errors.Is(err, blob.ErrCorrupt) || !strings.Contains(err.Error(), "format version 2 and this program reads version 1: use a newer version") {
		t.Errorf("error is %v", err)
	}
}

func TestWhatCouldNotBeRestoredIsNotWritten(t *testing.T) {
	for want, spoil := range map[string]func(m *Manifest){
		"names must ascend": func(m *Manifest) { m.Operators[0].Name = "zebra" },
		"max parallelism 0": func(m *Manifest) { m.Operators[0].MaxParallelism = 0 },
		"parallelism 129":   func(m *Manifest) { m.Operators[0].Parallelism = 129 },
		"subtask 0 after 0": func(m *Manifest) { m.Operators[0].Subtasks[1].Subtask = 0 },
		"subtask 2 after 0": func(m *Manifest) { m.Operators[0].Subtasks[1].Subtask = 2 },
		"overlap":           func(m *Manifest) { m.Operators[0].Subtasks[1].Range.First = 63 },
		"exceed":            func(m *Manifest) { m.Operators[0].Subtasks[1].Range.Last = 128 },
		"not a range":       func(m *Manifest) { m.Operators[0].Subtasks[1].Range = Range{9, 8} },
		"without keyed":     func(m *Manifest) { m.Operators[1].Subtasks[0].Range = Range{1, 2} },
		"either inline":     func(m *Manifest) { m.Operators[0].Subtasks[0].Keyed.Object = "" },
		"wrong size":        func(m *Manifest) { m.Operators[0].Subtasks[1].Keyed.Size = 6 },
		"twice":             func(m *Manifest) { m.Operators[1].Subtasks[0].Lists[1].Name = "splits" },
		"unknown mode":      func(m *Manifest) { m.Operators[1].Subtasks[0].Lists[1].Mode = 3 },
	} {
		m := sample()
		spoil(m)
		if _, err := Encode(m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestEveryManifestIsReadAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawManifest(t)
		b := mustEncode(t, m)
		got, err := Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(m, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

// drawManifest draws a well-formed manifest whose slices are nil when empty, as
// Decode makes them.
func drawManifest(t *rapid.T) *Manifest {
	m := &Manifest{
		JobName:    rapid.String().Draw(t, "job"),
		Checkpoint: ident.CheckpointID(rapid.Uint64().Draw(t, "checkpoint")),
		Token:      ident.FencingToken(rapid.Uint64().Draw(t, "token")),
		Stats:      Stats{DurationMillis: rapid.Int64().Draw(t, "duration"), Bytes: rapid.Int64().Draw(t, "bytes")},
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "operators") {
		m.Operators = append(m.Operators, drawOperator(t, string(rune('a'+i))))
	}
	return m
}

func drawOperator(t *rapid.T, name string) OperatorState {
	p := rapid.IntRange(1, 9).Draw(t, "parallelism")
	maxParallelism := rapid.IntRange(p, 300).Draw(t, "max parallelism")
	o := OperatorState{ID: ident.OperatorIDOf(name), Name: name, Parallelism: int32(p), MaxParallelism: int32(maxParallelism)}
	if rapid.Bool().Draw(t, "coordinator") {
		o.Coordinator = rapid.SliceOf(rapid.Byte()).Draw(t, "coordinator state")
	}
	for i := range p {
		s := SubtaskState{Subtask: int32(i)}
		if rapid.Bool().Draw(t, "keyed") {
			s.Keyed = &Handle{Object: "o", Size: rapid.Int64Range(0, 1<<40).Draw(t, "size")}
			s.Range = rangeOf(i, p, maxParallelism)
		}
		for k, name := range []string{"splits", "union", "rules"} {
			if !rapid.Bool().Draw(t, "has "+name) {
				continue
			}
			l := ListState{Name: name, Mode: Mode(k)}
			for range rapid.IntRange(0, 4).Draw(t, "elements") {
				l.Elements = append(l.Elements, rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(t, "element"))
			}
			s.Lists = append(s.Lists, l)
		}
		if !s.Empty() {
			o.Subtasks = append(o.Subtasks, s)
		}
	}
	return o
}

func TestS066AManifestThatCannotBeWrittenOrReadIsAnError(t *testing.T) {
	ctx := context.Background()
	f := &blobtest.Faulty{Store: blob.Memory()}
	name := Name(Prefix(7, 0x4f0c))
	if name != "chk/7-0000000000004f0c/manifest" {
		t.Errorf("name is %s", name)
	}
	f.Fault = func(op, _ string) blobtest.Fault { return blobtest.Fail }
	if err := Write(ctx, f, name, sample()); !errors.Is(err, blobtest.ErrInjected) {
		t.Errorf("write: %v", err)
	}
	f.Fault = nil
	if _, err := Read(ctx, f, name); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("read of none: %v", err)
	}
	if err := Write(ctx, f, name, sample()); err != nil {
		t.Fatal(err)
	}
	if m, err := Read(ctx, f, name); err != nil || !cmp.Equal(m, sample()) {
		t.Errorf("read: %v", err)
	}
	if err := Write(ctx, f, name+"2", &Manifest{Operators: make([]OperatorState, 1)}); err == nil {
		t.Error("a malformed manifest was written")
	}
	f.Put(ctx, name, []byte("no manifest"))
	if _, err := Read(ctx, f, name); !errors.Is(err, blob.ErrCorrupt) || !strings.Contains(err.Error(), name) {
		t.Errorf("read of something else: %v", err)
	}
}

// resealed makes the header's size and the checksum right again.
func resealed(b []byte) []byte {
	if len(b) < headerSize+crcSize {
		return b
	}
	b = bytes.Clone(b[:len(b)-crcSize])
	binary.LittleEndian.PutUint64(b[8:], uint64(len(b)-headerSize))
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func FuzzManifestsAreDecodedExactlyOrRefused(f *testing.F) {
	f.Add(mustEncode(f, sample()))
	f.Add(mustEncode(f, &Manifest{}))
	f.Fuzz(func(t *testing.T, b []byte) {
		b = resealed(b) // else nothing gets beyond the checksum
		m, err := Decode(b)
		if err != nil {
			return
		}
		again, err := Encode(m)
		if err != nil || !bytes.Equal(again, b) {
			t.Errorf("%x was decoded and encodes to %x, %v", b, again, err)
		}
	})
}

func TestADamagedCountDoesNotMakeDecodeAllocate(t *testing.T) {
	b := mustEncode(t, &Manifest{})
	// The last byte of the body is the number of operators.
	b = b[:len(b)-crcSize-1]
	b = binary.AppendUvarint(b, 1<<40)
	b = resealed(append(b, 0, 0, 0, 0))
	// Were memory taken by the count, the process would end here.
	if _, err := Decode(b); !errors.Is(err, blob.ErrCorrupt) || !strings.Contains(err.Error(), "1099511627776 elements") {
		t.Errorf("error is %v", err)
	}
}
