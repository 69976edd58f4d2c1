// Package blobtest checks implementations of [blob.Store], and breaks stores on
// purpose for tests of their callers.
//
//	TestStore(t, open)         what every store must do, one sentence a subtest
//	Faulty{Store, Fault}       a store whose operations fail before, after, or
//	                           with an outcome nobody knows
//
// Rules for callers: open must return an empty store each time. The suite starts
// goroutines only inside a subtest and waits for them.
//
// Start reading in suite.go.
package blobtest
