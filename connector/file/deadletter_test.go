package file

import (
	"testing"

	"github.com/cutwater-io/cutwater/connector"
)

func TestADeadLetterKeepsEveryByteAlsoOfWhatIsNoText(t *testing.T) {
	for raw, want := range map[string]string{
		"a \"quoted\" line": `{"source":"a.log","position":"line 3, byte 17","cause":"broken","raw":"a \"quoted\" line"}`,
		"":                  `{"source":"a.log","position":"line 3, byte 17","cause":"broken","raw":""}`,
		"\xff\x00":          `{"source":"a.log","position":"line 3, byte 17","cause":"broken","raw_base64":"/wA="}`,
	} {
		got, err := appendDeadLetter([]byte("before\n"), &connector.BadRecord{
			Split: "a.log", Position: "line 3, byte 17", Raw: []byte(raw), Cause: "broken",
		})
		if err != nil || string(got) != "before\n"+want+"\n" {
			t.Errorf("dead letter of %q: %s, %v; want %s", raw, got, err, want)
		}
	}
}
