package measured

import (
	"context"
	"math"
	"strings"
	"testing"
)

const settings = "run,model,gpu,tp,vllm_version,max_num_seqs,num_gpu_blocks\nr,llama-3.1-8b,H100-SXM,1,0.19.0,8,\n"

const requests = "run,request_id,arrival_s,input_tokens,output_tokens,queued_s,scheduled_s,first_token_s,last_token_s\n" +
	"r,b,0.5,100,10,0.51,0.52,0.6,0.7\n" +
	"r,a,0,100,10,0.01,0.02,0.1,0.2\n"

func TestRecordedRunsAreReplayed(t *testing.T) {
	l, err := ReadLogs("x_requests.csv", strings.NewReader(requests), "x_summary.csv", strings.NewReader(settings))
	if err != nil {
		t.Fatal(err)
	}
	r, err := l.Validate(context.Background())
	if err != nil || len(r.Skipped) > 0 {
		t.Fatal(err, r.Skipped)
	}
	got := make(map[string]Comparison)
	for _, c := range r.Rows {
		got[c.Metric] = c
	}
	for metric, want := range map[string]float64{"queue_mean": 10, "ttft_p50": 100, "e2el_p99": 200, "makespan": 700} { // order does not matter
		if c := got[metric]; math.Abs(c.Measured-want) > 1e-6 {
			t.Errorf("%s: measured %v, want %v", metric, c.Measured, want)
		}
	}
	if c := got["tpot_mean"]; math.Abs(c.Measured-100.0/9) > 1e-6 || c.Predicted < 4 || c.Predicted > 9 {
		t.Errorf("time per token of an 8B on an H100, one request at a time: %+v", c)
	}
}

func TestMistakesInLogsNameTheirPlace(t *testing.T) {
	for _, c := range []struct{ requests, settings, want string }{
		{"run\n", settings, "x_requests.csv:1: column arrival_s is missing"},
		{requests, "run\n", "x_summary.csv:1: column model is missing"},
		{strings.ReplaceAll(requests, "\nr,a", "\nq,a"), settings, `x_requests.csv:3: run: "q" has no row in x_summary.csv`},
		{strings.ReplaceAll(requests, "r,a,0,100", "r,a,0,0"), settings, "x_requests.csv:3: input_tokens and output_tokens must be at least 1"},
	} {
		_, err := ReadLogs("x_requests.csv", strings.NewReader(c.requests), "x_summary.csv", strings.NewReader(c.settings))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one that contains %q", err, c.want)
		}
	}
}

func TestARunThatCannotBeReplayedIsReported(t *testing.T) {
	l, err := ReadLogs("x_requests.csv", strings.NewReader(requests), "x_summary.csv", strings.NewReader(settings+"empty,llama-3.1-8b,H100-SXM,1,0.19.0,8,\n"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := l.Validate(context.Background())
	if err != nil || len(r.Skipped) != 1 || r.Skipped[0].ID != "empty" {
		t.Errorf("skipped %v (%v), want the run without requests", r.Skipped, err)
	}
}

// The two runs that ship with the program: queueing and preemption decide them, so that they test the scheduler more than
// the prices.
func TestRecordedRunsOfVLLM019AreMet(t *testing.T) {
	l, err := EmbeddedLogs()
	if err != nil {
		t.Fatal(err)
	}
	r, err := l.Validate(context.Background())
	if err != nil || len(r.Skipped) > 0 {
		t.Fatal(err, r.Skipped)
	}
	if part := r.By["fit_of_0.19.0"]; part["yes"]["e2el_mean"].N != 1 || part["no"]["e2el_mean"].N != 1 {
		t.Errorf("parts %v, want one run in the fit and one left out", part)
	}
	for _, c := range r.Rows {
		switch c.Metric {
		case "ttft_mean", "tpot_mean", "e2el_mean", "makespan":
			if math.Abs(c.ErrorPct) > 5 {
				t.Errorf("%s: %s is off by %+.1f %%, want at most 5 %%", c.ID, c.Metric, c.ErrorPct)
			}
		}
	}
}
