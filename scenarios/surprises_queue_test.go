package scenarios

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/engine"
)

// vllm-project/vllm#37307, #21793, #21809: four requests of 100,000 tokens held 90 % of the cache. The first chunk of a fifth
// fitted, so it was admitted, ran out of memory, lost it, and began anew, and every step of the others carried its
// chunks: generation fell from about 100 to as low as 1.5 tokens/s a GPU. Since March 2026 the whole prompt must fit. The
// report calls its lengths made up and names no GPU and no budget. Four sequences come near 100 tokens/s on each of
// eight GPUs only on the fastest; there, a step takes 16,384 tokens by default. (Steps of 8192 are half as bad.)
func TestWithoutTheFullPromptGateAFifthLongPromptThrashes(t *testing.T) {
	s := setup{
		"model=llama-3.1-70b", "hardware.gpu=b200-sxm", "engine={profile: vllm-v1, tensor_parallel_size: 8, num_gpu_blocks_override: 27800, enable_prefix_caching: false}",
		"workload={requests: 5, arrivals: burst, prompt: 100000, output: 400}",
	}
	gated, open := s.run(t), s.with("engine.scheduler_reserve_full_isl=false").run(t)
	t.Logf("%d and %d preemptions, %d tokens recomputed", gated.Engine.Preemptions, open.Engine.Preemptions, open.Engine.RecomputedTokens)
	if gated.Engine.Preemptions != 0 || open.Engine.Preemptions == 0 {
		t.Errorf("%d preemptions with the gate, %d without", gated.Engine.Preemptions, open.Engine.Preemptions)
	}
	perGPU := func(r *Result) float64 { return 4 * 1000 / r.Latency.ITL.P50 / 8 }
	withinTwo(t, "tokens/s a GPU of four with the gate", perGPU(gated), 100)
	withinTwo(t, "tokens/s a GPU of four without", perGPU(open), 1.5)
	withinTwo(t, "their ratio", perGPU(gated)/perGPU(open), 100/1.5)
	above(t, "the fifth waits for its turn", gated.Latency.TTFT.Max, 1.2*gated.Latency.TTFT.P50, 0)
}

// vllm-project/vllm#17598: at 16 requests/s, max_num_seqs 32 in place of 16 raised mean ITL from 8.24 to 9.42 ms. It is not
// only a cap: more sequences make heavier steps, and a shorter queue.
func TestMoreSequencesRaiseITLAndShortenTheQueue(t *testing.T) {
	s := setup{
		"model=llama-3.1-8b", "hardware.gpu=h100-pcie", "engine={profile: vllm-0.9, quantization: fp8, max_model_len: 4096}",
		"workload={requests: 500, rate: 16, prompt: 256, output: 128}",
	}
	few, many := s.with("engine.max_num_seqs=16").run(t), s.with("engine.max_num_seqs=32").run(t)
	t.Logf("ITL %.2f and %.2f ms", few.Latency.ITL.Mean, many.Latency.ITL.Mean)
	withinTwo(t, "growth of mean ITL", many.Latency.ITL.Mean/few.Latency.ITL.Mean-1, 9.42/8.24-1)
	above(t, "mean TTFT", few.Latency.TTFT.Mean, many.Latency.TTFT.Mean, 1)
	free := s.with("engine.max_num_seqs=256").run(t)
	alike(t, "ITL once the limit does not bind", free.Latency.ITL.Mean, s.with("engine.max_num_seqs=128").run(t).Latency.ITL.Mean, 0.01)
}

