package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/servesim/servesim/sim/metrics"
)

// A saved is what --save-detailed adds to a result of vLLM's.
type saved struct {
	Outputs []int       `json:"output_lens"`
	TTFTs   []float64   `json:"ttfts"`
	ITLs    [][]float64 `json:"itls"`
	Errors  []string    `json:"errors"`
}

// saveDetailed runs a command line and returns the report and the result file, which are about the same run.
func saveDetailed(t *testing.T, line string) (metrics.Report, saved) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "result.json")
	args := append(strings.Fields(line), "--format", "json", "--save-detailed", "--result-filename", name)
	code, stdout, stderr := session(t.Context(), args...)
	if code != 0 {
		t.Fatalf("servesim %s: status %d: %s", line, code, stderr)
	}
	var r metrics.Report
	var s saved
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range []struct {
		text []byte
		into any
	}{{[]byte(stdout), &r}, {text, &s}} {
		if err := json.Unmarshal(one.text, one.into); err != nil {
			t.Fatal(err)
		}
	}
	return r, s
}

func TestDetailsAreTimesOfTheClientAsInTheReport(t *testing.T) {
	for _, line := range []string{
		"run chat --num-prompts 60",
		"run chat --num-prompts 60 --stream-interval 4",
		"run speculation --num-prompts 30",
		"run apart-1p1d --num-prompts 30",
		"run apart-1p1d --num-prompts 30 --set cluster.transfer.mode=push-chunks --set cluster.transfer.first_token=prefill",
		"run replicas --num-prompts 60",
		"run chat --num-prompts 60 --timeout 3s",
	} {
		r, s := saveDetailed(t, line)
		first, gap, outputs := 0.0, 0.0, 0
		var firsts, gaps int64
		for i := range s.TTFTs {
			if s.Errors[i] != "" {
				continue
			}
			firsts, outputs, first = firsts+1, outputs+s.Outputs[i], first+s.TTFTs[i]
			for _, g := range s.ITLs[i] {
				gaps, gap = gaps+1, gap+g
			}
		}
		if firsts != r.Latency.TTFT.Count || gaps != r.Latency.ITL.Count || int64(outputs) != r.Tokens.Output {
			t.Errorf("%s: %d first tokens, %d gaps and %d tokens; the report has %d, %d and %d",
				line, firsts, gaps, outputs, r.Latency.TTFT.Count, r.Latency.ITL.Count, r.Tokens.Output)
		}
		near := func(what string, sum float64, n int64, mean float64) {
			if got := 1e3 * sum / float64(n); math.Abs(got-mean) > 1e-9*mean {
				t.Errorf("%s: mean %s %v ms, the report has %v", line, what, got, mean)
			}
		}
		near("ttft", first, firsts, r.Latency.TTFT.Mean)
		near("itl", gap, gaps, r.Latency.ITL.Mean)
	}
}

func TestDetailsOfUnfinishedRequestsSayWhy(t *testing.T) {
	r, s := saveDetailed(t, "run chat --num-prompts 60 --set workload.horizon=2s")
	failed := 0
	for i, why := range s.Errors {
		if why == "" {
			continue
		}
		if failed++; s.Outputs[i] != 0 || s.TTFTs[i] != 0 || len(s.ITLs[i]) != 0 {
			t.Errorf("request %d failed (%s) and yet has %d tokens", i, why, s.Outputs[i])
		}
	}
	if failed == 0 || failed != r.Requests.Unfinished {
		t.Errorf("%d requests with an error, %d unfinished", failed, r.Requests.Unfinished)
	}
}

func TestDetailsOfNoRequestAreEmptyLists(t *testing.T) {
	_, s := saveDetailed(t, "run chat --set workload.horizon=1us")
	if s.TTFTs == nil || s.ITLs == nil || len(s.Errors) != 0 {
		t.Errorf("got %+v, want empty lists", s)
	}
}
