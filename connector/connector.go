package connector

import (
	"context"
	"io/fs"
	"log/slog"
	"time"
)

// Split is a piece of a source with its current position. Data is the
// connector's own encoding of both; the engine only stores and moves it. ID is
// unique within the source and stays the same while the position moves.
type Split struct {
	ID   string
	Data []byte
}

// Source is a description of a source: it holds configuration and no open
// resource. Its methods are called once per execution attempt. A source with a
// method Validate() error is asked when the pipeline is built, so that a mistake
// in its configuration is reported with all others and a source line.
type Source[T any] interface {
	// Enumerator makes the enumerator. restored is what Snapshot returned for
	// the checkpoint the job starts from; nil on a fresh start.
	Enumerator(ctx EnumeratorContext, restored []byte) (Enumerator, error)
	// Reader makes the reader of one subtask. Restored splits arrive by
	// AddSplits, like assigned ones.
	Reader(ctx ReaderContext) (Reader[T], error)
}

// Env is what a connector may know and use of the world. Everything that would
// make a run unrepeatable comes from here, so that a simulation can own it.
type Env struct {
	// Clock is the time. Never nil.
	Clock Clock
	// Files is the file system. Never nil.
	Files Files
	// Log is for warnings that do not stop the job; errors are returned
	// instead. Never nil.
	Log *slog.Logger
	// Random returns a number that no other process draws. It is for unique
	// names, not for data.
	Random func() uint64
}

// Clock tells the time. Now is wall-clock time; After behaves as time.After.
type Clock interface {
	Now() time.Time
	After(d time.Duration) <-chan time.Time
}

// Files is the file system as connectors see it. Names are ordinary paths of
// the machine. Errors satisfy errors.Is with the io/fs sentinels.
type Files interface {
	// Open opens a file for reading.
	Open(name string) (File, error)
	// Create makes a new file for writing and fails with fs.ErrExist when it
	// is there already.
	Create(name string) (File, error)
	// OpenAppend opens an existing or new file for writing at its end.
	OpenAppend(name string) (File, error)
	// Stat describes a file; it follows links.
	Stat(name string) (fs.FileInfo, error)
	// ReadDir returns the entries of a directory, sorted by name.
	ReadDir(name string) ([]fs.DirEntry, error)
	// MkdirAll makes a directory and those above it. One that is there already
	// is no error.
	MkdirAll(name string) error
	// Rename replaces newName if it exists.
	Rename(oldName, newName string) error
	// Remove deletes a file or an empty directory.
	Remove(name string) error
	// SyncDir makes renames and creations in a directory durable.
	SyncDir(name string) error
}

// File is an open file. Its methods behave as those of os.File.
type File interface {
	// Read reads at the current offset; io.EOF at the end.
	Read(p []byte) (int, error)
	// ReadAt reads at an offset in bytes and leaves the current one alone.
	ReadAt(p []byte, off int64) (int, error)
	// Write writes at the current offset, or at the end after OpenAppend.
	Write(p []byte) (int, error)
	// Stat describes the open file, also after it was renamed.
	Stat() (fs.FileInfo, error)
	// Truncate cuts the file to size bytes.
	Truncate(size int64) error
	// Sync makes what was written durable. The name of a new file is durable
	// only after Files.SyncDir.
	Sync() error
	// Close closes the file; it does not sync.
	Close() error
}

// EnumeratorContext is the enumerator's side of the event gateway. Calls may be
// made from any goroutine, and what they send is delivered in order. What is sent
// from the enumerator's goroutine is either part of a checkpoint on both sides or
// on neither; so splits that Snapshot stores are assigned from there, for example
// in done of CallAsync.
type EnumeratorContext interface {
	// Env is the world.
	Env() Env
	// Parallelism is the number of readers: subtasks 0 to Parallelism-1.
	Parallelism() int
	// Assign gives splits to the reader of a subtask.
	Assign(subtask int, splits ...Split)
	// NoMoreSplits tells a reader that it has all splits it will ever get.
	NoMoreSplits(subtask int)
	// Send delivers an event to the reader's HandleEvent.
	Send(subtask int, event []byte)
	// CallAsync runs work in a goroutine of its own and then done with the
	// result in the enumerator's goroutine. ctx ends when the enumerator is
	// closed. every > 0 repeats it, that long after the last one was done.
	CallAsync(work func(ctx context.Context) (any, error), done func(result any, err error), every time.Duration)
}

