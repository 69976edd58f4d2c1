package barrier

import "strings"

// Options says what kind of snapshot a barrier asks for. They travel with the
// barrier from the trigger to the sinks and are the same on every channel. Bits
// without a name here are carried through untouched.
type Options uint8

// The options the cores act on. Zero is an ordinary checkpoint.
const (
	// Savepoint was asked for by a user, who also owns it.
	Savepoint Options = 1 << iota
	// Synchronous is the last snapshot before the job stops: the task reads no
	// further input after it and ends when it completes.
	Synchronous
	// Drain, with Synchronous, ends the data first: time advances to its end and
	// operators emit what they still hold.
	Drain
)

func (o Options) has(bit Options) bool { return o&bit != 0 }

func (o Options) String() string {
	var names []string
	for _, n := range []struct {
		bit  Options
		name string
	}{{Savepoint, "savepoint"}, {Synchronous, "synchronous"}, {Drain, "drain"}} {
		if o.has(n.bit) {
			names = append(names, n.name)
		}
	}
	if len(names) == 0 {
		return "checkpoint"
	}
	return strings.Join(names, "+")
}
