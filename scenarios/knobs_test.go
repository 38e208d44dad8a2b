package scenarios

import (
	"slices"
	"strings"
	"testing"
)

// A knob turned: a setting, under which other one it does nothing, and under which it acts ("": under the defaults).
type turned struct{ setting, idle, acts string }

func (k turned) path() string {
	path, _, _ := strings.Cut(k.setting, "=")
	return path
}

// beside builds a small experiment with another setting and this one.
func (k turned) beside(t *testing.T, other string) *Experiment {
	t.Helper()
	base := "workload: {requests: 100}\nengine: {max_model_len: 4096}"
	switch {
	case other == "":
		return mustBuild(t, base, k.setting)
	case other[0] == '{': // several settings make a scenario of their own
		return mustBuild(t, other, "engine.max_model_len=4096", k.setting)
	}
	return mustBuild(t, base, other, k.setting)
}

// everyTurn is all turns, of old knobs and new ones.
func everyTurn() []turned {
	return slices.Concat(turnsOfEngines(), turnsOfClusters(), turnsOfDrafts(), turnsOfLoads())
}

const traced = "workload={arrivals: {name: trace, file: azure-2023-conversation}}"

func turnsOfEngines() []turned {
	layerwise := "cluster={prefill: {replicas: 1}, transfer: layerwise}"
	return []turned{
		{"engine.max_num_batched_tokens=4096", "scheduler=static", "scheduler=continuous"},
		{"engine.max_num_scheduled_tokens=4096", "scheduler=static", ""},
		{"engine.long_prefill_token_threshold=512", "scheduler=static", ""},
		{"engine.long_prefill_token_threshold=512", "scheduler=continuous", ""},
		{"engine.enable_chunked_prefill=true", "scheduler=static", ""},
		{"engine.enable_chunked_prefill=true", "scheduler=continuous", ""},
		{"engine.enable_prefix_caching=true", "scheduler=static", "scheduler=continuous"},
		{"engine.scheduler_reserve_full_isl=false", "scheduler=static", ""},
		{"engine.scheduler_reserve_full_isl=false", "scheduler=continuous", ""},
		{"engine.watermark=0.1", "scheduler=static", "scheduler=continuous"},
		{"engine.scheduling_policy=priority", "workload.classes=[]", "workload.classes=[{name: a}, {name: b, priority: 1}]"},
		{"engine.scheduling_policy=priority", "workload.classes=[{name: a}]", traced},
		{"engine.scheduling_policy=fair", "workload.arrivals=poisson", "workload.arrivals={name: closed, clients: 2}"},
		{"engine.scheduling_policy=fair", "workload.arrivals={name: closed, clients: 1}", traced},
		{"engine.scheduling_policy=fair", "workload.clients={count: 1}", "workload.clients={count: 3}"},
		{"engine.scheduling_policy=edf", "slo=none", "workload.classes=[{name: a, slo: {ttft: 1s}}, {name: b, slo: none}]"},
		{"engine.scheduling_policy=edf", "slo={tpot: 50ms}", "slo={ttft: 1s}"},
		{"engine.scheduling_policy=slo", "slo=none", "slo={ttft: 1s}"},
		{"scheduler.predictor.name=noisy", "engine.scheduling_policy=fcfs", "engine.scheduling_policy=sjf"},
		{"scheduler.predictor.name=prompt", "engine.scheduling_policy=mlfq", "engine.scheduling_policy=srpt"},
		{"scheduler.quantum=5ms", "engine.scheduling_policy=sjf", "engine.scheduling_policy=mlfq"},
		{"scheduler.chunk_by_slack=true", "engine.scheduling_policy=edf", "engine.scheduling_policy=slo"},
		{"scheduler.chunk_by_slack=true", "engine={scheduling_policy: slo, enable_chunked_prefill: false, max_model_len: 4096}", "engine.scheduling_policy=slo"},
		{"scheduler.starvation=5s", "engine.scheduling_policy=sjf", "engine.scheduling_policy=mlfq"},
		{"engine.async_scheduling=true", "scheduler=static", ""},
		{"engine.async_scheduling=true", "scheduler=continuous", ""},
		{"engine.kv_offloading_size=10", "scheduler=static", ""},
		{"engine.kv_offloading_size=10", "scheduler=continuous", ""},
		{"engine.kv_offloading_size=10", "engine.enable_prefix_caching=false", ""},
		{"engine.preemption_mode=swap", "engine={profile: vllm-v0, swap_space: 0, max_model_len: 4096}", "engine.profile=vllm-v0"},
		{"engine.swap_space=2", "engine={profile: vllm-v0, preemption_mode: recompute, max_model_len: 4096}", "engine={profile: vllm-v0, preemption_mode: swap, max_model_len: 4096}"},
		{"engine.gpu_memory_utilization=0.8", "engine.kv_cache_memory_bytes=40GiB", ""},
		{"engine.kv_cache_memory_bytes=40GiB", "engine.num_gpu_blocks_override=5000", ""},
		{"engine.cudagraph_capture_sizes=[1, 2]", "engine.enforce_eager=true", ""},
		{"engine.api_server_count=2", "frontend={tokenize: 0s, per_request: 0s, per_chunk: 0s}", "frontend={per_chunk: 1us}"},
		{"frontend.api_servers=2", "frontend={tokenize: 0s, per_request: 0s, per_chunk: 0s}", "frontend={per_request: 1us}"},
		{"engine.constrained_decoding.cost=1ms", "engine.constrained_decoding.share=0", "engine.constrained_decoding.share=0.1"},
		{"scheduler.max_batch=3", "scheduler.name=chunked", "scheduler.name=static"},
		{"scheduler.timeout=3s", "scheduler.name=chunked", "scheduler.name=static"},
		{"scheduler.pad_to=3", "scheduler.name=chunked", "scheduler.name=static"},
		{"scheduler.early_exit=true", "scheduler.name=chunked", "scheduler.name=static"},
		{"cluster.router=random", "cluster.replicas=1", "scheduler=disaggregated"},
		{"cluster.replicas=3", "cluster={prefill: {replicas: 1}}", ""},
		{"cluster.transfer.link.name=pcie", "", "scheduler=disaggregated"},
		{"cluster.remote.policy=length", "", "scheduler=disaggregated"},
		{"cluster.transfer.lease=3s", layerwise, "scheduler=disaggregated"},
		{"cluster.transfer.heartbeats=false", layerwise, "scheduler=disaggregated"},
		{"cluster.transfer.first_token=prefill", "scheduler=disaggregated", layerwise},
		{"cluster.transfer.reserved_decode_tokens=9", "scheduler=disaggregated", layerwise},
		{"cluster.remote.max_local_prefill_length=9", layerwise, "cluster={prefill: {replicas: 1}, remote: length}"},
		{"cluster.remote.max_prefill_queue_size=9", layerwise, "cluster={prefill: {replicas: 1}, remote: length}"},
		{"cluster.remote.eff_isl_threshold=9", layerwise, "cluster={prefill: {replicas: 1}, remote: length-or-load}"},
		{"cluster.remote.eff_isl_ratio_threshold=0.9", layerwise, "cluster={prefill: {replicas: 1}, remote: length-or-load}"},
		{"hardware.gpus_per_node=4", "engine.tensor_parallel_size=1", "scheduler=disaggregated"},
		{"hardware.internode.name=ib-hdr", "engine.tensor_parallel_size=2", "engine.tensor_parallel_size=16"},
		{"hardware.gpus_per_node=4", "engine.tensor_parallel_size=1", "engine.tensor_parallel_size=8"},
		{"workload.rate=3", "workload.arrivals=burst", "workload.arrivals=gamma"},
		{"workload.rate=3", "workload.arrivals=closed", traced},
		{"workload.arrivals.burstiness=2", "workload.arrivals.name=poisson", "workload.arrivals.name=gamma"},
		{"workload.arrivals.rescale=true", "workload.arrivals.name=constant", "workload.arrivals.name=gamma"},
		{"workload.arrivals.clients=2", "workload.arrivals.name=poisson", "workload.arrivals.name=closed"},
		{"workload.arrivals.think=2s", "workload.arrivals.name=poisson", "workload.arrivals.name=closed"},
		{"workload.arrivals.file=azure-2023-conversation", "workload.arrivals.name=poisson", "workload.arrivals.name=trace"},
		{"workload.arrivals.format=azure", "workload.arrivals.name=poisson", traced},
		{"workload.arrivals.speed=2", "workload.arrivals.name=poisson", traced},
		{"workload.prompt.mean=9", traced, ""},
		{"workload.output.max=9", traced, ""},
		{"workload.prefix.tokens=9", traced, ""},
		{"workload.prefix.groups=9", "workload.prefix.tokens=0", "workload.prefix.tokens=50"},
		{"workload.prompt.std=9", "workload.prompt={dist: fixed, mean: 9}", "workload.prompt={dist: normal, mean: 9}"},
		{"workload.prompt.range_ratio=0.5", "workload.prompt={dist: lognormal, mean: 9, p99: 20}", "workload.prompt={dist: uniform, mean: 9}"},
	}
}

