package stream

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/cutwater-io/cutwater/codec"
	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/internal/ident"
	"github.com/cutwater-io/cutwater/internal/operator"
	"github.com/cutwater-io/cutwater/internal/plan"
	"github.com/cutwater-io/cutwater/internal/transform"
)

// Pipeline is a job under construction: sources, operators and sinks. Building
// one does nothing but describe it; package run runs it. A pipeline is built by
// one goroutine; make it with [New].
type Pipeline struct {
	name  string
	nodes []*node
	edges []edge
	errs  []buildError
}

// buildError is a mistake and the index of the operator it was made at: errors
// are reported in the order of the program.
type buildError struct {
	at  int
	err error
}

// node is an operator being described.
type node struct {
	plan.Node
	index   int
	factory operator.Factory
	sides   map[string]int       // name of a side output → output port
	types   map[int]reflect.Type // type of a side output, by port
	read    bool                 // something was built on it
}

type edge struct {
	plan.Edge
	link operator.Link
}

// output is an output port of a node, and how records leave it.
type output struct {
	node      *node
	port      int
	partition plan.Partition
}

// New begins a pipeline. The name names the job and must not be empty: its state
// directory holds state of a job of this name only. Mistakes, here and in all
// methods that follow, are collected and reported together when the pipeline is
// run.
func New(name string) *Pipeline {
	p := &Pipeline{name: name}
	if strings.TrimSpace(name) == "" {
		p.errorAt("stream.New: the job needs a name, by which its state is found")
	}
	return p
}

// Name returns the job's name, as it was given to [New].
func (p *Pipeline) Name() string { return p.name }

// From adds a source: one of package connector's, such as file.Lines or
// gen.Sequence, or your own. It needs a [Name], by which its positions are found
// again. Records have the event times that the source gave them, or none, and no
// watermarks flow until [Stream.EventTime] or [Stream.SourceTime]. A source that
// nothing reads is an error of building.
func (p *Pipeline) From[T any](src connector.Source[T], opts ...Option) Stream[T] {
	n := p.add("source", opts)
	n.Source, n.Stateful = true, true
	if src == nil {
		p.errorf(n, "the source is nil: give From one, for example file.Lines")
		return Stream[T]{p: p, from: []output{{node: n}}}
	}
	p.validate(n, src)
	n.factory = transform.Source(src, func(ctx *operator.Context) func(connector.BadRecord) {
		port, ok := ctx.Sides[BadRecords.Name()]
		if !ok {
			return nil
		}
		in := operator.OutputOf[connector.BadRecord](ctx, port)
		return func(r connector.BadRecord) { in.Record(&r, connector.NoTimestamp) }
	})
	return Stream[T]{p: p, from: []output{{node: n}}}
}

// BadRecords is the side output of a source for input that could not be decoded.
// While nothing reads it such input fails the job:
//
//	lines.SideOutput(stream.BadRecords).To(...)
var BadRecords = transform.NewTag[connector.BadRecord]("bad-records")

// Program checks the pipeline and returns it in the form the engine runs. All
// errors of building are returned together, each with the operator and the
// source line that added it. It is called by package run; a test may call it to
// see that a pipeline is complete. It changes nothing and may be called again.
func (p *Pipeline) Program() (*operator.Program, error) {
	g := &plan.Graph{Name: p.name}
	prog := &operator.Program{Graph: g}
	errs := slices.Clone(p.errs)
	for i, n := range p.nodes {
		g.Nodes = append(g.Nodes, n.Node)
		f := n.factory
		sides := n.sides
		build := f.Build
		f.Build = func(ctx *operator.Context) (operator.Operator, []any, error) {
			ctx.Sides = sides
			return build(ctx)
		}
		prog.Factories = append(prog.Factories, f)
		if n.Source && !n.read {
			errs = append(errs, buildError{i, fmt.Errorf("operator %q (%s): nothing reads this source: end it with To", n.Name, n.Where)})
		}
	}
	for _, e := range p.edges {
		g.Edges = append(g.Edges, e.Edge)
		prog.Links = append(prog.Links, e.link)
	}
	slices.SortStableFunc(errs, func(a, b buildError) int { return cmp.Compare(a.at, b.at) })
	var all []error
	for _, e := range errs {
		all = append(all, e.err)
	}
	// Names and parallelism are looked at also when something else is wrong, so
	// that the user sees everything at once.
	if _, err := plan.Make(g, plan.Options{Parallelism: 1}); err != nil {
		all = append(all, err)
	}
	if len(all) > 0 {
		return nil, fmt.Errorf("pipeline %q cannot be built:\n%w", p.name, errors.Join(all...))
	}
	return prog, nil
}

