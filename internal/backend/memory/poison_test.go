//go:build cutwater_poison

package memory

import (
	"maps"
	"testing"
)

func TestAPointerKeptBeyondTheNextWriteLeadsToPoison(t *testing.T) {
	for name, next := range map[string]func(tab *Table[uint64, uint64]){
		"resolve": func(tab *Table[uint64, uint64]) {
			tab.Resolve([]uint64{9}, []uint64{mix(9)}, make([]*uint64, 1))
		},
		"upsert":   func(tab *Table[uint64, uint64]) { k := uint64(9); tab.Upsert(&k, mix(k)) },
		"delete":   func(tab *Table[uint64, uint64]) { k := uint64(9); tab.Delete(&k, mix(k)) },
		"snapshot": func(tab *Table[uint64, uint64]) { tab.Snapshot(countID).Release() },
		"clear":    func(tab *Table[uint64, uint64]) { tab.Clear() },
	} {
		for place, cfg := range map[string]Config[uint64, uint64]{"arena": uintConfig(), "heap": onHeap(uintConfig())} {
			t.Run(name+" "+place, func(t *testing.T) {
				a := NewArena()
				defer a.Close()
				tab := newTable(t, a, cfg)
				defer tab.Close()
				k, dst := uint64(7), make([]*uint64, 1)
				tab.Resolve([]uint64{k}, []uint64{mix(k)}, dst)
				*dst[0] = 5
				next(tab)
				if *dst[0] == 5 {
					t.Error("the kept pointer still leads to the value")
				}
				*dst[0] = 6
				if v := tab.Get(&k, mix(k)); name != "clear" && (v == nil || *v != 5) {
					t.Error("a write through the kept pointer reached the table")
				}
			})
		}
	}
}

func TestPoisonedValuesWithPointersAreZero(t *testing.T) {
	a := NewArena()
	defer a.Close()
	k := cartKind()
	tab := newTable(t, a, k.cfg)
	defer tab.Close()
	key := "user-1"
	kept, _ := tab.Upsert(&key, hashString(&key))
	kept.add(3)
	want := maps.Clone(kept.Items)
	tab.Upsert(&key, hashString(&key))
	if kept.Items != nil {
		t.Errorf("the kept pointer still leads to %v", kept.text())
	}
	if v := tab.Get(&key, hashString(&key)); !maps.Equal(v.Items, want) {
		t.Errorf("the table has %v", v.text())
	}
}
