package tidy

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	longestFile     = 500 // lines
	longestFunction = 70
	longestTest     = 120 // a table of cases, mostly
)

func TestFilesAndFunctionsAreShort(t *testing.T) {
	h := load(t)
	for _, r := range h.packages {
		for _, f := range r.files() {
			if f.lines > longestFile {
				t.Errorf("%s has %d lines, at most %d are allowed: split it by idea", f.path, f.lines, longestFile)
			}
			for _, d := range f.ast.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || fn.Body == nil || isTable(fn) {
					continue
				}
				lines := h.fset.Position(fn.End()).Line - h.fset.Position(fn.Pos()).Line + 1
				most := longestFunction
				if strings.HasSuffix(f.path, "_test.go") {
					most = longestTest
				}
				if lines > most {
					t.Errorf("%s: %s has %d lines, at most %d are allowed", h.at(fn), fn.Name.Name, lines, most)
				}
			}
		}
	}
}

// isTable reports whether a function does nothing but return a literal: such a table may be as long as it must.
func isTable(fn *ast.FuncDecl) bool {
	last := fn.Body.List
	if len(last) == 0 {
		return false
	}
	for _, s := range last[:len(last)-1] {
		if d, ok := s.(*ast.DeclStmt); !ok || d.Decl.(*ast.GenDecl).Tok != token.CONST {
			return false
		}
	}
	ret, ok := last[len(last)-1].(*ast.ReturnStmt)
	if !ok || len(ret.Results) != 1 {
		return false
	}
	_, ok = ret.Results[0].(*ast.CompositeLit)
	return ok
}

func TestFunctionsTakeFewParameters(t *testing.T) {
	h := load(t)
	for _, r := range h.packages {
		for _, f := range r.code {
			for _, d := range f.ast.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if ok && parameters(fn) > 5 && !(fn.Recv != nil && fn.Name.Name == "Admit") { // kvcache.Cache's contract
					t.Errorf("%s: %s takes %d parameters: use a struct", h.at(fn), fn.Name.Name, parameters(fn))
				}
			}
		}
	}
}

// parameters counts them; a context is how Go cancels, and does not count.
func parameters(fn *ast.FuncDecl) int {
	n := 0
	for _, p := range fn.Type.Params.List {
		if s, ok := p.Type.(*ast.SelectorExpr); ok && s.Sel.Name == "Context" {
			continue
		}
		n += max(1, len(p.Names))
	}
	return n
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	h := load(t)
	readme, err := os.ReadFile(filepath.Join(h.root, "README.md"))
	if err != nil {
		t.Fatalf("README.md is missing: %v", err)
	}
	for _, r := range h.packages {
		if len(r.code) == 0 {
			continue
		}
		if !strings.Contains(string(readme), "`"+r.dir+"`") && !strings.Contains(string(readme), "`"+r.dir+"/`") {
			t.Errorf("README.md does not name the package `%s`: tell a stranger what lives there", r.dir)
		}
		begin := "Package " + r.name + " "
		if r.name == "main" {
			begin = "Command " + filepath.Base(r.dir) + " "
		}
		if !slices.ContainsFunc(r.code, func(f *file) bool { return strings.HasPrefix(f.ast.Doc.Text(), begin) }) {
			t.Errorf("%s: no package comment begins %q", r.dir, begin)
		}
	}
}

func TestExportedNamesAreExplained(t *testing.T) {
	h := load(t)
	for _, r := range h.packages {
		for _, f := range r.code {
			for _, d := range f.ast.Decls {
				switch d := d.(type) {
				case *ast.FuncDecl:
					if d.Name.IsExported() && (d.Recv == nil || exportedReceiver(d)) && !speaksForItself(d) {
						h.explained(t, d, d.Name.Name, d.Doc)
					}
				case *ast.GenDecl:
					for _, s := range d.Specs {
						if s, ok := s.(*ast.TypeSpec); ok && s.Name.IsExported() {
							doc := s.Doc
							if doc == nil {
								doc = d.Doc
							}
							h.explained(t, s, s.Name.Name, doc)
						}
					}
				}
			}
		}
	}
}

// speaksForItself reports whether a method is one that every Go programmer knows.
func speaksForItself(d *ast.FuncDecl) bool {
	return d.Recv != nil && (d.Name.Name == "String" || d.Name.Name == "Error")
}

func exportedReceiver(d *ast.FuncDecl) bool {
	typ := d.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	name, ok := typ.(*ast.Ident)
	return ok && name.IsExported()
}

func (h *tree) explained(t *testing.T, at ast.Node, name string, doc *ast.CommentGroup) {
	t.Helper()
	text := doc.Text()
	for _, article := range []string{"A ", "An ", "The "} {
		text = strings.TrimPrefix(text, article)
	}
	if rest, ok := strings.CutPrefix(text, name); !ok || (rest != "" && !strings.ContainsAny(rest[:1], " ,:.\n")) {
		t.Errorf("%s: %s needs a comment that begins with its name", h.at(at), name)
	}
}

func TestNoPackageRunsCodeAtImport(t *testing.T) {
	h := load(t)
	for _, r := range h.packages {
		for _, f := range r.files() {
			for _, d := range f.ast.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
					t.Errorf("%s: no init(): pass the value instead of registering it", h.at(fn))
				}
			}
		}
	}
}

// The house speaks of itself and of public sources; it does not know on whose desk it was built.
func TestTextsSpeakOfTheProductOnly(t *testing.T) {
	h := load(t)
	words := regexp.MustCompile(`(^|[\s"'(` + "`" + `])/(work|tmp|root|home|Users)/|(^|[^a-z])shared/|` +
		`\b(architecture|cli|costmodel|engine-semantics|probes|ecosystem|anchors|speed|fidelity)\.md\b|design doc|` +
		`\b(TODO|FIXME|XXX|HACK)\b|(?i:\b(claude|copilot|chatgpt|ai[- ]generated|language model assistant|as an ai)\b)`)
	paths := slices.Clone(h.texts)
	for _, r := range h.packages {
		for _, f := range r.files() {
			paths = append(paths, f.path)
		}
	}
	for _, p := range paths {
		if p == "cmd/internal/tidy/tidy_test.go" {
			continue
		}
		src, err := os.ReadFile(filepath.Join(h.root, p))
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(src), "\n") {
			if m := words.FindString(line); m != "" {
				t.Errorf("%s:%d: %q speaks of how the project is made, or of one machine's disk: %s", p, i+1, strings.TrimSpace(m), strings.TrimSpace(line))
			}
		}
	}
}

func TestTheTopLevelIsFixed(t *testing.T) {
	entries, err := os.ReadDir(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	rooms := []string{"sim", "scheduler", "kvcache", "hardware", "scenarios", "cmd"}
	papers := []string{"go.mod", "go.sum", "README.md", "CHANGELOG.md", "LICENSE"}
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, ".") {
			continue
		}
		if e.IsDir() && !slices.Contains(rooms, name) {
			t.Errorf("%s/: the top level holds %s and nothing else: a document lives next to what it documents", name, strings.Join(rooms, ", "))
		}
		if !e.IsDir() && filepath.Ext(name) != "" && !slices.Contains(papers, name) {
			t.Errorf("%s: the top level holds the files %s and nothing else", name, strings.Join(papers, ", "))
		}
	}
}
