package joblog

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cutwater-io/cutwater/internal/blob"
	"github.com/cutwater-io/cutwater/internal/ident"
)

// lateStore loses answers, and lets puts land long after their caller gave up,
// as a request does that waits in a network. It belongs to one process.
type lateStore struct {
	blob.Store
	rng  *rand.Rand
	late *[]func() // shared by all processes
	calm bool
}

func (s *lateStore) PutIfAbsent(ctx context.Context, name string, data []byte) error {
	// Late puts of anybody may land now.
	for i := 0; i < len(*s.late); i++ {
		if s.rng.IntN(6) == 0 {
			(*s.late)[i]()
			*s.late = append((*s.late)[:i], (*s.late)[i+1:]...)
			i--
		}
	}
	if s.calm {
		return s.Store.PutIfAbsent(ctx, name, data)
	}
	switch s.rng.IntN(12) {
	case 0:
		return errors.New("refused")
	case 1:
		s.Store.PutIfAbsent(ctx, name, data)
		return blob.ErrUnknown
	case 2, 3:
		data := append([]byte(nil), data...)
		*s.late = append(*s.late, func() { s.Store.PutIfAbsent(context.Background(), name, data) })
		return blob.ErrUnknown
	}
	return s.Store.PutIfAbsent(ctx, name, data)
}

func (s *lateStore) Get(ctx context.Context, name string) ([]byte, error) {
	if !s.calm && s.rng.IntN(20) == 0 {
		return nil, errors.New("refused")
	}
	return s.Store.Get(ctx, name)
}

func (s *lateStore) List(ctx context.Context, prefix string) ([]string, error) {
	if !s.calm && s.rng.IntN(20) == 0 {
		return nil, errors.New("refused")
	}
	return s.Store.List(ctx, prefix)
}

// Several leaders at a time, each of which believes in itself, on a store that
// loses and delays. What any of them was told must be what the log says.
func TestWhateverLeadersAreToldIsWhatTheLogSays(t *testing.T) {
	told := map[string]int{}
	for seed := range uint64(600) {
		chaos(t, seed, told)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("answers: %v", told)
	for _, kind := range []string{"written", "deposed", "unknown", "failed", "lost"} {
		if told[kind] == 0 {
			t.Errorf("nobody was told %q: the test does not reach it", kind)
		}
	}
}

func chaos(t *testing.T, seed uint64, told map[string]int) {
	rng := rand.New(rand.NewPCG(seed, 7))
	disk := blob.Memory()
	var late []func()
	var leaders []*Log
	written := make(map[ident.CheckpointID]bool) // by what the caller was told
	never := make(map[ident.CheckpointID]bool)
	unknown := make(map[*Log][]ident.CheckpointID)
	free := make(map[*Log][]ident.CheckpointID)
	usedIDs := make(map[ident.CheckpointID]bool)
	for range 120 {
		if len(leaders) == 0 || rng.IntN(25) == 0 {
			l, r, err := Open(ctx, &lateStore{Store: disk, rng: rng, late: &late}, "word-count", random)
			if err != nil {
				continue
			}
			l.every = 3
			leaders = append(leaders, l)
			checkTold(t, r, written, never)
			continue
		}
		l := leaders[rng.IntN(len(leaders))]
		if n := len(unknown[l]); n > 0 && rng.IntN(2) == 0 {
			i := rng.IntN(n)
			id := unknown[l][i]
			err := l.Resolve(ctx, id)
			switch {
			case err == nil:
				written[id] = true
			case errors.Is(err, ErrLost):
				told["lost"]++
				never[id] = true
			default:
				if !errors.Is(err, blob.ErrUnknown) && !errors.Is(err, ErrDeposed) {
					t.Errorf("resolve: %v", err)
				}
				continue
			}
			unknown[l] = slices.Delete(unknown[l], i, i+1)
			continue
		}
		if len(free[l]) == 0 {
			first, err := l.Reserve(ctx, 2)
			if err != nil {
				continue
			}
			if usedIDs[first] || usedIDs[first+1] {
				t.Errorf("ids %d and %d were given out twice", first, first+1)
			}
			usedIDs[first], usedIDs[first+1] = true, true
			free[l] = []ident.CheckpointID{first, first + 1}
			continue
		}
		id := free[l][0]
		free[l] = free[l][1:]
		err := l.Append(ctx, completed(id))
		switch {
		case err == nil:
			told["written"]++
			written[id] = true
		case errors.Is(err, ErrDeposed):
			told["deposed"]++
		case errors.Is(err, blob.ErrUnknown):
			told["unknown"]++
			unknown[l] = append(unknown[l], id)
		default:
			told["failed"]++
			never[id] = true
		}
	}
	_, r, err := Open(ctx, &lateStore{Store: disk, rng: rng, late: &late, calm: true}, "word-count", random)
	if err != nil {
		t.Errorf("final open: %v", err)
		return
	}
	for _, land := range late {
		land()
	}
	checkTold(t, r, written, never)
	r, err = Read(ctx, disk)
	if err != nil {
		t.Errorf("read after all late puts: %v", err)
	}
	checkTold(t, r, written, never)
}

func checkTold(t *testing.T, r Recovered, written, never map[ident.CheckpointID]bool) {
	t.Helper()
	there := make(map[ident.CheckpointID]bool)
	for _, c := range r.Completed {
		there[c.Checkpoint] = true
		if never[c.Checkpoint] {
			t.Errorf("checkpoint %d is in the log; its leader was told that it never will be", c.Checkpoint)
		}
	}
	for id := range written {
		if !there[id] {
			t.Errorf("checkpoint %d is not in the log; its leader was told that it is", id)
		}
	}
}
