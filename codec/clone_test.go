package codec_test

import (
	"net/netip"
	"net/url"
	"reflect"
	"testing"
	"time"

	"github.com/cutwater-io/cutwater/codec"
	"github.com/google/go-cmp/cmp"
)

func mustClone[T any](t *testing.T, with ...codec.Option) func(dst, src *T) {
	t.Helper()
	f, err := codec.Cloner[T](with...)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestACloneIsEqualAndSharesNothingThatCanBeWritten(t *testing.T) {
	clone := mustClone[everything](t)
	src := full()
	var dst everything
	clone(&dst, &src)
	if d := cmp.Diff(src, dst, whole); d != "" {
		t.Fatal(d)
	}
	dst.Bytes[0]++
	dst.Ints[0]++
	dst.Ins[0].Tags[0] = "changed"
	dst.P.Rate++
	*dst.PI++
	dst.M["a"]++
	dst.MM[-1]["k"].Tags[0] = "changed"
	dst.MM[256]["new"] = inner{}
	dst.LinkP.Path = "changed"
	dst.Set["new"] = struct{}{}
	if d := cmp.Diff(full(), src, whole); d != "" {
		t.Errorf("the original has changed:\n%s", d)
	}
	var zero everything
	clone(&dst, &zero)
	if d := cmp.Diff(zero, dst, whole); d != "" {
		t.Errorf("the clone of the zero value:\n%s", d)
	}
}

func TestACloneKeepsEmptyApartFromNil(t *testing.T) {
	type value struct {
		S, E []*int
		M, F map[string][]int
		B    [2][]byte
	}
	src := value{E: []*int{nil}, F: map[string][]int{"nil": nil, "empty": {}}, B: [2][]byte{nil, {}}}
	var dst value
	mustClone[value](t)(&dst, &src)
	if !reflect.DeepEqual(src, dst) {
		t.Errorf("%v became %v", src, dst)
	}
}

func TestTypesThatAssignmentCopiesNeedNoCloner(t *testing.T) {
	if mustClone[bid](t) != nil || mustClone[[4]small](t) != nil || mustClone[struct{ T time.Time }](t) != nil || mustClone[string](t) != nil {
		t.Error("a type without shared memory has a cloner")
	}
	if mustClone[[]int](t) == nil || mustClone[struct{ A [1]map[int]int }](t) == nil {
		t.Error("a type with shared memory has no cloner")
	}
}

// netip.Addr compares a pointer: a copy of what it points to would be another
// address. url.URL holds a pointer to credentials.
func TestTypesWithTheirOwnEncodingAreClonedByIt(t *testing.T) {
	type host struct {
		IP    netip.Addr
		Links []url.URL
	}
	src := host{netip.MustParseAddr("fe80::1%eth0"), []url.URL{{Scheme: "ftp", User: url.User("me"), Host: "h"}}}
	var dst host
	mustClone[host](t)(&dst, &src)
	if dst.IP != src.IP || dst.Links[0].User == src.Links[0].User || dst.Links[0].String() != "ftp://me@h" {
		t.Errorf("%v became %v", src, dst)
	}
}

func TestPointerFreeIsWhatLiesInMemoryWithoutPointers(t *testing.T) {
	type hidden struct {
		a int
		b [3]struct{ c float32 }
	}
	_ = hidden{}.a
	for name, v := range map[string]struct{ got, want bool }{
		"small": {codec.PointerFree[small](), true}, "hidden": {codec.PointerFree[hidden](), true}, "complex": {codec.PointerFree[complex128](), true},
		"empty array": {codec.PointerFree[[0]string](), true}, "bid": {codec.PointerFree[bid](), false}, "time": {codec.PointerFree[time.Time](), false},
		"slice": {codec.PointerFree[[]int](), false}, "nested": {codec.PointerFree[struct{ X [2]struct{ P *int } }](), false}, "any": {codec.PointerFree[any](), false},
	} {
		if v.got != v.want {
			t.Errorf("%s: %v", name, v.got)
		}
	}
}
