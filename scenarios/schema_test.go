package scenarios

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// inSchema reports the keys of a value that the schema does not have, and the objects that allow others.
func inSchema(t *testing.T, path string, value any, schema map[string]any) {
	t.Helper()
	forms := []any{schema}
	if any, ok := schema["anyOf"].([]any); ok {
		forms = any
	}
	keys, ok := value.(map[string]any)
	if !ok {
		return
	}
	for _, form := range forms {
		properties, ok := form.(map[string]any)["properties"].(map[string]any)
		if !ok {
			continue
		}
		if form.(map[string]any)["additionalProperties"] != false {
			t.Errorf("%s: the schema allows any key", path)
		}
		// order does not matter: every key is looked up by itself
		for key, below := range keys {
			if s, ok := properties[key].(map[string]any); ok {
				inSchema(t, join(path, key), below, s)
			} else {
				t.Errorf("%s is not in the schema", join(path, key))
			}
		}
		return
	}
	t.Errorf("%s: the schema has no mapping here", path)
}

func parsedSchema(t *testing.T) map[string]any {
	t.Helper()
	var schema map[string]any
	if err := json.Unmarshal(Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	return schema
}

func TestEveryKeyOfTheEmbeddedScenariosIsInTheSchema(t *testing.T) {
	schema := parsedSchema(t)
	for _, e := range Names() {
		src, _ := Source(e.Name)
		var file, config map[string]any
		if err := yaml.Unmarshal(src, &file); err != nil {
			t.Fatal(err)
		}
		inSchema(t, "", file, schema)
		if err := json.Unmarshal(mustBuild(t, e.Name).Scenario.Map().JSON(), &config); err != nil {
			t.Fatal(err)
		}
		inSchema(t, "", config, schema)
	}
}

func TestEveryFieldOfTheTableIsInTheSchemaWithItsWords(t *testing.T) {
	text := string(Schema())
	for i := range fields {
		f := &fields[i]
		if f.doc == "" || !strings.Contains(text, strings.Trim(string(mustMarshal(t, f.doc)), `"`)) {
			t.Errorf("%s: its words are not in the schema: %q", f.path, f.doc)
		}
		for in, key := parent(f.path); ; in, key = parent(in) {
			if !slices.Contains(children(in), key) {
				t.Errorf("%s: %s is not a key of %q", f.path, key, in)
			}
			if in == "" {
				break
			}
			if sectionAt(in) == nil {
				t.Errorf("%s: there is no section %s", f.path, in)
			}
		}
	}
}

func mustMarshal(t *testing.T, v any) []byte {
	t.Helper()
	text, err := marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestDefaultsOfTheSchemaAreThoseOfTheTable(t *testing.T) {
	engine := parsedSchema(t)["properties"].(map[string]any)["engine"].(map[string]any)["properties"].(map[string]any)
	for key, want := range map[string]any{"block_size": 16.0, "profile": "vllm-v1", "max_num_seqs": "auto", "enforce_eager": false} { // order does not matter
		if got := engine[key].(map[string]any)["default"]; got != want {
			t.Errorf("engine.%s: default %v, want %v", key, got, want)
		}
	}
	if d := engine["num_scheduler_steps"].(map[string]any)["deprecated"]; d != true {
		t.Errorf("engine.num_scheduler_steps is not marked deprecated: %v", d)
	}
}
