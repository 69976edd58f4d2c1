package checkpoint

import "github.com/cutwater-io/cutwater/internal/ident"

// failureManager counts failures in a row (specification 3.7).
//
// The specification also keeps the set of ids already counted, because one
// checkpoint may be reported failed many times. Here an id has one outcome, and
// the report is made by the transition that ends it, so no set is needed (S049,
// S091).
type failureManager struct {
	tolerable     int // UnlimitedFailures: all
	inRow         int
	lastSucceeded ident.CheckpointID
}

// failed notes that a checkpoint ended with reason, and reports whether that is
// one failure too many, and how many there were. The count starts over then.
// byTask says that a task is known to have caused it. id is 0 when the failure
// came before there was one.
func (f *failureManager) failed(kind Kind, id ident.CheckpointID, reason Reason, byTask bool) (inRow int, tooMany bool) {
	if reason == ReasonNone {
		panic("checkpoint: a failure without a reason")
	}
	counted := reason.Counted()
	if !byTask || reason.PreFlight() {
		// The failure is the JobMaster's. Those of savepoints are reported to
		// the user who asked, and are no reason to restart the job.
		counted = counted && kind != Savepoint
	}
	if !counted || (id != 0 && id <= f.lastSucceeded) {
		return f.inRow, false
	}
	f.inRow++
	inRow = f.inRow
	if f.tolerable == UnlimitedFailures || f.inRow <= f.tolerable {
		return inRow, false
	}
	f.inRow = 0
	return inRow, true
}

// succeeded notes that id completed.
func (f *failureManager) succeeded(id ident.CheckpointID) {
	if id > f.lastSucceeded {
		f.lastSucceeded = id
		f.inRow = 0
	}
}
