package operator

import (
	"github.com/cutwater-io/cutwater/internal/batch"
)

// Control is what travels in band through a chain beside records.
type Control interface {
	// Watermark says that no record older than or as old as ts follows.
	// It never goes back.
	Watermark(ts int64)
	// Status says that the input is idle (it holds nothing back) or active.
	Status(idle bool)
}

// In is the typed input of an operator in a chain. *v is only valid during the
// call; the record itself is handed over: the receiver may keep a copy of it.
type In[T any] struct {
	Record func(v *T, ts int64)
	Control
}

// KeyedIn is the input of an operator behind a keyed edge: records from up to
// (not including) to of a batch, in order. The batch is the caller's again
// afterwards, but the receiver may change those records in place.
type KeyedIn[K, T any] struct {
	Batch func(b *batch.Batch[K, T], from, to int)
	Control
}

// Join makes one input of several: every record goes to each of them. All but
// the last get a copy of their own.
func Join[T any](ins []In[T]) In[T] {
	switch len(ins) {
	case 0:
		return In[T]{Record: func(*T, int64) {}, Control: nowhere{}}
	case 1:
		return ins[0]
	}
	first, last := ins[:len(ins)-1], ins[len(ins)-1]
	controls := make(controls, len(ins))
	for i, in := range ins {
		controls[i] = in.Control
	}
	scratch := new(T)
	return In[T]{
		Record: func(v *T, ts int64) {
			for i := range first {
				*scratch = *v
				first[i].Record(scratch, ts)
			}
			last.Record(v, ts)
		},
		Control: controls,
	}
}

type nowhere struct{}

func (nowhere) Watermark(int64) {}
func (nowhere) Status(bool)     {}

type controls []Control

func (cs controls) Watermark(ts int64) {
	for _, c := range cs {
		c.Watermark(ts)
	}
}

func (cs controls) Status(idle bool) {
	for _, c := range cs {
		c.Status(idle)
	}
}
