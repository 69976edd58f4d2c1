package file_test

import (
	"strings"
	"testing"
	"time"

	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/connector/connectortest"
	"github.com/cutwater-io/cutwater/connector/file"
)

// follow is a source that follows the files /log/*.log on a disk in memory.
type follow struct {
	t    *testing.T
	disk *connectortest.Disk
	env  connector.Env
	s    connector.Source[string]
	job  *connectortest.SourceJob[string]
}

func startFollow(t *testing.T) *follow {
	d := connectortest.NewDisk()
	f := &follow{t: t, disk: d, env: connectortest.NewEnv(d), s: file.Lines("/log/*.log").Follow()}
	f.must(d.MkdirAll("/log"))
	f.restore(nil)
	return f
}

func (f *follow) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *follow) restore(from *connectortest.SourceState) {
	f.t.Helper()
	var err error
	f.job, err = connectortest.StartSource(f.env, f.s, 2, from)
	f.must(err)
}

func (f *follow) append(name, text string) {
	f.t.Helper()
	store(f.t, f.disk, name, []byte(text))
}

// look lets a second pass and returns the new records, sorted by reader.
func (f *follow) look() string {
	f.t.Helper()
	f.env.Clock.(*connectortest.Clock).Advance(time.Second)
	f.job.RunAsync()
	got, err := f.job.Drain(2, nil)
	f.must(err)
	return strings.Join(got, " ")
}

func (f *follow) expect(want string) {
	f.t.Helper()
	if got := f.look(); got != want {
		f.t.Fatalf("got %q, want %q", got, want)
	}
}

func (f *follow) checkpoint() *connectortest.SourceState {
	f.t.Helper()
	s, err := f.job.Checkpoint()
	f.must(err)
	return &s
}

func TestAFollowedFileIsReadAsItGrowsAndOnlyInWholeLines(t *testing.T) {
	f := startFollow(t)
	f.expect("")
	f.append("/log/a.log", "a1\na")
	f.expect("a1")
	f.expect("")
	f.append("/log/a.log", "2\n")
	f.expect("a2")
	f.append("/log/a.log", "a3\r")
	f.expect("")
	f.append("/log/a.log", "\n\n")
	f.expect("a3 ")
}

func TestARenamedFileIsReadToItsEndAndItsSuccessorFromTheBegin(t *testing.T) {
	f := startFollow(t)
	f.append("/log/a.log", "a1\n")
	f.expect("a1")
	f.append("/log/a.log", "a2\n")
	f.must(f.disk.Rename("/log/a.log", "/log/a.log.1"))
	f.append("/log/a.log", "b1\n")
	f.append("/log/a.log.1", "a3\nend")
	got := f.look()
	if got != "a2 a3 b1" && got != "b1 a2 a3" {
		t.Fatal(got)
	}
	f.expect("")    // first look without a name
	f.expect("end") // second: nobody writes to it any more
	f.append("/log/a.log", "b2\n")
	f.expect("b2")
}

func TestARenamedFileThatStillMatchesIsNotReadAgain(t *testing.T) {
	f := startFollow(t)
	f.append("/log/a.log", "a1\na2\n")
	f.expect("a1 a2")
	f.must(f.disk.Rename("/log/a.log", "/log/a-old.log"))
	f.append("/log/a.log", "b1\n")
	f.expect("b1")
	for range 4 {
		f.expect("")
	}
	f.append("/log/a-old.log", "late\n")
	f.expect("late")
	f.restore(f.checkpoint())
	f.expect("")
}

func TestAFileThatIsCutIsReadFromItsBegin(t *testing.T) {
	f := startFollow(t)
	f.append("/log/a.log", "a1\na2\n")
	f.expect("a1 a2")
	file, err := f.disk.OpenAppend("/log/a.log")
	f.must(err)
	f.must(file.Truncate(0))
	f.append("/log/a.log", "b\n")
	f.expect("b") // after the reader said that its file is no more
	f.append("/log/a.log", "c\n")
	f.expect("c")
	f.restore(f.checkpoint())
	f.expect("")
}

func TestAFollowedFileIsFoundUnderItsNewNameAfterARestore(t *testing.T) {
	f := startFollow(t)
	f.append("/log/a.log", "a1\na2\n")
	f.expect("a1 a2")
	state := f.checkpoint()
	f.append("/log/a.log", "a3\n")
	f.expect("a3") // lost with the process
	f.must(f.disk.Rename("/log/a.log", "/log/a.log.1"))
	f.append("/log/a.log", "b1\n")
	f.restore(state)
	if got := f.look(); got != "a3 b1" && got != "b1 a3" {
		t.Fatal(got)
	}
	f.restore(f.checkpoint())
	f.expect("")
}

