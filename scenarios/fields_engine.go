package scenarios

import "math"

var inf = math.Inf(1)

var laterSchedulers = []string{"prefill-first", "decode-first"}

// longestThatFits stands for max_model_len: auto.
const longestThatFits = -1

// engineFields are vLLM's server settings, and those that vLLM has removed.
func engineFields() []field {
	table := []field{
		{path: "engine.profile", into: func(s *Scenario) any { return &s.Engine.Profile }, def: "vllm-v1", choices: profileNames(), planned: []string{"sglang", "tensorrt-llm", "orca", "sarathi", "static"}, doc: "The engine and its version: defaults, host costs and behaviour."},
		{path: "engine.dtype", into: func(s *Scenario) any { return &s.Engine.Dtype }, def: "auto", choices: []string{"auto", "bfloat16", "float16", "half"}, doc: "Format of weights and activations."},
		{path: "engine.quantization", into: func(s *Scenario) any { return &s.Engine.Quantization }, def: "auto", choices: []string{"auto", "none", "fp8", "int8", "awq", "gptq", "mxfp4", "nvfp4"}, doc: "Format of the weights; auto = as the model's name says."},
		{path: "engine.kv_cache_dtype", into: func(s *Scenario) any { return &s.Engine.KVCacheDtype }, def: "auto", choices: []string{"auto", "bfloat16", "float16", "fp8", "fp8_e4m3", "fp8_e5m2"}, doc: "Format of the KV cache; auto = 16 bits."},
		{path: "engine.tensor_parallel_size", into: func(s *Scenario) any { return &s.Engine.TensorParallelSize }, def: "1", limit: atLeastOne, doc: "GPUs that share every layer."},
		{path: "engine.pipeline_parallel_size", into: func(s *Scenario) any { return &s.Engine.PipelineParallelSize }, def: "1", limit: atLeastOne, doc: "Stages of layers, one after the other."},
		{path: "engine.data_parallel_size", into: func(s *Scenario) any { return &s.Engine.DataParallelSize }, limit: replicaCount, doc: "Ranks that share the requests; one if left out. Those of a mixture of experts share the experts too, and take their steps together; those of a dense model are replicas behind vLLM's balancer (router vllm-dp)."},
		{path: "engine.enable_expert_parallel", into: func(s *Scenario) any { return &s.Engine.EnableExpertParallel }, def: "false", doc: "Whole experts on each GPU instead of slices of all."},
		{path: "engine.expert_skew", into: func(s *Scenario) any { return &s.Engine.ExpertSkew }, words: autoWord, limit: fraction, doc: "Share of the experts that even routing would touch which real routing does touch; 1 = even. Below, fewer experts are read, and with expert parallelism the busiest GPU computes 1/skew times its even share. left out: 1."},
		{path: "engine.max_num_seqs", into: func(s *Scenario) any { return &s.Engine.MaxNumSeqs }, def: "auto", words: autoWord, limit: atLeastOne, doc: "Most sequences that run at once."},
		{path: "engine.max_num_batched_tokens", into: func(s *Scenario) any { return &s.Engine.MaxNumBatchedTokens }, def: "auto", words: autoWord, limit: atLeastOne, doc: "Token capacity of a step."},
		{path: "engine.max_num_scheduled_tokens", into: func(s *Scenario) any { return &s.Engine.MaxNumScheduledTokens }, def: "auto", words: autoWord, limit: atLeastOne, doc: "Token budget of a step; auto = max_num_batched_tokens."},
		{path: "engine.max_model_len", into: func(s *Scenario) any { return &s.Engine.MaxModelLen }, def: "model", words: []word{{"model", 0}, {"auto", longestThatFits}, {"-1", longestThatFits}}, limit: atLeastOne, doc: "Longest sequence; model = what the model allows, auto = the longest that fits the KV pool."},
		{path: "engine.long_prefill_token_threshold", into: func(s *Scenario) any { return &s.Engine.LongPrefillTokenThreshold }, def: "0", limit: notNegative, doc: "Most tokens of one sequence in a step; 0 = no bound."},
		{path: "engine.gpu_memory_utilization", into: func(s *Scenario) any { return &s.Engine.GPUMemoryUtilization }, def: "auto", words: autoWord, limit: fraction, doc: "Share of all GPU memory that the engine takes."},
		{path: "engine.kv_cache_memory_bytes", into: func(s *Scenario) any { return &s.Engine.KVCacheMemoryBytes }, def: "auto", words: []word{{"auto", 0}, {"none", 0}}, limit: positive, doc: "Size of the KV pool per GPU, in place of what the memory plan leaves."},
		{path: "engine.num_gpu_blocks_override", into: func(s *Scenario) any { return &s.Engine.NumGPUBlocksOverride }, def: "auto", words: []word{{"auto", 0}, {"none", 0}}, limit: atLeastOne, doc: "Size of the KV pool in blocks, in place of what the memory plan leaves."},
		{path: "engine.block_size", into: func(s *Scenario) any { return &s.Engine.BlockSize }, def: "16", words: []word{{"auto", 16}}, limit: limit{"be a power of two from 1 to 1024", isBlockSize}, doc: "Tokens in a KV block."},
		{path: "engine.watermark", into: func(s *Scenario) any { return &s.Engine.Watermark }, def: "0", limit: belowOne, doc: "Share of all blocks that an admission leaves free."},
		{path: "engine.scheduler_reserve_full_isl", into: func(s *Scenario) any { return &s.Engine.SchedulerReserveFullISL }, def: "auto", words: autoWord, doc: "Admit a prompt only when all of it fits."},
		{path: "engine.enable_chunked_prefill", into: func(s *Scenario) any { return &s.Engine.EnableChunkedPrefill }, def: "auto", words: autoWord, doc: "Split prompts over steps."},
		{path: "engine.enable_prefix_caching", into: func(s *Scenario) any { return &s.Engine.EnablePrefixCaching }, def: "auto", words: autoWord, doc: "Find the KV of shared beginnings again."},
		{path: "engine.scheduling_policy", into: func(s *Scenario) any { return &s.Engine.SchedulingPolicy }, def: "fcfs", choices: orderNames, doc: "Order of the waiting queue: vLLM's fcfs and priority; sjf and srpt by predicted length; mlfq (FastServe); fair (VTC, per client); edf and slo by the deadlines of slo; lcfs."},
		{path: "engine.async_scheduling", into: func(s *Scenario) any { return &s.Engine.AsyncScheduling }, def: "auto", words: autoWord, doc: "Plan a step before the outputs of the one before are known."},
		{path: "engine.enforce_eager", into: func(s *Scenario) any { return &s.Engine.EnforceEager }, def: "false", doc: "No CUDA graphs."},
		{path: "engine.cudagraph_capture_sizes", into: func(s *Scenario) any { return &s.Engine.CUDAGraphCaptureSizes }, doc: "Token counts for which graphs are captured, a list."},
		{path: "engine.api_server_count", into: func(s *Scenario) any { return &s.Engine.APIServerCount }, def: "auto", words: autoWord, limit: replicaCount, doc: "API processes; auto = frontend.api_servers."},
		{path: "engine.kv_offloading_size", into: func(s *Scenario) any { return &s.Engine.KVOffloadingSize }, words: []word{{"none", 0}}, limit: notNegative, doc: "Host memory that keeps copies of KV blocks, GiB of all GPUs together; none if left out."},
		{path: "engine.kv_offloading_policy", into: func(s *Scenario) any { return &s.Engine.KVOffloadingPolicy }, choices: []string{"write-through", "write-through-selective"}, doc: "Which blocks are copied to the host: every one as soon as it is full (as vLLM does, if left out), or those only that are asked for a second time."},
		{path: "engine.kv_offloading_backend", into: func(s *Scenario) any { return &s.Engine.KVOffloadingBackend }, choices: []string{"native", "lmcache"}, doc: "Who copies them: vLLM itself, beside the steps (native, if left out), or LMCache, whose steps wait until their copies are made."},
		{path: "engine.kv_far_tier.size", into: func(s *Scenario) any { return &s.Engine.KVFarTier.Size }, limit: positive, doc: "GiB of KV blocks that it keeps, for which the host's memory has no room any more; none if left out."},
		{path: "engine.kv_far_tier.kind", into: func(s *Scenario) any { return &s.Engine.KVFarTier.Kind }, def: "disk", choices: []string{"disk", "remote"}, doc: "disk: every engine has its own; remote: all engines of a kind share one, and its bandwidth."},
		{path: "engine.kv_far_tier.bandwidth", into: func(s *Scenario) any { return &s.Engine.KVFarTier.Bandwidth }, words: []word{{"auto", 0}}, limit: positive, doc: "At which blocks come from there. Left out: 7 GB/s from a disk (sequential reads of an NVMe drive on PCIe 4.0 x4, by its data sheet), 12.5 GB/s from a remote store (100 Gbit/s Ethernet)."},
		{path: "engine.kv_far_tier.latency", into: func(s *Scenario) any { return &s.Engine.KVFarTier.Latency }, def: "auto", words: autoTime, limit: notNegative, doc: "Of a load from there, beside the time of its bytes; auto = 100us from a disk, 1ms from a remote store, both assumed."},
		{path: "engine.preemption_mode", into: func(s *Scenario) any { return &s.Engine.PreemptionMode }, choices: []string{"recompute", "swap"}, doc: "What vLLM V0 does with preempted KV: recompute (if left out) or swap."},
		{path: "engine.swap_space", into: func(s *Scenario) any { return &s.Engine.SwapSpace }, limit: notNegative, doc: "Host memory that vLLM V0 swaps to, GiB per GPU; 4 if left out."},
		{path: "engine.stream_interval", into: func(s *Scenario) any { return &s.Engine.StreamInterval }, def: "1", limit: atLeastOne, doc: "Tokens in a chunk that is streamed; the first token and the last are sent in any case."},
		{path: "engine.constrained_decoding.share", into: func(s *Scenario) any { return &s.Engine.ConstrainedDecoding.Share }, def: "0", limit: limit{"be from 0 to 1", func(v float64) bool { return v >= 0 && v <= 1 }}, doc: "Share of the requests whose answers must follow a grammar."},
		{path: "engine.constrained_decoding.cost", into: func(s *Scenario) any { return &s.Engine.ConstrainedDecoding.Cost }, def: "40us", limit: notNegative, doc: "Host time to work out which tokens the grammar allows next, for each token of such an answer, hidden by nothing. The default is the order of magnitude that XGrammar's authors report for JSON schemas; no served run has confirmed it."},
		{path: "engine.sampling_cost", into: func(s *Scenario) any { return &s.Engine.SamplingCost }, def: "0s", limit: notNegative, doc: "Time of a step for each token that it samples, beyond the engine's plain sampler, hidden by nothing: penalties, log probabilities, logits processors. Your own number."},
	}
	table = append(table, speculationFields()...)
	table = append(table, field{path: "engine.hf_overrides", def: "none", doc: "Changes to the model's config.json."})
	for _, r := range removedFlags {
		if r.V0 {
			continue
		}
		table = append(table, field{path: "engine." + r.key(), removed: true, doc: "Removed from vLLM; read over with a warning."})
	}
	return table
}

func isBlockSize(v float64) bool {
	n := int(v)
	return v == float64(n) && n >= 1 && n <= 1024 && n&(n-1) == 0
}
