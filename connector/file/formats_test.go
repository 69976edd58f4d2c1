package file_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/connector/connectortest"
	"github.com/cutwater-io/cutwater/connector/file"
)

type trade struct {
	Symbol string
	Price  float64   `csv:"px"`
	Lots   int32     `csv:",optional"`
	At     time.Time `csv:",optional"`
	Note   string    `csv:"note,optional"`
}

func texts[T any](vs []T) []string {
	var s []string
	for _, v := range vs {
		s = append(s, fmt.Sprint(v))
	}
	return s
}

func badTexts(bad []connector.BadRecord) []string {
	var s []string
	for _, b := range bad {
		s = append(s, fmt.Sprintf("%s: %s: %.20q: %s", filepath.Base(b.Split), b.Position, b.Raw, b.Cause))
	}
	return s
}

func TestCSVFindsColumnsByNameAndJoinsQuotedLines(t *testing.T) {
	dir := put(t, "a.csv", "\ufeffsymbol,extra,px,note\r\nA,x,1.5,\"say \"\"hi\"\",\r\nbye\"\r\n\r\nB,y,,\nC,z,abc,\nD,1,2\nE,\"z\"z,1,\nF,\"open,3,q\nG,g,7,last",
		"b.csv", "note,px,Symbol\nn,2,H\n", "c.csv", "", "d.csv", "px,symbol")
	got, bad := readAll(t, file.CSV[trade](filepath.Join(dir, "*.csv")))
	zero := time.Time{}.String()
	want(t, texts(got),
		"{A 1.5 0 "+zero+" say \"hi\",\r\nbye}", "{B 0 0 "+zero+" }", "{G 7 0 "+zero+" last}", "{H 2 0 "+zero+" n}")
	want(t, badTexts(bad),
		`a.csv: line 6, byte 61: "C,z,abc,": column "px": strconv.ParseFloat: parsing "abc": invalid syntax`,
		`a.csv: line 7, byte 70: "D,1,2": 3 cells, and the header has 4`,
		`a.csv: line 8, byte 76: "E,\"z\"z,1,": text after the end of a quoted cell`,
		`a.csv: line 9, byte 86: "F,\"open,3,q": a quoted cell has no end`)
}

func TestAColumnThatIsMissingIsAnErrorThatNamesIt(t *testing.T) {
	dir := put(t, "a.csv", "symbol,price\nA,1\n")
	err := readError(t, file.CSV[trade](filepath.Join(dir, "*.csv")))
	if !strings.Contains(err, `no column for the field "px"; there are ["symbol" "price"]`) {
		t.Fatal(err)
	}
	if err := readError(t, file.CSV[int]("x")); !strings.Contains(err, "int is no struct") {
		t.Fatal(err)
	}
	if err := readError(t, file.CSV[struct{ C chan int }]("x")); !strings.Contains(err, "no text can be made a chan int") {
		t.Fatal(err)
	}
}

// readError returns the error with which reading a source fails.
func readError[T any](t *testing.T, s connector.Source[T]) string {
	t.Helper()
	j, err := connectortest.StartSource(connectortest.NewEnv(connectortest.OSFiles()), s, 1, nil)
	if err == nil {
		j.Readers[0].Context.NoDeadLetter = true
		_, err = j.Drain(10, nil)
	}
	if err == nil {
		t.Fatal("no error")
	}
	return err.Error()
}

func TestJSONRejectsWhatIsNotCleanJSON(t *testing.T) {
	dir := put(t, "a.jsonl", `{"Symbol":"A","Price":1}`+"\n\n"+`{"Symbol":"B"}`+"\r\n{\"Symbol\":\"\xff\"}\n{\"Symbol\":1}\n{}x\n{\"Price\":2}")
	got, bad := readAll(t, file.JSON[struct {
		Symbol string
		Price  float64
	}](filepath.Join(dir, "*.jsonl")))
	want(t, texts(got), "{A 1}", "{B 0}", "{ 2}")
	if len(bad) != 3 || !strings.Contains(bad[0].Cause, "UTF-8") || bad[0].Position != "line 4, byte 42" {
		t.Fatalf("%q", badTexts(bad))
	}
}

func TestRegexpFillsFieldsByTheNamesOfGroups(t *testing.T) {
	type hit struct {
		Status int
		Path   string `regexp:"p"`
		Query  string `regexp:",optional"`
	}
	dir := put(t, "access.log", "GET /a 200\nGET /b?x=1 404\nnonsense\n\nGET /c 99999999999999999999\n")
	got, bad := readAll(t, file.Regexp[hit](`^GET (?P<p>/\w+)(\?(?P<query>\S+))? (?P<status>\d+)$`, filepath.Join(dir, "*.log")))
	want(t, texts(got), "{200 /a }", "{404 /b x=1}")
	want(t, badTexts(bad),
		`access.log: line 3, byte 26: "nonsense": the line does not match the regular expression`,
		`access.log: line 4, byte 35: "": the line does not match the regular expression`,
		`access.log: line 5, byte 36: "GET /c 9999999999999": group "Status": strconv.ParseInt: parsing "99999999999999999999": value out of range`)
	if err := readError(t, file.Regexp[hit]("(?P<p>x)", "x")); !strings.Contains(err, `no column for the field "Status"`) {
		t.Fatal(err)
	}
}

