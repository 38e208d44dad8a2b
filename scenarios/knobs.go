package scenarios

import "slices"

import "strings"

// A knob is a setting that acts only beside some others: arrivals, laws, lengths. (Those that only some batching policies
// know stand in the table acting.) A simulator that ignores a knob in silence answers "no difference", and people believe
// it; so every knob that was set and does nothing is remarked upon.
type knob struct {
	path string                 // of the field; a trailing dot means the whole section
	idle func(*Scenario) string // why it does nothing here: completes "has no effect …"; "" when it acts
}

// unless returns why, unless the condition holds.
func unless(acts func(*Scenario) bool, why string) func(*Scenario) string {
	return func(s *Scenario) string {
		if acts(s) {
			return ""
		}
		return why
	}
}

func arrivalsAre(names ...string) func(*Scenario) bool {
	return func(s *Scenario) bool {
		return slices.Contains(names, s.Workload.Arrivals.Name)
	}
}

var knobs = []knob{
	{"engine.scheduling_policy", orderIdle},
	{"engine.kv_offloading_size", unless(func(s *Scenario) bool { return s.Engine.EnablePrefixCaching != Off }, "without prefix caching: only findable blocks are copied")},
	{"engine.kv_offloading_backend", unless(offloads, "while no KV is offloaded (kv_offloading_size)")},
	{"engine.kv_offloading_policy", unless(offloads, "while no KV is offloaded (kv_offloading_size)")},
	{"engine.kv_far_tier.", unless(offloads, "while no KV is offloaded (kv_offloading_size)")},
	{"engine.kv_far_tier.", unless(func(s *Scenario) bool { return s.Engine.KVFarTier.Size > 0 }, "while engine.kv_far_tier.size is left out")},
	{"engine.preemption_mode", unless(func(s *Scenario) bool {
		return s.Engine.SwapSpace > 0 || !s.swaps() || !s.Explicit("engine.swap_space")
	}, "while swap_space is 0")},
	{"engine.swap_space", unless(func(s *Scenario) bool { return s.swaps() || s.Scheduler.Name != "continuous" }, "while preemption_mode is recompute")},

	{"engine.gpu_memory_utilization", unless(func(s *Scenario) bool { return s.Engine.KVCacheMemoryBytes == 0 && s.Engine.NumGPUBlocksOverride == 0 }, "when the size of the KV pool is given")},
	{"engine.kv_cache_memory_bytes", unless(func(s *Scenario) bool { return s.Engine.NumGPUBlocksOverride == 0 }, "beside num_gpu_blocks_override")},
	{"engine.cudagraph_capture_sizes", unless(func(s *Scenario) bool { return !s.Engine.EnforceEager }, "with enforce_eager")},
	{speculative + ".model", unless(drafts, "for n-grams")},
	{speculative + ".draft_tensor_parallel_size", unless(drafts, "for n-grams")},
	{speculative + ".quantization", unless(drafts, "for n-grams")},
	{speculative + ".prompt_lookup_min", unless(silent, "in a simulation: acceptance says what a search finds")},
	{speculative + ".prompt_lookup_max", unless(silent, "in a simulation: acceptance says what a search finds")},
	{"engine.api_server_count", unless(apiCosts, "while requests, prompts and chunks cost the API processes nothing")},
	{"engine.expert_skew", unless(func(s *Scenario) bool { return s.experts }, "on a model without experts")},
	{"engine.enable_expert_parallel", unless(func(s *Scenario) bool { return s.gpus() > 1 || !s.Engine.EnableExpertParallel }, "with one GPU")},
	{"engine.constrained_decoding.cost", unless(func(s *Scenario) bool { return s.Engine.ConstrainedDecoding.Share > 0 }, "while engine.constrained_decoding.share is 0")},
	{"frontend.api_servers", unless(apiCosts, "while requests, prompts and chunks cost the API processes nothing")},

	{"scheduler.predictor.", unless((*Scenario).predicts, "without an order by length (scheduling_policy: sjf or srpt)")},
	{"scheduler.predictor.error", unless(func(s *Scenario) bool { return s.Scheduler.Predictor.Name == "noisy" }, "without the predictor noisy")},
	{"scheduler.quantum", unless(orderIs("mlfq"), "without scheduling_policy: mlfq")},
	{"scheduler.starvation", unless(orderIs("mlfq"), "without scheduling_policy: mlfq")},
	{"scheduler.chunk_by_slack", unless(orderIs("slo"), "without scheduling_policy: slo")},
	{"scheduler.chunk_by_slack", unless(func(s *Scenario) bool { return s.Scheduler.Name == "chunked" && s.Engine.EnableChunkedPrefill != Off }, "without vLLM V1's chunks (scheduler: chunked)")},
	{"scheduler.chunk_by_slack", unless(func(s *Scenario) bool { return s.paces() }, "without slo.tpot, from which the deadlines of decodes follow")},
	{"scheduler.max_prefill_tokens", unless(func(s *Scenario) bool {
		c := &s.Scheduler
		return c.ChunkedPrefillSize <= 0 || c.MaxPrefillTokens < c.ChunkedPrefillSize
	}, "beside a chunked_prefill_size that is no larger")},
	{"scheduler.schedule_policy", unless(func(s *Scenario) bool { return s.Engine.SchedulingPolicy != "priority" }, "beside scheduling_policy: priority")},

	{"cluster.router", unless((*Scenario).several, "with one engine")},
	{"cluster.replicas", unless(func(s *Scenario) bool { return !s.disaggregated() }, "beside engines that only prefill or decode (cluster.prefill, cluster.decode)")},
	{"cluster.transfer.", unless((*Scenario).disaggregated, underOneRoof)},
	{"cluster.remote.", unless((*Scenario).disaggregated, underOneRoof)},
	{"cluster.transfer.lease", unless(pulls, "where engines push: nothing is kept for anybody who does not wait for it")},
	{"cluster.transfer.heartbeats", unless(pulls, "where engines push: nothing is kept for anybody who does not wait for it")},
	{"cluster.transfer.first_token", unless(func(s *Scenario) bool { return !pulls(s) }, "where engines pull: the prefill's token is thrown away")},
	{"cluster.transfer.reserved_decode_tokens", unless(func(s *Scenario) bool { return !pulls(s) }, "where engines pull, which takes memory for more than the prompt on trust")},
	{"cluster.remote.max_local_prefill_length", unless(remotePolicy("length"), "without cluster.remote.policy: length")},
	{"cluster.remote.max_prefill_queue_size", unless(remotePolicy("length"), "without cluster.remote.policy: length")},
	{"cluster.remote.eff_isl_threshold", unless(remotePolicy("length-or-load"), "without cluster.remote.policy: length-or-load")},
	{"cluster.remote.eff_isl_ratio_threshold", unless(remotePolicy("length-or-load"), "without cluster.remote.policy: length-or-load")},
	{"cluster.prefill.router", unless(func(s *Scenario) bool { return s.chooses(&s.Cluster.Prefill) }, "with one engine that prefills")},
	{"cluster.decode.router", unless(func(s *Scenario) bool { return s.chooses(&s.Cluster.Decode) }, "with one engine that decodes")},
	{"cluster.hop", unless((*Scenario).several, "with one engine")},
	{"cluster.autoscale.", unless((*Scenario).scales, "without autoscaling")}, // given, it would be refused: this leaves it out of the configuration

	{"hardware.internode.", unless(func(s *Scenario) bool { return s.gpus() > s.Hardware.GPUsPerNode || s.disaggregated() }, "while all GPUs are on one node")},
	{"hardware.gpus_per_node", unless(func(s *Scenario) bool { return s.gpus() > 1 || s.disaggregated() }, "with one GPU")},

	{"workload.rate", unless(arrivalsAre("poisson", "constant", "gamma", "trace"), "when all requests are sent at once or clients wait for their answers")},
	{"workload.arrivals.burstiness", unless(arrivalsAre("gamma"), "without gamma arrivals")},
	{"workload.arrivals.rescale", unless(arrivalsAre("gamma", "poisson"), "without random arrivals")},
	{"workload.arrivals.clients", unless(arrivalsAre("closed"), "without closed-loop arrivals")},
	{"workload.arrivals.think", unless(arrivalsAre("closed"), "without closed-loop arrivals")},
	{"workload.arrivals.file", unless(arrivalsAre("trace"), "without a trace")},
	{"workload.arrivals.format", unless(arrivalsAre("trace"), "without a trace")},
	{"workload.arrivals.speed", unless(arrivalsAre("trace"), "without a trace")},
	{"workload.arrivals.speed", unless(func(s *Scenario) bool { return s.Workload.Rate == 0 || s.Workload.Arrivals.Speed != 1 }, "beside workload.rate")},
	{"workload.prompt.", unless(notTrace, "with a trace, which has its own lengths")},
	{"workload.output.", unless(notTrace, "with a trace, which has its own lengths")},
	{"workload.prefix.", unless(notTrace, "with a trace")},
	{"workload.sessions.", unless(notTrace, "with a trace")},
	{"workload.sessions.think", unless(func(s *Scenario) bool { return s.Workload.Sessions.Turns.Dist != "" }, "while workload.sessions.turns is left out")},
	{"workload.clients.", unless(notTrace, "with a trace, which names its clients itself")},
	{"workload.clients.", unless(func(s *Scenario) bool { return s.Workload.Arrivals.Name != "closed" }, "with closed-loop arrivals, which have clients of their own")},
	{"workload.clients.count", unless(func(s *Scenario) bool { return len(s.Workload.Clients.Shares) == 0 }, "beside workload.clients.shares")},
	{"workload.clients.skew", unless(func(s *Scenario) bool { return len(s.Workload.Clients.Shares) == 0 && s.Workload.Clients.Count > 1 }, "while workload.clients.count does not make several")},
	{"workload.prefix.groups", unless(func(s *Scenario) bool { return s.Workload.Prefix.Tokens > 0 }, "while workload.prefix.tokens is 0")},
}

