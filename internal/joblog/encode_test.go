package joblog

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"flag"
	"hash/crc32"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/cutwater-io/cutwater/internal/blob"
	"github.com/cutwater-io/cutwater/internal/ident"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden file")

// samples has an entry of each kind.
func samples() []record {
	job := ident.JobID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	writer := [16]byte{0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xaa, 0xab, 0xac, 0xad, 0xae, 0xaf}
	var records []record
	for i, e := range []Entry{
		Created{Job: job, JobName: "word-count"},
		Claim{Token: 3},
		Reserve{First: 17, Count: 16},
		Completed{Checkpoint: 17, Kind: SyncSavepoint, Manifest: "chk/17-4f0c/manifest"},
		Removed{Checkpoint: 16},
		Fresh{},
		Stopped{Status: Failed, Message: "operator \"count\": disk full"},
		void{},
		snapshot{state{job: job, jobName: "word-count", token: 3, nextID: 33, lastStop: Canceled, finished: true,
			completed: []Completed{{Checkpoint: 17, Manifest: "a"}, {Checkpoint: 18, Kind: Savepoint, Manifest: "b"}},
			former:    []Completed{{Checkpoint: 4, Manifest: "c"}}}},
	} {
		r := record{slot: uint64(i + 1), token: 3, writer: writer, entry: e}
		if i == 0 {
			r.token = 0
		}
		records = append(records, r)
	}
	return records
}

func TestTheBytesOfEachEntryAreThoseOfTheGoldenFile(t *testing.T) {
	var got strings.Builder
	for _, r := range samples() {
		got.WriteString(r.entry.String() + "\n" + hex.Dump(r.encode()) + "\n")
	}
	const file = "testdata/entries.txt"
	if *rewrite {
		if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("the format has changed; if that is meant, it needs a new version:\n%s", got.String())
	}
}

func TestAnEntryIsReadAsItWasWritten(t *testing.T) {
	for _, r := range samples() {
		got, err := decode(r.slot, r.encode())
		if err != nil || !reflect.DeepEqual(*got, r) {
			t.Errorf("%s: read %+v, %v", r.entry, got, err)
		}
	}
}

func TestAnEntryOfANewerFormatAsksForANewerProgram(t *testing.T) {
	b := samples()[0].encode()
	b[4] = 9
	_, err := decode(1, resealed(b))
	if err == nil || errors.Is(err, blob.ErrCorrupt) || !strings.Contains(err.Error(), "format version 9") {
		t.Errorf("error is %v", err)
	}
}

// resealed makes the checksum right again.
func resealed(b []byte) []byte {
	if len(b) < crcSize {
		return b
	}
	b = append([]byte(nil), b[:len(b)-crcSize]...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func FuzzEntriesAreDecodedExactlyOrRefused(f *testing.F) {
	for _, r := range samples() {
		f.Add(r.encode())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		b = resealed(b) // else nothing gets beyond the checksum
		r, err := decodeRecord(b)
		if err != nil {
			return
		}
		if again := r.encode(); string(again) != string(b) {
			t.Errorf("%x was decoded and encodes to %x", b, again)
		}
	})
}
