package gen

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cutwater-io/cutwater/connector"
	"pgregory.net/rapid"
)

func identity(i uint64) uint64 { return i }

func numbers(n uint64) []uint64 {
	all := make([]uint64, n)
	for i := range all {
		all[i] = uint64(i)
	}
	return all
}

func TestEveryNumberComesOnceAtAnyParallelismAcrossAnyRestores(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.Uint64Range(1, 700).Draw(rt, "n")
		parallelism := rapid.IntRange(1, 5)
		var opts []Option
		if splits := rapid.IntRange(0, 7).Draw(rt, "splits"); splits > 0 {
			opts = append(opts, Splits(splits))
		}
		src := Sequence(n, identity, opts...)
		j := start(t, src, parallelism.Draw(rt, "parallelism"), nil)
		for range rapid.IntRange(0, 3).Draw(rt, "restores") {
			// Some readers may not have registered when the checkpoint comes.
			for i := range j.readers {
				if rapid.Bool().Draw(rt, "registers") {
					j.enum.AddReader(i)
				}
			}
			for range rapid.IntRange(0, 6).Draw(rt, "polls") {
				j.poll(rapid.IntRange(0, len(j.readers)-1).Draw(rt, "reader"), rapid.IntRange(1, 150).Draw(rt, "max"))
			}
			s := j.snapshot()
			j.poll(0, 50) // lost with the crash
			j = start(t, src, parallelism.Draw(rt, "parallelism"), s)
		}
		j.register()
		j.finish()
		slices.Sort(j.got)
		if !slices.Equal(j.got, numbers(n)) {
			rt.Fatalf("%d numbers of %d: %v", len(j.got), n, j.got)
		}
	})
}

func TestOneSplitIsEmittedInOrderWithoutEventTime(t *testing.T) {
	j := start(t, Sequence(1000, identity), 1, nil)
	j.register()
	j.finish()
	if !slices.Equal(j.got, numbers(1000)) {
		t.Errorf("got %v", j.got)
	}
	for _, ts := range j.times {
		if ts != connector.NoTimestamp {
			t.Fatalf("a record has time %d", ts)
		}
	}
}

func TestSeveralSplitsOnOneReaderStayCloseTogether(t *testing.T) {
	const splits = 8
	j := start(t, Sequence(20_000, identity, Splits(splits)), 1, nil)
	j.register()
	j.finish()
	newest := uint64(0)
	for _, i := range j.got {
		newest = max(newest, i)
		if newest-i > splits*run {
			t.Fatalf("number %d came after %d: more than %d behind", i, newest, splits*run)
		}
	}
}

func TestReadersWithoutSplitsFinishAndEmptySourcesToo(t *testing.T) {
	j := start(t, Sequence(1, identity), 3, nil)
	j.register()
	for i := range 3 {
		j.poll(i, 10)
	}
	if !slices.Equal(j.done, []bool{true, true, true}) || len(j.got) != 1 {
		t.Errorf("finished %v with %v", j.done, j.got)
	}
}

func TestAReaderWaitsUntilItIsToldThatNoMoreSplitsCome(t *testing.T) {
	j := start(t, Sequence(1, identity), 1, nil)
	if r := j.poll(0, 10); r != connector.Wait {
		t.Errorf("a reader without splits returned %v", r)
	}
	j.register()
	if r := j.poll(0, 10); r != connector.Finished {
		t.Errorf("a reader at its end returned %v", r)
	}
}

func TestEndlessSourcesDoNotFinish(t *testing.T) {
	j := start(t, Sequence(0, identity), 2, nil)
	j.register()
	for range 10 {
		if r := j.poll(1, 10); r != connector.More {
			t.Fatalf("poll returned %v", r)
		}
	}
	if got := j.got[len(j.got)-1]; got != 199 {
		t.Errorf("the 100th number of the second reader of two is %d, want 199", got)
	}
}

