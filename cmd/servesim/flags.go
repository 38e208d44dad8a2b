package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/servesim/servesim/scenarios"
	"github.com/servesim/servesim/sim/cluster"
)

// A knob is a flag that sets one field of the scenario. What its value may be is the field's business: a mistake is
// reported with the flag's name.
type knob struct {
	name  string
	value string // what the value is called in the help; "" for a switch
	path  string // the field
	usage string
}

// knobs are the flags that set one field each: those of `vllm serve` under their own names, those of `vllm bench serve`
// that do not replace the workload, and ours.
func knobs() []knob {
	return []knob{
		{"model", "NAME", "model", "short `NAME` (servesim models), Hugging Face id, or path to a config.json"},
		{"gpu", "NAME", "hardware.gpu", "`NAME` of the card (servesim gpus)"},
		{"dtype", "TYPE", "engine.dtype", "weights and activations: auto, bfloat16, float16"},
		{"quantization", "METHOD", "engine.quantization", "weights: fp8, int8, awq, gptq, mxfp4 (also -q)"},
		{"kv-cache-dtype", "TYPE", "engine.kv_cache_dtype", "KV cache: auto, bfloat16, fp8"},
		{"tensor-parallel-size", "N", "engine.tensor_parallel_size", "GPUs that share each layer (also -tp)"},
		{"pipeline-parallel-size", "N", "engine.pipeline_parallel_size", "groups of layers, one after the other (also -pp)"},
		{"data-parallel-size", "N", "engine.data_parallel_size", "ranks that share the requests (also -dp); in lockstep if the model has experts"},
		{"enable-expert-parallel", "", "engine.enable_expert_parallel", "spread whole experts over the GPUs"},
		{"max-num-seqs", "N", "engine.max_num_seqs", "most sequences that run at once"},
		{"max-num-batched-tokens", "N", "engine.max_num_batched_tokens", "token capacity of a step"},
		{"max-num-scheduled-tokens", "N", "engine.max_num_scheduled_tokens", "token budget of a step, if below its capacity"},
		{"max-model-len", "N", "engine.max_model_len", "longest prompt + answer; -1: the longest that fits"},
		{"long-prefill-token-threshold", "N", "engine.long_prefill_token_threshold", "most tokens of one prompt in a step; 0: no limit"},
		{"gpu-memory-utilization", "F", "engine.gpu_memory_utilization", "fraction of the GPU's memory that the engine may use"},
		{"kv-cache-memory-bytes", "BYTES", "engine.kv_cache_memory_bytes", "KV cache per GPU, instead of what is left"},
		{"num-gpu-blocks-override", "N", "engine.num_gpu_blocks_override", "KV blocks, instead of what fits"},
		{"block-size", "N", "engine.block_size", "tokens in a KV block"},
		{"watermark", "F", "engine.watermark", "fraction of the blocks that an admission leaves free"},
		{"scheduler-reserve-full-isl", "", "engine.scheduler_reserve_full_isl", "admit a prompt only if all of it fits"},
		{"enable-chunked-prefill", "", "engine.enable_chunked_prefill", "split prompts over steps"},
		{"enable-prefix-caching", "", "engine.enable_prefix_caching", "reuse the KV of shared beginnings"},
		{"scheduling-policy", "NAME", "engine.scheduling_policy", "who is next in the queue: fcfs, priority, sjf, srpt, mlfq, fair, edf, slo, lcfs"},
		{"async-scheduling", "", "engine.async_scheduling", "plan a step while the one before runs"},
		{"enforce-eager", "", "engine.enforce_eager", "run without CUDA graphs"},
		{"api-server-count", "N", "engine.api_server_count", "processes that tokenise and stream"},
		{"stream-interval", "N", "engine.stream_interval", "tokens in a streamed chunk"},
		{"kv-offloading-backend", "NAME", "engine.kv_offloading_backend", "who copies them: native (beside the steps) or lmcache (the steps wait)"},
		{"kv-offloading-size", "GIB", "engine.kv_offloading_size", "host memory that keeps copies of KV blocks, of all GPUs together"},
		{"speculative-config", "JSON", "engine.speculative_config", "speculative decoding, e.g. '{\"method\": \"eagle3\", \"num_speculative_tokens\": 3, \"acceptance\": 0.7}'"},
		{"preemption-mode", "MODE", "engine.preemption_mode", "recompute or swap"},
		{"swap-space", "GIB", "engine.swap_space", "host memory to swap to, per GPU"},
		{"scheduler", "NAME", "scheduler", "how a batch is formed: " + strings.Join(scenarios.SchedulerNames(), ", ") + "; or disaggregated: chunked, prefill and decode apart"},
		{"chunked-prefill-size", "N", "scheduler.chunked_prefill_size", "most tokens of prompts in a step; -1: prompts are not split"},
		{"max-prefill-tokens", "N", "scheduler.max_prefill_tokens", "most tokens of prompts in a step, beside --chunked-prefill-size"},
		{"schedule-policy", "NAME", "scheduler.schedule_policy", "fcfs or lpm, longest prefix match"},
		{"schedule-conservativeness", "F", "scheduler.conservativeness", "factor on the share of max_tokens that is reserved"},
		{"enable-mixed-chunk", "", "scheduler.enable_mixed_chunk", "decodes go along with prompts"},
		{"replicas", "N", "cluster.replicas", "engines that share the load"},
		{"router", "NAME", "cluster.router", "which engine a request goes to: " + strings.Join(cluster.Names(), ", ")},
		{"prefill-replicas", "N", "cluster.prefill.replicas", "engines that only prefill"},
		{"decode-replicas", "N", "cluster.decode.replicas", "engines that only decode"},
		{"engine-profile", "NAME", "engine.profile", "engine version whose defaults and host times apply (vllm-v1: newest)"},
		{"profile", "FILE", "overlay", "constants of your own machine, from servesim calibrate: `FILE`"},
		{"request-rate", "RATE", "workload.rate", "requests per second; inf: all at once"},
		{"num-prompts", "N", "workload.requests", "number of requests"},
		{"max-concurrency", "N", "workload.max_concurrency", "requests that the client keeps open at most"},
		{"duration", "TIME", "workload.duration", "no new request after it"},
		{"timeout", "TIME", "workload.timeout", "the client gives up after it"},
		{"warmup", "TIME", "warmup", "requests before it are not measured"},
		{"seed", "N", "seed", "seed of every random draw"},
	}
}

