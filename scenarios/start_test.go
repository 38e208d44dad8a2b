package scenarios

import (
	"strings"
	"testing"
)

// TestDefaultsFollowTheGPUAndTheProfile holds the table of the server's defaults by version and by class of device.
func TestDefaultsFollowTheGPUAndTheProfile(t *testing.T) {
	for _, c := range []struct {
		profile, gpu string
		seqs, tokens int
		utilization  float64
		async, gate  bool
		scheduler    string
	}{
		{"vllm-v1", "H100-SXM", 1024, 8192, 0.92, true, true, "chunked"},
		{"vllm-v1", "H200-SXM", 1024, 8192, 0.92, true, true, "chunked"},
		{"vllm-v1", "B200-SXM", 1024, 16384, 0.92, true, true, "chunked"},
		{"vllm-v1", "MI300X", 1024, 16384, 0.92, true, true, "chunked"},
		{"vllm-v1", "A100-SXM-80G", 256, 2048, 0.92, true, true, "chunked"},
		{"vllm-v1", "L40S", 256, 2048, 0.92, true, true, "chunked"},
		{"vllm-v1", "RTX-4090", 256, 2048, 0.92, true, true, "chunked"},
		{"vllm-v1", "RTX-PRO-6000-Server", 1024, 8192, 0.92, true, true, "chunked"},
		{"vllm-0.21", "B200-SXM", 1024, 8192, 0.92, true, true, "chunked"},
		{"vllm-0.19", "H100-SXM", 1024, 8192, 0.90, true, true, "chunked"},
		{"vllm-0.15", "H100-SXM", 1024, 8192, 0.90, true, false, "chunked"},
		{"vllm-v1-2025", "H100-SXM", 1024, 8192, 0.90, false, false, "chunked"},
		{"vllm-0.10", "A100-PCIE-80G", 256, 2048, 0.90, false, false, "chunked"},
		{"vllm-v0", "H100-SXM", 256, 4096, 0.90, false, false, "continuous"},
		{"vllm-0.9", "A100-SXM-80G", 256, 4096, 0.90, false, false, "continuous"},
	} {
		x, err := build("engine: {max_model_len: 4096}", "engine.profile="+c.profile, "hardware.gpu="+c.gpu)
		if err != nil {
			t.Errorf("%s on %s: %v", c.profile, c.gpu, err)
			continue
		}
		l, e := x.Limits, x.Scenario.Engine
		if l.MaxNumSeqs != c.seqs || l.MaxNumBatchedTokens != c.tokens || e.GPUMemoryUtilization != c.utilization ||
			(e.AsyncScheduling == On) != c.async || l.SchedulerReserveFullISL != c.gate || x.Scenario.Scheduler.Name != c.scheduler {
			t.Errorf("%s on %s: got S %d, T %d, utilization %v, async %v, gate %v, scheduler %s; want %+v", c.profile, c.gpu,
				l.MaxNumSeqs, l.MaxNumBatchedTokens, e.GPUMemoryUtilization, e.AsyncScheduling, l.SchedulerReserveFullISL, x.Scenario.Scheduler.Name, c)
		}
	}
}

// TestDefaultedLimitsAreAdjustedInTheEnginesOrder follows vLLM's post-processing of values that were not given.
func TestDefaultedLimitsAreAdjustedInTheEnginesOrder(t *testing.T) {
	for _, c := range []struct {
		settings         []string
		seqs, tokens, in int
	}{
		{[]string{"engine.max_model_len=16384"}, 1024, 8192, 2},
		{[]string{"engine.max_model_len=16384", "engine.enable_chunked_prefill=false"}, 1024, 16384, 2},
		{[]string{"engine.max_model_len=100", "engine.max_num_seqs=4"}, 4, 400, 2},
		{[]string{"engine.max_num_batched_tokens=512"}, 512, 512, 2},
		{[]string{"engine.max_num_seqs=64"}, 64, 8192, 2},
		{[]string{"engine.async_scheduling=false"}, 1024, 8192, 1},
		{[]string{"engine.pipeline_parallel_size=4"}, 1024, 8192, 5},
		{[]string{"engine.pipeline_parallel_size=4", "engine.async_scheduling=false"}, 1024, 8192, 4},
		{[]string{"scheduler=static"}, 1024, 16384, 1},
		{[]string{"scheduler=continuous"}, 1024, 16384, 1},
	} {
		x := mustBuild(t, "chat", c.settings...)
		if x.Limits.MaxNumSeqs != c.seqs || x.Limits.MaxNumBatchedTokens != c.tokens || x.inFlight() != c.in {
			t.Errorf("%v: got S %d, T %d and %d in flight, want %d, %d and %d", c.settings, x.Limits.MaxNumSeqs, x.Limits.MaxNumBatchedTokens, x.inFlight(), c.seqs, c.tokens, c.in)
		}
	}
}

