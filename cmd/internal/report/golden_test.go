package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/servesim/servesim/scenarios"
	"github.com/servesim/servesim/sim/metrics"
)

// fixed is a result with something in every corner.
func fixed() *scenarios.Result {
	p := func(x float64) *float64 { return &x }
	r := &scenarios.Result{
		Name: "chat", Seed: 7, Version: "0.0.0-test",
		Provenance: scenarios.Provenance{
			GPU: "h100-sxm", GPUStatus: "measured", Model: "llama-3.1-8b", WeightDtype: "bfloat16",
			EngineProfile: "vllm-0.27", ErrorBandPct: 10,
		},
		Config: scenarios.Map{
			{Key: "model", Value: "meta-llama/Llama-3.1-8B-Instruct"},
			{Key: "workload", Value: scenarios.Map{{Key: "rate", Value: 12.5}, {Key: "max_concurrency", Value: 64}}},
			{Key: "slo", Value: scenarios.Map{{Key: "ttft", Value: "1s"}, {Key: "tpot", Value: "50ms"}}},
		},
	}
	m := &r.Report
	m.Requests = metrics.Requests{Submitted: 1200, Completed: 1190, Rejected: 7, Aborted: 2, Unfinished: 1}
	m.Rejections = []metrics.Rejection{{Reason: "prompt of 9,000 tokens + max_tokens 200 exceeds max_model_len 8192", Count: 7}}
	m.DurationS = 96.125
	m.Tokens = metrics.Tokens{Input: 612345, Output: 240000}
	m.Throughput = metrics.Throughput{
		RequestsPerS: 12.38, InputTokensPerS: 6370.3, OutputTokensPerS: 2496.75, TotalTokensPerS: 8867.05,
		OutputTokensPerSPerGPU: 1248.4, OutputTokensPerSPerUser: 24.5, PeakOutputTokensPerS: 3300, PeakConcurrentRequests: 90,
	}
	m.Goodput = metrics.Goodput{RequestsPerS: p(9.9), Attainment: p(0.7925), ByMetric: metrics.ByMetric{TTFT: p(0.999), TPOT: p(0.8)}}
	m.Latency = metrics.Latency{
		TTFT:  metrics.Stats{Count: 1190, Mean: 52.5, Std: 20, Min: 0.75, P50: 44, P90: 99.96, P95: 150, P99: 1310, Max: 2750, More: map[string]float64{"p99.9": 2600}},
		TPOT:  metrics.Stats{Count: 1180, Mean: 40.8, Std: 9, Min: 8, P50: 38, P90: 90, P95: 99, P99: 180, Max: 250, More: map[string]float64{"p99.9": 240}},
		ITL:   metrics.Stats{Count: 238810, Mean: 40.1, Std: 30, Min: 6, P50: 30, P90: 80, P95: 120, P99: 300, Max: 640000, More: map[string]float64{"p99.9": 400}},
		E2EL:  metrics.Stats{Count: 1190, Mean: 8100, Std: 9000, Min: 50, P50: 7000, P90: 15000, P95: 20000, P99: 50000, Max: 640000, More: map[string]float64{"p99.9": 600000}},
		Queue: metrics.Stats{Count: 1190, Mean: 5, P50: 4, P90: 9, P95: 15, P99: 80, Max: 100, More: map[string]float64{"p99.9": 95}},
	}
	m.Engine = metrics.EngineUse{
		Steps: 2400, Preemptions: 12, RecomputedTokens: 9000,
		Batch:       metrics.BatchUse{MeanRunning: 35.25, PeakRunning: 64, MeanStepTokens: 355.1},
		KV:          metrics.KVUse{Blocks: 28085, BlockSize: 16, BytesPerToken: 131072, MeanUsage: 0.61, PeakUsage: 0.9991},
		PrefixCache: metrics.PrefixCache{QueriedTokens: 612345, HitTokens: 153086},
	}
	m.GPU = metrics.GPU{
		Count: 2, Busy: 0.93, MFU: 0.11, MBU: 0.54, MemoryPeakBytes: 71 << 30, EnergyJ: 77000, MeanPowerW: 802,
		OutputTokensPerJoule: 3.11, OutputTokensPerSPerWatt: 3.11,
	}
	m.Attribution = metrics.Attribution{
		WallTime: metrics.WallShares{Compute: 0.2, Weights: 0.3, KVRead: 0.2, Network: 0.1, Overhead: 0.13, Idle: 0.07},
		TTFT:     metrics.TTFTShares{Frontend: 0.1, Queue: 0.3, Prefill: 0.4, Interference: 0.15, Overhead: 0.05},
		TPOT:     metrics.TPOTShares{Compute: 0.1, Weights: 0.3, KVRead: 0.2, Network: 0.1, Overhead: 0.1, Interference: 0.1, Preemption: 0.0996, Frontend: 0.0004},
	}
	m.Verdict = metrics.Verdict{State: metrics.Overloaded, Why: "12 requests waited when arrivals ended, and their number was growing"}
	m.Warnings = []string{"max_num_batched_tokens has no effect under static batching"}
	return r
}

