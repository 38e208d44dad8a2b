package measured

import (
	"context"
	"flag"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

func validate(t *testing.T, table *Table, filter string) *Report {
	t.Helper()
	keep, err := ParseFilter(filter)
	if err != nil {
		t.Fatal(err)
	}
	r, err := table.Validate(context.Background(), keep)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The summary of the embedded table, in tenths of a percent: whoever makes a prediction worse or better sees it here.
func TestAccuracyStaysWhatItIs(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the whole table")
	}
	table, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	r := validate(t, table, "")
	if len(r.Skipped) > 0 {
		t.Errorf("rows that were not run: %v", r.Skipped)
	}
	var b strings.Builder
	line := func(part string, of map[string]Summary) {
		for _, m := range Metrics() {
			if s, ok := of[m.String()]; ok {
				fmt.Fprintf(&b, "%-22s %-19s n %3d  median %5.1f  p90 %5.1f  signed %+6.1f\n", part, m, s.N, s.MedianAbsPct, s.P90AbsPct, s.MedianSignedPct)
			}
		}
	}
	line("all", r.Summary)
	for _, version := range []string{"0.11.0", "0.15.1", "0.21"} {
		line("vllm "+version, r.By["engine_version"][version])
	}
	for _, gpu := range []string{"a100-sxm-80g", "h100-sxm", "h200-sxm", "l40s"} {
		line(gpu, r.By["gpu"][gpu])
	}
	const golden = "testdata/summary.golden.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got := b.String(); got != string(want) {
		t.Errorf("the accuracy has changed; if it was meant to, run with -update and say why in the CHANGELOG\n--- got\n%s--- want\n%s", got, want)
	}
	for _, c := range r.Capacity {
		if c.ErrorPct < -1 || c.ErrorPct > 1 {
			t.Errorf("%s: the memory plan has %.0f tokens, the engine reported %.0f", c.ID, c.Predicted, c.Measured)
		}
	}
}

func TestRowsThatCannotRunAreNeverSkippedInSilence(t *testing.T) {
	for reason, row := range map[string]string{ // order does not matter: each is a test of its own
		"unknown model":                 "a,,,0.15.1,nothing-9b,H100-SXM,1,burst,1,1,1,,1,\n",
		"unknown GPU":                   "a,,,0.15.1,llama-3.1-8b,Abacus,1,burst,1,1,1,,1,\n",
		"engine_version 9.9.9":          "a,,,9.9.9,llama-3.1-8b,H100-SXM,1,burst,1,1,1,,1,\n",
		"gpu is blank":                  "a,,,0.15.1,llama-3.1-8b,,1,burst,1,1,1,,1,\n",
		"rate_rps is blank":             "a,,,0.15.1,llama-3.1-8b,H100-SXM,1,poisson-n,1,1,1,,1,\n",
		"concurrency is blank":          "a,,,0.15.1,llama-3.1-8b,H100-SXM,1,closed,1,1,1,,1,\n",
		"storm":                         "a,,,0.15.1,llama-3.1-8b,H100-SXM,1,storm,1,1,1,,1,\n",
		"smallest tensor_parallel_size": "a,,,0.15.1,llama-3.1-70b,H100-SXM,1,burst,1,1,1,,1,\n",
		"nothing was measured":          "a,,,0.15.1,llama-3.1-8b,H100-SXM,1,burst,1,1,1,,,\n",
		"1 of 1 requests were not":      "a,,,0.15.1,llama-2-7b,H100-SXM,1,burst,1,5000,1,,1,\n",
		"3 does not divide":             "a,,,0.15.1,llama-3.1-8b,H100-SXM,3,burst,1,1,1,,1,\n",
	} {
		r := validate(t, read(t, header+row), "")
		if len(r.Rows) > 0 {
			t.Errorf("%s: the row was compared", reason)
		}
		if len(r.Skipped) != 1 {
			t.Errorf("%s: skipped %v, want one row", reason, r.Skipped)
			continue
		}
		if s := r.Skipped[0]; s.ID != "a" || !strings.Contains(s.Reason, reason) {
			t.Errorf("reason %q, want one that contains %q", s.Reason, reason)
		}
	}
}

// phases has two phases of one load on one server, and the second of them on a server of its own.
const phases = "id,group,phase,engine_version,model,gpu,tp,arrival,rate_rps,num_requests,prompt_tokens,output_tokens,prefix_groups,prefix_tokens,distinct_prompts,ttft_mean_ms\n" +
	"warm,g,1,0.15.1,llama-3.1-8b,H100-SXM,1,poisson-n,5,40,2000,20,2,100,20,10\n" +
	"cold,g,0,0.15.1,llama-3.1-8b,H100-SXM,1,poisson-n,5,40,2000,20,2,100,20,10\n" +
	"alone,h,1,0.15.1,llama-3.1-8b,H100-SXM,1,poisson-n,5,40,2000,20,2,100,20,10\n"

func predictions(r *Report) map[string]float64 {
	all := make(map[string]float64)
	for _, c := range r.Rows {
		all[c.ID+" "+c.Metric] = c.Predicted
	}
	return all
}

func TestAPhaseFindsWhatTheOneBeforeHasLeft(t *testing.T) {
	r := validate(t, read(t, phases), "")
	p := predictions(r)
	warm, cold, alone := p["warm ttft_mean"], p["cold ttft_mean"], p["alone ttft_mean"]
	if cold != alone {
		t.Errorf("the first phase takes %v ms to a first token and the same load alone %v: want the same", cold, alone)
	}
	if warm > 0.7*cold {
		t.Errorf("the second phase takes %v ms to a first token, the first %v: want far less, for every prompt has been seen", warm, cold)
	}
}

func TestAFilterDoesNotMakeAPhaseCold(t *testing.T) {
	all := predictions(validate(t, read(t, phases), ""))
	one := validate(t, read(t, phases), "id=warm")
	if len(one.Rows) != 1 || one.Rows[0].Predicted != all["warm ttft_mean"] {
		t.Errorf("alone %v, among all %v", one.Rows, all["warm ttft_mean"])
	}
}

func TestRowsOfOneGroupMustShareTheirServer(t *testing.T) {
	r := validate(t, read(t, header+
		"a,g,0,0.15.1,llama-3.1-8b,H100-SXM,1,burst,1,1,1,,1,\n"+
		"b,g,1,0.15.1,llama-3.1-8b,H100-SXM,2,burst,1,1,1,,1,\n"), "")
	if len(r.Skipped) != 1 || r.Skipped[0].ID != "b" || !strings.Contains(r.Skipped[0].Reason, "differ from those of a") {
		t.Errorf("skipped %v, want b", r.Skipped)
	}
}

func TestTheReportDoesNotDependOnTheProcessors(t *testing.T) {
	table := read(t, phases)
	many := validate(t, table, "")
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if one := validate(t, table, ""); !reflect.DeepEqual(one, many) {
		t.Errorf("on one processor %+v, on several %+v", one, many)
	}
}

func TestValidationStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := read(t, phases).Validate(ctx, nil); err == nil {
		t.Error("no error from a context that has ended")
	}
}
