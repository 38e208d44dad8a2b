package scenarios

import (
	"fmt"
	"strings"
	"testing"
)

// vllm-project/vllm#2509: Yi-34B AWQ on four A10 had 4485 blocks with max_num_batched_tokens 20480 and 758 with 50000.
// How many tokens of cache each token of the budget costs is compared; that engine's whole pool was smaller, because
// its AWQ kernel of early 2024 kept eight partial sums of every output.
func TestEachTokenOfTheBudgetCostsBlocks(t *testing.T) {
	yi := setup{"model=yi-34b", "hardware.gpu=a10", "engine={profile: vllm-v0, quantization: awq, tensor_parallel_size: 4, max_model_len: 4096}"}
	var blocks []int
	for _, budget := range []int{20480, 35240, 50000} {
		x := yi.budget(budget).experiment(t)
		blocks = append(blocks, x.Memory.Blocks)
	}
	alike(t, "blocks lost over the first and the second half", float64(blocks[0]-blocks[1]), float64(blocks[1]-blocks[2]), 0.01)
	withinTwo(t, "blocks lost", float64(blocks[0]-blocks[2]), 4485-758)
}

// vllm-project/vllm#48322: Qwen3-8B on an RTX 4090 with a multi-turn load. From 2048 to 8192 tokens a step the pool fell from
// 40,464 to 36,720 tokens, p99 TTFT rose from 23.9 to 40.8 s, and throughput stayed as it was. Twenty prompts that come
// back again and again stand in for the turns: with what is being answered they just fill the pool.
func TestABiggerStepOnASmallCardCostsPrefixHits(t *testing.T) {
	qwen := setup{
		"model=qwen3-8b", "hardware.gpu=rtx-4090", "engine={profile: vllm-0.20, gpu_memory_utilization: 0.9, max_model_len: 16384}",
		"workload={requests: 400, rate: 4, prompt: {dist: uniform, mean: 1800, range_ratio: 0.4}, output: {dist: uniform, mean: 150, range_ratio: 0.5}, prefix: {distinct: 20}}", "slo.ttft=200ms",
	}
	small, large := qwen.budget(2048), qwen.budget(8192)
	before, after := small.experiment(t).Memory, large.experiment(t).Memory
	withinTwo(t, "tokens of cache lost", float64(before.Tokens()-after.Tokens()), 40464-36720)
	alike(t, "tokens of cache", float64(before.Tokens()), 40464, 0.15)
	a, b := small.run(t), large.run(t)
	above(t, "hit tokens", float64(a.Engine.PrefixCache.HitTokens), float64(b.Engine.PrefixCache.HitTokens), 0.05)
	withinTwo(t, "growth of p99 TTFT", b.Latency.TTFT.P99/a.Latency.TTFT.P99-1, 40.8/23.9-1)
	alike(t, "throughput", b.Throughput.TotalTokensPerS, a.Throughput.TotalTokensPerS, 0.02)
	above(t, "goodput", *a.Goodput.Attainment, *b.Goodput.Attainment, 0.05)
}

// vllm-project/vllm#17885: Llama-3.1-70B on A100, 400 ShareGPT prompts at once, 0.95 of the memory. With the defaults of large cards
// (8192 tokens and 1024 sequences) two GPUs gave 1054 tokens/s and with the small ones (2048 and 256) 1438; four gave 3053
// and 2994. On two, what the sampler of 1024 sequences takes in the profiling run is half of the pool. That version also
// counted the CUDA context, half a gigabyte, against its share, which leaves 0.944. The last answers of a burst take long,
// and how long depends on the draw: five are taken together.
func TestTheRightBudgetDependsOnHowTightThePoolIs(t *testing.T) {
	llama := setup{
		"model=llama-3.1-70b", "hardware.gpu=a100-sxm-80g", "engine={profile: vllm-0.10, gpu_memory_utilization: 0.944, max_model_len: 10000}",
		"workload={requests: 400, arrivals: burst, prompt: {dist: lognormal, mean: 220, p99: 1000, max: 1024}, output: {dist: lognormal, mean: 200, p99: 850, max: 1024}}",
	}
	rate := func(s setup) (sum float64) {
		for seed := range 5 {
			sum += s.with(fmt.Sprint("seed=", seed+1)).rate(t)
		}
		return sum / 5
	}
	for _, c := range []struct {
		tp           int
		large, small float64 // reported
	}{{2, 1054, 1438}, {4, 3053, 2994}} {
		s := llama.tp(c.tp)
		large, small := rate(s.budget(8192).with("engine.max_num_seqs=1024")), rate(s.budget(2048).with("engine.max_num_seqs=256"))
		t.Logf("%d GPUs: %.0f and %.0f tokens/s, reported %.0f and %.0f", c.tp, large, small, c.large, c.small)
		alike(t, "tokens/s with the large defaults", large, c.large, 0.15)
		alike(t, "tokens/s with the small defaults", small, c.small, 0.15)
		withinTwo(t, "gain of the small ones", small/large-1, c.small/c.large-1)
	}
}

// vllm-project/vllm#15598: out of memory at start-up, cured by a lower max_num_seqs: the profiling run samples that many sequences,
// and with a vocabulary of 256,000 their logits weigh gigabytes.
func TestMoreSequencesMayNotFit(t *testing.T) {
	gemma := setup{"model=gemma-2-9b", "hardware.gpu=rtx-4090", "engine.profile=vllm-0.10", "engine.max_model_len=4096", "engine.max_num_batched_tokens=2048"}
	few := gemma.with("engine.max_num_seqs=64").experiment(t).Memory
	more := gemma.with("engine.max_num_seqs=256").experiment(t).Memory
	withinTwo(t, "bytes per sequence", float64(more.Activations-few.Activations)/(256-64), 1.40*gibibyte/256/151_936*256_000) // as Qwen3-8B logged, 1.40 GiB with 256 sequences
	_, err := build("name: report\n", gemma.with("engine.max_num_seqs=1024")...)
	if err == nil || !strings.Contains(err.Error(), "missing; lower max_num_seqs to at most") {
		t.Errorf("1024 sequences: got %v, want a refusal for want of memory that names the cure", err)
	}
}

