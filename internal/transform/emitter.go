package transform

import "github.com/cutwater-io/cutwater/internal/operator"

// Emitter is where a user's function puts its results. It is valid only during
// the call it was handed to, and only in that goroutine.
type Emitter[T any] struct {
	ctx     *operator.Context
	out     operator.In[T]
	control operator.Control // of all outputs, side outputs too
	ts      int64
	scratch *T
	sides   map[string]any // operator.In[U] by name of the tag
}

func newEmitter[T any](ctx *operator.Context) *Emitter[T] {
	return &Emitter[T]{ctx: ctx, out: operator.OutputOf[T](ctx, 0), control: operator.Controls(ctx), scratch: new(T)}
}

// Emit sends a result on, with the event time of the record or timer that is
// being processed.
func (e *Emitter[T]) Emit(v T) {
	*e.scratch = v
	e.out.Record(e.scratch, e.ts)
}

// EmitRef is Emit without copying a large value. *v is read before it returns;
// what it points to belongs to the engine from then on.
func (e *Emitter[T]) EmitRef(v *T) { e.out.Record(v, e.ts) }

// EmitAt is Emit with an event time of its own, in milliseconds since 1970. A
// time behind the watermark makes the result late for windows behind it.
func (e *Emitter[T]) EmitAt(v T, timestampMillis int64) {
	*e.scratch = v
	e.out.Record(e.scratch, timestampMillis)
}

// SideOutput sends a value to the side output named by tag, with the event time
// of the record or timer that is being processed. A side output that nothing
// reads is dropped.
func (e *Emitter[T]) SideOutput[U any](tag Tag[U], v U) {
	in, ok := e.sides[tag.name]
	if !ok {
		in = sideOutput[U](e.ctx, tag)
		if e.sides == nil {
			e.sides = map[string]any{}
		}
		e.sides[tag.name] = in
	}
	in.(operator.In[U]).Record(&v, e.ts)
}

// Tag names a side output and its type. Two operators may use the same tag:
// each has a side output of its own.
type Tag[U any] struct{ name string }

// NewTag makes a tag.
func NewTag[U any](name string) Tag[U] { return Tag[U]{name: name} }

// Name returns the name the tag was made with.
func (t Tag[U]) Name() string { return t.name }

// sideOutput returns what is behind a side output of an operator: nothing, when
// nobody reads it.
func sideOutput[U any](ctx *operator.Context, tag Tag[U]) operator.In[U] {
	port, ok := ctx.Sides[tag.name]
	if !ok {
		return operator.Join[U](nil)
	}
	return operator.OutputOf[U](ctx, port)
}
