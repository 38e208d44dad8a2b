package tidy

import (
	"go/ast"
	"path"
	"slices"
	"strings"
	"testing"
)

// A licence says what a package may import: of ours by directory, of others by path. "/..." allows what lies below.
type licence struct {
	dir    string // the package; the longest that matches decides
	ours   []string
	others []string
}

func licences() []licence {
	return []licence{
		{dir: "sim"},
		{dir: "kvcache"},
		{dir: "hardware"},
		{dir: "scheduler/...", ours: []string{"sim", "kvcache", "hardware"}},
		{dir: "sim/workload", ours: []string{"sim", "kvcache"}, others: []string{"gonum.org/v1/gonum/stat/distuv"}},
		{dir: "sim/engine/...", ours: []string{"sim", "sim/workload", "sim/engine", "scheduler", "kvcache", "hardware"}},
		{dir: "sim/cluster", ours: []string{"sim", "sim/engine", "sim/workload", "scheduler", "kvcache", "hardware"}},
		{dir: "sim/trace", ours: []string{"sim", "sim/engine", "sim/workload", "scheduler", "kvcache", "hardware"}},
		{
			dir: "sim/metrics", ours: []string{"sim", "sim/engine", "sim/workload", "scheduler", "kvcache", "hardware"},
			others: []string{"github.com/HdrHistogram/hdrhistogram-go"},
		},
		{
			dir: "scenarios", ours: []string{"sim/...", "scheduler/...", "kvcache", "hardware"},
			others: []string{"github.com/goccy/go-yaml/..."},
		},
		{
			dir: "scenarios/study", ours: []string{"scenarios", "sim/...", "scheduler/...", "kvcache", "hardware"},
			others: []string{"golang.org/x/sync/errgroup", "golang.org/x/perf/benchmath"},
		},
		{
			dir: "scenarios/measured", ours: []string{"scenarios", "scenarios/study", "sim/...", "scheduler/...", "kvcache", "hardware"},
			others: []string{"gonum.org/v1/gonum/optimize"},
		},
		{dir: "cmd/...", ours: []string{"..."}, others: []string{"..."}},
	}
}

// For tests only; anyone may use them there.
func testTools() []string {
	return []string{"github.com/google/go-cmp/...", "github.com/rogpeppe/go-internal/testscript", "pgregory.net/rapid"}
}

func TestPackagesImportWhatTheyMay(t *testing.T) {
	h := load(t)
	for _, r := range h.packages {
		l, ok := licenceOf(r.dir)
		if !ok {
			t.Errorf("%s is not in the table of licences: who may it import?", r.dir)
			continue
		}
		for _, f := range r.code {
			for _, p := range sortedPaths(f.imports()) {
				if own, ok := strings.CutPrefix(p, module+"/"); ok && !matches(l.ours, own) {
					t.Errorf("%s imports %s; %s may import %s", f.path, own, r.dir, orNothing(l.ours))
				} else if !ok && isThirdParty(p) && !matches(l.others, p) {
					t.Errorf("%s imports %s; %s may import, of other people's, %s", f.path, p, r.dir, orNothing(l.others))
				}
			}
		}
		for _, f := range r.tests {
			for _, p := range sortedPaths(f.imports()) {
				if isThirdParty(p) && !strings.HasPrefix(p, module) && !matches(l.others, p) && !matches(testTools(), p) {
					t.Errorf("%s imports %s; tests may import %s", f.path, p, strings.Join(testTools(), ", "))
				}
			}
		}
	}
}

func TestLibrariesAreUsedInOnePlace(t *testing.T) {
	h := load(t)
	homes := map[string]string{
		"github.com/spf13/":       "cmd/servesim/",
		"github.com/schollz/":     "cmd/servesim/",
		"github.com/olekukonko/":  "cmd/internal/report/table.go",
		"gonum.org/v1/gonum/stat": "sim/workload/",
	}
	for _, r := range h.packages {
		for _, f := range r.code {
			for _, p := range sortedPaths(f.imports()) {
				for prefix, home := range homes { // order does not matter: every pair is looked at
					if strings.HasPrefix(p, prefix) && !strings.HasPrefix(f.path, home) {
						t.Errorf("%s imports %s, which is for %s only", f.path, p, home)
					}
				}
			}
		}
	}
}

