package scenarios

import (
	"bytes"
	"encoding/json"
	"time"
)

// Schema returns a JSON schema (draft 2020-12) of the scenario file, made from the table of fields: editors use it to
// complete and to check.
func Schema() []byte {
	m := Map{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"$id", "https://github.com/servesim/servesim/scenario.schema.json"},
		{"title", "servesim scenario"},
	}
	var b bytes.Buffer
	text, err := marshal(append(m, object("")...))
	if err == nil {
		err = json.Indent(&b, text, "", "  ")
	}
	if err != nil {
		panic("scenarios: the schema is not JSON: " + err.Error())
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// object describes a section: its keys and no others.
func object(path string) Map {
	var keys Map
	for _, key := range children(path) {
		below := join(path, key)
		if f := fieldAt(below); f != nil {
			keys = append(keys, Item{key, f.schema()})
		} else {
			keys = append(keys, Item{key, sectionSchema(sectionAt(below))})
		}
	}
	return Map{{"type", "object"}, {"properties", keys}, {"additionalProperties", false}}
}

// sectionSchema describes a section together with what may stand in its place.
func sectionSchema(sec *section) Map {
	about := Item{"description", sec.doc}
	if sec.later {
		return Map{about, {"enum", []any{nil, "none"}}}
	}
	forms := []Map{object(sec.path)}
	if sec.short != "" {
		forms = append(forms, fieldAt(join(sec.path, sec.short)).schema())
	}
	if sec.none {
		forms = append(forms, Map{{"enum", []any{nil, "none"}}})
	}
	if len(forms) == 1 {
		return append(Map{about}, forms[0]...)
	}
	return Map{about, {"anyOf", forms}}
}

// schema describes one value.
func (f *field) schema() Map {
	m := Map{{"description", f.doc}}
	if f.removed {
		return append(m, Item{"deprecated", true})
	}
	if f.into == nil {
		return append(m, Item{"enum", []any{defaultValue(f), nil}})
	}
	value := f.valueSchema()
	if len(f.words) > 0 {
		var words []string
		for _, w := range f.words {
			words = append(words, w.word)
		}
		m = append(m, Item{"anyOf", []Map{value, {{"enum", words}}}})
	} else {
		m = append(m, value...)
	}
	if f.def != "" {
		m = append(m, Item{"default", defaultValue(f)})
	}
	return m
}

func (f *field) valueSchema() Map {
	if len(f.choices) > 0 {
		return Map{{"enum", f.choices}}
	}
	switch f.into(&Scenario{}).(type) {
	case *string:
		return Map{{"type", "string"}}
	case *bool, *Switch:
		return Map{{"type", "boolean"}}
	case *int, *uint64:
		return f.bounded(Map{{"type", "integer"}})
	case *float64:
		return f.bounded(Map{{"type", "number"}})
	case *time.Duration:
		return Map{{"type", "string"}, {"pattern", `^([0-9.]+(ns|us|µs|ms|s|m|h))+$`}}
	case *Bytes:
		return Map{{"type", []string{"integer", "string"}}}
	case *[]int:
		return Map{{"type", "array"}, {"items", Map{{"type", "integer"}, {"minimum", 1}}}}
	case *[]Class:
		return Map{{"type", "array"}, {"items", classSchema()}}
	case *[]Group:
		return Map{{"type", "array"}, {"items", groupSchema()}}
	}
	return Map{{"type", "string"}} // Bandwidth
}

// bounded adds the lower end of the limit, which it finds by trying.
func (f *field) bounded(m Map) Map {
	within := f.limit.within
	switch {
	case within == nil:
	case !within(0) && within(1) && !within(0.5):
		m = append(m, Item{"minimum", 1})
	case !within(0):
		m = append(m, Item{"exclusiveMinimum", 0})
	case !within(-1):
		m = append(m, Item{"minimum", 0})
	}
	return m
}

func classSchema() Map {
	var c Class
	var keys Map
	for _, f := range classFields(&c) {
		keys = append(keys, Item{f.path, f.schema()})
	}
	return Map{{"type", "object"}, {"properties", keys}, {"additionalProperties", false}}
}

// defaultValue is the default as JSON has it: a number or a boolean where it is one, else text.
func defaultValue(f *field) any {
	if f.into != nil {
		if _, text := f.into(&Scenario{}).(*string); text {
			return f.def
		}
	}
	if json.Valid([]byte(f.def)) {
		return json.RawMessage(f.def)
	}
	return f.def
}
