package measured

import (
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/servesim/servesim/scenarios"
)

// server returns what makes documents of a server with these settings.
func server(settings ...setting) func() (*scenarios.Document, error) {
	return func() (*scenarios.Document, error) {
		d, err := scenarios.Parse("server", nil)
		for _, s := range settings {
			if err == nil {
				err = d.Set(s.path, s.value, "test")
			}
		}
		return d, err
	}
}

// load is a benchmark of which only the load is known.
func load(prompt, output, requests, concurrency int, rate float64) Benchmark {
	return Benchmark{
		Name: fmt.Sprintf("%d→%d ×%d c%d", prompt, output, requests, concurrency), Requests: requests, Rate: rate, Burstiness: 1, Concurrency: concurrency,
		InputTokens: int64(prompt * requests), OutputTokens: int64(output * requests), DurationS: 1, TTFT: 1, TPOT: 1, E2EL: 1,
	}
}

// measure fills in what a server with these constants would measure.
func measure(t *testing.T, server func() (*scenarios.Document, error), loads []Benchmark, truth scenarios.Constants) []Benchmark {
	t.Helper()
	trials, err := newTrials(server, loads)
	if err != nil {
		t.Fatal(err)
	}
	points, err := play(t.Context(), trials, []scenarios.Constants{truth})
	if err != nil || points[0].err != nil {
		t.Fatal(err, points[0].err)
	}
	for i, p := range points[0].trials {
		b := &loads[i]
		b.TTFT, b.TPOT, b.E2EL = math.Exp(p.errors[0]), math.Exp(p.errors[1]), math.Exp(p.errors[2])
		b.DurationS = float64(b.Requests) * b.E2EL / 1000 / max(1, float64(b.Concurrency))
	}
	return loads
}

// truth are constants of which the host's are given.
func truth(base, perSeq, frontend float64) scenarios.Constants {
	c := scenarios.NoConstants()
	c[scenarios.ExposedBase], c[scenarios.ExposedPerSeq], c[scenarios.FrontendLatency] = base, perSeq, frontend
	return c
}

func TestCalibrateRecoversTheConstantsOfASimulatedMachine(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	inf := math.Inf(1)
	host := []setting{{"model", "llama-3.1-8b"}, {"engine.profile", "vllm-0.15"}}
	starved := append([]setting{{"hardware.gpu", "rtx-4090"}, {"engine.max_model_len", "8192"}}, host...)
	for name, c := range map[string]struct { // order does not matter: subtests
		server []setting
		loads  []Benchmark
		truth  scenarios.Constants
	}{
		"a slower H100": {host, []Benchmark{
			load(512, 128, 20, 1, inf), load(512, 128, 200, 16, inf), load(512, 128, 300, 96, inf),
			load(4096, 64, 60, 4, inf), load(4096, 256, 200, 32, inf), load(1024, 128, 400, 0, 6),
		}, scenarios.Constants{1.2e-3, 25e-6, 25e-3, 0.88, 0.85, math.NaN()}},
		"a faster H100": {host, []Benchmark{
			load(256, 64, 20, 1, inf), load(512, 128, 300, 48, inf), load(2048, 32, 60, 4, inf), load(4096, 128, 200, 24, inf),
		}, scenarios.Constants{0.2e-3, 5e-6, 12e-3, 1.1, 1.05, math.NaN()}},
		"an RTX 4090 with less memory": {starved, []Benchmark{
			load(256, 64, 20, 1, inf), load(512, 128, 200, 24, inf), load(2048, 32, 60, 2, inf), load(1024, 256, 160, 32, inf),
			load(6000, 64, 40, 2, inf), load(2048, 128, 120, 10, inf),
		}, scenarios.Constants{0.9e-3, 18e-6, 15e-3, 0.92, 0.9, 1500}},
	} {
		t.Run(name, func(t *testing.T) {
			s := server(c.server...)
			fit, err := Calibrate(t.Context(), s, measure(t, s, c.loads, c.truth))
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range fit.Constants {
				want := c.truth[k.Constant]
				if math.IsNaN(want) {
					if k.Fitted {
						t.Errorf("%s was fitted to %g, though no result depends on it", k.Name, k.Value)
					}
					continue
				}
				if off := math.Abs(k.Value/want - 1); !k.Fitted || off > 0.05 {
					t.Errorf("%s: %g (fitted: %v), want %g within 5 %%; it is off by %.1f %%", k.Name, k.Value, k.Fitted, want, 100*off)
				}
			}
			t.Logf("error %.2f %% → %.2f %%, left out %.2f %%, %d simulations", fit.BeforePct, fit.AfterPct, fit.LeftOutPct, fit.Simulations)
		})
	}
}

// long answers, and many clients, take long to simulate and tell no more.
const long = 1024

// served reads measured runs at fixed concurrency. The number of requests was not published: ten for each client.
func served(t *testing.T, file string) []Benchmark {
	t.Helper()
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	rows, err := csv.NewReader(in).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var all []Benchmark
	for _, row := range rows[1:] {
		var n [3]int
		for i := range n {
			n[i], _ = strconv.Atoi(row[i])
		}
		if n[1] > long {
			continue
		}
		n[0], n[1] = n[0]*9/10, n[1]*9/10
		b := load(n[0], n[1], 10*n[2], n[2], math.Inf(1))
		b.TTFT, _ = strconv.ParseFloat(row[3], 64)
		b.TPOT, _ = strconv.ParseFloat(row[4], 64)
		b.E2EL = 0
		b.DurationS = float64(b.Requests) * (b.TTFT + b.TPOT*float64(n[1]-1)) / 1000 / float64(n[2])
		all = append(all, b)
	}
	return all
}

