package measured

import (
	"fmt"
	"slices"
	"strings"
)

// A Filter keeps the rows that match all of its conditions. The zero Filter keeps every row.
type Filter []condition

type condition struct{ column, glob string }

// ParseFilter reads conditions such as "gpu=H100*,compare=all": names of columns, or model_class, and what their cells
// must be, where * stands for any text and ? for any character. Case does not matter.
func ParseFilter(text string) (Filter, error) {
	var f Filter
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		column, glob, ok := strings.Cut(part, "=")
		if !ok {
			return nil, fmt.Errorf("%q: must be COLUMN=VALUE, such as gpu=H100*", part)
		}
		c := condition{strings.TrimSpace(column), strings.ToLower(strings.TrimSpace(glob))}
		if names := filterColumns(); !slices.Contains(names, c.column) {
			return nil, fmt.Errorf("%q: there is no column %s; columns are %s", part, c.column, strings.Join(names, ", "))
		}
		f = append(f, c)
	}
	return f, nil
}

func filterColumns() []string {
	var names []string
	for _, c := range columns {
		names = append(names, c.name)
	}
	return append(names, classColumn)
}

// Keeps reports whether the filter keeps a row.
func (f Filter) Keeps(r *Row) bool {
	for _, c := range f {
		if !matches(c.glob, strings.ToLower(r.Value(c.column))) {
			return false
		}
	}
	return true
}

// matches compares text with a pattern of *, ? and plain characters.
func matches(glob, text string) bool {
	for glob != "" {
		switch {
		case glob[0] == '*':
			glob = strings.TrimLeft(glob, "*")
			for i := 0; i <= len(text); i++ {
				if matches(glob, text[i:]) {
					return true
				}
			}
			return false
		case text == "" || glob[0] != '?' && glob[0] != text[0]:
			return false
		}
		glob, text = glob[1:], text[1:]
	}
	return text == ""
}
