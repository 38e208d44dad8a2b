package study

import (
	"fmt"
	"testing"

	"github.com/servesim/servesim/scenarios"
)

// load is a workload near what one H100 with 256 seats can serve of it, about 34 requests a second; %d requests at %v a
// second.
const load = `
name: bench
engine: {max_num_seqs: 256, enable_prefix_caching: true}
workload: {requests: %d, rate: %v, prompt: {dist: uniform, mean: 512, range_ratio: 0.5}, output: {dist: uniform, mean: 256, range_ratio: 0.5}}
slo: {ttft: 1s, tpot: 50ms}
`

// BenchmarkRun plays whole runs: an operation is one of them. A million requests are left to `servesim bench`.
func BenchmarkRun(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		for _, l := range []struct {
			name string
			rate float64
		}{{"third", 11.5}, {"near", 33}, {"over", 45}} {
			b.Run(fmt.Sprintf("requests=%d/load=%s", n, l.name), func(b *testing.B) {
				x := experiment(b, new(scenarios.Shared), fmt.Sprintf(load, n, l.rate))
				var tokens, steps int64
				b.ReportAllocs()
				for b.Loop() {
					result, err := x.Run(b.Context(), scenarios.Options{})
					if err != nil {
						b.Fatal(err)
					}
					tokens, steps = result.Tokens.Output, result.Engine.Steps
				}
				perOp := b.Elapsed().Seconds() / float64(b.N)
				b.ReportMetric(float64(n)/perOp, "requests/s")
				b.ReportMetric(float64(tokens)/perOp, "tokens/s")
				b.ReportMetric(float64(steps)/perOp, "steps/s")
			})
		}
	}
}

// BenchmarkStudy200 plays 200 runs of 10,000 requests: ten loads under 20 seeds each, on all cores.
func BenchmarkStudy200(b *testing.B) {
	shared := new(scenarios.Shared)
	var runs []Run
	for i := range 10 {
		x := experiment(b, shared, fmt.Sprintf(load, 10_000, 11.5+2*float64(i)))
		for seed := range 20 {
			runs = append(runs, Run{Name: fmt.Sprintf("%d-%d", i, seed), Experiment: x, Seed: uint64(seed)})
		}
	}
	for b.Loop() {
		if _, err := Play(b.Context(), runs, Options{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(runs))*float64(b.N)/b.Elapsed().Seconds(), "runs/s")
}