func TestTimedRecordsCarryTheirTimeAndSkippedNumbersMakeNone(t *testing.T) {
	src := Timed(10, func(i uint64, v *string) int64 {
		if i%3 == 0 {
			return Skip
		}
		*v = strings.Repeat("x", int(i))
		return int64(i) * 1000
	})
	j := start(t, src, 1, nil)
	j.register()
	j.finish()
	if want := []int64{1000, 2000, 4000, 5000, 7000, 8000}; !slices.Equal(j.times, want) || j.got[5] != "xxxxxxxx" {
		t.Errorf("got times %v of %q", j.times, j.got)
	}
}

func TestEachReaderGetsAFunctionOfItsOwn(t *testing.T) {
	made := 0
	src := PerReader(100, func() (func(uint64, *uint64) int64, error) {
		made++
		return func(i uint64, v *uint64) int64 { *v = i; return 0 }, nil
	})
	j := start(t, src, 4, nil)
	j.register()
	j.finish()
	slices.Sort(j.got)
	if made != 4 || !slices.Equal(j.got, numbers(100)) {
		t.Errorf("%d functions made %v", made, j.got)
	}
	broken := PerReader(1, func() (func(uint64, *int) int64, error) { return nil, errors.New("no table") })
	if _, err := broken.Reader(readerContext{clock: newClock()}); err == nil || !strings.Contains(err.Error(), "no table") {
		t.Errorf("got %v", err)
	}
}

func TestALimitedSourceFollowsTheClockAndSaysWhenToComeBack(t *testing.T) {
	j := start(t, Sequence(0, identity, Rate(10), Splits(1)), 1, nil)
	j.register()
	var out *connector.Output[uint64]
	out = newOutput(func(*uint64, int64) { j.got = append(j.got, 0) })
	drain := func() {
		t.Helper()
		for {
			res, err := j.readers[0].Poll(out)
			if err != nil {
				t.Fatal(err)
			}
			if res == connector.Wait {
				return
			}
		}
	}
	drain()
	if len(j.got) != 1 || out.WakeAfter != 100*time.Millisecond {
		t.Fatalf("%d records at once, then waits %s; want 1 and 100ms", len(j.got), out.WakeAfter)
	}
	j.clock.advance(99 * time.Millisecond)
	drain()
	if len(j.got) != 1 || out.WakeAfter != time.Millisecond {
		t.Fatalf("%d records after 99ms, then waits %s; want 1 and 1ms", len(j.got), out.WakeAfter)
	}
	j.clock.advance(3901 * time.Millisecond)
	drain()
	if len(j.got) != 41 {
		t.Fatalf("%d records after 4s, want 41", len(j.got))
	}
	j.clock.advance(-time.Hour)
	drain()
	if len(j.got) != 41 {
		t.Fatalf("a clock set back gave %d records", len(j.got)-41)
	}
}

func TestALimitIsSharedByAllReaders(t *testing.T) {
	j := start(t, Sequence(0, identity, Rate(1000), Splits(6)), 3, nil)
	j.register()
	for range 100 {
		for i := range 3 {
			for j.poll(i, 7) == connector.More {
			}
		}
		j.clock.advance(10 * time.Millisecond)
	}
	if len(j.got) < 985 || len(j.got) > 1000 {
		t.Errorf("%d records in 0.99 s, want about 991", len(j.got))
	}
}

func TestARestartedLimitedSourceDoesNotCatchUpInABurst(t *testing.T) {
	src := Sequence(0, identity, Rate(10))
	j := start(t, src, 1, nil)
	j.register()
	j.poll(0, 10)
	j.clock.advance(time.Second)
	j.poll(0, 10)
	s := j.snapshot()
	j = start(t, src, 1, s)
	j.clock.advance(time.Hour)
	before := len(j.got)
	j.register()
	for j.poll(0, 10) == connector.More {
	}
	if n := len(j.got) - before; n != 1 {
		t.Errorf("%d records right after the restart, want 1", n)
	}
}

