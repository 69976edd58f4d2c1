package connector_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/connector/connectortest"
)

// The examples are what others copy, so they pass the suite that ours pass.

func TestTheSourceOfTheExampleConforms(t *testing.T) {
	connectortest.Source(t, connectortest.SourceCase[uint64]{
		Open: func(*testing.T, connector.Files) (connector.Source[uint64], []uint64) {
			return Numbers{N: 17, Size: 4}, []uint64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
		},
	})
}

func TestTheSinkOfTheExampleConforms(t *testing.T) {
	connectortest.Sink(t, connectortest.SinkCase[string]{
		Open: func(*testing.T, connector.Files) connectortest.OpenedSink[string] {
			table := NewTable()
			return connectortest.OpenedSink[string]{
				Sink: TableSink{table},
				Visible: func() ([]string, error) {
					table.mu.Lock()
					defer table.mu.Unlock()
					return slices.Clone(table.rows), nil
				},
				Leftovers: func() (names []string, err error) {
					table.mu.Lock()
					defer table.mu.Unlock()
					for name := range table.prepared {
						names = append(names, name)
					}
					return names, nil
				},
			}
		},
		Value: func(i int) string { return fmt.Sprint("row ", i) },
	})
}
