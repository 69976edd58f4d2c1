package blobtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"

	"github.com/cutwater-io/cutwater/internal/blob"
)

// TestStore runs the suite. open returns an empty store.
func TestStore(t *testing.T, open func(t *testing.T) blob.Store) {
	for _, c := range []struct {
		name string
		run  func(t *testing.T, s blob.Store)
	}{
		{"an object is absent until commit and complete after", absentUntilCommit},
		{"an aborted object never appears", aborted},
		{"commit after abort is an error", commitAfterAbort},
		{"abort after commit does nothing", abortAfterCommit},
		{"put replaces and keeps no reference to the data", putReplaces},
		{"put if absent of a taken name changes nothing", putIfAbsentTaken},
		{"of many callers of put if absent exactly one wins", putIfAbsentRace},
		{"an absent object is not found", notFound},
		{"reading at an offset returns that part", readAt},
		{"an open object can be read after its deletion", readAfterDelete},
		{"list returns names by prefix in byte order", list},
		{"a deleted object is gone and deleting it again is no error", deleted},
		{"a name can be used while its neighbours are deleted", neighbours},
		{"names that are no object names are refused", badNames},
		{"an ended context ends every call", endedContext},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
	}
}

var ctx = context.Background()

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantContent(t *testing.T, s blob.Store, name string, want []byte) {
	t.Helper()
	got, err := s.Get(ctx, name)
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("get %s = %d bytes %.40q, %v; want %d bytes %.40q", name, len(got), got, err, len(want), want)
	}
}

func wantErr(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("%s: error is %v, want %v", what, err, want)
	}
}

func create(t *testing.T, s blob.Store, name string, chunks ...[]byte) blob.Writer {
	t.Helper()
	w, err := s.Create(ctx, name)
	must(t, err)
	for _, c := range chunks {
		n, err := w.Write(c)
		if n != len(c) || err != nil {
			t.Fatalf("write of %d bytes = %d, %v", len(c), n, err)
		}
	}
	return w
}

func absentUntilCommit(t *testing.T, s blob.Store) {
	large := bytes.Repeat([]byte("0123456789abcdef"), 10_000)
	w := create(t, s, "chk/1/segment", []byte("head "), large)
	_, err := s.Get(ctx, "chk/1/segment")
	wantErr(t, "get before commit", err, blob.ErrNotFound)
	names, err := s.List(ctx, "")
	if len(names) != 0 || err != nil {
		t.Fatalf("list before commit = %q, %v", names, err)
	}
	must(t, w.Commit())
	wantContent(t, s, "chk/1/segment", append([]byte("head "), large...))
}

func aborted(t *testing.T, s blob.Store) {
	w := create(t, s, "chk/1/segment", []byte("x"))
	w.Abort()
	w.Abort()
	_, err := s.Get(ctx, "chk/1/segment")
	wantErr(t, "get", err, blob.ErrNotFound)
}

func commitAfterAbort(t *testing.T, s blob.Store) {
	w := create(t, s, "a", []byte("x"))
	w.Abort()
	if w.Commit() == nil {
		t.Fatal("commit after abort succeeded")
	}
	_, err := s.Get(ctx, "a")
	wantErr(t, "get", err, blob.ErrNotFound)
}

func abortAfterCommit(t *testing.T, s blob.Store) {
	w := create(t, s, "a", []byte("x"))
	must(t, w.Commit())
	w.Abort()
	wantContent(t, s, "a", []byte("x"))
}

func putReplaces(t *testing.T, s blob.Store) {
	data := []byte("first")
	must(t, s.Put(ctx, "d/a", data))
	copy(data, "FIRST")
	wantContent(t, s, "d/a", []byte("first"))
	must(t, s.Put(ctx, "d/a", nil))
	wantContent(t, s, "d/a", nil)
}

func putIfAbsentTaken(t *testing.T, s blob.Store) {
	must(t, s.PutIfAbsent(ctx, "log/1", []byte("first")))
	wantErr(t, "second", s.PutIfAbsent(ctx, "log/1", []byte("second")), blob.ErrExists)
	wantContent(t, s, "log/1", []byte("first"))
	must(t, s.Put(ctx, "log/2", []byte("by put")))
	wantErr(t, "after put", s.PutIfAbsent(ctx, "log/2", []byte("x")), blob.ErrExists)
	must(t, s.Delete(ctx, "log/1"))
	must(t, s.PutIfAbsent(ctx, "log/1", []byte("third")))
}

func putIfAbsentRace(t *testing.T, s blob.Store) {
	for slot := range 10 {
		name := fmt.Sprintf("log/%d", slot)
		errs := make([]error, 8)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() { errs[i] = s.PutIfAbsent(ctx, name, fmt.Appendf(nil, "caller %d", i)) })
		}
		wg.Wait()
		winner := -1
		for i, err := range errs {
			switch {
			case err == nil && winner >= 0:
				t.Fatalf("callers %d and %d both won %s", winner, i, name)
			case err == nil:
				winner = i
			default:
				wantErr(t, "loser", err, blob.ErrExists)
			}
		}
		wantContent(t, s, name, fmt.Appendf(nil, "caller %d", winner))
	}
}

func notFound(t *testing.T, s blob.Store) {
	must(t, s.Put(ctx, "dir/a", []byte("x")))
	for _, name := range []string{"b", "dir/b", "dir", "dir/a/b", "other/a"} {
		_, err := s.Get(ctx, name)
		wantErr(t, "get "+name, err, blob.ErrNotFound)
		_, err = s.Open(ctx, name)
		wantErr(t, "open "+name, err, blob.ErrNotFound)
	}
}