// A word is the value of a flag as it was typed.
type word struct {
	text string
	kind string
}

// String returns the text.
func (w *word) String() string { return w.text }

// Set keeps the text.
func (w *word) Set(s string) error {
	w.text = s
	return nil
}

// Type names the value in the help.
func (w *word) Type() string { return w.kind }

// words collects the values of a flag that may be given several times.
type words struct {
	list []string
	kind string
}

// String returns the values, separated by blanks.
func (w *words) String() string { return strings.Join(w.list, " ") }

// Set adds a value.
func (w *words) Set(s string) error {
	w.list = append(w.list, s)
	return nil
}

// Type names the value in the help.
func (w *words) Type() string { return w.kind }

// A toggle is a switch that is off, on, or not mentioned at all.
type toggle struct{ word }

// Set accepts what vLLM's command line has accepted over the years.
func (t *toggle) Set(s string) error {
	switch strings.ToLower(s) {
	case "true", "1", "yes", "on":
		t.text = "true"
	case "false", "0", "no", "off":
		t.text = "false"
	default:
		return fmt.Errorf("want true or false")
	}
	return nil
}

// scenarioFlags are the flags that change a scenario, as they were typed.
type scenarioFlags struct {
	knobs   []knob
	load    loadFlags
	sets    words
	goodput words
	graphs  words
	later   []later
}

// addScenarioFlags defines them on a command.
func addScenarioFlags(c *cobra.Command) *scenarioFlags {
	f := c.Flags()
	isMine := func(l later) bool { return f.Lookup(l.name) != nil } // the command has this feature already
	s := &scenarioFlags{knobs: knobs(), later: slices.DeleteFunc(laterFlags(), isMine)}
	for _, k := range s.knobs {
		if k.value == "" {
			f.Var(&toggle{word{kind: "bool"}}, k.name, k.usage)
			f.Lookup(k.name).NoOptDefVal = "true"
		} else {
			f.Var(&word{kind: k.value}, k.name, k.usage)
		}
	}
	s.graphs.kind, s.goodput.kind, s.sets.kind = "N...", "METRIC:MS...", "PATH=VALUE"
	f.Var(&s.graphs, "cudagraph-capture-sizes", "batch sizes, in tokens, with a CUDA graph")
	s.load.add(f)
	f.Var(&s.goodput, "goodput", "what a good request keeps, e.g. ttft:1000 tpot:50 (ms; or with a unit)")
	f.Var(&s.goodput, "slo", "the same as --goodput")
	f.Var(&s.sets, "set", "set any field of the scenario, e.g. workload.prompt.mean=900 (repeatable)")
	for _, l := range s.later {
		f.Var(&word{kind: l.value}, l.name, l.usage+" (not supported yet)")
		f.Lookup(l.name).Hidden = true
		if l.value == "" {
			f.Lookup(l.name).NoOptDefVal = "true"
		}
	}
	return s
}

