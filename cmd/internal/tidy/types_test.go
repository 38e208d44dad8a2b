package tidy

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/build"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// A typed is a room after type-checking.
type typed struct {
	*room
	info *types.Info
	pkg  *types.Package
}

// check type-checks the code of every room (not the tests) against the compiler's own export data.
func check(t *testing.T, h *tree) []typed {
	t.Helper()
	exports := exportData(t, h)
	from := importer.ForCompiler(h.fset, "gc", func(p string) (io.ReadCloser, error) {
		if exports[p] == "" {
			return nil, errors.New("no export data for " + p)
		}
		return os.Open(exports[p])
	})
	var out []typed
	for _, r := range h.packages {
		if len(r.code) == 0 {
			continue
		}
		var files []*ast.File
		for _, f := range r.code {
			if ok, err := build.Default.MatchFile(filepath.Join(h.root, r.dir), path.Base(f.path)); ok && err == nil {
				files = append(files, f.ast) // the others are for other systems
			}
		}
		info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
		cfg := types.Config{Importer: from}
		pkg, err := cfg.Check(module+"/"+r.dir, h.fset, files, info)
		if err != nil {
			t.Fatalf("%s does not compile: %v", r.dir, err)
		}
		out = append(out, typed{r, info, pkg})
	}
	return out
}

// exportData asks the go command where it keeps the compiled interface of every package we build on.
func exportData(t *testing.T, h *tree) map[string]string {
	t.Helper()
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export", "./...")
	cmd.Dir = h.root
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	exports := map[string]string{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var p struct{ ImportPath, Export string }
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
	}
	return exports
}

// The rules that need types share one check: it costs a second or two.
func TestTypesFollowTheHouseRules(t *testing.T) {
	h := load(t)
	rooms := check(t, h)
	t.Run("RangesOverMapsAreMarked", func(t *testing.T) {
		for _, r := range rooms {
			for _, f := range r.code {
				h.mapRanges(t, r, f)
			}
		}
	})
	t.Run("PackageStateIsNeverWritten", func(t *testing.T) {
		for _, r := range rooms {
			h.packageState(t, r)
		}
	})
	t.Run("NoForeignTypeIsExported", func(t *testing.T) {
		for _, r := range rooms {
			if r.quiet() && !strings.HasPrefix(r.dir, "scenarios") {
				h.foreignTypes(t, r)
			}
		}
	})
}

const mark = "order does not matter"

// mapRanges reports every walk over a map whose order could leak into a result. Sort the keys, or say why the order
// is of no consequence.
func (h *tree) mapRanges(t *testing.T, r typed, f *file) {
	marked := map[int]bool{}
	for _, group := range f.ast.Comments {
		if strings.Contains(group.Text(), mark) {
			for line := h.fset.Position(group.Pos()).Line; line <= h.fset.Position(group.End()).Line+1; line++ {
				marked[line] = true
			}
		}
	}
	sorted := map[ast.Node]bool{}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			name := calleeOf(r, n)
			if strings.HasPrefix(name, "slices.Sorted") && len(n.Args) > 0 {
				sorted[n.Args[0]] = true
			}
			walk := name == "maps.Keys" || name == "maps.Values" || name == "maps.All"
			if walk && !sorted[n] && !marked[h.fset.Position(n.Pos()).Line] {
				t.Errorf("%s: %s walks a map in random order: wrap it in slices.Sorted, or mark it `// %s: …`", h.at(n), name, mark)
			}
		case *ast.RangeStmt:
			if t := r.info.TypeOf(n.X); t == nil || !isMap(t) {
				return true // not a map, or in a file for another system
			}
			if n.Key != nil && !marked[h.fset.Position(n.Pos()).Line] {
				t.Errorf("%s: a range over a map: sort the keys, or mark it `// %s: …`", h.at(n), mark)
			}
		}
		return true
	})
}

func isMap(t types.Type) bool {
	_, ok := t.Underlying().(*types.Map)
	return ok
}

