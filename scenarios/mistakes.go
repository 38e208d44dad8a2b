package scenarios

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Mistake is one thing that is wrong with a scenario.
type Mistake struct {
	Where string // file:line:column, or the flag that set the value
	Path  string // the field, e.g. "workload.rate"; empty for the file as a whole
	What  string // what is wrong and what is allowed
	at    place
	held  bool // it is in a file that a value names, not in the value
}

// FromFlag reports whether a single flag gave the value that is wrong. What flags only lead to is not their fault: a model
// that does not fit, or what stands in a file that a flag names.
func (m Mistake) FromFlag() bool { return m.at.origin != "" && !m.at.jointly && !m.held }

// A contentError is what is wrong within a file that a value names.
type contentError struct{ error }

// Error returns "where: path: what".
func (m Mistake) Error() string {
	var parts []string
	for _, s := range []string{m.Where, m.Path, m.What} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, ": ")
}

// Mistakes are all the independent mistakes of a scenario, in the order of the file; those from flags come last.
type Mistakes []Mistake

// Error returns one mistake a line.
func (m Mistakes) Error() string {
	lines := make([]string, len(m))
	for i := range m {
		lines[i] = m[i].Error()
	}
	return strings.Join(lines, "\n")
}

func (m *Mistakes) add(at place, path, format string, args ...any) {
	one := Mistake{Where: at.String(), Path: path, What: fmt.Sprintf(format, args...), at: at}
	for _, a := range args {
		_, held := a.(contentError)
		one.held = one.held || held
	}
	*m = append(*m, one)
}

// err returns the mistakes as an error, sorted by place, or nil when there are none.
func (m Mistakes) err() error {
	if len(m) == 0 {
		return nil
	}
	slices.SortStableFunc(m, func(a, b Mistake) int {
		return cmp.Or(strings.Compare(a.at.origin, b.at.origin), cmp.Compare(a.at.line, b.at.line), cmp.Compare(a.at.column, b.at.column))
	})
	return slices.Compact(m) // what several engines have in common is said once
}

// didYouMean returns ", did you mean X?" for the nearest of the names, or "".
func didYouMean(got string, names []string) string {
	near := Nearest(got, names)
	if len(near) == 0 {
		return ""
	}
	return ", did you mean " + near[0] + "?"
}

// Nearest returns the names that a mistyped one may have meant, the most likely first, at most three.
func Nearest(got string, names []string) []string {
	type match struct {
		name string
		far  int
	}
	var found []match
	g := strings.ToLower(got)
	for _, name := range names {
		n := strings.ToLower(name)
		far := distance(g, n)
		if len(g) >= 3 && (strings.HasPrefix(n, g) || strings.HasPrefix(g, n) && len(n) >= 3) {
			far = min(far, 1)
		}
		if far <= max(1, min(len(g), len(n))/3) {
			found = append(found, match{name, far})
		}
	}
	slices.SortStableFunc(found, func(a, b match) int { return cmp.Compare(a.far, b.far) })
	var near []string
	for _, f := range found[:min(3, len(found))] {
		near = append(near, f.name)
	}
	return near
}

// distance is the edit distance of Damerau and Levenshtein with adjacent transpositions: how many letters have to be
// inserted, dropped, changed or swapped with their neighbour.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}