// complete offers what the shell may put behind the flags that take names.
func complete(c *cobra.Command) {
	offer := func(flag string, names func() []string) {
		// The error is for a flag that does not exist: a test would have found it.
		_ = c.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return names(), cobra.ShellCompDirectiveNoFileComp
		})
	}
	offer("model", func() []string { return described(models()) })
	offer("gpu", func() []string { return described(gpus()) })
	offer("scheduler", func() []string { return append(scenarios.SchedulerNames(), "disaggregated") })
	offer("router", cluster.Names)
	offer("format", func() []string { return formats() })
}

func described(list []item) []string {
	var names []string
	for _, i := range list {
		names = append(names, cobra.CompletionWithDesc(i.Name, i.Summary))
	}
	return names
}

// apply writes the flags into the document: a workload that replaces the scenario's, then --set, then the explicit flags,
// which win.
func (s *scenarioFlags) apply(f *pflag.FlagSet, d *scenarios.Document) error {
	for _, l := range s.later {
		if err := l.refuse(f); err != nil {
			return err
		}
	}
	whole, explicit, err := s.load.settings(f)
	if err != nil {
		return err
	}
	sets, err := s.setSettings()
	if err != nil {
		return err
	}
	for _, k := range s.knobs {
		if f.Changed(k.name) {
			explicit = append(explicit, setting{k.path, f.Lookup(k.name).Value.String(), "--" + k.name})
		}
	}
	if f.Changed("cudagraph-capture-sizes") {
		explicit = append(explicit, setting{"engine.cudagraph_capture_sizes", "[" + strings.Join(s.graphs.list, ", ") + "]", "--cudagraph-capture-sizes"})
	}
	if len(s.goodput.list) > 0 {
		slo, err := sloOf(s.goodput.list)
		if err != nil {
			return err
		}
		explicit = append(explicit, setting{"slo", slo, "--goodput"})
	}
	bases, rest := bases(explicit, sets)
	for _, x := range slices.Concat(whole, bases, sets, rest) {
		if err := d.Set(x.path, x.value, x.origin); err != nil {
			return usageError{err}
		}
	}
	return nil
}

// bases splits off the flags that set a whole of which --set changes a part, such as --gpu H100-SXM beside --set
// hardware.gpu.mem_bw_tbs=2: the part is not the flag's, so it is set after it.
func bases(explicit, sets []setting) (bases, rest []setting) {
	for _, x := range explicit {
		if slices.ContainsFunc(sets, func(s setting) bool { return strings.HasPrefix(s.path, x.path+".") }) {
			bases = append(bases, x)
		} else {
			rest = append(rest, x)
		}
	}
	return bases, rest
}

// setSettings are those of --set.
func (s *scenarioFlags) setSettings() ([]setting, error) {
	var list []setting
	for _, set := range s.sets.list {
		path, value, ok := strings.Cut(set, "=")
		if !ok || path == "" {
			return nil, usagef("--set %s: want PATH=VALUE, e.g. --set workload.rate=20", set)
		}
		path = strings.TrimSpace(path)
		list = append(list, setting{path, value, "--set " + path})
	}
	return list, nil
}

// A setting is one value for one field, and the flag that it came from.
type setting struct{ path, value, origin string }

// sloOf turns vLLM's `ttft:1000 tpot:50` into the scenario's mapping. Bare numbers are milliseconds, as in vLLM.
func sloOf(limits []string) (string, error) {
	var fields []string
	for _, limit := range limits {
		name, value, ok := strings.Cut(strings.Replace(limit, "=", ":", 1), ":")
		switch name {
		case "ttft", "tpot", "e2el":
		default:
			return "", usagef("--goodput %s: unknown metric %q; allowed: ttft, tpot, e2el", limit, name)
		}
		if !ok || value == "" {
			return "", usagef("--goodput %s: want METRIC:MILLISECONDS, e.g. ttft:1000", limit)
		}
		if isNumber(value) {
			value += "ms"
		}
		fields = append(fields, name+": "+value)
	}
	return "{" + strings.Join(fields, ", ") + "}", nil
}
