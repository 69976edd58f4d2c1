package transform

import (
	"fmt"
	"unsafe"

	"github.com/cutwater-io/cutwater/codec"
	"github.com/cutwater-io/cutwater/internal/backend/memory"
	"github.com/cutwater-io/cutwater/internal/keygroup"
	"github.com/cutwater-io/cutwater/internal/operator"
	"github.com/cutwater-io/cutwater/internal/segment"
)

// KeyType is what the engine needs to know of a key type, found out once when a
// job is built.
type KeyType[K comparable] struct {
	coding memory.Coding[K]
	hasher *keygroup.Hasher[K]
}

// NewKeyType examines a key type. The error says which part of it cannot be (part
// of) a key and what to do.
func NewKeyType[K comparable]() (*KeyType[K], error) {
	h, err := keygroup.For[K]()
	if err != nil {
		return nil, err
	}
	c, err := codingOf[K]()
	if err != nil {
		return nil, err
	}
	return &KeyType[K]{coding: c, hasher: h}, nil
}

// Keying returns the key side of an edge whose key comes from one of two
// functions: by value or by pointer.
func Keying[K comparable, T any](kt *KeyType[K], value func(v T) K, ref func(v *T) K) Key[K, T] {
	return Key[K, T]{Value: value, Ref: ref, Hash: kt.hasher.Hash, HashAll: kt.hasher.HashAll, Check: kt.hasher.Normalize}
}

// StateType is a keyed state: its name and how its values are kept and stored.
type StateType[K comparable, V any] struct {
	name  string
	key   *KeyType[K]
	value memory.Coding[V]
	clone func(dst, src *V)
}

// NewStateType examines a state type. The error names the field that cannot be
// kept.
func NewStateType[K comparable, V any](name string, kt *KeyType[K]) (*StateType[K, V], error) {
	value, err := codingOf[V]()
	if err != nil {
		return nil, err
	}
	clone, err := codec.Cloner[V]()
	if err != nil {
		return nil, err
	}
	return &StateType[K, V]{name: name, key: kt, value: value, clone: clone}, nil
}

func codingOf[T any]() (memory.Coding[T], error) {
	c, err := codec.For[T]()
	if err != nil {
		return memory.Coding[T]{}, err
	}
	var v T
	return memory.Coding[T]{
		Schema: c.Schema, Append: c.Append, Decode: c.Decode,
		// All bytes of a pointer-free type without padding are its encoding.
		Memory: codec.PointerFree[T]() && c.Fixed > 0 && uintptr(c.Fixed) == unsafe.Sizeof(v),
	}, nil
}

// table makes an empty table of the state for an operator instance. sizeHint is
// the number of entries expected, 0 when unknown.
func (st *StateType[K, V]) table(ctx *operator.Context, sizeHint int) *memory.Table[K, V] {
	t, err := memory.NewTable(ctx.Task.Arena, memory.Config[K, V]{
		Name: ctx.Name + "/" + st.name, Key: st.key.coding, Value: st.value, Hash: st.key.hasher.Hash,
		MaxParallelism: ctx.MaxParallelism, FirstGroup: int(ctx.Groups.First), EndGroup: int(ctx.Groups.Last) + 1,
		SizeHint: sizeHint, Clone: st.clone,
	})
	if err != nil {
		panic(fmt.Sprintf("transform: operator %q: %v", ctx.Name, err)) // examined when the job was built
	}
	return t
}

// restore loads the state's tables from what is restored: tableOf returns the
// table of a namespace.
func (st *StateType[K, V]) restore(ctx *operator.Context, tableOf func(namespace int64) *memory.Table[K, V]) error {
	return ctx.Restored.Each(st.name, func(info segment.StateInfo, group uint16, data []byte, entries int) error {
		t := tableOf(info.ID.Namespace)
		if err := t.CheckSchema(info.Schema); err != nil {
			return err
		}
		return t.LoadGroup(group, data, entries)
	})
}