// update rewrites the golden files: go test ./cmd/internal/report -update
func update() bool { return flag.Lookup("update").Value.String() == "true" }

func TestMain(m *testing.M) {
	flag.Bool("update", false, "rewrite the golden files")
	flag.Parse()
	os.Exit(m.Run())
}

func TestRenderersGiveTheGoldenBytes(t *testing.T) {
	bench := Bench{Metrics: []string{"ttft", "tpot", "itl", "e2el"}, Percentiles: []float64{50, 99, 99.9}}
	idle := &scenarios.Result{Name: "empty", Config: scenarios.Map{}}
	details := []Detail{
		{Start: 0.25, TTFT: 0.5, ITL: []float64{0.01, 0.02}, Input: 10, Output: 3},
		{Start: 0.5, Input: 9000, Error: "too long"},
	}
	for name, render := range map[string]func(io.Writer) error{
		"page.txt":           func(w io.Writer) error { return Page(w, fixed()) },
		"page-empty.txt":     func(w io.Writer) error { return Page(w, idle) },
		"page.md":            func(w io.Writer) error { return Markdown(w, fixed()) },
		"row.csv":            func(w io.Writer) error { return CSV(w, fixed()) },
		"report.json":        func(w io.Writer) error { return JSON(w, fixed()) },
		"vllm.txt":           func(w io.Writer) error { return VLLM(w, fixed(), bench) },
		"vllm-empty.txt":     func(w io.Writer) error { return VLLM(w, idle, DefaultBench()) },
		"vllm.json":          func(w io.Writer) error { return VLLMJSON(w, fixed(), bench, nil) },
		"vllm-detailed.json": func(w io.Writer) error { return VLLMJSON(w, idle, DefaultBench(), details) },
	} {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			if err := render(&got); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", name)
			if update() {
				if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), got.String()); d != "" {
				t.Errorf("%s (-want +got):\n%s", path, d)
			}
		})
	}
}

// The keys of vLLM's result object, in its order, as its benchmark writes them.
func TestResultFileHasTheKeysOfVLLM(t *testing.T) {
	var out bytes.Buffer
	if err := VLLMJSON(&out, fixed(), DefaultBench(), []Detail{}); err != nil {
		t.Fatal(err)
	}
	var keys []string
	dec := json.NewDecoder(&out)
	for depth, key := 0, true; ; {
		token, err := dec.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch v := token.(type) {
		case json.Delim:
			if v == '{' || v == '[' {
				depth++
			} else {
				depth--
				key = depth == 1
			}
			continue
		case string:
			if depth == 1 && key {
				keys, key = append(keys, v), false
				continue
			}
		}
		key = depth == 1
	}
	want := strings.Fields(`date endpoint_type backend label model_id tokenizer_id num_prompts request_rate burstiness
		max_concurrency duration completed failed total_input_tokens total_output_tokens request_throughput request_goodput
		output_throughput total_token_throughput input_lens output_lens ttfts itls start_times generated_texts errors
		max_output_tokens_per_s max_concurrent_requests rtfx
		mean_ttft_ms median_ttft_ms std_ttft_ms p99_ttft_ms mean_tpot_ms median_tpot_ms std_tpot_ms p99_tpot_ms
		mean_itl_ms median_itl_ms std_itl_ms p99_itl_ms`)
	if d := cmp.Diff(want, keys); d != "" {
		t.Errorf("keys (-want +got):\n%s", d)
	}
}

func TestPercentilesOfAnOverloadedRunAreMarked(t *testing.T) {
	var marked, plain strings.Builder
	r := fixed()
	if err := Page(&marked, r); err != nil {
		t.Fatal(err)
	}
	r.Report.Verdict.State = metrics.Stable
	if err := Page(&plain, r); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(marked.String(), "p99*") || strings.Contains(plain.String(), "p99*") {
		t.Errorf("want p99* in the one and not in the other:\n%s\n%s", marked.String(), plain.String())
	}
}

func TestNumbersArePrintedForPeople(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Span(0), "0 ms"},
		{Span(0.0004), "0.40 µs"},
		{Span(0.9996), "1.00 ms"},
		{Span(9.994), "9.99 ms"},
		{Span(99.96), "100 ms"},
		{Span(999.6), "1.00 s"},
		{Span(61e3), "61.0 s"},
		{Span(3.6e6), "60.0 min"},
		{Span(40e6), "11.1 h"},
		{count(0), "0"},
		{count(999), "999"},
		{count(19366), "19,366"},
		{count(-1234567), "-1,234,567"},
		{rate(0), "0.00"},
		{rate(0.0123), "0.0123"},
		{rate(9.994), "9.99"},
		{rate(1901.7), "1,902"},
		{percent(0), "0%"},
		{percent(1), "100%"},
		{percent(0.9999), "99.99%"},
		{percent(0.05), "5.0%"},
		{size(131072), "128 KiB"},
		{size(5), "5.00 B"},
		{size(3 << 40), "3.00 TiB"},
		{bar(0, 8), ""},
		{bar(1, 3), "███"},
		{bar(0.5, 3), "█▌"},
		{centred("abc", "-")[:25], "-----------------------ab"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