func TestParseDecodesByPointer(t *testing.T) {
	dir := put(t, "n.txt", "1\nx\n3")
	s := file.Parse(filepath.Join(dir, "n.txt"), func(line []byte, v *int) (err error) {
		*v, err = strconv.Atoi(string(line))
		return err
	})
	got, bad := readAll(t, s)
	want(t, texts(got), "1", "3")
	want(t, badTexts(bad), `n.txt: line 2, byte 2: "x": strconv.Atoi: parsing "x": invalid syntax`)
	if err := readError(t, s); !strings.Contains(err, connectortest.ErrBadRecord.Error()) {
		t.Fatal(err)
	}
}

func TestALineThatIsTooLongIsABadRecordAndTheNextIsFound(t *testing.T) {
	long := strings.Repeat("x", 700_000)
	dir := put(t, "a.txt", "ok\n"+long+"\n0123456789\r\n0123456789a\nend\n"+long)
	got, bad := readAll(t, file.Lines(filepath.Join(dir, "a.txt")).MaxLine(10))
	want(t, got, "ok", "0123456789", "end")
	if len(bad) != 3 || bad[0].Position != "line 2, byte 3" || bad[1].Position != "line 4, byte 700016" || bad[2].Position != "line 6, byte 700032" {
		t.Fatalf("%q", badTexts(bad))
	}
	if len(bad[0].Raw) != 1024 {
		t.Fatalf("%d bytes of the bad record", len(bad[0].Raw))
	}
	got, bad = readAll(t, file.Lines(filepath.Join(dir, "a.txt")))
	if len(got) != 6 || got[1] != long || got[5] != long || bad != nil {
		t.Fatalf("%d lines, %d bad", len(got), len(bad))
	}
}

func TestEveryWrongInputIsAClearError(t *testing.T) {
	dir := put(t, "cut.gz", "", "bad.gz", "no gzip", "bad.zst", "no zstd", "ok.txt", "x")
	for name, part := range map[string]string{
		"none*":   "no file matches",
		"[":       "syntax error in pattern",
		"bad.gz":  "unpack gzip",
		"bad.zst": "magic number",
	} {
		if err := readError(t, file.Lines(filepath.Join(dir, name))); !strings.Contains(err, part) || !strings.Contains(err, name) {
			t.Errorf("%s: %s", name, err)
		}
	}
	if err := readError(t, file.Lines()); !strings.Contains(err, "no pattern") {
		t.Error(err)
	}
}

func TestSinksWriteWhatSourcesRead(t *testing.T) {
	dir := t.TempDir()
	trades := []trade{
		{"A", 1.25, 3, time.Date(2026, 11, 29, 1, 2, 3, 4, time.UTC), "a,\"b\"\r\nc"},
		{"", 0, 0, time.Time{}, ""}, {"B", -1e300, -5, time.Unix(0, 0).UTC(), "\xff ü"},
	}
	w, c := openSink(t, file.CSVSink[trade](dir), osContext())
	write(t, w, trades...)
	commit(t, c, 1, prepare(t, w, 1))
	got, bad := readAll(t, file.CSV[trade](filepath.Join(dir, "*.csv")))
	want(t, texts(got), texts(trades)...)
	want(t, badTexts(bad))

	trades[2].Note = "ü\n"
	wj, cj := openSink(t, file.JSONSink[trade](dir), osContext())
	write(t, wj, trades...)
	commit(t, cj, 1, prepare(t, wj, 1))
	gotJ, bad := readAll(t, file.JSON[trade](filepath.Join(dir, "*.jsonl")))
	want(t, texts(gotJ), texts(trades)...)
	want(t, badTexts(bad))
}

func TestAnEncoderThatFailsFailsTheWriterForGood(t *testing.T) {
	fail := errors.New("no")
	w, _ := openSink(t, file.SinkFunc(t.TempDir(), func(dst []byte, v *int) ([]byte, error) { return dst, fail }), osContext())
	v := 1
	if err := w.Write(&v, 0); !errors.Is(err, fail) {
		t.Fatal(err)
	}
	if _, err := w.Prepare(1); !errors.Is(err, fail) {
		t.Fatal(err)
	}
}
