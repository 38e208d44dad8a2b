package scenarios

import (
	"bytes"
	"encoding/json"
	"strings"
)

// A Map is a mapping that keeps the order of its keys: a resolved configuration. It marshals to JSON, and JSON is YAML,
// so that the configuration in a report can be run again as it stands.
type Map []Item

// An Item is one key of a Map and its value: a Map, a string, a number, a boolean, a list, or nil.
type Item struct {
	Key   string
	Value any
}

// MarshalJSON writes the keys in order.
func (m Map) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, item := range m {
		if i > 0 {
			b.WriteByte(',')
		}
		for _, v := range []any{item.Key, item.Value} {
			text, err := marshal(v)
			if err != nil {
				return nil, err
			}
			b.Write(text)
			b.WriteByte(':')
		}
		b.Truncate(b.Len() - 1)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// marshal leaves <, > and & alone: a report is not a web page.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// Get returns the value at a dotted path, or nil.
func (m Map) Get(path string) any {
	var at any = m
	for path != "" {
		var key string
		key, path, _ = cut(path)
		in, ok := at.(Map)
		if !ok {
			return nil
		}
		at = in.find(key)
	}
	return at
}

func cut(path string) (first, rest string, more bool) {
	for i := range len(path) {
		if path[i] == '.' {
			return path[:i], path[i+1:], true
		}
	}
	return path, "", false
}

func (m Map) find(key string) any {
	for _, item := range m {
		if item.Key == key {
			return item.Value
		}
	}
	return nil
}

// put sets the value at a dotted path, making the mappings on the way.
func (m Map) put(path string, v any) Map {
	key, rest, deep := cut(path)
	for i := range m {
		if m[i].Key == key && deep {
			below, _ := m[i].Value.(Map)
			m[i].Value = below.put(rest, v)
			return m
		}
	}
	if deep {
		v = Map(nil).put(rest, v)
	}
	return append(m, Item{key, v})
}

// Map returns the configuration in the order of a scenario file. What has no effect here is left out unless it was given, so that
// running the configuration again warns of the same things.
func (s *Scenario) Map() Map {
	var m Map
	for i := range fields {
		f := &fields[i]
		if v, ok := s.shown(f); ok {
			m = m.put(f.path, v)
		}
	}
	if s.SLO == (SLO{}) {
		m = m.put("slo", nil)
	}
	return m.shorten("")
}

// shown returns the value of a field as the configuration gives it, and whether it does.
func (s *Scenario) shown(f *field) (any, bool) {
	if f.pool != nil {
		return f.pool(s).shownBy(fieldAt(f.base), s)
	}
	given := s.Explicit(f.path)
	if f.removed {
		return true, given
	}
	if strings.HasPrefix(f.path, speculative+".") && !s.speculates() {
		return nil, false
	}
	if f.into == nil || !given && (s.idle(f.path) != "" || s.unset(f)) {
		return nil, false
	}
	from := f.into(s)
	if classes, ok := from.(*[]Class); ok {
		var list []Map
		for i := range *classes {
			list = append(list, (*classes)[i].show(s.given(classPath(i))))
		}
		return list, len(list) > 0
	}
	if groups, ok := from.(*[]Group); ok {
		return s.shownGroups(*groups), len(*groups) > 0
	}
	if f.file && !given {
		return nil, false
	}
	return f.show(from), true
}

// unset reports whether a field is without a value, so that there is nothing to show.
func (s *Scenario) unset(f *field) bool {
	switch v := f.into(s).(type) {
	case *string:
		if *v == "" {
			return true
		}
	case *[]int:
		return len(*v) == 0
	case *Rates: // what is assumed is assumed, and said, again
		return v.Assumed || len(v.Values) == 0
	}
	if s.mixed() && (f.path == "scheduler.name" || strings.HasPrefix(f.path, "frontend.") && f.words != nil) {
		return true // each profile has its own
	}
	return f.def == "" && isZero(f.into(s))
}

// shorten writes a section as the single value that may stand for it where it holds nothing else.
func (m Map) shorten(path string) Map {
	for i := range m {
		at := join(path, m[i].Key)
		below, ok := m[i].Value.(Map)
		if !ok {
			continue
		}
		sec := sectionAt(at)
		if sec != nil && sec.short != "" && len(below) == 1 && below[0].Key == sec.short {
			m[i].Value = below[0].Value
			continue
		}
		m[i].Value = below.shorten(at)
	}
	return m
}

// JSON returns the configuration as an indented document that can be saved and run again.
func (m Map) JSON() []byte {
	text, err := marshal(m)
	if err != nil {
		panic("scenarios: a configuration holds a value that JSON has no form for: " + err.Error())
	}
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", "  "); err != nil {
		panic("scenarios: a configuration is not JSON: " + err.Error())
	}
	b.WriteByte('\n')
	return b.Bytes()
}
