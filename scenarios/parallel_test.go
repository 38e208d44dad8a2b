package scenarios

import (
	"fmt"
	"reflect"
	"testing"
)

// sgl-project/sglang#2882, #8657, #7085: attention in data parallel is slower when there is little to do, since every rank
// streams all attention weights and waits for the others. vllm-project/vllm#51454: a model with a latent cache, eight
// long contexts at once; eight ranks instead of eight GPUs a layer hold 8 × 20.6 million tokens instead of 21.4, and the first
// token takes 91 s instead of 314. Neither the model nor the answers are named there: DeepSeek-V3, and contexts that fill
// the replicated cache, are a choice.
func TestRanksLoseWhenThereIsLittleToDoAndWinWithLongContexts(t *testing.T) {
	s := setup{"model=deepseek-v3", "hardware.gpu=h200-sxm", "engine={profile: vllm-v1, quantization: fp8, max_model_len: 131072, max_num_seqs: 64}"}
	dp := func(s setup) setup {
		return s.with("engine.data_parallel_size=8", "engine.enable_expert_parallel=true")
	}

	little := s.with("workload={requests: 30, rate: 0.5, prompt: 512, output: 200}")
	above(t, "time per token of eight ranks at a low rate", dp(little).run(t).Latency.TPOT.Mean, little.tp(8).run(t).Latency.TPOT.Mean, 0.3)

	long := s.with("workload={requests: 48, arrivals: {name: closed, clients: 32}, prompt: 60000, output: 4000}")
	tp, ranks := long.tp(8).run(t), dp(long).run(t)
	withinTwo(t, "capacity of eight ranks", float64(ranks.Engine.KV.Blocks)/float64(tp.Engine.KV.Blocks), 8*20.6/21.4)
	withinTwo(t, "TTFT of eight GPUs a layer to that of eight ranks", tp.Latency.TTFT.Mean/ranks.Latency.TTFT.Mean, 314./91)
}

// TestRanksOfADenseModelAreReplicas: they have nothing in common.
func TestRanksOfADenseModelAreReplicas(t *testing.T) {
	ranks := mustRun(t, mustBuild(t, "chat", "engine.data_parallel_size=3", "workload.requests=300", "workload.rate=60"), Options{Check: true})
	replicas := mustRun(t, mustBuild(t, "chat", "cluster={replicas: 3, router: vllm-dp}", "workload.requests=300", "workload.rate=60"), Options{Check: true})
	ranks.Config, replicas.Config = nil, nil
	if !reflect.DeepEqual(ranks, replicas) {
		t.Errorf("%+v\n%+v", ranks.Report, replicas.Report)
	}
	if ranks.Report.GPU.Count != 3 {
		t.Errorf("%d GPUs", ranks.Report.GPU.Count)
	}
}

func TestRanksInLockstepKeepEveryInvariant(t *testing.T) {
	for _, settings := range [][]string{
		nil,
		{"engine.async_scheduling=false"},
		{"engine.num_gpu_blocks_override=300"},
		{"engine.pipeline_parallel_size=2"},
		{"engine.enable_expert_parallel=true", "cluster.replicas=2"},
		{"scheduler=static"},
		{"scheduler=continuous"},
		{"workload={requests: 300, rate: 40, timeout: 2s}"},
		{"workload={requests: 300, arrivals: {name: closed, clients: 40}}"},
	} {
		all := append([]string{"model=qwen3-30b-a3b", "engine={profile: vllm-v1, data_parallel_size: 4, max_model_len: 4096}", "workload={requests: 300, rate: 40}"}, settings...)
		x := mustBuild(t, "chat", all...)
		r := mustRun(t, x, Options{Check: true})
		q := r.Report.Requests
		if q.Submitted != q.Completed+q.Aborted || q.Completed == 0 {
			t.Errorf("%v: %+v", settings, q)
		}
		if got, want := r.Report.GPU.Count, x.GPUs(); got != want || want%4 != 0 {
			t.Errorf("%v: %d GPUs, want %d", settings, got, want)
		}
		again := mustRun(t, x, Options{})
		if a, b := reportBytes(t, r), reportBytes(t, again); string(a) != string(b) {
			t.Errorf("%v: two runs differ", settings)
		}
	}
}

func TestASkewedRouterBurdensExpertParallelism(t *testing.T) {
	s := setup{"model=qwen3-30b-a3b", "hardware.gpu=h100-sxm", "engine={profile: vllm-v1, data_parallel_size: 4, enable_expert_parallel: true, max_model_len: 8192}", "workload={requests: 200, arrivals: burst, prompt: 2000, output: 8}"}
	above(t, "time to first token when the busiest GPU has twice its share", s.with("engine.expert_skew=0.5").run(t).Latency.TTFT.Mean, s.with("engine.expert_skew=1").run(t).Latency.TTFT.Mean, 0.05)
}

func TestTheLargestBatchOfSeveralStagesIsNoSmallerThanTheMean(t *testing.T) {
	for _, stages := range []int{1, 2, 4} {
		s := setup{fmt.Sprintf("engine={pipeline_parallel_size: %d, max_num_batched_tokens: 128, max_num_seqs: 8}", stages)}
		r := s.with("workload={requests: 20, rate: inf, prompt: 600, output: 3}").run(t)
		if b := r.Engine.Batch; b.MeanRunning > float64(b.PeakRunning) || b.PeakRunning > 8 {
			t.Errorf("%d stages: %.2f sequences on average, %d at most", stages, b.MeanRunning, b.PeakRunning)
		}
	}
}
