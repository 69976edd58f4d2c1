// Package file reads records from files and writes them to files, exactly once.
//
//	source                                      sink
//
//	glob --> Enumerator: one split a file       Write --> .staging/<job>~<operator>~...
//	             |  asked for, one by one                    |  Prepare: write, fsync
//	             v                                           v
//	         Reader: file + byte offset         committable {staged, target, size, crc}
//	             |                                           |  checkpoint complete
//	             v                                           v
//	          records                           rename --> part-<subtask>-<checkpoint>-<n>.txt
//
// # Reading
//
// [Lines], [JSON], [CSV], [Regexp] and [Parse] are sources. A file is one split;
// its position is the offset of the byte after the last record that was
// emitted, so a restored job goes on with exactly the next record. Files that
// end in .gz or .zst are decompressed; their offsets count decompressed bytes,
// and a restore reads the file again up to there.
//
// Without [Source.Follow] the files that match when the job starts for the
// first time are read to their end, in the order of their names, and the source
// is finished. With it the source never ends: it looks for new files and for
// growth, and knows a file that was renamed.
//
// # Writing
//
// [Sink], [SinkFunc], [LinesSink], [JSONSink] and [CSVSink] write part files, and
// [DeadLetters] those of input that could not be read. A part is invisible (in the directory .staging) until the checkpoint that
// contains its records is complete; then it is published by one rename and
// never touched again. A reader of the directory that ignores .staging sees
// every record exactly once, also after crashes.
//
// # Rules for callers
//
//   - The files of a bounded source must not change while the job runs, and as
//     long as it may be restored.
//   - Staging and published files must be on one file system; with several
//     machines that is a shared one.
//   - Two jobs, or two sinks of one job, may share a directory only with
//     different [PartSink.Prefix].
//   - Who takes published files away tells the sink so: [PartSink.PartsMayBeTaken].
//
// # Threads
//
// The package starts no goroutine. Readers, writers and committers belong to
// the goroutine of their subtask, the enumerator to the JobMaster's; looking for
// new files runs through EnumeratorContext.CallAsync.
//
// Start reading in source.go and sink.go; then cursor.go (how lines are cut) and
// committer.go (why a commit may be repeated).
package file
