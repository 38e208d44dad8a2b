package measured

import (
	"strings"
	"testing"
)

const header = "id,group,phase,engine_version,model,gpu,tp,arrival,num_requests,prompt_tokens,output_tokens,concurrency,ttft_mean_ms,tpot_mean_ms\n"

func read(t *testing.T, text string) *Table {
	t.Helper()
	table, err := ReadTable("t.csv", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestTheEmbeddedTableIsWhole(t *testing.T) {
	table, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	if len(table.Rows) != 141 {
		t.Errorf("%d rows, want 141", len(table.Rows))
	}
	for i := range table.Rows {
		if r := &table.Rows[i]; r.Source == "" || r.Class() == "unknown" {
			t.Errorf("%s: source %q, class %s: every row names its source and a known model", r.ID, r.Source, r.Class())
		}
	}
}

func TestMistakesInATableNameTheirPlace(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{ // order does not matter: each is a test of its own
		"empty":           {"", "t.csv: is empty"},
		"header only":     {header, "t.csv: has no rows"},
		"missing columns": {"id,model\n1,x\n", "t.csv:1: column gpu is missing"},
		"column twice":    {"id," + header, "t.csv:1: column id is there twice"},
		"not a number":    {header + "a,,,0.15.1,m,g,two,burst,1,1,1,,,\n", `t.csv:2: tp: must be a whole number of at least 0, got "two"`},
		"fraction":        {header + "a,,,0.15.1,m,g,1.5,burst,1,1,1,,,\n", "t.csv:2: tp: must be a whole number"},
		"negative":        {header + "a,,,0.15.1,m,g,1,burst,1,-1,1,,,\n", "t.csv:2: prompt_tokens: must be a number of at least 0"},
		"infinite":        {header + "a,,,0.15.1,m,g,1,burst,1,1,1,,inf,\n", "t.csv:2: ttft_mean_ms: must be a number"},
		"truncated":       {header + "a,,,0.15.1,m\n", "t.csv:2:1: wrong number of fields"},
		"open quote":      {header + "\"a,,,\n", "t.csv:"},
		"same id":         {header + strings.Repeat("a,,,0.15.1,m,g,1,burst,1,1,1,,,\n", 2), `t.csv:3: id: "a" is also that of line 2`},
		"no id":           {header + ",,,0.15.1,m,g,1,burst,1,1,1,,,\n", "t.csv:2: id: must not be blank"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadTable("t.csv", strings.NewReader(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one that contains %q", err, c.want)
			}
		})
	}
}

func TestAllMistakesAreShownAtOnce(t *testing.T) {
	_, err := ReadTable("t.csv", strings.NewReader(header+"a,,,0.15.1,m,g,x,burst,y,1,1,,,\n"))
	if err == nil || !strings.Contains(err.Error(), "tp:") || !strings.Contains(err.Error(), "num_requests:") {
		t.Errorf("error %v, want both mistakes", err)
	}
}

func TestUnknownColumnsAreReadOver(t *testing.T) {
	table := read(t, "weather,"+header+"fine,a,,,0.15.1,m,g,1,burst,1,1,1,,2.5,\n")
	if r := table.Rows[0]; r.ID != "a" || r.Measured[TTFTMean] != 2.5 || r.Group != "a" {
		t.Errorf("row %+v", r)
	}
}

func TestFiltersMatchColumns(t *testing.T) {
	table := read(t, header+"a,,,0.15.1,meta-llama/Llama-3.1-8B,H100-SXM,1,burst,1,1,1,,,\n")
	for text, want := range map[string]bool{ // order does not matter: each is a test of its own
		"":                        true,
		"gpu=h100*":               true,
		"model=*LLAMA*8b":         true,
		"model=llama*":            false,
		"gpu=H?00*,arrival=burst": true,
		"gpu=H100*,tp=2":          false,
		"model_class=dense":       true,
		"compare=":                true,
	} {
		f, err := ParseFilter(text)
		if err != nil || f.Keeps(&table.Rows[0]) != want {
			t.Errorf("%q keeps the row: %v (%v), want %v", text, !want, err, want)
		}
	}
	for text, want := range map[string]string{"gpu": "must be COLUMN=VALUE", "colour=red": "there is no column colour"} { // order does not matter
		if _, err := ParseFilter(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one that contains %q", text, err, want)
		}
	}
}
