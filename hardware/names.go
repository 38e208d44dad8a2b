package hardware

import (
	"fmt"
	"slices"
	"strings"
)

// UnknownError says that a name stands for no known model or GPU, and which names come nearest.
type UnknownError struct {
	Kind    string // "model" or "GPU"
	Name    string // as it was given
	Nearest []string
}

// Error names the unknown name and offers the nearest known ones.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("unknown %s %q; the nearest known are: %s", e.Kind, e.Name, strings.Join(e.Nearest, ", "))
}

// offered is how many names an UnknownError offers.
const offered = 3

// words splits a name into its parts, in lower case: dashes, underscores and spaces all separate.
func words(name string) []string {
	return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return r == '-' || r == '_' || r == ' ' || r == '\t' || r == '(' || r == ')'
	})
}

// A candidate is a known name and the spellings that lead to it.
type candidate struct {
	name string
	keys []string
}

// nearestNames returns the names whose spellings are fewest edits away from key, nearest first, at most `offered`.
func nearestNames(key string, known []candidate) []string {
	const longest = 100 // no known name is longer; bounds the work on absurd input
	if len(key) > longest {
		key = key[:longest]
	}
	type near struct {
		name  string
		edits int
	}
	all := make([]near, 0, len(known))
	for _, c := range known {
		best := len(key) + longest
		for _, k := range c.keys {
			best = min(best, edits(key, k))
		}
		all = append(all, near{c.name, best})
	}
	slices.SortStableFunc(all, func(a, b near) int { return a.edits - b.edits })
	names := make([]string, 0, offered)
	for _, n := range all[:min(offered, len(all))] {
		names = append(names, n.name)
	}
	return names
}

// edits returns the Levenshtein distance between two strings, in bytes.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