// Tandemn-Labs/tandemn-system#11: Qwen2.5-7B on an A10G with 77,088 tokens of cache and 256 clients: some 72 requests ran and
// 184 waited, 5000 of them saw 480 preemptions, and half of the first tokens took more than 60 s. It does not give the lengths;
// those here make 72 sequences fill the cache.
func TestTheGrowthOfTheCacheSetsTheConcurrency(t *testing.T) {
	s := setup{
		"model=qwen2.5-7b", "hardware.gpu=a10g", "engine={profile: vllm-0.10, max_model_len: 8192, max_num_seqs: 256, num_gpu_blocks_override: 4819}",
		"workload={requests: 1500, prompt: {dist: lognormal, mean: 990, p99: 2700}, output: {dist: lognormal, mean: 150, p99: 500}}",
	}
	clients := func(n int) *Result {
		return s.with(fmt.Sprintf("workload.arrivals={name: closed, clients: %d}", n)).run(t)
	}
	r, more := clients(256), clients(512)
	withinTwo(t, "running", r.Engine.Batch.MeanRunning, 72)
	withinTwo(t, "preemptions per request", float64(r.Engine.Preemptions)/1500, 480./5000)
	withinTwo(t, "p50 TTFT", r.Latency.TTFT.P50, 60_000)
	above(t, "the pool over the mean prompt", 77_088*1500/float64(r.Tokens.Input), r.Engine.Batch.MeanRunning, 0.1)
	alike(t, "throughput with twice the clients", more.Throughput.TotalTokensPerS, r.Throughput.TotalTokensPerS, 0.05)
	above(t, "p50 TTFT with twice the clients", more.Latency.TTFT.P50, r.Latency.TTFT.P50, 0.5)
}

// vllm-project/vllm#6150, #3130: with chunked prefill the first token of a lone prompt came after 0.330 to 0.349 s instead of 0.296 s.
// Each chunk reads the weights and the cache of those before; what it buys is the tail of ITL under a mixed load.
func TestChunkingDelaysALonePromptAndSparesTheOthers(t *testing.T) {
	s := setup{"model=llama-3.1-8b", "hardware.gpu=a100-sxm-80g", "engine={profile: vllm-v1-2025, max_model_len: 16384}"}
	lone := s.with("workload={requests: 20, rate: 0.2, prompt: 3600, output: 10}")
	whole, chunked := lone.budget(8192).run(t), lone.budget(512).run(t)
	t.Logf("%.0f and %.0f ms", whole.Latency.TTFT.P50, chunked.Latency.TTFT.P50)
	withinTwo(t, "growth of TTFT", chunked.Latency.TTFT.P50/whole.Latency.TTFT.P50-1, 0.34/0.296-1)
	mixed := s.with("workload={requests: 300, rate: 3, prompt: 2048, output: 150}")
	above(t, "p99 ITL", mixed.budget(8192).run(t).Latency.ITL.P99,
		mixed.budget(512).run(t).Latency.ITL.P99, 0.5)
}

