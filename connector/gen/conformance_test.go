package gen_test

import (
	"testing"

	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/connector/connectortest"
	"github.com/cutwater-io/cutwater/connector/gen"
)

func TestAGeneratorIsASourceAsTheContractWantsIt(t *testing.T) {
	for name, opts := range map[string][]gen.Option{"one split a reader": nil, "five splits": {gen.Splits(5)}} {
		t.Run(name, func(t *testing.T) {
			connectortest.Source(t, connectortest.SourceCase[uint64]{
				Open: func(*testing.T, connector.Files) (connector.Source[uint64], []uint64) {
					want := make([]uint64, 60)
					for i := range want {
						want[i] = uint64(i)
					}
					return gen.Sequence(60, func(i uint64) uint64 { return i }, opts...), want
				},
			})
		})
	}
}
