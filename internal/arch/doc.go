// Package arch is the shape of the project as a test: which package may import
// which, what the pure ones must not touch, and that what is public is documented.
// It holds no code of the engine.
//
//	5 top      run, connectors, programs
//	4 control  rpc, taskmanager, jobmaster, stream
//	3 data     exchange, operator, transform, task
//	2 storage  host, blob, segment, manifest, joblog, statedir, backend
//	1 pure     keygroup, watermark, barrier, checkpoint, plan, timer
//	0 words    codec, window, agg, connector, ident, batch
//
// An import points to a lower layer, or to a package that stands before in the
// list of the same layer. A new package is added to the table in layers_test.go,
// with the place it has earned.
//
// Start reading in layers_test.go.
package arch