// Enumerator finds splits and assigns them. All methods run in one goroutine
// and must not block.
type Enumerator interface {
	// Start is called once, before any other method. An error fails the job.
	Start() error
	// AddReader tells that the reader of a subtask is ready to receive splits.
	// It is called again, for the same subtask, after a restart of the reader
	// or after a restore: readers that already know that there are no more
	// splits ask again.
	AddReader(subtask int)
	// AddSplitsBack returns splits of a failed reader that no checkpoint
	// holds.
	AddSplitsBack(splits []Split, subtask int)
	// HandleRequest is a reader's request for another split.
	HandleRequest(subtask int)
	// HandleEvent is an event that the reader sent.
	HandleEvent(subtask int, event []byte)
	// Snapshot returns the enumerator's state: splits not yet assigned and
	// where discovery stands, never nil. Registered readers are not part of
	// it. An error fails the checkpoint.
	Snapshot(checkpoint uint64) ([]byte, error)
	// NotifyComplete tells that a checkpoint is complete. Most do nothing.
	NotifyComplete(checkpoint uint64)
	// Close releases what is open. No method is called after it.
	Close() error
}

// ReaderContext is what a reader is made with.
type ReaderContext interface {
	// Env is the world.
	Env() Env
	// Subtask is the reader's number, from 0.
	Subtask() int
	// Parallelism is the number of readers.
	Parallelism() int
	// RequestSplit asks the enumerator for one more split.
	RequestSplit()
	// Send delivers an event to the enumerator's HandleEvent.
	Send(event []byte)
	// Wake makes the engine call Poll again after it returned [Wait]. It may
	// be called from any goroutine and never blocks.
	Wake()
	// BadRecord hands over a record that could not be decoded: to the dead
	// letter output when the source has one (then it returns nil), else it
	// returns the error with which the job should fail; Poll returns it.
	BadRecord(r BadRecord) error
}

// BadRecord is input that could not be turned into a record.
type BadRecord struct {
	// Split and Position say where it was found, for example a file and
	// "line 17, byte 1024".
	Split, Position string
	// Raw is the input, cut to a sensible length. The receiver keeps it.
	Raw []byte
	// Cause says what is wrong with it.
	Cause string
}

// PollResult says what a reader wants next.
type PollResult int

const (
	// More: there may be more records at once.
	More PollResult = iota
	// Wait: nothing to read now; call again after Wake or after the time set
	// by Output.WakeAfter.
	Wait
	// Finished: all splits are read to their end and NoMoreSplits was called.
	Finished
)

// Reader reads the splits of one subtask.
type Reader[T any] interface {
	// AddSplits gives the reader more splits, each with the position to go on
	// from. A reader that waits calls Wake, so that it is polled again.
	AddSplits(splits []Split) error
	// NoMoreSplits tells that no further split will come; a reader that waits
	// calls Wake. It may come more than once.
	NoMoreSplits()
	// HandleEvent is an event that the enumerator sent.
	HandleEvent(event []byte) error
	// Poll emits at most out.Max records and returns. It must not block on
	// input: when nothing is there it returns Wait. After each return the
	// positions of all splits are exactly after the last emitted record.
	Poll(out *Output[T]) (PollResult, error)
	// Snapshot returns the splits not yet finished with their positions, also
	// those not yet begun. It is called between two Polls.
	Snapshot(checkpoint uint64) ([]Split, error)
	// NotifyComplete tells that a checkpoint is complete, for readers that
	// report positions to the outside. Most do nothing.
	NotifyComplete(checkpoint uint64) error
	// Close releases what is open. No method is called after it.
	Close() error
}

// Output receives what a reader emits.
type Output[T any] struct {
	// Emit hands over one record with its event time in milliseconds since
	// 1970; NoTimestamp when the source has none. The record is the engine's
	// from then on, but *v is read only during the call, so one variable can
	// be used again for every record.
	Emit func(v *T, timestampMillis int64)
	// StartSplit says that the following records belong to a split, for
	// watermarks per split. Readers that never have two splits may leave it.
	StartSplit func(id string)
	// EmptySplit says that a split was looked at and had nothing new. Only
	// such time counts as idle.
	EmptySplit func(id string)
	// FinishSplit says that a split ended: it no longer holds back time.
	FinishSplit func(id string)
	// At says where the record comes from that is emitted next, for error
	// messages: read only when a user function fails. It may be nil.
	At func() string
	// Max is the number of records one Poll may emit.
	Max int
	// WakeAfter, set by the reader before it returns Wait, asks for another
	// Poll after that time. Zero waits for Wake.
	WakeAfter time.Duration
}