// TestWhatTheEngineWouldRefuseAtItsStartIsRefusedHere covers the start-up checks of vLLM, each with its remedy.
func TestWhatTheEngineWouldRefuseAtItsStartIsRefusedHere(t *testing.T) {
	for _, c := range []struct {
		settings []string
		want     string
	}{
		{[]string{"engine.max_num_batched_tokens=16", "engine.max_num_seqs=64"}, "engine.max_num_batched_tokens: must be at least max_num_seqs, 64, got 16"},
		{[]string{"engine.max_num_seqs=9000"}, "engine.max_num_seqs: must be at most max_num_batched_tokens, 8192, got 9000"},
		{[]string{"engine.long_prefill_token_threshold=20000"}, "engine.long_prefill_token_threshold: must be at most max_model_len, 16384, got 20000"},
		{[]string{"engine.enable_chunked_prefill=false", "engine.max_num_batched_tokens=16384", "engine.max_num_scheduled_tokens=100"}, "engine.max_num_scheduled_tokens: must be at least max_model_len, 16384, when prompts are not split, got 100"},
		{[]string{"engine.enable_chunked_prefill=false", "engine.max_num_batched_tokens=2048"}, "engine.max_num_batched_tokens: must be at least max_model_len, 16384, when prompts are not split, got 2048"},
		{[]string{"engine.max_num_scheduled_tokens=9000"}, "engine.max_num_scheduled_tokens: must be at most max_num_batched_tokens, 8192, got 9000"},
		{[]string{"engine.max_model_len=200000"}, "engine.max_model_len: must be at most 131072, the longest sequence of llama-3.1-8b, got 200000"},
		{[]string{"engine.tensor_parallel_size=3"}, "engine.tensor_parallel_size: 3 does not divide 32 attention heads; use 1, 2, 4, 8 or 16"},
		{[]string{"engine.pipeline_parallel_size=33"}, "engine.pipeline_parallel_size: 33 exceeds the 32 layers of llama-3.1-8b; use at most 32"},
		{[]string{"engine.enable_expert_parallel=true"}, "engine.enable_expert_parallel: expert parallelism needs experts, and llama-3.1-8b has none"},
		{[]string{"model=llama-3.1-70b"}, "GiB missing; the smallest tensor_parallel_size that fits is"},
		{[]string{"engine.max_model_len=131072", "hardware.gpu=RTX-4090"}, "engine.max_model_len: one sequence of max_model_len 131072 of llama-3.1-8b needs 16.00 GiB of KV cache per GPU"},
		{[]string{"engine.num_gpu_blocks_override=1"}, "the KV pool of 1 blocks holds nothing"},
		{[]string{"engine.cudagraph_capture_sizes=[4, 2]"}, "engine.cudagraph_capture_sizes: must ascend, got 2 after 4"},
		{[]string{"hardware.gpu=gaudi3"}, "gaudi3"},
		{[]string{"hardware.gpu={name: mine, arch: Hopper}"}, "hardware.gpu: mine: sm is missing, and no known GPU has this name"},
		{[]string{"engine.api_server_count=2", "frontend.api_servers=3"}, "engine.api_server_count: says 2 where frontend.api_servers says 3"},
	} {
		_, err := build("chat", c.settings...)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "--set ") && !strings.HasPrefix(err.Error(), "chat.yaml") {
			t.Errorf("%v:\n got %v\nwant %s", c.settings, err, c.want)
		}
	}
}

func TestAPoolOfAGivenSizeIsOnlyRemarkedUpon(t *testing.T) {
	for _, set := range []string{"engine.num_gpu_blocks_override=300", "engine.kv_cache_memory_bytes=600MB"} {
		x := mustBuild(t, "chat", set, "workload.requests=50", "workload.prompt=12000")
		if len(x.Warnings) != 1 || !strings.Contains(x.Warnings[0], "is too small for one sequence of max_model_len 16384") {
			t.Errorf("%s warns: %q", set, x.Warnings)
		}
		r := mustRun(t, x, Options{})
		if r.Requests.Rejected != 50 || len(r.Rejections) == 0 || *r.Goodput.Attainment != 0 {
			t.Errorf("%s: %+v %v", set, r.Requests, r.Rejections)
		}
	}
}

