package batch

import (
	"fmt"

	"github.com/cutwater-io/cutwater/internal/ident"
)

// Kind tells what an [Element] is.
type Kind uint8

const (
	KindRecords        Kind = iota // a batch of records
	KindBarrier                    // CheckpointBarrier: separates two epochs
	KindCancelMarker               // CancelCheckpointMarker: the barrier of that id will not come
	KindStatus                     // the channel became idle or active
	KindEndOfData                  // no further records; barriers may still follow
	KindEndOfPartition             // the channel is closed; nothing follows
)

var kindNames = [...]string{"records", "barrier", "cancel-marker", "status", "end-of-data", "end-of-partition"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Element is what a channel carries: a batch, or one event.
type Element struct {
	Kind       Kind
	Records    Records            // KindRecords
	Checkpoint ident.CheckpointID // KindBarrier, KindCancelMarker
	// TimestampMillis is when the JobMaster triggered the checkpoint
	// (KindBarrier), by its wall clock.
	TimestampMillis int64
	Idle            bool // KindStatus
	// Drain says that final results are wanted (KindEndOfData): the source
	// really ended, and windows fire. False: the job is being stopped.
	Drain bool
}

func (e Element) String() string {
	switch e.Kind {
	case KindRecords:
		return fmt.Sprintf("records n=%d", e.Records.Len())
	case KindBarrier, KindCancelMarker:
		return fmt.Sprintf("%s checkpoint=%d", e.Kind, e.Checkpoint)
	case KindStatus:
		return fmt.Sprintf("status idle=%t", e.Idle)
	case KindEndOfData:
		return fmt.Sprintf("end-of-data drain=%t", e.Drain)
	}
	return e.Kind.String()
}