// add appends a node.
func (p *Pipeline) add(kind string, opts []Option) *node {
	n := &node{index: len(p.nodes), types: map[int]reflect.Type{}}
	n.Where = caller()
	for _, o := range opts {
		o(n)
	}
	if n.Name == "" {
		n.Name = fmt.Sprintf("%s-%d", kind, n.index)
	}
	n.ID = ident.OperatorIDOf(n.Name)
	p.nodes = append(p.nodes, n)
	return n
}

// errorf collects an error of building.
func (p *Pipeline) errorf(n *node, format string, args ...any) {
	p.errs = append(p.errs, buildError{n.index, fmt.Errorf("operator %q (%s): %w", n.Name, n.Where, fmt.Errorf(format, args...))})
}

// errorAt collects an error that belongs to no operator.
func (p *Pipeline) errorAt(text string) {
	p.errs = append(p.errs, buildError{len(p.nodes), fmt.Errorf("%s: %s", caller(), text)})
}

// validate collects what a source or sink says is wrong with its description, so
// that it is known before the job starts; see [connector.Source].
func (p *Pipeline) validate(n *node, described any) {
	if v, ok := described.(interface{ Validate() error }); ok {
		if err := v.Validate(); err != nil {
			p.errorf(n, "%w", err)
		}
	}
}

// connect adds an unkeyed edge of type T to an input port of a node.
func connect[T any](p *Pipeline, from []output, to *node, port int) {
	read(from)
	if err := checkType[T](); err != nil {
		p.errorf(to, "records of type %v cannot travel to it: %w", reflect.TypeFor[T](), err)
		return
	}
	for _, o := range from {
		p.edges = append(p.edges, edge{
			Edge: plan.Edge{From: o.node.index, FromPort: o.port, To: to.index, ToPort: port, Partition: o.partition},
			link: transform.Unkeyed[T](!codec.PointerFree[T](), o.partition == plan.Broadcast),
		})
	}
}

// read notes that something is built on outputs.
func read(from []output) {
	for _, o := range from {
		o.node.read = true
	}
}

// checkType reports whether records of type T have a codec. Every edge needs
// one, also inside a process: state and in-flight records must be able to
// outlive it.
func checkType[T any]() error {
	_, err := codec.For[T]()
	return err
}

// caller is the source line outside this package that is being executed.
func caller() string {
	pcs := make([]uintptr, 16)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, "github.com/cutwater-io/cutwater/stream.") {
			file := f.File
			if i := strings.LastIndexByte(file, '/'); i >= 0 {
				if j := strings.LastIndexByte(file[:i], '/'); j >= 0 {
					file = file[j+1:]
				}
			}
			return fmt.Sprintf("%s:%d", file, f.Line)
		}
		if !more {
			return "unknown"
		}
	}
}

// calls says which of the user's functions an operator calls: a panic is traced to
// its operator by them. One that is nil is an error.
func (p *Pipeline) calls(n *node, fns ...any) {
	for _, f := range fns {
		if entry := entryOf(f); entry != 0 {
			n.factory.Functions = append(n.factory.Functions, entry)
		} else {
			p.errorf(n, "its function is nil: give it one")
		}
	}
}

// entryOf is the entry point of a function, 0 of nil.
func entryOf(f any) uintptr {
	if v := reflect.ValueOf(f); !v.IsNil() {
		return v.Pointer()
	}
	return 0
}
