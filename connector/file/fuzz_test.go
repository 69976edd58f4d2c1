package file

import (
	"bytes"
	"encoding/csv"
	"io"
	"io/fs"
	"reflect"
	"slices"
	"testing"

	"github.com/cutwater-io/cutwater/connector"
)

func FuzzDecodeCommittable(f *testing.F) {
	f.Add(committable{staged: "job~op~part~s0~a1~c0~0", target: "k=a/part-0-1-0.txt", size: 7, crc: 1 << 31}.encode())
	f.Add(committable{staged: "..", target: "../x"}.encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := decodeCommittable(data)
		if err != nil {
			return
		}
		if again, err := decodeCommittable(c.encode()); err != nil || again != c {
			t.Fatalf("%+v became %+v, %v", c, again, err)
		}
		if !fs.ValidPath(c.target) || !fs.ValidPath(c.staged) {
			t.Fatalf("names lead out of the directory: %+v", c)
		}
	})
}

func FuzzDecodeSplit(f *testing.F) {
	f.Add(split{path: "/a", pos: position{7, 2}, follow: true, print: fingerprint{1, 1024, 1 << 63}, seen: 9}.encode().Data)
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := decodeSplit(connector.Split{ID: "x", Data: data})
		if err != nil {
			return
		}
		if s.pos.offset < 0 || s.pos.line < 0 || s.seen < 0 || s.print.length < 0 || s.print.length > printBytes {
			t.Fatalf("%+v", s)
		}
		if again, err := decodeSplit(s.encode()); err != nil || again != s {
			t.Fatalf("%+v became %+v, %v", s, again, err)
		}
	})
}

func FuzzEnumeratorState(f *testing.F) {
	e := enumerator{listed: true, pending: []connector.Split{split{id: "a", path: "a"}.encode()}}
	state, _ := e.Snapshot(1)
	f.Add(state)
	fo := follower{serial: 3, pending: e.pending, known: map[string]*knownFile{"b": {id: "b", path: "b", done: true}}}
	state, _ = fo.Snapshot(1)
	f.Add(state)
	f.Fuzz(func(t *testing.T, data []byte) {
		if data == nil {
			data = []byte{}
		}
		if e, err := newEnumerator(nil, nil, data); err == nil {
			state, _ := e.Snapshot(1)
			if again, err := newEnumerator(nil, nil, state); err != nil || !reflect.DeepEqual(again.pending, e.pending) {
				t.Fatal(again, err)
			}
		}
		fo, err := newFollower(noEnumerator{}, nil, 1, data)
		if err != nil {
			return
		}
		state, _ := fo.Snapshot(1)
		if again, err := newFollower(noEnumerator{}, nil, 1, state); err != nil || !reflect.DeepEqual(again.known, fo.known) {
			t.Fatal(again, err)
		}
	})
}

type noEnumerator struct{ connector.EnumeratorContext }

func (noEnumerator) Env() connector.Env { return connector.Env{} }

func FuzzDecodeDoneEvent(f *testing.F) {
	f.Add(doneEvent{id: "a#1", pos: position{3, 1}, size: 3, print: fingerprint{5, 3, 77}}.encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := decodeDone(data)
		if err != nil {
			return
		}
		if again, err := decodeDone(e.encode()); err != nil || again != e {
			t.Fatalf("%+v became %+v, %v", e, again, err)
		}
	})
}