func TestAFollowedFileThatWasRemovedUnreadFailsTheRestore(t *testing.T) {
	f := startFollow(t)
	f.append("/log/a.log", "a1\na2\n")
	got, err := f.job.Drain(1, func(n int) bool { return n == 1 })
	f.must(err)
	if len(got) != 1 {
		f.job.RunAsync()
		got, err = f.job.Drain(1, func(n int) bool { return n == 1 })
		f.must(err)
	}
	want(t, got, "a1")
	state := f.checkpoint()
	f.must(f.disk.Remove("/log/a.log"))
	f.restore(state)
	if _, err := f.job.Drain(1, nil); err == nil || !strings.Contains(err.Error(), "only 3 of its 6 bytes were read") {
		t.Fatal(err)
	}
}

func TestAFollowedFileThatWasRemovedAfterItWasReadIsForgotten(t *testing.T) {
	f := startFollow(t)
	f.append("/log/a.log", "a1\n")
	f.expect("a1")
	state := f.checkpoint()
	f.must(f.disk.Remove("/log/a.log"))
	f.restore(state)
	f.expect("")
	f.append("/log/a.log", "b1\n")
	f.expect("b1")
}

func TestAFileThatWasCutAndGrewBeyondItsOldEndIsReadFromItsBegin(t *testing.T) {
	f := startFollow(t)
	f.append("/log/a.log", "a1\n")
	f.expect("a1")
	file, err := f.disk.OpenAppend("/log/a.log")
	f.must(err)
	f.must(file.Truncate(0))
	f.append("/log/a.log", "b1\nb2\n")
	f.expect("b1 b2")
	f.expect("")
}

func TestAFileThatWasCutWhileTheJobWasDownIsReadFromItsBegin(t *testing.T) {
	f := startFollow(t)
	f.append("/log/a.log", "first\n"+strings.Repeat("x", 1500)+"\nlast\n")
	if got := f.look(); len(got) != 5+1+1500+1+4 {
		t.Fatalf("%d bytes", len(got))
	}
	state := f.checkpoint()
	file, err := f.disk.OpenAppend("/log/a.log")
	f.must(err)
	f.must(file.Truncate(1400)) // the fingerprint still fits
	f.append("/log/a.log", "\n")
	f.restore(state)
	if got := f.look(); !strings.HasPrefix(got, "first x") {
		t.Fatalf("%.20q", got)
	}
	f.expect("")
}

func TestFollowCannotBeSwitchedOnForAnOldCheckpoint(t *testing.T) {
	f := startFollow(t)
	state := f.checkpoint()
	f.append("/log/a.log", "x\n")
	if _, err := connectortest.StartSource(f.env, connector.Source[string](file.Lines("/log/*.log")), 1, state); err == nil || !strings.Contains(err.Error(), "Follow") {
		t.Fatal(err)
	}
}

func TestAFileThatIsMissedAtOneLookIsNotReadAgain(t *testing.T) {
	f := startFollow(t)
	f.append("/log/a.log", "a1\n")
	f.expect("a1")
	f.must(f.disk.Rename("/log/a.log", "/elsewhere"))
	f.expect("")
	f.expect("")
	f.must(f.disk.Rename("/elsewhere", "/log/b.log"))
	f.expect("")
}

func TestEachFollowedCSVFileHasItsOwnHeader(t *testing.T) {
	type row struct{ A, B string }
	d := connectortest.NewDisk()
	f := &follow{t: t, disk: d}
	f.append("/a.csv", "a,b\n1,2\n")
	f.append("/b.csv", "b,")
	env := connectortest.NewEnv(d)
	j, err := connectortest.StartSource(env, connector.Source[row](file.CSV[row]("/*.csv").Follow()), 1, nil)
	f.must(err)
	_, err = j.Drain(1, nil)
	f.must(err)
	f.append("/b.csv", "a\n3,4\n")
	f.append("/a.csv", "5,6\n")
	env.Clock.(*connectortest.Clock).Advance(time.Second)
	_, err = j.Drain(1, nil)
	f.must(err)
	got := strings.Join(texts(j.Readers[0].Got), " ")
	if got != "{1 2} {5 6} {4 3}" && got != "{1 2} {4 3} {5 6}" {
		t.Fatal(got)
	}
}

func TestS357FollowedLinesConform(t *testing.T) {
	connectortest.Source(t, connectortest.SourceCase[string]{
		Unbounded: true,
		Open: func(t *testing.T, files connector.Files) (connector.Source[string], []string) {
			store(t, files, "/a.txt", []byte("a1\na2\r\n\na4"))
			store(t, files, "/b.txt", nil)
			store(t, files, "/d.txt", []byte("d1\nd2\nd3\nd4\nd5\n"))
			store(t, files, "/e.txt.gz", packGzip(t, "e1\ne2\ne3"))
			return file.Lines("/*.txt", "/*.gz").Follow(), []string{"a1", "a2", "", "d1", "d2", "d3", "d4", "d5", "e1", "e2", "e3"}
		},
	})
}
