package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/cutwater-io/cutwater/"

// pkg is a package of this module, without its tests: these may import what they
// want.
type pkg struct {
	path    string // below the module
	files   []source
	imports []string // of this module, each once
}

type source struct {
	name string
	ast  *ast.File
}

// load parses all packages, once.
func load(t *testing.T) []*pkg {
	t.Helper()
	packages, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

var parsed = sync.OnceValues(func() ([]*pkg, error) {
	root := filepath.Join("..", "..")
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		return nil, err
	}
	byPath := map[string]*pkg{}
	var all []*pkg
	fset := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() {
			if name == "testdata" || path != root && strings.HasPrefix(name, ".") && name != ".." {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		p := byPath[rel]
		if p == nil {
			p = &pkg{path: rel}
			byPath[rel] = p
			all = append(all, p)
		}
		p.files = append(p.files, source{path, f})
		for _, i := range imports(f) {
			if own, ok := strings.CutPrefix(i, module); ok && !slices.Contains(p.imports, own) {
				p.imports = append(p.imports, own)
			}
		}
		return nil
	})
	return all, err
})

// imports are the paths that a file imports.
func imports(f *ast.File) (paths []string) {
	for _, i := range f.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		if err == nil {
			paths = append(paths, path)
		}
	}
	return paths
}

// uses are the names that a file uses of a package of the standard library.
func uses(f *ast.File, pkg string) (names []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			// A package is an identifier that nothing in the file declares.
			if x, ok := s.X.(*ast.Ident); ok && x.Name == pkg && x.Obj == nil {
				names = append(names, s.Sel.Name)
			}
		}
		return true
	})
	return names
}

// starts reports whether a file starts a goroutine.
func starts(f *ast.File) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		_, ok := n.(*ast.GoStmt)
		found = found || ok
		return !found
	})
	return found
}