func TestASplitThatJoinsALimitedReaderLateIsNotHeldBackByTheOthers(t *testing.T) {
	j := start(t, Sequence(0, identity, Rate(10), Splits(2)), 1, nil)
	add := func(s split) {
		t.Helper()
		if err := j.readers[0].AddSplits([]connector.Split{s.encode()}); err != nil {
			t.Fatal(err)
		}
	}
	add(newSplit(0, 2, 1000))
	j.poll(0, 10) // starts the clock at number 2000
	add(newSplit(1, 2, 0))
	j.clock.advance(time.Second)
	for j.poll(0, 10) == connector.More {
	}
	j.clock.advance(time.Second)
	for j.poll(0, 10) == connector.More {
	}
	if want := []uint64{2000, 1, 3, 5, 7, 9, 11}; !slices.Equal(j.got, want) {
		t.Errorf("got %v, want %v", j.got, want)
	}
}

func TestSplitsThatComeBackGoToTheReaderThatRegistersAgain(t *testing.T) {
	src := Sequence(100, identity, Splits(4))
	first := start(t, src, 3, nil)
	first.register()
	j := start(t, src, 2, first.snapshot()) // split 1/4 is now with subtask 1, 2/4 with subtask 0 ...
	j.register()
	j.poll(1, 100)
	back, err := first.readers[0].Snapshot(1) // two splits at their start
	if err != nil {
		t.Fatal(err)
	}
	j.enum.AddSplitsBack(back, 1)
	state, err := j.enum.Snapshot(2)
	if err != nil || len(state) != 1+len(back)*splitBytes {
		t.Fatalf("the returned splits are not in the snapshot: %d bytes, %v", len(state), err)
	}
	if j.readers[1], err = src.Reader(readerContext{clock: j.clock}); err != nil {
		t.Fatal(err)
	}
	j.enum.AddReader(1)
	got, err := j.readers[1].Snapshot(3)
	if err != nil || len(got) != len(back) || got[0].ID != back[0].ID {
		t.Errorf("the new reader has %v, want %v", got, back)
	}
}

func TestErrorMessagesCanNameTheRecordBeingMade(t *testing.T) {
	j := start(t, Sequence(10, identity, Splits(2)), 1, nil)
	j.register()
	var at []string
	out := newOutput[uint64](nil)
	out.Emit = func(v *uint64, _ int64) { at = append(at, out.At()) }
	if _, err := j.readers[0].Poll(out); err != nil {
		t.Fatal(err)
	}
	if at[1] != "number 2 of split 0/2" || at[9] != "number 9 of split 1/2" {
		t.Errorf("got %q", at)
	}
}

func TestSplitsAreAnnouncedBeforeTheirRecordsAndFinishedAfterThem(t *testing.T) {
	j := start(t, Sequence(3, identity, Splits(2)), 1, nil)
	j.register()
	var log []string
	out := newOutput(func(v *uint64, _ int64) { log = append(log, string('0'+byte(*v))) })
	out.StartSplit = func(id string) { log = append(log, "start "+id) }
	out.FinishSplit = func(id string) { log = append(log, "finish "+id) }
	if _, err := j.readers[0].Poll(out); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(log, ", "), "start 0/2, 0, 2, finish 0/2, start 1/2, 1, finish 1/2"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestWrongSourcesSayWhatIsWrong(t *testing.T) {
	for want, s := range map[string]*Source[uint64]{
		"a rate of 0 numbers":  Sequence(1, identity, Rate(0)),
		"a rate of -1 numbers": Sequence(1, identity, Rate(-1)),
		"0 splits":             Sequence(1, identity, Splits(0)),
		"65537 splits":         Sequence(1, identity, Splits(MaxSplits+1)),
		"of my own":            Sequence(1, identity, Check(errors.New("of my own"))),
		"no function":          Sequence[uint64](1, nil),
	} {
		_, err := s.Enumerator(enumeratorContext[uint64]{}, nil)
		_, err2 := s.Reader(readerContext{clock: newClock()})
		for _, err := range []error{err, err2} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want an error with %q", err, want)
			}
		}
	}
}