func readAt(t *testing.T, s blob.Store) {
	must(t, s.Put(ctx, "a", []byte("0123456789")))
	r, err := s.Open(ctx, "a")
	must(t, err)
	defer r.Close()
	if r.Size() != 10 {
		t.Fatalf("size is %d", r.Size())
	}
	p := make([]byte, 4)
	if n, err := r.ReadAt(p, 3); n != 4 || err != nil || string(p) != "3456" {
		t.Fatalf("read at 3 = %d %q, %v", n, p, err)
	}
	if n, err := r.ReadAt(p, 8); n != 2 || err != io.EOF || string(p[:n]) != "89" {
		t.Fatalf("read at 8 = %d %q, %v", n, p, err)
	}
	if n, err := r.ReadAt(p, 10); n != 0 || err != io.EOF {
		t.Fatalf("read at the end = %d, %v", n, err)
	}
}

func readAfterDelete(t *testing.T, s blob.Store) {
	must(t, s.Put(ctx, "a", []byte("0123456789")))
	r, err := s.Open(ctx, "a")
	must(t, err)
	must(t, s.Delete(ctx, "a"))
	p := make([]byte, 10)
	_, err = r.ReadAt(p, 0)
	// Some stores read by name each time. They may say that it is gone, but
	// must not return anything else.
	if err == nil && string(p) != "0123456789" {
		t.Fatalf("read %q", p)
	}
	if err != nil {
		wantErr(t, "read", err, blob.ErrNotFound)
	}
	must(t, r.Close())
}

func list(t *testing.T, s blob.Store) {
	// '-' sorts before '/': the order is that of whole names, not of a walk.
	names := []string{"a-b/c", "a/b", "a/c/d", "ab", "log/0009", "log/0010", "log/0011"}
	for _, name := range slices.Backward(names) {
		must(t, s.Put(ctx, name, []byte(name)))
	}
	for _, c := range []struct {
		prefix string
		want   []string
	}{
		{"", names},
		{"a", names[:4]},
		{"a/", names[1:3]},
		{"a/c", names[2:3]},
		{"log/", names[4:]},
		{"log/001", names[5:]},
		{"lo", names[4:]},
		{"ab", names[3:4]},
		{"b", nil},
		{"log/0009/", nil},
	} {
		got, err := s.List(ctx, c.prefix)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("list %q = %q, %v; want %q", c.prefix, got, err, c.want)
		}
	}
}

func deleted(t *testing.T, s blob.Store) {
	must(t, s.Put(ctx, "chk/1/a", []byte("x")))
	must(t, s.Delete(ctx, "chk/1/a"))
	must(t, s.Delete(ctx, "chk/1/a"))
	_, err := s.Get(ctx, "chk/1/a")
	wantErr(t, "get", err, blob.ErrNotFound)
	names, err := s.List(ctx, "chk/")
	if len(names) != 0 || err != nil {
		t.Fatalf("list = %q, %v", names, err)
	}
	must(t, s.Put(ctx, "chk/1/a", []byte("y")))
	wantContent(t, s, "chk/1/a", []byte("y"))
}

// neighbours: a directory that is removed because it is empty must not take a
// new object with it.
func neighbours(t *testing.T, s blob.Store) {
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			name := fmt.Sprintf("chk/1/%d", g)
			for i := range 20 {
				want := fmt.Appendf(nil, "%d", i)
				if err := s.Put(ctx, name, want); err != nil {
					t.Errorf("put %s: %v", name, err)
				}
				if got, err := s.Get(ctx, name); err != nil || !bytes.Equal(got, want) {
					t.Errorf("get %s = %q, %v", name, got, err)
				}
				if err := s.Delete(ctx, name); err != nil {
					t.Errorf("delete %s: %v", name, err)
				}
			}
		})
	}
	wg.Wait()
}

func badNames(t *testing.T, s blob.Store) {
	for _, name := range []string{"", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/./b", ".tmp/x", "a\x00b", `a\b`} {
		if err := s.Put(ctx, name, nil); err == nil {
			t.Errorf("put %q succeeded", name)
		}
		if err := s.PutIfAbsent(ctx, name, nil); err == nil {
			t.Errorf("put if absent %q succeeded", name)
		}
		if _, err := s.Create(ctx, name); err == nil {
			t.Errorf("create %q succeeded", name)
		}
		if _, err := s.Get(ctx, name); err == nil {
			t.Errorf("get %q succeeded", name)
		}
		if err := s.Delete(ctx, name); err == nil {
			t.Errorf("delete %q succeeded", name)
		}
	}
}

func endedContext(t *testing.T, s blob.Store) {
	must(t, s.Put(ctx, "a", []byte("x")))
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err := s.Create(ended, "b")
	wantErr(t, "create", err, context.Canceled)
	wantErr(t, "put", s.Put(ended, "b", nil), context.Canceled)
	wantErr(t, "put if absent", s.PutIfAbsent(ended, "b", nil), context.Canceled)
	_, err = s.Open(ended, "a")
	wantErr(t, "open", err, context.Canceled)
	_, err = s.Get(ended, "a")
	wantErr(t, "get", err, context.Canceled)
	_, err = s.List(ended, "")
	wantErr(t, "list", err, context.Canceled)
	wantErr(t, "delete", s.Delete(ended, "a"), context.Canceled)
	wantContent(t, s, "a", []byte("x"))
}
