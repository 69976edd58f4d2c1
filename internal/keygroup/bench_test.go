package keygroup_test

import (
	"fmt"
	"testing"
)

func BenchmarkHash(b *testing.B) {
	b.Run("Int64", func(b *testing.B) { benchHash(b, func(i int) int64 { return int64(i) }) })
	b.Run("String12", func(b *testing.B) { benchHash(b, func(i int) string { return fmt.Sprintf("user-%07d", i) }) })
	b.Run("Pair", func(b *testing.B) { benchHash(b, func(i int) pair { return pair{int64(i), 5} }) })
	b.Run("Named", func(b *testing.B) { benchHash(b, func(i int) named { return named{"shop-5", int32(i)} }) })
}

// benchHash hashes batches of 512 keys, key by key and as a whole.
func benchHash[K comparable](b *testing.B, key func(i int) K) {
	h := mustFor[K](b)
	keys, hashes := make([]K, 512), make([]uint64, 512)
	for i := range keys {
		keys[i] = key(i)
	}
	b.Run("one", func(b *testing.B) {
		for range b.N {
			for i := range keys {
				hashes[i] = h.Hash(&keys[i])
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/512, "ns/key")
	})
	b.Run("all", func(b *testing.B) {
		for range b.N {
			h.HashAll(hashes, keys)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/512, "ns/key")
	})
}
