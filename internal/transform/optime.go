package transform

import (
	"encoding/binary"
	"fmt"

	"github.com/cutwater-io/cutwater/internal/manifest"
	"github.com/cutwater-io/cutwater/internal/operator"
	"github.com/cutwater-io/cutwater/internal/watermark"
)

// windowTime is the list state in which an operator with timers or windows keeps
// how far time has come, so that after a restore no window fires twice (D58). An
// element is the time, 8 bytes, and the first and the last key group it holds
// for, 2 bytes each, all little-endian.
//
// It is a union, because after a change of parallelism a subtask has key groups of
// several former ones. Their times differ only when channels went idle in another
// order for one than for the other; the least then counts.
const windowTime = "window-time"

const windowTimeBytes = 12

func snapshotTime(ctx *operator.Context, s *operator.Snapshot, now int64) {
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, windowTimeBytes), uint64(now))
	b = binary.LittleEndian.AppendUint16(b, ctx.Groups.First)
	b = binary.LittleEndian.AppendUint16(b, ctx.Groups.Last)
	s.AddList(windowTime, manifest.Union, [][]byte{b})
}

// restoreTime returns the time from which the operator goes on: watermark.None on
// a fresh start.
func restoreTime(ctx *operator.Context) (int64, error) {
	now, found := watermark.EndOfTime, false
	for _, b := range ctx.Restored.List(windowTime) {
		if len(b) != windowTimeBytes {
			return 0, fmt.Errorf("operator %q: restore checkpoint %d: its time has %d bytes instead of %d; the checkpoint is of another version",
				ctx.Name, ctx.RestoredFrom, len(b), windowTimeBytes)
		}
		first, last := binary.LittleEndian.Uint16(b[8:]), binary.LittleEndian.Uint16(b[10:])
		if last < ctx.Groups.First || first > ctx.Groups.Last {
			continue
		}
		now, found = min(now, int64(binary.LittleEndian.Uint64(b))), true
	}
	if !found {
		return watermark.None, nil
	}
	return now, nil
}

// addSat adds and stays at the end of time instead of wrapping round.
//
// REQUIRES: b >= 0.
func addSat(a, b int64) int64 {
	if s := a + b; s >= a {
		return s
	}
	return watermark.EndOfTime
}
