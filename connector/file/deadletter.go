package file

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/cutwater-io/cutwater/connector"
)

// DeadLetters writes the input that a source could not decode, as JSON Lines to
// parts with the extension ".jsonl":
//
//	lines.SideOutput(stream.BadRecords).To(file.DeadLetters("dead-letters"))
//
// Each line has source (the file), position (line and byte), cause, and raw: the
// first 1024 bytes of the input. Input that is not UTF-8 is in raw_base64 instead.
func DeadLetters(dir string) *PartSink[connector.BadRecord] {
	return SinkFunc(dir, appendDeadLetter).Extension(".jsonl")
}

// deadLetter is a line of DeadLetters. JSON strings cannot hold every byte, so
// what is not text goes where encoding/json writes base64.
type deadLetter struct {
	Source    string  `json:"source"`
	Position  string  `json:"position"`
	Cause     string  `json:"cause"`
	Raw       *string `json:"raw,omitempty"`
	RawBase64 []byte  `json:"raw_base64,omitempty"`
}

func appendDeadLetter(dst []byte, r *connector.BadRecord) ([]byte, error) {
	l := deadLetter{Source: r.Split, Position: r.Position, Cause: r.Cause}
	if utf8.Valid(r.Raw) {
		text := string(r.Raw)
		l.Raw = &text
	} else {
		l.RawBase64 = r.Raw
	}
	line, err := json.Marshal(l)
	return append(append(dst, line...), '\n'), err
}