func TestSplitsOfAnotherSourceAreRefused(t *testing.T) {
	src := Sequence(1, identity)
	r, err := src.Reader(readerContext{clock: newClock()})
	if err != nil {
		t.Fatal(err)
	}
	good := newSplit(1, 2, 3)
	for want, data := range map[string][]byte{
		"0 bytes, want 25":              nil,
		"format 9 is not known":         append([]byte{9}, good.appendTo(nil)[1:]...),
		"number 2 of 2":                 (&split{index: 2, of: 2}).appendTo(nil),
		"number 0 of 0":                 (&split{}).appendTo(nil),
		"at count 18446744073709551615": (&split{of: 2, count: 1<<64 - 1}).appendTo(nil),
	} {
		if err := r.AddSplits([]connector.Split{{ID: "x", Data: data}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the reader said %v, want an error with %q", err, want)
		}
		j := &job[uint64]{readers: make([]connector.Reader[uint64], 1)}
		if _, err := src.Enumerator(enumeratorContext[uint64]{job: j}, append([]byte{splitFormat, 7}, data...)); err == nil {
			t.Error("the enumerator took a damaged state")
		}
	}
}

func TestAnEnormousRateIsFullSpeed(t *testing.T) {
	j := start(t, Sequence(5000, identity, Rate(1e300)), 1, nil)
	j.register()
	j.poll(0, 1) // the first number starts the clock
	j.clock.advance(time.Second)
	for j.poll(0, 1000) == connector.More {
	}
	if len(j.got) != 5000 {
		t.Errorf("%d numbers in a second, want all 5000", len(j.got))
	}
}

func FuzzSplit(f *testing.F) {
	s := newSplit(3, 64, 1000)
	f.Add(s.appendTo(nil))
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{0xff}, splitBytes))
	f.Add(append([]byte{2}, s.appendTo(nil)[1:]...))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := decodeSplit(b)
		if err != nil {
			return
		}
		if again := s.appendTo(nil); !bytes.Equal(again, b) {
			t.Errorf("%x reads as %+v, written again as %x", b, s, again)
		}
		if s.index >= s.of || s.next() < s.index {
			t.Errorf("an impossible split was accepted: %+v", s)
		}
	})
}

func FuzzEnumeratorState(f *testing.F) {
	s := newSplit(3, 64, 1000)
	f.Add([]byte{})
	f.Add([]byte{splitFormat})
	f.Add(s.appendTo([]byte{splitFormat}))
	f.Add(append(s.appendTo([]byte{splitFormat}), 1))
	f.Fuzz(func(t *testing.T, b []byte) {
		j := &job[uint64]{readers: make([]connector.Reader[uint64], 1)}
		e, err := newEnumerator(enumeratorContext[uint64]{job: j}, 0, append([]byte{}, b...))
		if err != nil {
			return
		}
		if again, _ := e.Snapshot(1); !bytes.Equal(again, b) {
			t.Errorf("%x written again as %x", b, again)
		}
	})
}

func TestPollDoesNotAllocate(t *testing.T) {
	j := start(t, Into(0, func(i uint64, v *uint64) { *v = i }, Splits(3)), 1, nil)
	j.register()
	sum := uint64(0)
	out := newOutput(func(v *uint64, _ int64) { sum += *v })
	out.StartSplit = func(string) {}
	if n := testing.AllocsPerRun(100, func() {
		if _, err := j.readers[0].Poll(out); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations in one poll", n)
	}
}

// BenchmarkPoll reports the time per record, with the function and the emit that
// do nearly nothing.
func BenchmarkPoll(b *testing.B) {
	j := start(b, Into(0, func(i uint64, v *uint64) { *v = i }), 1, nil)
	j.register()
	sum := uint64(0)
	out := newOutput(func(v *uint64, _ int64) { sum += *v })
	out.Max = 512
	for left := b.N; left > 0; left -= out.Max {
		if _, err := j.readers[0].Poll(out); err != nil {
			b.Fatal(err)
		}
	}
}
