package host

import (
	"crypto/rand"
	"encoding/binary"
	"log/slog"
	"time"

	"github.com/cutwater-io/cutwater/connector"
)

// Env is the environment of a real process. A nil log is slog.Default().
func Env(log *slog.Logger) connector.Env {
	if log == nil {
		log = slog.Default()
	}
	return connector.Env{Clock: Clock{}, Files: Files{}, Log: log, Random: Random}
}

// Clock is the machine's clock.
type Clock struct{}

// Now is wall-clock time.
func (Clock) Now() time.Time { return time.Now() }

// After behaves as time.After.
func (Clock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// Random draws 64 bits from the operating system's generator. Two processes
// never share its state, also not after a fork or a restored virtual machine.
func Random() uint64 {
	var b [8]byte
	// crypto/rand.Read never fails: it ends the process when the kernel has
	// no entropy source.
	rand.Read(b[:])
	return binary.LittleEndian.Uint64(b[:])
}
