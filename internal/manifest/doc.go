// Package manifest describes completed checkpoints: which state every operator
// had, subtask by subtask, and where its bytes are. It encodes the description,
// finds the state of each operator of a new program in it, and deals the state
// out to a new number of subtasks.
//
//	checkpoint complete                    restore
//	  Manifest --Encode--> bytes --Decode--> Manifest
//	                         |                  | Match: operator by id
//	                blob.Store object           v
//	         chk/7-4f0c.../manifest        OperatorState
//	      (published by package joblog)         | Assign: new parallelism
//	                                            v
//	                                        []Restored, one a subtask
//
// Rules for callers: a manifest is immutable once it is written. Its name is
// unique and never used twice, so an object of that name that no log entry
// mentions is an orphan and nothing else. A manifest that does not decode is an
// error to stop at, never a reason to take an older one.
//
// Everything here but [Write] and [Read] is pure; nothing starts a goroutine.
// Start reading in state.go, then encode.go and assign.go. The bytes are drawn
// in doc/format/manifest.md.
package manifest
