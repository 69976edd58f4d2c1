package codec

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

func TestS302ListsWithNilsEmptyAndVeryLargeValuesComeBackAsTheyWere(t *testing.T) {
	type list struct {
		Pointers []*string
		Bytes    [][]byte
		Texts    []string
		Nil      []int64
		Empty    []int64
	}
	text := ""
	in := list{
		Pointers: []*string{nil, &text, nil},
		Bytes:    [][]byte{nil, {}, bytes.Repeat([]byte{7}, 1<<20)},
		Texts:    []string{"", strings.Repeat("x", 1<<20), ""},
		Empty:    []int64{},
	}
	c, err := For[list]()
	if err != nil {
		t.Fatal(err)
	}
	var out list
	rest, err := c.Decode(c.Append(nil, &in), &out)
	if err != nil || len(rest) > 0 {
		t.Fatalf("decode: %v, %d bytes left", err, len(rest))
	}
	if !reflect.DeepEqual(in, out) {
		t.Error("the list has changed")
	}
}
