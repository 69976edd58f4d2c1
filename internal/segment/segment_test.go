package segment

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cutwater-io/cutwater/internal/blob"
)

type group struct {
	group   uint16
	data    []string // one per Write
	entries int
}

// listSource is a state given as a list.
type listSource struct {
	id     StateID
	schema Schema
	groups []group
}

func (s listSource) ID() StateID    { return s.id }
func (s listSource) Schema() Schema { return s.schema }
func (s listSource) Release()       {}
func (s listSource) WriteGroups(w GroupWriter) error {
	for _, g := range s.groups {
		if err := w.Begin(g.group); err != nil {
			return err
		}
		for _, d := range g.data {
			if _, err := w.Write([]byte(d)); err != nil {
				return err
			}
		}
		w.AddEntries(g.entries)
	}
	return nil
}

func small() []listSource {
	return []listSource{
		{StateID{"count", 0}, Schema{"uint64", "int64", "key value/1"}, []group{{0, []string{"ab", "c"}, 3}, {7, []string{"defg"}, 1}, {65535, nil, 0}}},
		{StateID{"count", 60000}, Schema{"uint64", "int64", "key value/1"}, nil},
		{StateID{"", -1}, Schema{"string", "struct{}", ""}, []group{{3, []string{"xyz"}, 2}}},
	}
}

func write(t testing.TB, states []listSource) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := NewWriter(&buf)
	for _, s := range states {
		if err := w.WriteState(s); err != nil {
			t.Fatal(err)
		}
	}
	size, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if size != int64(buf.Len()) {
		t.Fatalf("size is %d, %d bytes were written", size, buf.Len())
	}
	return buf.Bytes()
}

// readAll reads every group and shows it.
func readAll(r io.ReaderAt, size int64) (string, error) {
	sr, err := NewReader(r, size)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, s := range sr.States() {
		fmt.Fprintf(&b, "%q %d %q\n", s.ID.Name, s.ID.Namespace, s.Schema)
		for _, g := range s.Groups {
			data, n, err := sr.Group(s.ID, g.KeyGroup)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&b, " %d: %q %d\n", g.KeyGroup, data, n)
		}
	}
	return b.String(), nil
}

func show(states []listSource) string {
	var b strings.Builder
	for _, s := range states {
		fmt.Fprintf(&b, "%q %d %q\n", s.id.Name, s.id.Namespace, s.schema)
		for _, g := range s.groups {
			fmt.Fprintf(&b, " %d: %q %d\n", g.group, strings.Join(g.data, ""), g.entries)
		}
	}
	return b.String()
}

func TestWhatIsReadIsWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		states := rapid.SliceOfNDistinct(rapid.Custom(func(rt *rapid.T) listSource {
			s := listSource{id: StateID{rapid.String().Draw(rt, "name"), rapid.Int64().Draw(rt, "namespace")}}
			s.schema = Schema{rapid.String().Draw(rt, "key"), rapid.String().Draw(rt, "value"), rapid.String().Draw(rt, "layout")}
			next := 0
			for n := rapid.IntRange(0, 5).Draw(rt, "groups"); n > 0; n-- {
				g := next + rapid.IntRange(0, 1000).Draw(rt, "gap")
				next = g + 1
				s.groups = append(s.groups, group{uint16(g), rapid.SliceOfN(rapid.String(), 0, 4).Draw(rt, "writes"), rapid.IntRange(0, 9).Draw(rt, "entries")})
			}
			return s
		}), 0, 5, func(s listSource) StateID { return s.id }).Draw(rt, "states")
		b := write(t, states)
		got, err := readAll(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			rt.Fatal(err)
		}
		if d := cmp.Diff(show(states), got); d != "" {
			rt.Fatal(d)
		}
	})
}

func TestALargeGroupIsReadInPieces(t *testing.T) {
	big := strings.Repeat("0123456789abcdef", 600_000) // 9.6 MB, over two pieces
	states := []listSource{{StateID{"s", 0}, Schema{}, []group{{5, []string{big[:7], big[7:]}, 1}}}}
	b := write(t, states)
	r, err := NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	data, _, err := r.Group(StateID{"s", 0}, 5)
	if err != nil || string(data) != big {
		t.Fatalf("%d bytes, %v", len(data), err)
	}
}

func TestAnAbsentStateOrGroupHasNoEntries(t *testing.T) {
	b := write(t, small())
	r, err := NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		id StateID
		g  uint16
	}{{StateID{"count", 0}, 1}, {StateID{"count", 0}, 8}, {StateID{"count", 60000}, 0}, {StateID{"other", 0}, 0}} {
		if data, n, err := r.Group(c.id, c.g); data != nil || n != 0 || err != nil {
			t.Errorf("%v group %d: %q, %d, %v", c.id, c.g, data, n, err)
		}
	}
}

