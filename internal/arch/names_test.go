package arch

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The documentation of the public packages is part of their contract: what is
// exported says what it is, and what a user calls is shown by an Example.
//
// documented packages have a docstring on every exported name; of those that are
// exemplified each name also occurs in an Example with checked output.
var documented = []string{
	"stream", "run", "window", "agg", "codec", "connector",
	"connector/collect", "connector/console", "connector/file", "connector/gen", "connector/nexmark",
}

var exemplified = []string{"stream", "run", "window", "agg"}

func TestEveryExportedNameSaysWhatItIs(t *testing.T) {
	for _, dir := range documented {
		pkg := describe(t, dir)
		if !strings.HasPrefix(pkg.Doc, "Package "+pkg.Name+" ") {
			t.Errorf("%s: the package comment does not begin with %q", dir, "Package "+pkg.Name)
		}
		for _, n := range exported(pkg) {
			if !startsWith(n.doc, n.name) {
				t.Errorf("%s: the docstring of %s does not begin with its name: %.60q", dir, n.full(), n.doc)
			}
		}
		for _, v := range append(values(pkg), members(pkg)...) {
			if v.doc == "" {
				t.Errorf("%s: %s has no comment", dir, v.full())
			}
		}
	}
}

func TestEveryNameAUserCallsIsShownByAnExample(t *testing.T) {
	for _, dir := range exemplified {
		pkg, examples := describe(t, dir), examplesOf(t, dir)
		var names []name
		methods := map[string]int{}
		for _, n := range exported(pkg) {
			if n.of != "" {
				methods[n.name]++
			}
			names = append(names, n)
		}
		for _, n := range names {
			if examples.of[n.full()] {
				continue // there is an Example of its own
			}
			if dir == "run" && (n.full() == "Main" || n.full() == "ParseFlags") {
				continue // they end the process; the package comment shows them
			}
			// A mention is enough where it cannot be that of another name.
			if n.of == "" && examples.qualified[pkg.Name+"."+n.name] ||
				n.of != "" && methods[n.name] == 1 && examples.selected[n.name] {
				continue
			}
			t.Errorf("%s: no Example with checked output shows %s: write Example%s", dir, n.full(), strings.ReplaceAll(n.full(), ".", "_"))
		}
	}
}

// name is an exported name: a function or type, or a method of a type.
type name struct{ of, name, doc string }

func (n name) full() string {
	if n.of == "" {
		return n.name
	}
	return n.of + "." + n.name
}

func startsWith(doc, name string) bool {
	return regexp.MustCompile(`^(An? |The )?` + name + `\b`).MatchString(doc)
}

func describe(t *testing.T, dir string) *doc.Package {
	t.Helper()
	fset := token.NewFileSet()
	pkg, err := doc.NewFromFiles(fset, parseFiles(t, fset, dir, false), "github.com/cutwater-io/cutwater/"+dir)
	if err != nil {
		t.Fatalf("read the documentation of %s: %v", dir, err)
	}
	return pkg
}

// parse reads the files of a package: its code, or its tests.
func parseFiles(t *testing.T, fset *token.FileSet, dir string, tests bool) []*ast.File {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("../..", dir, "*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no Go files in %s: %v", dir, err)
	}
	var files []*ast.File
	for _, p := range paths {
		if strings.HasSuffix(p, "_test.go") != tests {
			continue
		}
		f, err := parser.ParseFile(fset, p, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

// exported returns the functions, types and methods of a package.
//
// String is left out: a value that is printed shows it.
func exported(pkg *doc.Package) (names []name) {
	funcs := func(of string, fs []*doc.Func) {
		for _, f := range fs {
			if f.Name != "String" {
				names = append(names, name{of, f.Name, f.Doc})
			}
		}
	}
	funcs("", pkg.Funcs)
	for _, ty := range pkg.Types {
		// In a group of types each has a comment of its own.
		text := ty.Doc
		for _, s := range ty.Decl.Specs {
			if own := s.(*ast.TypeSpec).Doc; own != nil {
				text = own.Text()
			}
		}
		names = append(names, name{"", ty.Name, text})
		funcs("", ty.Funcs)
		funcs(ty.Name, ty.Methods)
	}
	return names
}

// values returns the constants and variables, with the comment of each or of its
// group.
func values(pkg *doc.Package) (names []name) {
	all := append(append([]*doc.Value(nil), pkg.Consts...), pkg.Vars...)
	for _, ty := range pkg.Types {
		all = append(append(all, ty.Consts...), ty.Vars...)
	}
	for _, v := range all {
		for _, s := range v.Decl.Specs {
			spec := s.(*ast.ValueSpec)
			for _, id := range spec.Names {
				if id.IsExported() {
					names = append(names, name{"", id.Name, v.Doc + spec.Doc.Text() + spec.Comment.Text()})
				}
			}
		}
	}
	return names
}

// members returns the exported fields of structs and methods of interfaces. The
// comment of one that has none is the type's, if that speaks of it.
func members(pkg *doc.Package) (names []name) {
	for _, ty := range pkg.Types {
		for _, s := range ty.Decl.Specs {
			var list *ast.FieldList
			switch u := s.(*ast.TypeSpec).Type.(type) {
			case *ast.StructType:
				list = u.Fields
			case *ast.InterfaceType:
				list = u.Methods
			default:
				continue
			}
			for _, f := range list.List {
				text := f.Doc.Text() + f.Comment.Text()
				for _, id := range f.Names {
					if !id.IsExported() {
						continue
					}
					own := text
					if own == "" && regexp.MustCompile(`\b`+id.Name+`\b`).MatchString(ty.Doc) {
						own = ty.Doc
					}
					names = append(names, name{ty.Name, id.Name, own})
				}
			}
		}
	}
	return names
}

// examples is what the Examples of a package show.
type examples struct {
	of        map[string]bool // "Type.Method": it has an Example of its own
	qualified map[string]bool // "pkg.Name" occurs in one
	selected  map[string]bool // ".Name" occurs in one
}

func examplesOf(t *testing.T, dir string) examples {
	t.Helper()
	fset := token.NewFileSet()
	files := parseFiles(t, fset, dir, true)
	e := examples{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	checked := map[string]bool{}
	for _, x := range doc.Examples(files...) {
		if x.Output != "" || x.EmptyOutput {
			checked["Example"+x.Name] = true
		}
	}
	for _, f := range files {
		for _, d := range f.Decls {
			// What stands beside Examples in their files is shown with them.
			fn, isFunc := d.(*ast.FuncDecl)
			if isFunc && strings.HasPrefix(fn.Name.Name, "Example") {
				if !checked[fn.Name.Name] {
					continue
				}
				parts := strings.Split(strings.TrimPrefix(fn.Name.Name, "Example"), "_")
				for len(parts) > 0 && parts[len(parts)-1] != "" && !ast.IsExported(parts[len(parts)-1]) {
					parts = parts[:len(parts)-1] // a suffix
				}
				e.of[strings.Join(parts, ".")] = true
			} else if !strings.HasPrefix(filepath.Base(fset.File(d.Pos()).Name()), "example") {
				continue
			}
			ast.Inspect(d, func(n ast.Node) bool {
				if sel, ok := n.(*ast.SelectorExpr); ok {
					e.selected[sel.Sel.Name] = true
					if id, ok := sel.X.(*ast.Ident); ok {
						e.qualified[id.Name+"."+sel.Sel.Name] = true
					}
				}
				return true
			})
		}
	}
	return e
}