// vllm-project/vllm#11251, #7553, #17549, #57475: captured graphs lived outside gpu_memory_utilization, so that 0.95 and more
// ran out of memory; since they count against it, the same utilisation gives fewer blocks.
func TestGraphsMovedIntoTheBudget(t *testing.T) {
	qwen := setup{"model=qwen3-8b", "hardware.gpu=rtx-4090", "engine.max_model_len=4096"}
	before := qwen.with("engine.profile=vllm-0.19", "engine.gpu_memory_utilization=0.9").experiment(t).Memory
	after := qwen.with("engine.profile=vllm-0.27", "engine.gpu_memory_utilization=0.9").experiment(t).Memory
	above(t, "blocks", float64(before.Blocks), float64(after.Blocks), 0)
	alike(t, "bytes that moved", float64(before.KV-after.KV), float64(before.Graphs), 0)
	full := qwen.with("engine.profile=vllm-0.19", "engine.gpu_memory_utilization=0.98").experiment(t)
	above(t, "the old plan at 0.98 exceeds the card", float64(full.Memory.Requested+full.Memory.Graphs), float64(full.Memory.Total), 0)
	if !strings.Contains(strings.Join(full.Warnings, "\n"), "CUDA graphs") {
		t.Errorf("nothing warns of it: %q", full.Warnings)
	}
	eager := qwen.with("engine.profile=vllm-0.27", "engine.gpu_memory_utilization=0.9", "engine.enforce_eager=true").experiment(t).Memory
	alike(t, "blocks without graphs", float64(eager.Blocks), float64(before.Blocks), 0)
}

// vllm-project/vllm#55580: a hybrid 27B model in INT4 on two RTX 5060 Ti, 32 short requests at once. Identical starts gave pools of 121
// or of 116 blocks, and 301 or 230 tokens/s. What a sequence of such a model takes of the pool is its state, a few large
// blocks whatever its length; here, one of 1024 tokens. The pool that lacks a few blocks does not run 32 a little more
// slowly: those that find no room are a second round of a few, which takes almost as long as any.
func TestASmallerPoolCanCrossACliff(t *testing.T) {
	s := setup{
		"model=qwen3-32b", "hardware.gpu={name: rtx-5060-ti, arch: Blackwell, sm: 36, bf16_tflops: 47.4, fp8_tflops: 95, mem_gb: 16, mem_bw_tbs: 0.448, l2_mb: 32, link_gbs_per_dir: 0, pcie_gbs_per_dir: 32, tdp_w: 180}",
		"engine={profile: vllm-v1, quantization: gptq, kv_cache_dtype: fp8, tensor_parallel_size: 2, max_model_len: 8192, max_num_seqs: 32, max_num_batched_tokens: 3135, block_size: 1024}",
		"workload={requests: 32, arrivals: burst, prompt: 512, output: 256}",
	}
	// One block is never handed out.
	roomy, tight := s.with("engine.num_gpu_blocks_override=33").run(t), s.with("engine.num_gpu_blocks_override=31").run(t)
	t.Logf("running %.1f and %.1f, %d preemptions", roomy.Engine.Batch.MeanRunning, tight.Engine.Batch.MeanRunning, tight.Engine.Preemptions)
	withinTwo(t, "tokens/s of the larger pool", roomy.Throughput.OutputTokensPerS, 301)
	withinTwo(t, "what the smaller one loses", tight.Throughput.OutputTokensPerS/roomy.Throughput.OutputTokensPerS-1, 230./301-1)
	few := s.with("workload.requests=8")
	alike(t, "tokens/s of 8 requests", few.with("engine.num_gpu_blocks_override=31").run(t).Throughput.OutputTokensPerS,
		few.with("engine.num_gpu_blocks_override=33").run(t).Throughput.OutputTokensPerS, 0)
}

// vllm-project/vllm#39734, #52530: a request whose blocks can never fit hung the queue for ever.
func TestARequestThatCanNeverFitIsRefusedAndTheOthersAreServed(t *testing.T) {
	r := setup{
		"engine.num_gpu_blocks_override=100", "engine.max_model_len=8192",
		"workload={requests: 100, rate: 5, prompt: {dist: uniform, min: 100, max: 3000}, output: 50}",
	}.run(t)
	q := r.Requests
	if q.Rejected == 0 || q.Completed == 0 || q.Completed+q.Rejected != q.Submitted || len(r.Rejections) != 1 {
		t.Errorf("%+v, %+v", q, r.Rejections)
	}
}

// vllm-project/vllm#18115: --preemption-mode does nothing in V1, which knows recomputation only.
func TestAPreemptionModeDoesNotSilentlyChangeV1(t *testing.T) {
	s := setup{"engine.num_gpu_blocks_override=1000", "engine.max_model_len=8192", "workload={requests: 200, rate: 30, output: 300}"}
	a, b := s.run(t), s.with("engine.preemption_mode=swap").run(t)
	if a.Engine.Preemptions == 0 {
		t.Error("nothing was preempted")
	}
	alike(t, "mean E2EL", b.Latency.E2EL.Mean, a.Latency.E2EL.Mean, 0)
	if len(b.Warnings) != len(a.Warnings)+1 || !strings.Contains(strings.Join(b.Warnings, "\n"), "preemption_mode") {
		t.Errorf("warnings: %q", b.Warnings)
	}
}
