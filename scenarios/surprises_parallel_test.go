package scenarios

import (
	"fmt"
	"testing"

	"github.com/servesim/servesim/hardware"
)

// vllm-project/vllm#8089: Llama-70B in FP8 on eight H100: one engine of eight GPUs came nowhere near two of four.
// #16300: QwQ-32B on eight A100: eight GPUs are better for batches of 1 to 16, and worse than replicas under a high load.
func TestTensorParallelismWinsAtLowLoadAndReplicasAtHigh(t *testing.T) {
	burst := "workload={requests: 400, arrivals: burst, prompt: 1024, output: 256}"
	llama := setup{"model=llama-3.1-70b", "hardware.gpu=h100-sxm", "engine={profile: vllm-v1-2025, quantization: fp8, max_model_len: 8192}", burst}
	above(t, "Llama-70B: two engines of four GPUs and one of eight", 2*llama.tp(4).rate(t), llama.tp(8).rate(t), 0.1)

	// QwQ-32B is Qwen2.5-32B by its sizes. The report gives seconds for 200 tokens, of vLLM 0.7.2, whose host took longer
	// than any that is modelled: the gain of eight GPUs was smaller than here.
	qwq := setup{"model=qwen2.5-32b", "hardware.gpu=a100-sxm-80g", "engine={profile: vllm-v1-2025, max_model_len: 8192}"}
	for _, c := range []struct {
		batch       int
		four, eight float64
	}{{1, 3.91, 3.15}, {16, 4.77, 4.25}} {
		low := qwq.with(fmt.Sprintf("workload={requests: %d, arrivals: burst, prompt: 1, output: 200}", c.batch))
		four, eight := low.tp(4).run(t).DurationS, low.tp(8).run(t).DurationS
		withinTwo(t, fmt.Sprintf("QwQ, seconds of %d at once on four", c.batch), four, c.four)
		withinTwo(t, fmt.Sprintf("QwQ, seconds of %d at once on eight", c.batch), eight, c.eight)
		above(t, "QwQ, seconds on four and eight", four, eight, 0)
	}
	above(t, "QwQ, burst: two engines of four GPUs and one of eight", 2*qwq.with(burst).tp(4).rate(t), qwq.with(burst).tp(8).rate(t), 0.1)
}

// vllm-project/vllm#3297: a 7B model on L40, which meet over PCIe only: with eight cards a token took 49 ms, more than with four.
// #1888: Mistral-7B served 0.575 requests/s on one GPU and 0.27 on eight.
func TestOverPCIeMoreGPUsThanNeededAreALoss(t *testing.T) {
	llama := setup{"model=llama-2-7b", "hardware.gpu=l40", "engine={profile: vllm-v1-2025, max_model_len: 4096}", "workload={requests: 64, arrivals: {name: closed, clients: 16}, prompt: 512, output: 128}"}
	four, eight := llama.tp(4).run(t), llama.tp(8).run(t)
	above(t, "time per token of eight and four", eight.Latency.TPOT.Mean, four.Latency.TPOT.Mean, 0)
	withinTwo(t, "time per token of eight", eight.Latency.TPOT.Mean, 49)
	mistral := setup{"model=mistral-7b-v0.3", "hardware.gpu=l40", "engine={profile: vllm-v1-2025, max_model_len: 4096}", "workload={requests: 64, arrivals: burst, prompt: 512, output: 128}"}
	withinTwo(t, "requests/s of eight GPUs to those of one", mistral.tp(8).rate(t)/mistral.tp(1).rate(t), 0.27/0.575)
}

// vllm-project/vllm#15330, #6826: a few sequences decode about three times as slowly on four stages as on four GPUs that share
// every layer: a token passes the stages one after the other.
func TestPipelineStagesDoNotShortenADecode(t *testing.T) {
	s := setup{"model=llama-3.1-70b", "hardware.gpu=h100-sxm", "engine={profile: vllm-v1-2025, max_model_len: 8192}", "workload={requests: 4, arrivals: burst, prompt: 256, output: 128}"}
	tp, pp := s.tp(4).run(t), s.with("engine.pipeline_parallel_size=4").run(t)
	withinTwo(t, "time per token of four stages to that of four GPUs a layer", pp.Latency.TPOT.Mean/tp.Latency.TPOT.Mean, 3)
}

// vllm-project/vllm#41682: four stages, prompts of 128k tokens: whole prompts, 32k, 12k and 4k tokens a micro-batch gave 1678, 1500, 1536
// and 1347 tokens/s a GPU. The model is not named; DeepSeek-V3, which expands the cache of earlier chunks anew with
// every chunk, on eight H200 comes near these rates.
func TestSmallChunksCostAPipelineThroughput(t *testing.T) {
	s := setup{
		"model=deepseek-v3", "hardware.gpu=h200-sxm", "engine={profile: vllm-v1, tensor_parallel_size: 2, pipeline_parallel_size: 4, max_num_seqs: 32}",
		"workload={requests: 48, arrivals: burst, prompt: 128000, output: 1}",
	}
	whole, large, small := s.budget(131072).rate(t)/8, s.budget(32768).rate(t)/8, s.budget(4096).rate(t)/8
	above(t, "tokens/s a GPU of whole prompts and 4k", whole, small, 0)
	withinTwo(t, "loss from 32k to 4k", small/large-1, 1347./1500-1)
	withinTwo(t, "tokens/s a GPU with 4k", small, 1347)
}

