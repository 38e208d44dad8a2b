package scenarios

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden reports anew")

// long leaves a test out where only the races of goroutines are looked for: it takes long, and is one thread.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long")
	}
}

// mustBuild builds an embedded scenario, or the text of one, after the settings "path=value".
func mustBuild(t testing.TB, nameOrText string, settings ...string) *Experiment {
	t.Helper()
	x, err := build(nameOrText, settings...)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func build(nameOrText string, settings ...string) (*Experiment, error) {
	s, err := read(nameOrText, settings...)
	if err != nil {
		return nil, err
	}
	return s.Build()
}

func read(nameOrText string, settings ...string) (*Scenario, error) {
	open := Open
	if _, ok := Source(nameOrText); !ok {
		open = func(text string) (*Document, error) { return Parse("test.yaml", []byte(text)) }
	}
	d, err := open(nameOrText)
	if err != nil {
		return nil, err
	}
	for _, set := range settings {
		path, value, _ := strings.Cut(set, "=")
		if err := d.Set(path, value, "--set "+path); err != nil {
			return nil, err
		}
	}
	return d.Scenario()
}

func mustRun(t testing.TB, x *Experiment, o Options) *Result {
	t.Helper()
	r, err := x.Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func reportBytes(t testing.TB, r *Result) []byte {
	t.Helper()
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

// rounded keeps four digits of every number, since the last bits of random draws differ between processors.
func rounded(v any) any {
	switch v := v.(type) {
	case float64:
		r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64)
		return r
	case []any:
		for i := range v {
			v[i] = rounded(v[i])
		}
	case map[string]any:
		for k := range v { // order does not matter: every value is rounded by itself
			v[k] = rounded(v[k])
		}
	}
	return v
}

// TestReportsOfEmbeddedScenariosMoveOnlyOnPurpose compares with golden reports; -update writes them anew.
func TestReportsOfEmbeddedScenariosMoveOnlyOnPurpose(t *testing.T) {
	for _, e := range Names() {
		t.Run(e.Name, func(t *testing.T) {
			text := reportBytes(t, mustRun(t, mustBuild(t, e.Name), Options{}))
			var tree map[string]any
			if err := json.Unmarshal(text, &tree); err != nil {
				t.Fatal(err)
			}
			delete(tree, "version")
			got, err := json.MarshalIndent(rounded(tree), "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, '\n')
			file := filepath.Join("testdata", e.Name+".golden.json")
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("the report differs from %s: look at why, then run go test ./scenarios -update\n%s", file, firstDifference(got, want))
			}
		})
	}
}

func firstDifference(got, want []byte) string {
	g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d: got %s, want %s", i+1, strings.TrimSpace(g[i]), strings.TrimSpace(w[i]))
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}

// TestEveryReportKeepsItsIdentities checks what must hold in any report, on the embedded scenarios and on unlike loads.
func TestEveryReportKeepsItsIdentities(t *testing.T) {
	loads := map[string][]string{
		"static": {"scheduler=static"}, "continuous": {"scheduler=continuous"},
		"closed": {"workload.arrivals={name: closed, clients: 8, think: 100ms}"}, "timeout": {"workload.timeout=4s", "workload.arrivals=burst"},
		"horizon": {"workload.horizon=5s"}, "warmup": {"warmup=1s"}, "duration": {"workload={duration: 10s, rate: 20}"},
		"too long": {"engine.max_model_len=1024"}, "small pool": {"engine.num_gpu_blocks_override=400"},
		"tp": {"engine.tensor_parallel_size=2"}, "pp": {"engine.pipeline_parallel_size=2"}, "sync": {"engine.async_scheduling=false"},
		"capped": {"workload.max_concurrency=4"}, "single": {"workload.output=1"},
		"cluster": {"cluster={replicas: 3, router: least-tokens}", "workload.timeout=4s"},
		"unlike":  {"cluster.groups=[{gpu: a100}, {engine: {tensor_parallel_size: 2}}]", "workload.horizon=8s"},
	}
	for _, e := range Names() {
		if e.Name != "conversation" || !testing.Short() {
			loads[e.Name] = nil
		}
	}
	// order does not matter: each is a subtest of its own
	for name, settings := range loads {
		t.Run(name, func(t *testing.T) {
			scenario := "chat"
			if settings == nil {
				scenario = name
			} else {
				settings = append([]string{"workload.requests=100", "engine.num_gpu_blocks_override=2000"}, settings...)
			}
			r := mustRun(t, mustBuild(t, scenario, settings...), Options{Check: settings != nil})
			checkIdentities(t, r)
			noNaN(t, reportBytes(t, r))
		})
	}
}

func checkIdentities(t *testing.T, r *Result) {
	t.Helper()
	q := r.Requests
	if q.Submitted == 0 || q.Submitted != q.Completed+q.Rejected+q.Aborted+q.Unfinished {
		t.Errorf("submitted = completed + rejected + aborted + unfinished does not hold: %+v", q)
	}
	one := func(what string, parts ...float64) {
		t.Helper()
		sum := 0.0
		for _, p := range parts {
			if p < -1e-9 {
				t.Errorf("%s has a negative share: %v", what, parts)
			}
			sum += p
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Errorf("%s adds up to %v, want 1: %v", what, sum, parts)
		}
	}
	w, f, p := r.Attribution.WallTime, r.Attribution.TTFT, r.Attribution.TPOT
	one("attribution.wall_time", w.Compute, w.Weights, w.KVRead, w.Network, w.Overhead, w.Idle)
	if r.Latency.TTFT.Count > 0 {
		one("attribution.ttft", f.Frontend, f.Queue, f.Prefill, f.Interference, f.Transfer, f.Overhead)
	}
	if r.Latency.TPOT.Count > 0 {
		one("attribution.tpot", p.Compute, p.Weights, p.KVRead, p.Network, p.Overhead, p.Interference, p.Preemption, p.Frontend)
	}
	if r.Warmup == nil && q.Aborted+q.Unfinished == 0 {
		gaps := float64(r.Latency.ITL.Count) * r.Latency.ITL.Mean
		stay := float64(r.Latency.E2EL.Count) * (r.Latency.E2EL.Mean - r.Latency.TTFT.Mean)
		if math.Abs(gaps-stay) > 1e-9*stay+1e-6 {
			t.Errorf("sum(itl) = sum(e2el) - sum(ttft) does not hold: %v and %v ms", gaps, stay)
		}
		// Accepted drafts come with the token behind them; some of those that an answer ends in are one too many.
		accepted, spare := int64(0), int64(0)
		if d := r.Speculation; d != nil {
			accepted, spare = d.AcceptedTokens, int64(len(d.PerPosition)*q.Completed)
		}
		if over := int64(q.Completed) + r.Latency.ITL.Count + accepted - r.Tokens.Output; over < 0 || over > spare {
			t.Errorf("%d first tokens, %d gaps and %d drafts are not %d output tokens", q.Completed, r.Latency.ITL.Count, accepted, r.Tokens.Output)
		}
	}
	if l := r.Concurrency; q.Unfinished == 0 && math.Abs(l.L-l.Lambda*l.W) > 1e-9*l.L {
		t.Errorf("Little's law does not hold: L = %v, λW = %v", l.L, l.Lambda*l.W)
	}
	if a := r.Goodput.Attainment; a == nil || *a < 0 || *a*float64(q.Submitted) > float64(q.Completed)+1e-9 {
		t.Errorf("attainment %v of %d submitted requests, of which %d completed", a, q.Submitted, q.Completed)
	}
	for _, share := range []float64{r.GPU.Busy, r.GPU.MFU, r.GPU.MBU, r.Engine.KV.MeanUsage, r.Engine.KV.PeakUsage} {
		if share < 0 || share > 1 {
			t.Errorf("a share of %v lies outside 0 to 1: %+v %+v", share, r.GPU, r.Engine.KV)
		}
	}
	if s := r.Latency.TTFT; s.Count > 0 && (s.Min > s.P50 || s.P50 > s.P99 || s.P99 > s.Max || s.Max > r.Latency.E2EL.Max) {
		t.Errorf("ttft is out of order: %+v, e2el at most %v", s, r.Latency.E2EL.Max)
	}
}

func noNaN(t *testing.T, text []byte) {
	t.Helper()
	for _, bad := range []string{"NaN", "Inf", `"warnings": null`, `"rejections": null`} {
		if bytes.Contains(text, []byte(bad)) {
			t.Errorf("the report contains %s", bad)
		}
	}
}

func TestTheSameSeedGivesTheSameBytesOnAnyNumberOfProcessors(t *testing.T) {
	x := mustBuild(t, "agent")
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	one := reportBytes(t, mustRun(t, x, Options{}))
	runtime.GOMAXPROCS(2)
	if two := reportBytes(t, mustRun(t, x, Options{})); !bytes.Equal(one, two) {
		t.Errorf("reports differ: %s", firstDifference(two, one))
	}
	other := reportBytes(t, mustRun(t, mustBuild(t, "agent", "seed=2"), Options{}))
	if bytes.Equal(bytes.ReplaceAll(other, []byte(`"seed": 2`), []byte(`"seed": 1`)), one) {
		t.Error("another seed gives the same report")
	}
}

func TestTheResolvedConfigurationRunAgainGivesTheSameBytes(t *testing.T) {
	few := "workload.requests=60"
	// order does not matter: each is a subtest of its own
	for name, settings := range map[string][]string{
		"chat": {few}, "agent": {few, "hardware.gpu=H100"}, "burst": {few},
		"static":      {few, "scheduler={name: static, max_batch: 4}", "engine.max_num_seqs=7", "engine.swap_space=4"},
		"gpu mapping": {few, "hardware.gpu={name: mine, arch: Hopper, sm: 100, bf16_tflops: 500, fp8_tflops: 1000, mem_gb: 90, mem_bw_tbs: 2.5, l2_mb: 50, link_gbs_per_dir: 300, pcie_gbs_per_dir: 64, tdp_w: 500}"},
		"classes":     {few, "workload.classes=[{name: a, share: 3}, {name: b, priority: -1}]", "engine.scheduling_policy=priority"},
		"closed":      {few, "workload.arrivals={name: closed, clients: 3, think: 1.5s}"},
		"gamma":       {few, "workload.rate=1e-2", "workload.arrivals={name: gamma, burstiness: 0.25}", "slo=none"},
		"v0":          {few, "engine.profile=vllm-v0"},
		"auto length": {few, "engine.max_model_len=auto", "engine.kv_cache_memory_bytes=1GiB"},
		"nodes":       {few, "engine.tensor_parallel_size=8", "hardware.gpus_per_node=4", "hardware.internode={bandwidth: 12.5GB/s, latency: 10us}"},
		"trace":       {"workload={requests: 40, arrivals: {name: trace, file: azure-2023-conversation, speed: 2}}"},
		"cluster":     {few, "cluster={replicas: 3, router: vllm-dp}"},
		"groups":      {few, "engine.max_num_seqs=64", "cluster={replicas: 3, groups: [{gpu: {name: l40s, mem_gb: 60}, engine: {max_num_seqs: auto, max_model_len: auto}}, {name: b, engine: {tensor_parallel_size: 2}}]}"},
		"only groups": {few, "cluster={groups: [{replicas: 2, gpu: a100, engine: {kv_cache_dtype: fp8}}]}"},
		"autoscale":   {few, "cluster.autoscale={min: 2, max: 5, metric: ttft, startup: 1s}"},
		"law of zero": {few, "workload.classes=[{name: a, prompt: {dist: uniform, mean: 40, range_ratio: 0}}, {name: b, output: {mean: 9, std: 0}}]"},
		"assumed":     {few, "engine.speculative_config={method: eagle, num_speculative_tokens: 3}"},
		"servers":     {few, "cluster={replicas: 2, groups: [{engine: {api_server_count: 2}}]}", "frontend.per_chunk=300us"},
		"profiles":    {few, "cluster={replicas: 2, groups: [{engine: {profile: vllm-0.11, num_gpu_blocks_override: 9000}}]}"},
		"uniform":     {few, "workload.prompt={min: 5, max: 90}", "workload.max_tokens=300", "workload.timeout=2s", "workload.rate=inf"},
	} {
		t.Run(name, func(t *testing.T) {
			scenario := "chat"
			if _, ok := Source(name); ok {
				scenario = name
			}
			first := mustRun(t, mustBuild(t, scenario, settings...), Options{})
			second := mustRun(t, mustBuild(t, string(first.Config.JSON())), Options{})
			if one, two := reportBytes(t, first), reportBytes(t, second); !bytes.Equal(one, two) {
				t.Errorf("reports differ: %s\n%s", firstDifference(two, one), first.Config.JSON())
			}
		})
	}
}

func TestRowsOfRequestsReplayedGiveTheSameRows(t *testing.T) {
	for _, name := range []string{"chat", "agent", "burst"} {
		t.Run(name, func(t *testing.T) {
			var rows, again bytes.Buffer
			settings := []string{"workload.requests=200", "workload.classes=[{name: a}, {name: b, priority: 2}]", "engine.scheduling_policy=priority"}
			first := mustRun(t, mustBuild(t, name, settings...), Options{Requests: &rows})
			file := filepath.Join(t.TempDir(), "rows.csv")
			if err := os.WriteFile(file, rows.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			x := mustBuild(t, name, "workload={arrivals: {name: trace, file: "+file+"}}", settings[2])
			second := mustRun(t, x, Options{Requests: &again})
			if rows.String() != again.String() {
				t.Errorf("rows differ: %s", firstDifference(again.Bytes(), rows.Bytes()))
			}
			if fmt.Sprint(first.Latency) != fmt.Sprint(second.Latency) {
				t.Errorf("latencies differ: %+v and %+v", first.Latency.TTFT, second.Latency.TTFT)
			}
		})
	}
}

func TestARunThatIsCancelledSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := mustBuild(t, "chat").Run(ctx, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}