// calleeOf names a called package function, as in "maps.Keys".
func calleeOf(r typed, call *ast.CallExpr) string {
	fun := ast.Unparen(call.Fun)
	if ix, ok := fun.(*ast.IndexExpr); ok {
		fun = ix.X
	}
	sel, ok := fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	fn, ok := r.info.Uses[sel.Sel].(*types.Func)
	if !ok || fn.Pkg() == nil {
		return ""
	}
	return fn.Pkg().Path() + "." + fn.Name()
}

// packageState reports package variables that are exported, or written after their declaration.
func (h *tree) packageState(t *testing.T, r typed) {
	for _, f := range r.code {
		for _, d := range f.ast.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
				h.exportedVars(t, r, g)
			}
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			var written []ast.Expr
			switch n := n.(type) {
			case *ast.AssignStmt:
				written = n.Lhs
			case *ast.IncDecStmt:
				written = []ast.Expr{n.X}
			case *ast.UnaryExpr:
				if _, whole := n.X.(*ast.Ident); whole && n.Op == token.AND { // a row of a table may be pointed at
					written = []ast.Expr{n.X}
				}
			}
			for _, x := range written {
				if v := rootOf(r, x); v != nil {
					t.Errorf("%s: the package variable %s is written (or its address taken): pass a value instead", h.at(x), v.Name())
				}
			}
			return true
		})
	}
}

func (h *tree) exportedVars(t *testing.T, r typed, g *ast.GenDecl) {
	for _, s := range g.Specs {
		for _, name := range s.(*ast.ValueSpec).Names {
			v := r.info.Defs[name]
			if v != nil && name.IsExported() && !types.Implements(v.Type(), errorType()) {
				t.Errorf("%s: the exported variable %s can be written by anyone: make it a function that returns a literal", h.at(name), name.Name)
			}
		}
	}
}

func errorType() *types.Interface {
	return types.Universe.Lookup("error").Type().Underlying().(*types.Interface)
}

// rootOf returns the package variable that an assignable expression ends in, or nil.
func rootOf(r typed, x ast.Expr) *types.Var {
	for {
		switch e := ast.Unparen(x).(type) {
		case *ast.IndexExpr:
			x = e.X
		case *ast.SelectorExpr:
			x = e.X
		case *ast.StarExpr:
			x = e.X
		case *ast.Ident:
			v, ok := r.info.Uses[e].(*types.Var)
			if ok && !v.IsField() && v.Pkg() != nil && v.Parent() == v.Pkg().Scope() {
				return v
			}
			return nil
		default:
			return nil
		}
	}
}

// foreignTypes reports exported names whose types come from a third party: a library must be replaceable.
func (h *tree) foreignTypes(t *testing.T, r typed) {
	for _, name := range r.pkg.Scope().Names() {
		obj := r.pkg.Scope().Lookup(name)
		if !obj.Exported() {
			continue
		}
		for _, part := range exportedParts(obj) {
			text := types.TypeString(part.Type(), nil)
			for _, word := range strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune("*[](){},; ", c) }) {
				if isThirdParty(word) && !strings.HasPrefix(word, module) && strings.Contains(word, "/") {
					t.Errorf("%s.%s shows %s in its signature: keep the library inside", r.dir, part.Name(), word)
				}
			}
		}
	}
}

// exportedParts returns an object and, of a type, its exported fields and methods.
func exportedParts(obj types.Object) []types.Object {
	name, ok := obj.(*types.TypeName)
	if !ok {
		return []types.Object{obj}
	}
	var parts []types.Object
	if s, ok := name.Type().Underlying().(*types.Struct); ok {
		for f := range s.Fields() {
			if f.Exported() {
				parts = append(parts, f)
			}
		}
	}
	methods := types.NewMethodSet(types.NewPointer(name.Type()))
	for m := range methods.Methods() {
		if m.Obj().Exported() {
			parts = append(parts, m.Obj())
		}
	}
	return parts
}