// vllm-project/vllm#3399, #2980: Qwen-72B on four A800, 10,000 addresses to parse, 500 at once, no graphs, vLLM 0.3.3: 1468 s in 16 bits,
// 1638 s with GPTQ and 2025 s with AWQ. Their kernels of then write every matrix out in 16 bits before they multiply a
// large batch, once a step whatever the batch gains, and AWQ's decodes fewer than 256 sequences far from the peak. The
// lengths are not given; with those here, 16 bits take as long as reported.
func TestNarrowWeightsHelpDecodesAndHurtFullBatches(t *testing.T) {
	qwen := setup{
		"model=qwen-72b", "hardware.gpu=a100-sxm-80g", "hardware.kernels.weight_only=unfused",
		"engine={profile: vllm-v0, tensor_parallel_size: 4, max_model_len: 2000, gpu_memory_utilization: 0.95, enforce_eager: true}",
	}
	full := qwen.with("workload={requests: 2000, arrivals: {name: closed, clients: 500}, prompt: {dist: uniform, mean: 400, range_ratio: 0.3}, output: {dist: uniform, mean: 120, range_ratio: 0.3}}")
	wide, gptq, awq := full.run(t), full.with("engine.quantization=gptq").run(t), full.with("engine.quantization=awq").run(t)
	above(t, "blocks", float64(gptq.Engine.KV.Blocks), float64(wide.Engine.KV.Blocks), 0.5)
	alike(t, "seconds of 10,000 in 16 bits", 5*wide.DurationS, 1468, 0.1)
	withinTwo(t, "what GPTQ adds", gptq.DurationS/wide.DurationS-1, 1638./1468-1)
	withinTwo(t, "what AWQ adds", awq.DurationS/wide.DurationS-1, 2025./1468-1)
	above(t, "duration of AWQ and GPTQ", awq.DurationS, gptq.DurationS, 0)
	lone := qwen.with("engine.enforce_eager=false", "workload={requests: 2, rate: 0.01, prompt: 300, output: 60}")
	above(t, "time per token, one at a time", lone.run(t).Latency.TPOT.Mean, lone.with("engine.quantization=gptq").run(t).Latency.TPOT.Mean, 0.5)
}

// vllm-project/vllm#42058, #48786: an FP8 cache holds exactly twice the tokens (389,872 became 779,760), and end to end next to nothing
// changed, since the pool had not been what limited.
func TestAnFP8CacheHelpsOnlyWhereTheCacheWasTheLimit(t *testing.T) {
	s := setup{"model=llama-3.1-8b", "hardware.gpu=h100-sxm", "engine={profile: vllm-0.19, max_model_len: 8192}"}
	load := s.with("workload={requests: 200, rate: 4, prompt: 1024, output: 256}")
	wide, narrow := load.run(t), load.with("engine.kv_cache_dtype=fp8").run(t)
	alike(t, "blocks", float64(narrow.Engine.KV.Blocks), 2*float64(wide.Engine.KV.Blocks), 0.0001)
	alike(t, "time per token", narrow.Latency.TPOT.Mean, wide.Latency.TPOT.Mean, 0.055)
	alike(t, "TTFT", narrow.Latency.TTFT.Mean, wide.Latency.TTFT.Mean, 0.055)
	bound := s.with("engine.kv_cache_memory_bytes=4GiB", "workload={requests: 300, arrivals: burst, prompt: 1024, output: 256}")
	above(t, "throughput with a small pool", bound.with("engine.kv_cache_dtype=fp8").rate(t), bound.rate(t), 0.2)
}

// vllm-project/vllm#10634, #11133, #6854: with 256 sequences of a 7B model the GPU idled 5 to 6 ms between two steps, and 0.15 to 0.17 ms with
// asynchronous scheduling: in the prototype of 2024. Served runs of later versions still show half of it.
func TestTheHostGrowsWithTheBatchUnlessItHides(t *testing.T) {
	s := setup{"model=llama-2-7b", "hardware.gpu=a100-sxm-80g", "engine={profile: vllm-v1-2025, max_model_len: 4096, max_num_seqs: 256}"}
	// gap returns what a token waits for beside the device, in milliseconds.
	gap := func(n int, async bool) float64 {
		x := s.with(fmt.Sprintf("workload={requests: %d, arrivals: burst, prompt: 32, output: 400}", n), fmt.Sprint("engine.async_scheduling=", async))
		var step hardware.Step
		for range n {
			step.AddDecode(32+400/2, hardware.Window{})
		}
		device := x.experiment(t).cost.Cost(step).Device
		return x.run(t).Latency.TPOT.P50 - device.Seconds()*1e3
	}
	few, many := gap(8, false), gap(256, false)
	above(t, "gap with 256 and 8 sequences", many, few, 1)
	withinTwo(t, "gap with 256 sequences", many, 5.5)
	withinTwo(t, "of which asynchronous scheduling hides", many-gap(256, true), 5.5-0.16)
}
