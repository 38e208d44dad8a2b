package scenarios

import (
	"errors"
	"fmt"
	"strings"
)

// A reader fills a Scenario from a tree and keeps what is wrong with it.
type reader struct {
	s        *Scenario
	mistakes Mistakes
}

func (r *reader) fault(n *node, path, format string, args ...any) {
	r.mistakes.add(n.at, path, format, args...)
}

// section reads one mapping, or the single value that may stand in its place.
func (r *reader) section(n *node, path string) {
	sec := sectionAt(path)
	if sec != nil && sec.later {
		r.later(n, path)
		return
	}
	switch {
	case n.kind == null:
		if sec != nil && sec.none && n.text == "" {
			r.s.set[path] = n.at
		}
	case n.kind == scalar && sec != nil && sec.none && strings.EqualFold(n.text, "none"):
		r.s.set[path] = n.at
	case n.kind == scalar && sec != nil && sec.short != "":
		r.s.set[path] = n.at
		r.leaf(n, fieldAt(join(path, sec.short)))
	case n.kind != mapping:
		what := "a mapping"
		if sec != nil && sec.short != "" {
			what = "a single value or a mapping"
		}
		if path == "" {
			r.fault(n, path, "a scenario is a mapping of keys such as model, hardware and workload, got %s", n.kind)
			return
		}
		r.fault(n, path, "must be %s with the keys %s; got %s", what, strings.Join(children(path), ", "), n.kind)
	default:
		if path != "" {
			r.s.set[path] = n.at
		}
		for _, e := range n.keys {
			r.entry(e, join(path, e.key))
		}
	}
}

func (r *reader) entry(e entry, path string) {
	if f := fieldAt(path); f != nil {
		r.leaf(e.value, f)
		return
	}
	if sectionAt(path) != nil {
		r.section(e.value, path)
		return
	}
	r.mistakes.add(e.at, path, "unknown key%s", unknownKey(path))
}

// unknownKey suggests what a wrong key may have meant: a sibling, or a key of that name elsewhere.
func unknownKey(path string) string {
	in, key := parent(path)
	if near := didYouMean(strings.ReplaceAll(key, "-", "_"), children(in)); near != "" {
		return near
	}
	for i := range fields {
		if _, k := parent(fields[i].path); k == key && !fields[i].removed {
			return ", did you mean " + fields[i].path + "?"
		}
	}
	if keys := children(in); len(keys) <= 16 && len(keys) > 0 {
		return ", allowed are " + strings.Join(keys, ", ")
	}
	return ""
}

// later reports a part of the file that only a later version understands, unless it says that there is none of it.
func (r *reader) later(n *node, path string) {
	if n.kind == null || n.kind == scalar && strings.EqualFold(n.text, "none") {
		return
	}
	r.fault(n, path, "not supported yet by this version, leave it out")
}

// leaf reads the value of one field.
func (r *reader) leaf(n *node, f *field) {
	switch {
	case f.removed:
		r.s.set[f.path] = n.at
	case f.into == nil:
		if n.kind != null && (n.kind != scalar || !strings.EqualFold(n.text, f.def)) && !(n.kind == mapping && len(n.keys) == 0 && f.def == "none") {
			r.fault(n, f.path, "not supported yet by this version, leave it out or write %s", f.def)
		}
	case n.kind == null:
		// An empty value leaves the default.
	default:
		if err := r.value(n, f); err != nil {
			r.fault(n, f.path, "%v", err)
		}
		r.s.set[f.path] = n.at
	}
}

func (r *reader) value(n *node, f *field) error {
	switch into := f.into(r.s).(type) {
	case *[]int:
		values, err := readList[int](&field{limit: atLeastOne}, n, "must be a list of whole numbers")
		if err == nil {
			*into = values
		}
		return err
	case *[]Class:
		r.classes(into, n)
		return nil
	case *[]Group:
		return readGroups(into, n)
	case *Rates:
		values, err := readList[float64](f, n, "must be a number or a list of numbers")
		if err == nil {
			*into = Rates{Values: values, List: n.kind == list}
		}
		return err
	case *[]BatchTier:
		return readTiers(into, n)
	default:
		if n.kind != scalar {
			return fmt.Errorf("must be a single value, got %s", n.kind)
		}
		return f.readScalar(into, n)
	}
}

// readList reads a list of numbers, or one of them. What it must be stands in messages.
func readList[T int | float64](f *field, n *node, must string) (values []T, err error) {
	items := n.items
	if n.kind == scalar {
		items = []*node{n}
	}
	for _, item := range items {
		var v T
		if item.kind != scalar {
			return nil, fmt.Errorf("%s, got %s in it", must, item.kind)
		}
		if err := f.readScalar(&v, item); err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	switch {
	case n.kind == list && len(values) == 0:
		return nil, errors.New(must + ", got none")
	case len(values) == 0:
		return nil, fmt.Errorf("%s, got %s", must, n.kind)
	}
	return values, nil
}

// itemKey reads one key of an item of a list; allowed are the keys that there are.
func (r *reader) itemKey(table []field, e entry, path string, allowed []string) {
	for i := range table {
		if table[i].path != e.key {
			continue
		}
		if err := r.value(e.value, &table[i]); err != nil {
			r.fault(e.value, join(path, e.key), "%v", err)
		}
		return
	}
	r.mistakes.add(e.at, join(path, e.key), "unknown key%s", didYouMean(e.key, allowed))
}

// def gives a field its default.
func (r *reader) def(f *field) {
	if f.def == "" || f.into == nil {
		return
	}
	if err := f.readScalar(f.into(r.s), &node{kind: scalar, text: f.def}); err != nil {
		panic("scenarios: default of " + f.path + ": " + err.Error())
	}
}