// offloads reports whether KV blocks are copied to the host's memory.
func offloads(s *Scenario) bool {
	return s.Engine.KVOffloadingSize > 0 && s.Scheduler.Name == "chunked" && s.Engine.EnablePrefixCaching != Off
}

// silent reports that nothing is drafted, so that there is nothing to say of a drafter's settings.
func silent(s *Scenario) bool { return !s.speculates() }

// drafts reports whether a network drafts, if anything does.
func drafts(s *Scenario) bool { return silent(s) || s.Engine.SpeculativeConfig.Method != ngram }

const underOneRoof = "without engines that only prefill or decode (cluster.prefill, cluster.decode)"

// chooses reports whether there is ever more than one engine to route to in a pool.
func (s *Scenario) chooses(p *Pool) bool { return p.Replicas > 1 || s.Cluster.Remote.BorrowAbove > 0 }

func pulls(s *Scenario) bool { return s.Cluster.Transfer.Mode == "pull" }

func remotePolicy(name string) func(*Scenario) bool {
	return func(s *Scenario) bool { return s.Cluster.Remote.Policy == name }
}

// apiCosts reports whether the API processes have anything to share.
func apiCosts(s *Scenario) bool {
	f := &s.Frontend
	return f.PerRequest != 0 || f.Tokenize != 0 || f.PerChunk != 0
}