func TestDamageOfAnyBitOfAnyByteIsFound(t *testing.T) {
	b := write(t, small())
	for i := range b {
		for bit := range 8 {
			d := bytes.Clone(b)
			d[i] ^= 1 << bit
			got, err := readAll(bytes.NewReader(d), int64(len(d)))
			if !errors.Is(err, blob.ErrCorrupt) {
				t.Fatalf("byte %d bit %d: error %v, content\n%s", i, bit, err, got)
			}
		}
	}
}

func TestACutOrLongerSegmentIsCorrupt(t *testing.T) {
	b := write(t, small())
	for n := range b {
		if _, err := readAll(bytes.NewReader(b[:n]), int64(n)); !errors.Is(err, blob.ErrCorrupt) {
			t.Fatalf("cut to %d of %d bytes: %v", n, len(b), err)
		}
		// The manifest says how long the object was.
		if _, err := readAll(bytes.NewReader(b[:n]), int64(len(b))); !errors.Is(err, blob.ErrCorrupt) {
			t.Fatalf("cut to %d bytes, size %d: %v", n, len(b), err)
		}
	}
	long := append(bytes.Clone(b), 0)
	if _, err := readAll(bytes.NewReader(long), int64(len(long))); !errors.Is(err, blob.ErrCorrupt) {
		t.Fatal(err)
	}
}

// stingyReader returns one byte per call, and every other time nothing.
type stingyReader struct {
	b []byte
	n int
}

func (r *stingyReader) ReadAt(p []byte, off int64) (int, error) {
	if r.n++; r.n%2 == 0 {
		return 0, nil
	}
	if off >= int64(len(r.b)) {
		return 0, io.EOF
	}
	return copy(p[:1], r.b[off:off+1]), nil
}

func TestS303StorageThatReturnsOneByteAtATimeGivesCompleteData(t *testing.T) {
	b := write(t, small())
	got, err := readAll(&stingyReader{b: b}, int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(show(small()), got); d != "" {
		t.Fatal(d)
	}
}

type failingReader struct{ err error }

func (r failingReader) ReadAt([]byte, int64) (int, error) { return 0, r.err }

func TestAnErrorOfTheStorageIsNotCalledCorruption(t *testing.T) {
	broken := errors.New("connection reset")
	if _, err := NewReader(failingReader{broken}, 1000); !errors.Is(err, broken) || errors.Is(err, blob.ErrCorrupt) {
		t.Fatal(err)
	}
	if _, err := NewReader(failingReader{nil}, 1000); !errors.Is(err, io.ErrNoProgress) {
		t.Fatal(err)
	}
}

func TestTheWriterRefusesWhatItCouldNotReadBack(t *testing.T) {
	twice := NewWriter(io.Discard)
	s := small()[0]
	if err := twice.WriteState(s); err != nil {
		t.Fatal(err)
	}
	if err := twice.WriteState(s); err == nil {
		t.Error("a state was written twice")
	}
	if _, err := twice.Close(); err == nil {
		t.Error("closed without error after an error")
	}
	s.groups = []group{{4, nil, 0}, {4, nil, 0}}
	if err := NewWriter(io.Discard).WriteState(s); err == nil {
		t.Error("key groups that do not ascend were written")
	}
}

type fullDisk struct{ left int }

var errFull = errors.New("no space left")

func (d *fullDisk) Write(p []byte) (int, error) {
	if d.left -= len(p); d.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestAnErrorOfTheDiskComesOutOfWriteStateOrClose(t *testing.T) {
	s := small()[0]
	s.groups = []group{{1, []string{strings.Repeat("x", 3<<20)}, 1}}
	if err := NewWriter(&fullDisk{left: 1 << 20}).WriteState(s); !errors.Is(err, errFull) {
		t.Error(err)
	}
	w := NewWriter(&fullDisk{})
	if err := w.WriteState(small()[0]); err != nil {
		t.Fatal(err) // still buffered
	}
	if _, err := w.Close(); !errors.Is(err, errFull) {
		t.Error(err)
	}
}

func FuzzReader(f *testing.F) {
	b := write(f, small())
	f.Add(b)
	f.Add(write(f, nil))
	f.Add(b[:40])
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := readAll(bytes.NewReader(b), int64(len(b))); err != nil && !errors.Is(err, blob.ErrCorrupt) {
			t.Fatalf("%v is not marked as corruption", err)
		}
	})
}

// FuzzIndex reaches the parser behind the checksum.
func FuzzIndex(f *testing.F) {
	for _, states := range [][]StateInfo{nil, {{ID: StateID{"a", 1}, Groups: []GroupInfo{{1, headerSize, 5, 1, 9}}}}} {
		f.Add(appendIndex(nil, states), int64(headerSize+5))
	}
	f.Fuzz(func(t *testing.T, b []byte, end int64) {
		states, err := parseIndex(b, end)
		if err != nil {
			if !errors.Is(err, blob.ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		if got := appendIndex(nil, states); !bytes.Equal(got, b) {
			t.Fatalf("index %x is read as %+v, which is written as %x", b, states, got)
		}
	})
}