func TestTheLongestSequenceThatFitsIsFound(t *testing.T) {
	for _, value := range []string{"auto", "-1"} {
		x := mustBuild(t, "model: llama-3.1-8b\nhardware: {gpu: RTX-4090}", "engine.max_model_len="+value)
		l := x.Limits.MaxModelLen
		if blocks := (l + 15) / 16; l < 1000 || l >= 131072 || blocks != x.Memory.Blocks {
			t.Errorf("%s: max_model_len is %d, %d of %d blocks", value, l, blocks, x.Memory.Blocks)
		}
	}
}

func TestGraphsAreTakenOffThePoolOnlyByProfilesThatDo(t *testing.T) {
	same := []string{"engine.gpu_memory_utilization=0.9"}
	now, before := mustBuild(t, "chat", same...), mustBuild(t, "chat", append(same, "engine.profile=vllm-0.19")...)
	if now.Memory.Blocks >= before.Memory.Blocks {
		t.Errorf("%d blocks with graphs subtracted, %d without", now.Memory.Blocks, before.Memory.Blocks)
	}
}

func TestAPoolLargerThanTheCardIsRemarkedUpon(t *testing.T) {
	for set, want := range map[string]string{ // order does not matter: each is built by itself
		"engine.kv_cache_memory_bytes=500GiB":    "the KV pool that was asked for needs 500.0 GiB per GPU; h100-sxm has ",
		"engine.num_gpu_blocks_override=1000000": "the KV pool that was asked for needs 1953.1 GiB per GPU; h100-sxm has ",
	} {
		if x := mustBuild(t, "chat", set); !warns(x, want) || !warns(x, "GiB left for it") {
			t.Errorf("%s warns: %q", set, x.Warnings)
		}
	}
	if x := mustBuild(t, "chat", "engine.kv_cache_memory_bytes=40GiB"); len(x.Warnings) > 0 {
		t.Errorf("a pool that fits warns: %q", x.Warnings)
	}
	if _, err := build("chat", "engine.num_gpu_blocks_override=1000000000000"); err == nil || !strings.Contains(err.Error(), "num_gpu_blocks_override must be at most 100000000") {
		t.Errorf("got %v", err)
	}
}

func TestGraphsAboveTheTokenBudgetAreDropped(t *testing.T) {
	for _, c := range []struct {
		sizes, warning string
		kept           int
	}{
		{"[8, 16, 100000000]", "cudagraph_capture_sizes above max_num_batched_tokens, 8192, are dropped: [100000000]", 2},
		{"[100000000]", "dropped: [100000000]; none is left, so that every step runs without a CUDA graph", 0},
	} {
		x := mustBuild(t, "chat", "engine.cudagraph_capture_sizes="+c.sizes)
		if len(x.Deployment.Graphs) != c.kept || !warns(x, c.warning) {
			t.Errorf("%s: graphs %v, warnings %q", c.sizes, x.Deployment.Graphs, x.Warnings)
		}
	}
	if x := mustBuild(t, "chat", "engine.cudagraph_capture_sizes=[8, 8192]"); len(x.Deployment.Graphs) != 2 || len(x.Warnings) > 0 {
		t.Errorf("graphs %v, warnings %q", x.Deployment.Graphs, x.Warnings)
	}
}

func TestActivationsThatDoNotFitAreBlamedAtTheirSetting(t *testing.T) {
	_, err := build("chat", "engine.max_num_batched_tokens=1000000000")
	for _, want := range []string{"engine.max_num_batched_tokens: llama-3.1-8b on h100-sxm: a step of max_num_batched_tokens 1000000000 needs ", "GiB of activations per GPU", "lower max_num_batched_tokens to at most "} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
}

// TestAStepThatDoesNotFitNamesTheSettingThatMakesIt, whatever that is called under the policy.
func TestAStepThatDoesNotFitNamesTheSettingThatMakesIt(t *testing.T) {
	for want, setting := range map[string]string{
		"scheduler.chunk_size":           "scheduler={name: sarathi, chunk_size: 65536}",
		"scheduler.chunked_prefill_size": "scheduler={name: sglang, chunked_prefill_size: 400000, max_prefill_tokens: 400000}",
		"scheduler.max_prefill_tokens":   "scheduler={name: sglang, chunked_prefill_size: 500000, max_prefill_tokens: 400000}",
		"engine.max_num_batched_tokens":  "engine.max_num_batched_tokens=400000",
	} {
		_, err := build("chat", "model=llama-3.2-1b", "hardware.gpu=rtx-4090", "engine.gpu_memory_utilization=0.2", setting)
		_, key, _ := strings.Cut(want, ".")
		if err == nil || !strings.Contains(err.Error(), ": "+want+": ") || !strings.Contains(err.Error(), "a step of "+key+" ") || !strings.Contains(err.Error(), "lower "+key) {
			t.Errorf("%s: %v", setting, err)
		}
	}
}
