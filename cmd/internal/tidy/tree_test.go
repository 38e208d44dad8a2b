package tidy

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/servesim/servesim"

// A tree is the checkout, parsed.
type tree struct {
	root     string
	fset     *token.FileSet
	packages []*room // sorted by dir
	texts    []string
}

// A room is one directory of Go files.
type room struct {
	dir   string // slash-separated, relative to the root
	name  string
	code  []*file
	tests []*file
}

// A file is one Go file.
type file struct {
	path  string // slash-separated, relative to the root
	lines int
	ast   *ast.File
}

// load returns the checkout, which no test changes: it is parsed once.
func load(t *testing.T) *tree {
	t.Helper()
	h, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

var parsed = sync.OnceValues(parseTree)

// parseTree parses every Go file below the module's root and lists the other texts.
func parseTree() (*tree, error) {
	h := &tree{root: filepath.Join("..", "..", ".."), fset: token.NewFileSet()}
	if _, err := os.Stat(filepath.Join(h.root, "go.mod")); err != nil {
		return nil, fmt.Errorf("the module's root is not where this test expects it: %w", err)
	}
	rooms := map[string]*room{}
	err := filepath.WalkDir(h.root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(h.root, p)
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if d.Name() == "testdata" || d.Name() == "vendor" || d.Name() == ".git" {
				return filepath.SkipDir
			}
			return nil
		}
		switch path.Ext(rel) {
		case ".go":
			return h.parse(rooms, rel)
		case ".md", ".yaml", ".html", ".js", ".css":
			h.texts = append(h.texts, rel)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, r := range rooms { // order does not matter: sorted below
		h.packages = append(h.packages, r)
	}
	slices.SortFunc(h.packages, func(a, b *room) int { return strings.Compare(a.dir, b.dir) })
	return h, nil
}

// parse adds one Go file to its room.
func (h *tree) parse(rooms map[string]*room, rel string) error {
	src, err := os.ReadFile(filepath.Join(h.root, rel))
	if err != nil {
		return err
	}
	syntax, err := parser.ParseFile(h.fset, rel, src, parser.ParseComments)
	if err != nil {
		return err
	}
	dir := path.Dir(rel)
	r := rooms[dir]
	if r == nil {
		r = &room{dir: dir}
		rooms[dir] = r
	}
	f := &file{path: rel, lines: strings.Count(string(src), "\n"), ast: syntax}
	if strings.HasSuffix(rel, "_test.go") {
		r.tests = append(r.tests, f)
	} else {
		r.code = append(r.code, f)
		r.name = syntax.Name.Name
	}
	return nil
}

// at prints a position as file:line.
func (h *tree) at(n ast.Node) string {
	p := h.fset.Position(n.Pos())
	return p.Filename + ":" + strconv.Itoa(p.Line)
}

func (r *room) files() []*file { return slices.Concat(r.code, r.tests) }

// quiet reports whether the room lies below cmd in the order of imports: no printing, no clock, no environment there.
func (r *room) quiet() bool { return r.dir != "cmd" && !strings.HasPrefix(r.dir, "cmd/") }

// mayOpen reports whether the room may open files: scenarios reads them, what lies below takes an io.Reader.
func (r *room) mayOpen() bool {
	return !r.quiet() || r.dir == "scenarios" || strings.HasPrefix(r.dir, "scenarios/")
}

// imports maps the local name of each import of f to its path.
func (f *file) imports() map[string]string {
	names := map[string]string{}
	for _, spec := range f.ast.Imports {
		p := strings.Trim(spec.Path.Value, `"`)
		name := path.Base(p)
		if name == "v2" || name == "v3" {
			name = path.Base(path.Dir(p))
		}
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = p
	}
	return names
}
