package task

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/cutwater-io/cutwater/internal/exchange"
	"github.com/cutwater-io/cutwater/internal/operator"
)

// guard runs f and turns a panic into an error: of a user's function into a
// Failure that names the operator, of the engine into one that says so.
func (t *Task) guard(f func() error) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case exchange.Canceled:
			err = ErrCanceled
		case *operator.Failure:
			err = r
		default:
			err = t.panicked(r)
		}
	}()
	return f()
}

// panicked finds out whose panic it was. The stack still stands while a deferred
// function runs, and a user's function is found in it by its entry point: so
// that knowing the operator costs nothing while all is well.
func (t *Task) panicked(value any) error {
	cause, ok := value.(error)
	if !ok {
		cause = fmt.Errorf("%v", value)
	}
	fns := t.functions()
	pcs := make([]uintptr, 128)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for {
		frame, more := frames.Next()
		if n, ok := fns.find(frame); ok {
			l := t.linkOf(n)
			key := ""
			if k, ok := l.op.(interface{ CurrentKey() string }); ok {
				key = k.CurrentKey()
			}
			return &operator.Failure{Operator: l.name, Key: key, Where: t.shared.Where(), Err: fmt.Errorf("panic: %w\n%s", cause, userStack())}
		}
		if !more {
			break
		}
	}
	return fmt.Errorf("panic: %w\n%s", cause, debug.Stack())
}

// functions finds the node of a user's function.
type functions struct {
	entries map[uintptr]int
	names   map[string]int
}

// functions are those of all nodes, because the key of an operator is taken by the
// task in front of it, and those of this chain last, so that a function used twice
// is taken for its own.
func (t *Task) functions() functions {
	fns := functions{map[uintptr]int{}, map[string]int{}}
	add := func(n int) {
		for _, pc := range t.cfg.Program.Factories[n].Functions {
			f := runtime.FuncForPC(pc)
			fns.entries[f.Entry()] = n
			fns.names[f.Name()] = n
		}
	}
	for n := range t.cfg.Program.Factories {
		add(n)
	}
	for _, n := range t.vertex.Nodes {
		add(n)
	}
	return fns
}

// find also finds a function made by a user's function, as the iterators of
// FlatMap are: it is named after it, with a number behind a dot.
func (fns functions) find(f runtime.Frame) (node int, ok bool) {
	if n, ok := fns.entries[f.Entry]; ok {
		return n, true
	}
	for name := f.Function; ; {
		dot := strings.LastIndexByte(name, '.')
		if dot < strings.LastIndexByte(name, '/') || dot < 0 {
			return 0, false
		}
		name = name[:dot]
		if n, ok := fns.names[name]; ok {
			return n, true
		}
	}
}

// linkOf returns the link of a node; one that has only a name for a node of
// another task.
func (t *Task) linkOf(node int) link {
	id := t.cfg.Plan.Graph.Nodes[node].ID
	for _, l := range t.chain {
		if l.id == id {
			return l
		}
	}
	return link{name: t.cfg.Plan.Graph.Nodes[node].Name, op: nil}
}

// userStack is the goroutine's stack, cut to what a reader needs.
func userStack() string {
	s := debug.Stack()
	if len(s) > 4096 {
		s = append(s[:4096], "\n..."...)
	}
	return string(s)
}

// Reason strips the task's own words from an error: the failure of a user's
// function if it was one, else the error itself.
func Reason(err error) error {
	if f, ok := errors.AsType[*operator.Failure](err); ok {
		return f
	}
	return err
}