// NoTimestamp is the event time of a record that has none.
const NoTimestamp = int64(-1 << 63)

// Sink is a description of a sink: it holds configuration and no open resource.
// As with a [Source], a method Validate() error is asked when the pipeline is
// built.
type Sink[T any] interface {
	// Writer makes the writer of one subtask. restored holds the elements
	// that Snapshot of the writers returned for the checkpoint the job starts
	// from, redistributed if the parallelism changed; nil on a fresh start.
	Writer(ctx WriterContext, restored [][]byte) (Writer[T], error)
}

// CommittingSink is a sink with a second phase. Its writers implement
// [CommittingWriter].
type CommittingSink[T any] interface {
	Sink[T]
	// Committer makes the committer of one subtask. There are as many as
	// writers.
	Committer(ctx CommitterContext) (Committer, error)
}

// WriterContext is what a writer is made with.
type WriterContext interface {
	// Env is the world.
	Env() Env
	// Job is the job's id: together with Operator, Subtask, Attempt and the
	// checkpoint it names transactions.
	Job() string
	// Operator is the sink's stable name.
	Operator() string
	// Subtask is the writer's number, from 0.
	Subtask() int
	// Parallelism is the number of writers.
	Parallelism() int
	// Attempt is a number that no other attempt of this subtask had or will
	// have, in this or another process.
	Attempt() uint64
	// RestoredFrom is the checkpoint the job started from; 0 on a fresh start.
	RestoredFrom() uint64
}

// CommitterContext is what a committer is made with.
type CommitterContext interface {
	// Env is the world.
	Env() Env
	// Job and Operator are those of the writers.
	Job() string
	// Operator is the sink's stable name, as its writers see it.
	Operator() string
	// Subtask is the committer's number, from 0.
	Subtask() int
	// Parallelism is the number of committers in this run; committables may
	// come from writers of a run with another number.
	Parallelism() int
	// RestoredFrom is the checkpoint the job started from; 0 on a fresh start.
	RestoredFrom() uint64
}

// Writer writes the records of one subtask.
type Writer[T any] interface {
	// Write takes one record. *v is only valid during the call.
	Write(v *T, timestampMillis int64) error
	// Flush is called before every barrier and at the end of input. It must
	// report every error of earlier asynchronous writes.
	Flush(endOfInput bool) error
	// Snapshot returns the writer's state as a list of elements that may be
	// redistributed to other subtasks; nil when there is none. It is called
	// after Flush and, in a two-phase sink, after Prepare.
	Snapshot(checkpoint uint64) ([][]byte, error)
	// Close releases what is open and drops what was not prepared. What was
	// prepared is left to the committer.
	Close() error
}

// CommittingWriter is a writer of a two-phase sink.
type CommittingWriter[T any] interface {
	Writer[T]
	// Prepare ends the current transaction so that it can be committed from
	// another process, and returns its committables: none when nothing was
	// written. It is called after Flush and before the barrier.
	Prepare(checkpoint uint64) ([]Committable, error)
}

// Committable is something prepared that waits for its commit. Data is the
// connector's own encoding.
type Committable struct {
	Data []byte
}

// Outcome of one committable.
type Outcome int

const (
	// Committed: it is visible, by this or an earlier call.
	Committed Outcome = iota
	// RetryLater: try again after a while; the engine backs off.
	RetryLater
	// Failed: it can never be committed. The job fails with the error.
	Failed
)

// Committer makes committables visible.
type Committer interface {
	// Commit commits the committables of a completed checkpoint, in order. It
	// returns one outcome each. It is repeated after a restore: committing
	// what is committed is success. restored is true for that repetition. An
	// unknown result must be resolved by asking the other side, never by a
	// second copy.
	Commit(checkpoint uint64, restored bool, cs []Committable) ([]Outcome, error)
	// Sweep is called once at start, after everything restored was
	// committed. It removes leftovers of transactions that no checkpoint
	// holds: those of this job and operator whose subtask modulo Parallelism
	// is this committer's subtask and that are not in live.
	Sweep(live []Committable) error
	// Close releases what is open. What is not committed stays prepared: a
	// later attempt commits or sweeps it.
	Close() error
}