// closed makes benchmarks of the rows of the embedded table that a filter keeps.
func closed(t *testing.T, filter string) []Benchmark {
	t.Helper()
	table, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	keep, err := ParseFilter(filter)
	if err != nil {
		t.Fatal(err)
	}
	const mean = 0.9 // of lengths spread from 80 to 100 %
	var all []Benchmark
	for i := range table.Rows {
		r := &table.Rows[i]
		if !keep.Keeps(r) || r.OutputTokens > long || r.Concurrency > 32 {
			continue
		}
		prompt, output := mean*r.PromptTokens, mean*r.OutputTokens
		b := load(0, 0, r.Requests, r.Concurrency, math.Inf(1))
		b.Name = r.ID
		b.InputTokens, b.OutputTokens = int64(prompt*float64(r.Requests)), int64(output*float64(r.Requests))
		b.TTFT, b.TPOT, b.E2EL = r.Measured[TTFTMean], r.Measured[TPOTMean], 0
		b.DurationS = float64(b.Requests) * (b.TTFT + b.TPOT*output) / 1000 / float64(b.Concurrency)
		all = append(all, b)
	}
	return all
}

// spread is how the lengths of these runs lie around their mean: from 0.8 to 1 of what was asked for.
const spread = "{dist: uniform, mean: 1000, range_ratio: 0.1111}"

func TestFittingHalfOfTheLoadsHelpsTheOtherHalf(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	for name, c := range map[string]struct { // order does not matter: subtests
		server []setting
		runs   []Benchmark
	}{
		"Llama-3.1-70B FP8, 4 H100, vLLM of 2025": {
			[]setting{
				{"model", "llama-3.1-70b"},
				{"engine.quantization", "fp8"},
				{"engine.tensor_parallel_size", "4"},
				{"engine.profile", "vllm-0.11"},
				{"engine.max_model_len", "16384"},
				{"workload.prompt", spread},
				{"workload.output", spread},
			},
			served(t, "testdata/llama70b_fp8_h100_tp4.csv"),
		},
		"gpt-oss-120b, 2 H100, vLLM 0.21": {
			[]setting{
				{"model", "gpt-oss-120b"},
				{"engine.tensor_parallel_size", "2"},
				{"engine.profile", "vllm-0.21"},
				{"engine.max_model_len", "16384"},
				{"engine.enable_prefix_caching", "false"},
				{"workload.prompt", spread},
				{"workload.output", spread},
			},
			closed(t, "id=gptoss120b-H100-SXM-80GB-tp2-*"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			var fitted, other []Benchmark
			for i, b := range c.runs {
				if i%2 == 0 {
					fitted = append(fitted, b)
				} else {
					other = append(other, b)
				}
			}
			s := server(c.server...)
			fit, err := Calibrate(context.Background(), s, fitted)
			if err != nil {
				t.Fatal(err)
			}
			trials, err := newTrials(s, other)
			if err != nil {
				t.Fatal(err)
			}
			points, err := play(t.Context(), trials, []scenarios.Constants{scenarios.NoConstants(), fit.Overlay.Constants})
			if err != nil {
				t.Fatal(err)
			}
			before, after := rms(points[0].errors()), rms(points[1].errors())
			if after >= before {
				t.Errorf("the loads that were not fitted: error %.1f %% before, %.1f %% after", 100*before, 100*after)
			}
			t.Logf("fitted %.1f %% → %.1f %% (left out %.1f %%), others %.1f %% → %.1f %%, %d simulations", fit.BeforePct, fit.AfterPct, fit.LeftOutPct, 100*before, 100*after, fit.Simulations)
			for _, k := range fit.Constants {
				t.Logf("%s %s → %s ± %s %s", k.Name, k.Constant.Format(k.Default), k.Constant.Format(k.Value), k.Constant.Format(k.Deviation), k.Why)
			}
		})
	}
}

func TestCalibrateGivesTheSameWhateverRunsBesideIt(t *testing.T) {
	s := server(setting{"model", "llama-3.1-8b"}, setting{"engine.profile", "vllm-0.15"})
	loads := []Benchmark{load(500, 50, 40, 8, math.Inf(1)), load(2000, 50, 20, 2, math.Inf(1))}
	loads = measure(t, s, loads, truth(0.9e-3, 18e-6, 15e-3))
	var profiles []string
	for _, n := range []int{1, 2} {
		was := runtime.GOMAXPROCS(n)
		fit, err := Calibrate(t.Context(), s, loads)
		runtime.GOMAXPROCS(was)
		if err != nil {
			t.Fatal(err)
		}
		profiles = append(profiles, string(fit.Overlay.YAML()))
	}
	if profiles[0] != profiles[1] {
		t.Errorf("with one processor\n%s\nwith two\n%s", profiles[0], profiles[1])
	}
}

func TestErrorBandsHoldOnMeasuredRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	table, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	for _, filter := range []string{"gpu=L40S*,compare=all", "gpu=A100*,compare=all", "gpu=H100*,model=*Llama-3.1-8B*,compare=all"} {
		keep, err := ParseFilter(filter)
		if err != nil {
			t.Fatal(err)
		}
		report, err := table.Validate(t.Context(), keep)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(table.Rows, func(r Row) bool { return keep.Keeps(&r) })
		x, err := table.Rows[i].experiment()
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range []Metric{TPOTMean, E2ELMean} {
			s := report.Summary[m.String()]
			if band := x.Provenance.ErrorBandPct; s.N == 0 || s.P90AbsPct > band {
				t.Errorf("%s: nine of ten errors of %s lie within %.1f %% (%d runs), and reports promise %g %%", filter, m, s.P90AbsPct, s.N, band)
			}
		}
	}
}