// What a scheduler may know of the hardware: the sums of a step and what it costs.
func TestSchedulersKnowOnlyStepsOfTheHardware(t *testing.T) {
	h := load(t)
	may := []string{"Step", "CostModel", "Cost", "Window"}
	for _, r := range h.packages {
		if r.dir != "scheduler" {
			continue
		}
		for _, f := range r.code {
			h.selectors(f, func(pkg, name string, at ast.Node) {
				if pkg == module+"/hardware" && !slices.Contains(may, name) {
					t.Errorf("%s: a scheduler may use hardware.%s, not %s", h.at(at), strings.Join(may, ", hardware."), name)
				}
			})
		}
	}
}

func TestNothingBelowCmdTouchesTheWorld(t *testing.T) {
	h := load(t)
	for _, r := range h.packages {
		if !r.quiet() {
			continue
		}
		for _, f := range r.code {
			for _, p := range sortedPaths(f.imports()) {
				if worldly(p, r.mayOpen()) {
					t.Errorf("%s imports %s: below cmd nothing prints, logs, reads flags or opens files", f.path, p)
				}
			}
			h.selectors(f, func(pkg, name string, at ast.Node) {
				if why := worldlyName(pkg, name); why != "" {
					t.Errorf("%s: %s.%s: %s", h.at(at), path.Base(pkg), name, why)
				}
			})
		}
	}
}

func TestTestsDoNotSleep(t *testing.T) {
	h := load(t)
	for _, r := range h.packages {
		for _, f := range r.tests {
			h.selectors(f, func(pkg, name string, at ast.Node) {
				if pkg == "time" && name == "Sleep" {
					t.Errorf("%s: a test that sleeps is slow and flaky", h.at(at))
				}
			})
		}
	}
}

func worldly(p string, mayOpen bool) bool {
	switch p {
	case "log", "log/slog", "flag", "os/exec", "net", "net/http", "syscall", "unsafe", "math/rand":
		return true
	case "os":
		return !mayOpen
	}
	return false
}

func worldlyName(pkg, name string) string {
	switch pkg {
	case "time":
		if slices.Contains([]string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker", "Local"}, name) {
			return "time below cmd is virtual: ask the kernel"
		}
	case "math/rand/v2":
		generators := []string{"New", "NewPCG", "NewChaCha8", "NewZipf", "Rand", "Source", "PCG", "ChaCha8", "Zipf"}
		if !slices.Contains(generators, name) {
			return "the global generator is not reproducible: draw from a named stream of the kernel"
		}
	case "fmt":
		if strings.HasPrefix(name, "Print") {
			return "nothing below cmd prints: return what is to be shown"
		}
	case "os":
		if slices.Contains([]string{"Getenv", "LookupEnv", "Environ", "Stdout", "Stderr", "Stdin", "Args", "Exit"}, name) {
			return "the environment is read in cmd only"
		}
	}
	return ""
}

// selectors calls visit for every name that f uses of an imported package.
func (h *tree) selectors(f *file, visit func(pkg, name string, at ast.Node)) {
	names := f.imports()
	ast.Inspect(f.ast, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		// A local variable of the same name would have been resolved by the parser.
		if x, ok := sel.X.(*ast.Ident); ok && x.Obj == nil && names[x.Name] != "" {
			visit(names[x.Name], sel.Sel.Name, sel)
		}
		return true
	})
}

func licenceOf(dir string) (licence, bool) {
	var best licence
	for _, l := range licences() {
		if matches([]string{l.dir}, dir) && len(l.dir) > len(best.dir) {
			best = l
		}
	}
	return best, best.dir != ""
}

func matches(patterns []string, p string) bool {
	for _, pattern := range patterns {
		prefix, tree := strings.CutSuffix(pattern, "...")
		if p == pattern || tree && (strings.HasPrefix(p, prefix) || p == strings.TrimSuffix(prefix, "/")) {
			return true
		}
	}
	return false
}

func isThirdParty(p string) bool {
	first, _, _ := strings.Cut(p, "/")
	return strings.Contains(first, ".")
}

func orNothing(list []string) string {
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, ", ")
}

func sortedPaths(imports map[string]string) []string {
	var paths []string
	for _, p := range imports { // order does not matter: sorted below
		paths = append(paths, p)
	}
	slices.Sort(paths)
	return paths
}