// FuzzCSV compares cells with those of encoding/csv, and checks that records fill
// the file without a gap, wherever the buffer ends.
func FuzzCSV(f *testing.F) {
	f.Add([]byte("a,\"b\n\"\"c\",d\r\n\n,\n"), uint8(3))
	f.Add([]byte("\"open\nx,y\n"), uint8(0))
	f.Fuzz(func(t *testing.T, data []byte, cut uint8) {
		for rest := data; len(rest) > 0; {
			length, content := frameCSV(rest, true)
			if length <= 0 || content > length || content < 0 {
				t.Fatalf("length %d, content %d of %q", length, content, rest)
			}
			if part := rest[:min(int(cut), len(rest))]; len(part) > 0 {
				if n, c := frameCSV(part, false); n != 0 && n != length && bytes.Count(rest[:length], []byte{'"'})%2 == 0 || n == length && c != content {
					t.Fatalf("%d bytes buffered: %d, %d; all: %d, %d of %q", len(part), n, c, length, content, rest)
				}
			}
			cells, err := splitCSV(nil, rest[:content])
			// encoding/csv has its own mind about \r.
			if err == nil && content > 0 && !bytes.Contains(rest[:content], []byte{'\r'}) {
				r := csv.NewReader(bytes.NewReader(rest[:content]))
				want, wantErr := r.Read()
				if wantErr != nil || !slices.Equal(want, cells) {
					t.Fatalf("%q: got %q, want %q, %v", rest[:content], cells, want, wantErr)
				}
				if _, err := r.Read(); err != io.EOF {
					t.Fatalf("%q is more than one record", rest[:content])
				}
			}
			rest = rest[length:]
		}
	})
}

// FuzzCursor compares the lines of a cursor with those of bytes.Split, whatever
// the greatest length is and wherever the cursor is opened again.
func FuzzCursor(f *testing.F) {
	f.Add([]byte("a\r\n\nbbbbbbbbbb\nc"), uint8(4), uint8(2))
	f.Fuzz(func(t *testing.T, data []byte, maxRecord, reopen uint8) {
		limit := int(maxRecord) + 1
		open := func(pos position) *cursor {
			return &cursor{in: &input{file: memoryFile{data: data}, at: pos.offset}, pos: pos, final: true}
		}
		c := open(position{})
		want := bytes.SplitAfter(data, newline)
		if len(want[len(want)-1]) == 0 {
			want = want[:len(want)-1]
		}
		offset := int64(0)
		for i, line := range want {
			if i == int(reopen) {
				c = open(c.pos)
			}
			record, found, err := c.next(nil, limit)
			text := bytes.TrimSuffix(line, newline)
			text = bytes.TrimSuffix(text, []byte{'\r'})
			switch {
			case err != nil:
				t.Fatal(err)
			case c.start.offset != offset || c.start.line != int64(i):
				t.Fatalf("line %d begins at %+v, not at %d", i, c.start, offset)
			case len(text) > limit && found != foundBad:
				t.Fatalf("line %d of %d bytes is not bad", i, len(text))
			case len(text) <= limit && (found != foundRecord || !bytes.Equal(record, text)):
				t.Fatalf("line %d: got %d %q, want %q", i, found, record, text)
			}
			offset += int64(len(line))
			if c.pos.offset != offset {
				t.Fatalf("after line %d at %d, not at %d", i, c.pos.offset, offset)
			}
		}
		if _, found, err := c.next(nil, limit); found != foundEnd || err != nil {
			t.Fatal("after the end", found, err)
		}
	})
}

// memoryFile is a file that can only be read.
type memoryFile struct {
	connector.File
	data []byte
}

func (m memoryFile) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(m.data).ReadAt(p, off)
}

func FuzzStageName(f *testing.F) {
	f.Add("job", "sink", "job", "sink~x", 3)
	f.Add("a~b", "c", "a", "b~c", 0)
	f.Add("", "a/../b", "%2F", string(bytes.Repeat([]byte("long"), 100)), 1)
	f.Fuzz(func(t *testing.T, job, operator, job2, operator2 string, subtask int) {
		owner, other := stageOwner(job, operator, "part"), stageOwner(job2, operator2, "part")
		name := stageName(owner, subtask&0xffff, 1<<63, 1<<63, 1<<30)
		if !fs.ValidPath(name) || bytes.ContainsAny([]byte(name), "/\\") || len(name) > 255 {
			t.Fatalf("%q is no name of a file", name)
		}
		if got, ok := stageSubtask(owner, name); !ok || got != subtask&0xffff {
			t.Fatalf("%q is of subtask %d, %v", name, got, ok)
		}
		if _, ours := stageSubtask(other, name); ours != (job == job2 && operator == operator2) {
			t.Fatalf("%q: owned by %q is %v", name, other, ours)
		}
	})
}
