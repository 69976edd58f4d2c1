package arch

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	for _, p := range load(t) {
		documented := false
		for _, f := range p.files {
			documented = documented || f.ast.Doc != nil
		}
		if len(p.files) > 0 && !documented {
			t.Errorf("package %s has no comment: add a doc.go", p.path)
		}
	}
}

// public reports whether users import a package.
func public(path string) bool {
	for _, top := range []string{"codec", "window", "agg", "connector", "stream", "run"} {
		if path == top || strings.HasPrefix(path, top+"/") {
			return true
		}
	}
	return false
}

func TestEveryExportedNameOfPublicPackagesHasAComment(t *testing.T) {
	names := 0
	for _, p := range load(t) {
		if !public(p.path) {
			continue
		}
		for _, f := range p.files {
			for _, d := range f.ast.Decls {
				for _, n := range undocumented(d, &names) {
					t.Errorf("%s: %s has no comment", f.name, n)
				}
			}
		}
	}
	if names < 100 {
		t.Errorf("only %d exported names were looked at", names)
	}
}

// undocumented returns exported names of a declaration without a comment. One in
// front of a group of constants or variables is enough for all of them.
func undocumented(d ast.Decl, count *int) (missing []string) {
	check := func(name string, docs ...*ast.CommentGroup) {
		*count++
		for _, d := range docs {
			if d != nil {
				return
			}
		}
		missing = append(missing, name)
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if !d.Name.IsExported() {
			return nil
		}
		if d.Recv == nil {
			check(d.Name.Name, d.Doc)
		} else if r := receiver(d.Recv.List[0].Type); ast.IsExported(r) {
			check(r+"."+d.Name.Name, d.Doc)
		}
	case *ast.GenDecl:
		if d.Tok == token.IMPORT {
			return nil
		}
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					check(s.Name.Name, d.Doc, s.Doc, s.Comment)
				}
			case *ast.ValueSpec:
				for _, n := range s.Names {
					if n.IsExported() {
						check(n.Name, d.Doc, s.Doc, s.Comment)
					}
				}
			}
		}
	}
	return missing
}

// receiver is the name of a receiver's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
