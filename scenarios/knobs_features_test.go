package scenarios

import (
	"strings"
	"testing"
)

// Knobs of engines that share a load, and of memory below the GPU's.
func turnsOfClusters() []turned {
	pair := "cluster={prefill: {replicas: 1}, decode: {replicas: 1}}"
	return []turned{
		{"cluster.hop=3ms", "cluster.replicas=1", "cluster.replicas=2"},
		{"cluster.hop=3ms", "engine.data_parallel_size=1", "scheduler=disaggregated"},
		{"cluster.prefill.router=random", pair, "cluster={prefill: {replicas: 2}, decode: {replicas: 1}}"},
		{"cluster.prefill.router=random", pair, "cluster={prefill: {replicas: 1}, remote: {borrow_above: 100}}"},
		{"cluster.decode.router=random", pair, "cluster={prefill: {replicas: 1}, decode: {replicas: 2}}"},
		{"engine.enable_expert_parallel=true", "model=qwen3-30b-a3b", "{model: qwen3-30b-a3b, engine: {tensor_parallel_size: 2}}"},
		{"engine.enable_expert_parallel=true", "model=qwen3-30b-a3b", "{model: qwen3-30b-a3b, engine: {data_parallel_size: 2}}"},
		{"engine.expert_skew=0.5", "model=llama-3.1-8b", "model=qwen3-30b-a3b"},
		{"hardware.kernels.weight_only=unfused", "engine.dtype=bfloat16", "engine.quantization=awq"},
		{"engine.kv_offloading_backend=lmcache", "engine.kv_offloading_size=0", "engine.kv_offloading_size=10"},
		{"engine.kv_offloading_policy=write-through-selective", "engine.kv_offloading_size=0", "engine.kv_offloading_size=10"},
		{"engine.kv_offloading_policy=write-through-selective", "{scheduler: static, engine: {kv_offloading_size: 10}}", "engine.kv_offloading_size=10"},
		{"engine.kv_far_tier.size=50", "engine.kv_offloading_size=0", "engine.kv_offloading_size=10"},
		{"engine.kv_far_tier.size=50", "engine={kv_offloading_size: 10, enable_prefix_caching: false, max_model_len: 4096}", "engine.kv_offloading_size=10"},
		{"engine.kv_far_tier.kind=remote", "engine.kv_offloading_size=10", "engine={kv_offloading_size: 10, kv_far_tier: 50, max_model_len: 4096}"},
		{"engine.kv_far_tier.bandwidth=1GB/s", "engine.kv_offloading_size=10", "engine={kv_offloading_size: 10, kv_far_tier: 50, max_model_len: 4096}"},
		{"engine.kv_far_tier.latency=1ms", "engine.kv_offloading_size=10", "engine={kv_offloading_size: 10, kv_far_tier: 50, max_model_len: 4096}"},
	}
}

// Knobs of drafters.
func turnsOfDrafts() []turned {
	using := func(config string) string {
		return "engine={max_model_len: 4096, speculative_config: {num_speculative_tokens: 3, acceptance: 0.5, " + config + "}}"
	}
	ngram, eagle, model := using("method: ngram"), using("method: eagle"), using("method: draft_model, model: llama-3.2-1b")
	none := "engine={max_model_len: 4096, speculative_config: {num_speculative_tokens: 0}}" // where nobody drafts, nothing is said of drafters
	return []turned{
		{"engine.speculative_config.model=llama-3.2-1b", ngram, model},
		{"engine.speculative_config.draft_tensor_parallel_size=1", ngram, model},
		{"engine.speculative_config.quantization=fp8", ngram, model},
		{"engine.speculative_config.prompt_lookup_min=2", eagle, none},
		{"engine.speculative_config.prompt_lookup_max=4", ngram, none},
	}
}

// Knobs of what arrives, and of who goes first.
func turnsOfLoads() []turned {
	return []turned{
		{"workload.arrivals.speed=1", "workload={rate: 3, arrivals: {name: trace, file: azure-2023-conversation}}", traced},
		{"workload.sessions.turns.mean=3", traced, ""},
		{"workload.sessions.think=3s", "workload.rate=3", "workload.sessions.turns=3"},
		{"workload.clients.count=3", traced, ""},
		{"workload.clients.count=3", "workload.arrivals=closed", ""},
		{"workload.clients.count=3", "workload.clients.shares=[1, 2]", ""},
		{"workload.clients.skew=1", "workload.clients.count=1", "workload.clients.count=3"},
		{"workload.clients.shares=[1, 2]", "workload.arrivals=closed", ""},
		{"scheduler.predictor.error=0.5", "{engine: {scheduling_policy: sjf}, scheduler: {predictor: oracle}}", "{engine: {scheduling_policy: sjf}, scheduler: {predictor: noisy}}"},
		{"scheduler.chunk_by_slack=true", "{engine: {scheduling_policy: slo}, slo: {ttft: 1s}}", "{engine: {scheduling_policy: slo}, slo: {ttft: 1s, tpot: 50ms}}"},
		{"scheduler.chunk_by_slack=true", "{scheduler: sarathi, engine: {scheduling_policy: slo}}", "engine.scheduling_policy=slo"},
		{"scheduler.max_prefill_tokens=9000", "scheduler={name: sglang, chunked_prefill_size: 2048}", "scheduler={name: sglang, chunked_prefill_size: none}"},
		{"scheduler.schedule_policy=lpm", "{scheduler: sglang, engine: {scheduling_policy: priority}, workload: {classes: [{name: a}, {name: b, priority: 1}]}}", "scheduler=sglang"},
	}
}

// TestEveryRowOfTheTableOfKnobsIsTurned finds for each row a turn that is idle because of it, and one where it acts.
func TestEveryRowOfTheTableOfKnobsIsTurned(t *testing.T) {
	silenced, acted := make([]bool, len(knobs)), make([]bool, len(knobs))
	for _, c := range everyTurn() {
		idle, acts := c.beside(t, c.idle).Scenario, c.beside(t, c.acts).Scenario
		for i, k := range knobs {
			if path := c.path(); k.path == path || strings.HasSuffix(k.path, ".") && strings.HasPrefix(path, k.path) {
				silenced[i] = silenced[i] || k.idle(idle) != ""
				acted[i] = acted[i] || acts.idle(path) == ""
			}
		}
	}
	for i, k := range knobs {
		if k.path == "cluster.autoscale." {
			continue // settings of no autoscaler are refused
		}
		if !silenced[i] || !acted[i] {
			t.Errorf("row %d, %s: found idle %v, found acting %v", i, k.path, silenced[i], acted[i])
		}
	}
}
