package measured

import (
	"math"
	"strings"
	"testing"
)

const oneResult = `{"model_id": "llama-3.1-8b", "num_prompts": 4, "request_rate": "inf", "burstiness": 1.0, "max_concurrency": 2, "duration": 10.0,
 "completed": 4, "failed": 1, "total_input_tokens": 400, "total_output_tokens": 42, "output_throughput": 4.2, "mean_ttft_ms": 50.0, "mean_tpot_ms": 10.0`

func TestReadBenchmarksTakesWhatVLLMWrites(t *testing.T) {
	detailed := oneResult + `, "input_lens": [90, 110, 0, 100, 100], "output_lens": [10, 12, 0, 10, 10], "start_times": [5, 6, 6, 7, 8], "errors": ["", "", "timeout", "", ""]}`
	all, err := ReadBenchmarks("a.json", strings.NewReader(oneResult+"}\n"+detailed))
	if err != nil || len(all) != 2 {
		t.Fatalf("%d results, %v; want 2", len(all), err)
	}
	a, b := all[0], all[1]
	if a.Name != "a.json" || a.Concurrency != 2 || !math.IsInf(a.Rate, 1) || a.prompt() != 100 || a.Failed != 1 {
		t.Errorf("got %+v", a)
	}
	// L = 4/10 s × (50 ms + 10 ms × 9.5)
	if l := a.inSystem(); math.Abs(l-0.058) > 1e-9 {
		t.Errorf("%g requests in the system, want 0.058", l)
	}
	if b.Name != "a.json#2" || len(b.InputLens) != 4 || b.OutputLens[1] != 12 || b.Starts[2] != 7 {
		t.Errorf("the request that failed is not left out: %+v", b)
	}
}

func TestReadBenchmarksSaysWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{ // order does not matter: subtests
		"empty":        {"", "a.json: is empty"},
		"not JSON":     {"duration: 3", "a.json: is not a result of vllm bench serve"},
		"another JSON": {`{"a": 1}`, "a.json: request_rate: is missing"},
		"a ramp":       {oneResult + `, "ramp_up_strategy": "linear"}`, "a.json: ramp_up_strategy"},
		"no TPOT":      {strings.Replace(oneResult, `"mean_tpot_ms": 10.0`, `"x": 1`, 1) + "}", "a.json: mean_tpot_ms: is missing; keep ttft and tpot"},
		"a bad rate":   {strings.Replace(oneResult, `"inf"`, `-1`, 1) + "}", "a.json: request_rate: must be positive"},
		"no answer":    {strings.Replace(oneResult, `"completed": 4`, `"completed": 0`, 1) + "}", "a.json: completed: must be positive, got 0"},
		"uneven lists": {oneResult + `, "input_lens": [1], "output_lens": [1, 2]}`, "must be equally long"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadBenchmarks("a.json", strings.NewReader(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
}

func TestCalibrateFitsFewerConstantsToFewerLoads(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	s := server(setting{"model", "llama-3.1-8b"}, setting{"engine.profile", "vllm-0.15"})
	inf := math.Inf(1)
	loads := []Benchmark{load(500, 50, 10, 1, inf), load(500, 50, 10, 1, inf), load(500, 50, 40, 8, inf), load(2000, 50, 20, 2, inf)}
	for n, want := range map[int]string{ // order does not matter: each is its own case
		1: "exposed_base frontend_latency", 2: "exposed_base frontend_latency", // the same load twice
		3: "exposed_base exposed_per_seq frontend_latency", 4: "exposed_base exposed_per_seq frontend_latency bandwidth_fraction",
	} {
		fit, err := Calibrate(t.Context(), s, measure(t, s, append([]Benchmark(nil), loads[:n]...), truth(0.9e-3, 18e-6, 15e-3)))
		if err != nil {
			t.Fatal(err)
		}
		var fitted []string
		for _, k := range fit.Constants {
			if k.Fitted {
				fitted = append(fitted, k.Name)
			}
		}
		if got := strings.Join(fitted, " "); got != want || !strings.Contains(strings.Join(fit.Notes, "\n"), "are needed to fit everything") {
			t.Errorf("%d results: fitted %s, want %s; notes %q", n, got, want, fit.Notes)
		}
		if fit.AfterPct > 1 {
			t.Errorf("%d results: an error of %.1f %% is left", n, fit.AfterPct)
		}
	}
}
