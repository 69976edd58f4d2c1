package stream

import (
	"iter"
	"time"

	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/window"

	// So that their small functions can be inlined here; see instantiate.
	_ "github.com/cutwater-io/cutwater/internal/backend/memory"
	_ "github.com/cutwater-io/cutwater/internal/batch"
	_ "github.com/cutwater-io/cutwater/internal/exchange"
	_ "github.com/cutwater-io/cutwater/internal/keygroup"
	_ "github.com/cutwater-io/cutwater/internal/operator"
	_ "github.com/cutwater-io/cutwater/internal/timer"
	_ "github.com/cutwater-io/cutwater/internal/watermark"
)

// instantiate is never called. It makes users' programs fast, by a third to a
// half: the generic code of the engine is compiled in the package that uses it,
// which is the user's. The compiler can inline a function there only if its body
// stands in what it reads of the packages imported directly, so of this one; and
// the body of another package's plain function stands there if it was inlined in
// this package (cmd/compile/internal/noder/linker.go, exportBody). Generic
// functions are not affected. So each plain function of a hot loop must be
// inlined by something that is instantiated below.
func instantiate() {
	keyedBy[int64]()
	keyedBy[string]()
	keyedBy[float64]()
	keyedBy[struct {
		A string
		B int32
	}]()
	keyedBy[uint32]()
	keyedBy[int16]()
	keyedBy[uint8]()
	keyedBy[bool]()
}

var _ = instantiate

func keyedBy[K comparable]() {
	type record struct {
		Key K
		At  int64
	}
	var src connector.Source[record]
	var sink connector.Sink[record]
	s := New("").From(src).
		EventTimeMillis(func(r *record) int64 { return r.At }, Ascending().PerRecord()).
		EventTime(func(record) time.Time { return time.Time{} }, Ascending()).
		Map(func(r record) record { return r }).
		MapInto(func(*record, *record) {}).
		Filter(func(record) bool { return true }).
		FilterRef(func(*record) bool { return true }).
		FlatMap(func(record) iter.Seq[record] { return nil }).
		FlatMapInto(func(*record, *Emitter[record]) {}).
		Process(func(record, *Emitter[record]) error { return nil }).
		Rebalance()
	s.To(sink)
	ks := s.KeyBy(func(r record) K { return r.Key })
	ks.Reduce(func(record, record) record { return record{} })
	s.KeyByRef(func(r *record) K { return r.Key }).
		StatefulRef(func(_ *Ctx[K], _ *int64, _ *record, _ *Emitter[K]) error { return nil })
	ks.Handle(Handler[K, int64, record, K]{})
	ks.Window(window.Tumbling(time.Second)).Count()
	ks.Window(window.Session(time.Second)).Reduce(func(record, record) record { return record{} })
}
