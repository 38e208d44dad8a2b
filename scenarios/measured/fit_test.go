package measured

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestTheRowsOfTheFitAreToldFromThoseLeftOut(t *testing.T) {
	table, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for i := range table.Rows {
		r := &table.Rows[i]
		counts[r.EngineVersion+" "+r.inFit()]++
	}
	want := map[string]int{
		"0.15.1 yes": 27, "0.15.1 form": 4, "0.15.1 no": 17,
		"0.21 yes": 15, "0.21 no": 33, "0.11.0 yes": 3, "0.11.0 no": 42,
	}
	if !maps.Equal(counts, want) {
		t.Errorf("%v, want %v", counts, want)
	}
	r := validate(t, table, "id=*llama-2-7b-tp1-reasoning*")
	if part := r.By["fit_of_0.15.1"]; part["form"] == nil || len(part) != 1 {
		t.Errorf("parts %v, want form alone", part)
	}
}

func TestNothingWasFittedToATableFromOutside(t *testing.T) {
	r := validate(t, read(t, header+"a,,,0.15.1,llama-3.1-8b,H100-SXM,1,burst,1,1,1,,1,\n"), "")
	if len(r.Rows) != 1 || r.By["fit_of_0.15.1"] != nil {
		t.Errorf("%d rows, parts %v", len(r.Rows), r.By)
	}
}

func TestTheNotesTellWhenClientsGaveUp(t *testing.T) {
	for notes, want := range map[string]string{ // order does not matter: each is a test of its own
		"client gave up after 300 s":                     "300s",
		"overloaded, client gave up after 300 s":         "300s",
		"clients gave up after 1500 ms; cold":            "1500ms",
		"the clients gave up after 2 m, or rather later": "2m",
		"gave up after a while":                          "",
		"gave up after 300":                              "",
		"nobody gave up":                                 "",
		"":                                               "",
	} {
		r := Row{Notes: notes}
		if got := r.patience(); got != want {
			t.Errorf("%q: %q, want %q", notes, got, want)
		}
	}
}

// Eight requests at once meet one seat: only those that are answered in time count, and the row is compared all the same.
func TestClientsGiveUpAgain(t *testing.T) {
	const table = "id,engine_version,model,gpu,tp,max_num_seqs,arrival,num_requests,prompt_tokens,output_tokens,requests_per_s,notes\n" +
		"a,0.15.1,llama-3.1-8b,H100-SXM,1,1,burst,8,100,100,1,"
	patient := validate(t, read(t, table+"\n"), "").Rows
	hasty := validate(t, read(t, table+"client gave up after 2 s\n"), "").Rows
	if len(patient) != 1 || len(hasty) != 1 {
		t.Fatalf("%d rows and %d", len(patient), len(hasty))
	}
	// An answer takes about 0.7 s; two are there in time, and the run is over after two seconds.
	if got := hasty[0].Predicted; got < 0.9 || got > 1.1 {
		t.Errorf("%.3f requests/s, want 1", got)
	}
	if got := patient[0].Predicted; got < 1.2 || got > 1.6 {
		t.Errorf("%.3f requests/s if nobody gives up, want 1/0.7 s", got)
	}
	if r := validate(t, read(t, table+"client gave up after 100 ms\n"), ""); len(r.Skipped) != 1 || !strings.Contains(r.Skipped[0].Reason, "not answered") {
		t.Errorf("a run without a single answer: %+v", r.Skipped)
	}
	if !slices.Contains(filterColumns(), "notes") {
		t.Error("rows cannot be chosen by their notes")
	}
}
