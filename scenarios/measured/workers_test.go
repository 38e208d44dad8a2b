package measured

import (
	"os"
	"strings"
	"testing"
)

// What several GPUs cost an engine that does not plan ahead was read off Llama-3.1-70B on H100. It holds on H200, and for
// another model of another release, whose lengths are only known to have varied.
//
// Source: NVIDIA aiconfigurator's silicon samples, runs of vLLM of October 2025 (InferenceMAX) and of 0.12. Requests that waited for
// more than five seconds are left out: those servers were full.
func TestWhatSeveralGPUsCostTheHostCarriesOver(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	f, err := os.Open("testdata/closed2025.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	table, err := ReadTable("closed2025.csv", f)
	if err != nil {
		t.Fatal(err)
	}
	report := validate(t, table, "")
	if len(report.Skipped) > 0 {
		t.Errorf("rows that were not run: %v", report.Skipped)
	}
	for _, c := range []struct {
		rows   string
		median float64 // percent
	}{
		{"llama-3.1-70b-h100", 2.5}, // the fit
		{"llama-3.1-70b-h200", 2.5},
		{"qwen3-32b-h100", 5.5},
	} {
		var errors []float64
		for _, r := range report.Rows {
			if r.Metric == TPOTMean.String() && strings.HasPrefix(r.ID, c.rows) {
				errors = append(errors, r.ErrorPct)
			}
		}
		if s := Summarize(errors); s.N < 40 || s.MedianAbsPct > c.median {
			t.Errorf("%s: time per token is off by %.1f %% (%+.1f) in the median of %d rows, want at most %.1f", c.rows, s.MedianAbsPct, s.MedianSignedPct, s.N, c.median)
		} else {
			t.Logf("%s: %.1f %% (%+.1f), p90 %.1f %%, %d rows", c.rows, s.MedianAbsPct, s.MedianSignedPct, s.P90AbsPct, s.N)
		}
	}
}