// vllm-project/vllm#21495, #10235: one prompt of 128,000 tokens blocked the short ones behind it although prompts are chunked: the
// head of the line takes all that a step has left. long_prefill_token_threshold lets them pass, and slows the long one.
func TestALongPromptBlocksShortOnesUnlessItIsThrottled(t *testing.T) {
	rows := []string{"arrival_s,prompt_tokens,output_tokens", "0,128000,20"}
	for i := range 40 {
		rows = append(rows, fmt.Sprintf("%.3f,300,20", 0.1+0.2*float64(i)))
	}
	file := filepath.Join(t.TempDir(), "mix.csv")
	if err := os.WriteFile(file, []byte(strings.Join(rows, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := setup{"model=llama-3.1-8b", "hardware.gpu=h100-sxm", "engine.profile=vllm-v1", "engine.max_num_batched_tokens=2048", "workload.arrivals={name: trace, file: " + file + "}"}
	greedy, throttled := s.run(t), s.with("engine.long_prefill_token_threshold=512").run(t)
	above(t, "p50 TTFT, nearly all of short prompts", greedy.Latency.TTFT.P50, throttled.Latency.TTFT.P50, 5)
	above(t, "TTFT of the long prompt", throttled.Latency.TTFT.Max, greedy.Latency.TTFT.Max, 0.05)
}

// vllm-project/vllm#12369: 2048 tokens a step were too few for models of about 10B on H100, while with large models 8192 hurt the
// time per token: answers under way wait for the step of a whole budget.
func TestTheBestBudgetDependsOnTheModel(t *testing.T) {
	load := "workload={requests: 200, arrivals: burst, prompt: 4000, output: 50}"
	budgets := func(s setup) (small, large *Result) {
		return s.budget(2048).run(t), s.budget(8192).run(t)
	}
	small, large := budgets(setup{"model=llama-3.1-8b", "engine.profile=vllm-v1-2025", "engine.max_model_len=16384", load})
	above(t, "throughput of 8B", large.Throughput.TotalTokensPerS, small.Throughput.TotalTokensPerS, 0.02)
	steady := "workload={requests: 200, rate: 1.5, prompt: 4000, output: 150}"
	small, large = budgets(setup{"model=llama-3.1-70b", "engine.profile=vllm-v1-2025", "engine.max_model_len=16384", "engine.tensor_parallel_size=4", steady})
	above(t, "p99 ITL of 70B", large.Latency.ITL.P99, small.Latency.ITL.P99, 0.5)
	step := setup{"model=llama-3.1-70b", "engine.max_model_len=16384", "engine.tensor_parallel_size=4", "engine.profile=vllm-v1-2025", "workload={requests: 1, prompt: 2048, output: 1}"}.run(t)
	withinTwo(t, "p99 ITL and the step of 2048 tokens", small.Latency.ITL.P99, step.Latency.TTFT.P50)
}

// vllm-project/vllm#40004, #24365, #41951, #11361: priority did not help: with max_num_seqs reached, urgent requests wait like
// all others, and they are not answered faster. It decides who is admitted next and who is preempted, nothing else.
func TestPriorityChangesAdmissionNotSpeed(t *testing.T) {
	s := setup{
		"model=llama-3.1-8b", "engine={profile: vllm-v1, max_model_len: 8192, max_num_seqs: 16}",
		"workload={requests: 400, rate: 10, prompt: 500, output: 200, classes: [{name: urgent, share: 1, priority: -1}, {name: other, share: 9}]}",
	}
	type sums struct{ ttft, tpot, n float64 }
	classes := func(policy string) (of [2]sums) {
		o := Options{Hooks: engine.Hooks{Finished: func(_ sim.Time, l *engine.Life) {
			c := &of[l.Request.Class]
			c.n++
			c.ttft += l.First.Sub(l.Request.Arrival).Seconds()
			c.tpot += l.Last.Sub(l.First).Seconds() / float64(l.Emitted-1)
		}}}
		mustRun(t, s.with("engine.scheduling_policy="+policy).experiment(t), o)
		return of
	}
	fcfs, priority := classes("fcfs"), classes("priority")
	above(t, "TTFT of the urgent", fcfs[0].ttft/fcfs[0].n, priority[0].ttft/priority[0].n, 1)
	above(t, "TTFT of the urgent still holds a wait for a seat", priority[0].ttft/priority[0].n, 0.1, 0)
	alike(t, "time per token of the urgent and the others", priority[0].tpot/priority[0].n, priority[1].tpot/priority[1].n, 0.03)
	alike(t, "time per token of the urgent", priority[0].tpot/priority[0].n, fcfs[0].tpot/fcfs[0].n, 0.03)
}

// vllm-project/vllm#8005, #29944: identical prompts gave no further speed-up. Only whole blocks are found again, never the last
// token, and a hit shortens prefill only.
func TestPrefixHitsComeInBlocksAndDoNotSpeedUpDecodes(t *testing.T) {
	for _, c := range []struct{ prompt, hit int64 }{{64, 48}, {65, 64}} {
		r := setup{"engine.max_model_len=8192", fmt.Sprintf("workload={requests: 2, rate: 0.1, prompt: %d, output: 4, prefix: {distinct: 1}}", c.prompt)}.run(t)
		if got := r.Engine.PrefixCache.HitTokens; got != c.hit {
			t.Errorf("prompt of %d tokens repeated: %d hit, want %d", c.prompt, got, c.hit)
		}
	}
	s := setup{"model=llama-3.1-8b", "engine={profile: vllm-v1, max_model_len: 8192}", "workload={requests: 250, arrivals: burst, prompt: 64, output: 1000, prefix: {distinct: 1}}"}
	on, off := s.run(t), s.with("engine.enable_prefix_caching=false").run(t)
	above(t, "hit tokens", float64(on.Engine.PrefixCache.HitTokens), 0.7*float64(on.Tokens.Input), 0)
	alike(t, "throughput", on.Throughput.OutputTokensPerS, off.Throughput.OutputTokensPerS, 0.04)
}