func notTrace(s *Scenario) bool { return s.Workload.Arrivals.Name != "trace" }

// swaps reports whether preempted sequences keep their KV in the host's memory.
func (s *Scenario) swaps() bool {
	return s.Scheduler.Name == "continuous" && s.Engine.PreemptionMode == "swap"
}

// gpus returns the GPUs of one engine, whose data-parallel ranks in lockstep are part of it.
func (s *Scenario) gpus() int {
	return s.Engine.TensorParallelSize * s.Engine.PipelineParallelSize * max(s.ranks, 1)
}

// onePriority reports whether the workload makes all requests equally important. A trace may hold priorities.
func (s *Scenario) onePriority() bool {
	for _, c := range s.Workload.Classes {
		if c.Priority != s.Workload.Classes[0].Priority {
			return false
		}
	}
	return notTrace(s)
}

// idle says why the field of a path does nothing under the settings of the scenario, or "".
func (s *Scenario) idle(path string) string {
	if why := s.unknownTo(path); why != "" {
		return why
	}
	for _, k := range knobs {
		if k.path == path || strings.HasSuffix(k.path, ".") && strings.HasPrefix(path, k.path) {
			if why := k.idle(s); why != "" {
				return why
			}
		}
	}
	for section, l := range s.laws() {
		if key, ok := strings.CutPrefix(path, section+"."); ok && !l.uses(key) {
			return "on a " + l.Dist + " length"
		}
	}
	return ""
}

// idleWarnings remarks upon every setting that was given and does nothing, in the order of the table.
func (s *Scenario) idleWarnings() []string {
	return s.idleWarningsOf(func(string) bool { return true })
}

// ownIdleWarnings remarks upon those that are not the settings of the base scenario, which may act elsewhere.
func (s *Scenario) ownIdleWarnings(base *Scenario) []string {
	return s.idleWarningsOf(func(path string) bool { return s.set[path] != base.set[path] })
}

// idleWarningsOf remarks upon some of them.
func (s *Scenario) idleWarningsOf(wanted func(path string) bool) []string {
	var remarks []remark
	for i := range fields {
		f := &fields[i]
		if !s.Explicit(f.path) || f.into == nil || !wanted(f.path) {
			continue
		}
		if why := s.idle(f.path); why != "" {
			remarks = remarkOn(remarks, f.path, why)
		}
	}
	var warnings []string
	for _, r := range remarks {
		warnings = append(warnings, r.String())
	}
	for _, r := range removedFlags {
		if s.Explicit("engine."+r.key()) && wanted("engine."+r.key()) && !(r.V0 && s.Scheduler.Name == "continuous") {
			warnings = append(warnings, r.Warning())
		}
	}
	return warnings
}
