package scenarios

import (
	"fmt"
	"slices"
	"strings"
)

// Class is a kind of request with its share of the load.
type Class struct {
	Name           string
	Share          float64
	Priority       int    // lower is more important
	Prompt, Output Length // no law: the workload's
	SLO            SLO    // valid if OwnSLO
	OwnSLO         bool   // the class has targets of its own, perhaps none
}

// classKeys are the keys of one item of workload.classes, in messages.
const classKeys = "{name, share, priority, prompt, output, slo}"

// classFields are the keys of one item of workload.classes; those of its sections stand behind a dot.
func classFields(c *Class) []field {
	table := []field{
		{path: "name", into: func(*Scenario) any { return &c.Name }, def: "default", doc: "What the report calls it."},
		{path: "share", into: func(*Scenario) any { return &c.Share }, def: "1", limit: positive, doc: "Its weight among the classes."},
		{path: "priority", into: func(*Scenario) any { return &c.Priority }, def: "0", doc: "Lower is more important."},
	}
	laws := slices.Concat(
		lengthFields("prompt", func(*Scenario) *Length { return &c.Prompt }),
		lengthFields("output", func(*Scenario) *Length { return &c.Output }))
	return slices.Concat(table, laws, targetFields("slo", func(*Scenario) *SLO { return &c.SLO }))
}

// classSections are the mappings in an item of workload.classes, and the key that a single value is for.
var classSections = []section{
	{path: "prompt", short: "mean", doc: "Lengths of prompts, in tokens; left out: workload.prompt."},
	{path: "output", short: "mean", doc: "Lengths of answers, in tokens; left out: workload.output."},
	{path: "slo", none: true, doc: "What a good request of this class keeps; left out: slo of the scenario."},
}

func (r *reader) classes(into *[]Class, n *node) {
	if n.kind != list {
		r.fault(n, "workload.classes", "must be a list of mappings %s, got %s", classKeys, n.kind)
		return
	}
	*into = make([]Class, len(n.items))
	for i, item := range n.items {
		r.class(&(*into)[i], item, classPath(i))
	}
}

// classPath is the path of item i in messages.
func classPath(i int) string { return fmt.Sprintf("workload.classes[%d]", i) }

func (r *reader) class(c *Class, n *node, path string) {
	table := classFields(c)
	for i := range table {
		r.def(&table[i])
	}
	if n.kind != mapping {
		r.fault(n, path, "must be a mapping %s, got %s", classKeys, n.kind)
		return
	}
	for _, e := range n.keys {
		r.classKey(table, e, path, "")
	}
	c.OwnSLO = r.s.Explicit(join(path, "slo"))
	for _, law := range []struct {
		key string
		l   *Length
	}{{"prompt", &c.Prompt}, {"output", &c.Output}} {
		if below := join(path, law.key); law.l.Dist == "" && r.s.Explicit(below) {
			law.l.Dist = law.l.infer(r.s.given(below))
		}
	}
}

// classKey reads one key of an item, or of one of its sections.
func (r *reader) classKey(table []field, e entry, path, in string) {
	key := join(in, e.key)
	r.s.set[join(path, key)] = e.value.at
	if i := slices.IndexFunc(table, func(f field) bool { return f.path == key }); i >= 0 {
		if err := r.value(e.value, &table[i]); err != nil {
			r.fault(e.value, join(path, key), "%v", err)
		}
		return
	}
	i := slices.IndexFunc(classSections, func(s section) bool { return s.path == key })
	if i < 0 {
		r.mistakes.add(e.at, join(path, key), "unknown key%s", didYouMean(e.key, classNames(table, in)))
		return
	}
	sec := &classSections[i]
	switch n := e.value; {
	case n.kind == null, sec.none && n.kind == scalar && strings.EqualFold(n.text, "none"):
	case n.kind == scalar && sec.short != "":
		r.classKey(table, entry{sec.short, n.at, n}, path, key)
	case n.kind != mapping:
		r.fault(n, join(path, key), "must be a mapping with the keys %s; got %s", strings.Join(classNames(table, key), ", "), n.kind)
	default:
		for _, below := range n.keys {
			r.classKey(table, below, path, key)
		}
	}
}

// classNames are the keys of an item, or of one of its sections.
func classNames(table []field, section string) (names []string) {
	for i := range table {
		in, key := parent(table[i].path)
		switch {
		case in == section:
			names = append(names, key)
		case section == "" && !slices.Contains(names, in):
			names = append(names, in)
		}
	}
	return names
}

// show returns the class as the configuration gives it; given reports which of its keys were written.
func (c *Class) show(given func(key string) bool) Map {
	var m Map
	table := classFields(c)
	for i := range table {
		f := &table[i]
		in, _ := parent(f.path)
		if in != "" && isZero(f.into(nil)) && (in == "slo" || !given(f.path)) {
			continue // a law or a target that was not given; a deviation or a ratio of zero is a number like any other
		}
		m = m.put(f.path, f.show(f.into(nil)))
	}
	if c.OwnSLO && c.SLO == (SLO{}) {
		m = m.put("slo", "none")
	}
	return m
}

func classSchema() Map {
	var c Class
	var keys Map
	below := map[string]Map{}
	table := classFields(&c)
	for i := range table {
		f := &table[i]
		if in, key := parent(f.path); in == "" {
			keys = append(keys, Item{key, f.schema()})
		} else {
			below[in] = append(below[in], Item{key, f.schema()})
		}
	}
	for _, sec := range classSections {
		forms := []Map{{{"type", "object"}, {"properties", below[sec.path]}, {"additionalProperties", false}}}
		switch {
		case sec.short != "":
			forms = append(forms, Map{{"type", "integer"}, {"minimum", 1}})
		case sec.none:
			forms = append(forms, Map{{"enum", []any{nil, "none"}}})
		}
		keys = append(keys, Item{sec.path, Map{{"description", sec.doc}, {"anyOf", forms}}})
	}
	return Map{{"type", "object"}, {"properties", keys}, {"additionalProperties", false}}
}