// TestEveryKnobThatDoesNothingSaysSo sets each knob of the table where it is idle, and where it acts.
func TestEveryKnobThatDoesNothingSaysSo(t *testing.T) {
	long(t)
	for _, c := range everyTurn() {
		name := strings.TrimPrefix(c.path(), "engine.") + " has no effect "
		warned := func(other string) bool {
			return slices.ContainsFunc(c.beside(t, other).Warnings, func(w string) bool { return strings.HasPrefix(w, name) })
		}
		if !warned(c.idle) {
			t.Errorf("%s under %s: no warning", c.setting, c.idle)
		}
		if warned(c.acts) {
			t.Errorf("%s under %q: a warning, though it acts", c.setting, c.acts)
		}
	}
}

func TestTheWarningOfAnIdleKnobReadsAsPeopleSayIt(t *testing.T) {
	x := mustBuild(t, "chat", "scheduler=static", "engine.max_num_batched_tokens=4096")
	want := []string{"max_num_batched_tokens has no effect under static batching"}
	if !slices.Equal(x.Warnings, want) {
		t.Errorf("got %q, want %q", x.Warnings, want)
	}
}

func TestEveryRemovedFlagIsReadOverWithOneWarning(t *testing.T) {
	for _, r := range RemovedFlags() {
		value := "=1"
		if r.Name == "preemption-mode" {
			value = "=swap"
		}
		x := mustBuild(t, "chat", "engine."+strings.ReplaceAll(r.Name, "-", "_")+value)
		if len(x.Warnings) != 1 || !strings.Contains(x.Warnings[0], r.Since) || !strings.Contains(x.Warnings[0], "was removed from vLLM in") {
			t.Errorf("%s warns: %q", r.Name, x.Warnings)
		}
	}
}

func TestScenariosThatShipDoNotWarn(t *testing.T) {
	for _, e := range Names() {
		if x := mustBuild(t, e.Name); len(x.Warnings) > 0 || x.Scenario.Name != e.Name || x.Scenario.Summary != e.Summary {
			t.Errorf("%s (%s) warns: %q", e.Name, x.Scenario.Summary, x.Warnings)
		}
	}
}
