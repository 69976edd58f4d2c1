package segment

// StateID names one table in a segment: a state of an operator, and for state
// that is kept per window its namespace (the window's end in milliseconds; 0
// for state without namespace). Within a segment it is unique.
type StateID struct {
	Name      string
	Namespace int64
}

// Schema describes how the entries of a state are encoded, so that a later
// program can read them field by field. Key and Value are codec fingerprint
// texts (see package codec); Layout names the entry format.
type Schema struct {
	Key, Value string
	Layout     string
}

// Source is one state to be written: usually a snapshot of a table. WriteGroups
// runs beside the task that owns the table; it must not touch live state.
type Source interface {
	ID() StateID
	Schema() Schema
	// WriteGroups writes the entries of each non-empty key group, ascending.
	WriteGroups(w GroupWriter) error
	// Release gives back what the snapshot holds. It is called exactly once,
	// whether WriteGroups ran or not, from any goroutine.
	Release()
}

// GroupWriter receives the entries of one state.
type GroupWriter interface {
	// Begin starts a key group: greater than the last one of this state.
	Begin(keyGroup uint16) error
	// Write appends to the current group. p is not kept. Entries carry their
	// own framing.
	Write(p []byte) (int, error)
	// AddEntries counts entries of the current group, for statistics and as
	// a check on restore.
	AddEntries(n int)
}
