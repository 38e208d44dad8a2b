package scenarios

import (
	"strconv"

	"github.com/servesim/servesim/scheduler"
)

// SchedulerNames returns the batching policies, in the order in which they are offered.
func SchedulerNames() []string {
	var names []string
	for _, p := range scheduler.Policies() {
		names = append(names, p.Name)
	}
	return names
}

// schedulerFields are the settings that single policies know; which is which stands in the table of knobs.
func schedulerFields() []field {
	return []field{
		{path: "scheduler.name", into: func(s *Scenario) any { return &s.Scheduler.Name }, choices: append(SchedulerNames(), "disaggregated"), planned: laterSchedulers, doc: "Left out: the engine profile's own (chunked; continuous before V1). disaggregated = chunked on two pools of engines, one that prefills and one that decodes."},
		{path: "scheduler.max_batch", into: func(s *Scenario) any { return &s.Scheduler.MaxBatch }, def: "32", limit: atLeastOne, doc: "static: requests in a batch."},
		{path: "scheduler.timeout", into: func(s *Scenario) any { return &s.Scheduler.Timeout }, def: "50ms", limit: notNegative, doc: "static: how long the oldest request waits for the batch to fill (Triton's max_queue_delay_microseconds)."},
		{path: "scheduler.pad_to", into: func(s *Scenario) any { return &s.Scheduler.PadTo }, def: "0", limit: notNegative, doc: "static: prompts are padded to the longest of the batch and at least to this, in tokens."},
		{path: "scheduler.early_exit", into: func(s *Scenario) any { return &s.Scheduler.EarlyExit }, def: "false", doc: "static: rows that have finished stop costing compute."},
		{path: "scheduler.preferred_batch_sizes", into: func(s *Scenario) any { return &s.Scheduler.PreferredBatchSizes }, doc: "static: sizes that a batch does not wait beyond, a list (Triton's preferred_batch_size)."},
		{path: "scheduler.chunk_size", into: func(s *Scenario) any { return &s.Scheduler.ChunkSize }, def: strconv.Itoa(scheduler.ChunkSize), limit: limit{"be from 1 to 65536", func(v float64) bool { return v >= 1 && v <= 1<<16 }}, doc: "sarathi: tokens of a step, decodes included; from 128 on whole tiles of 128, rounded down."},
		{path: "scheduler.chunked_prefill_size", into: func(s *Scenario) any { return &s.Scheduler.ChunkedPrefillSize }, def: "auto", words: []word{{"auto", 0}, {"none", unsplit}, {"-1", unsplit}}, limit: atLeastOne, doc: "sglang: most tokens of prompts in a step; auto = by the GPU's memory, 2048 to 16384; none = prompts are not split."},
		{path: "scheduler.max_prefill_tokens", into: func(s *Scenario) any { return &s.Scheduler.MaxPrefillTokens }, def: "16384", limit: atLeastOne, doc: "sglang: most tokens of prompts in a step, beside chunked_prefill_size; without it, a longer prompt has a step for itself."},
		{path: "scheduler.schedule_policy", into: func(s *Scenario) any { return &s.Scheduler.SchedulePolicy }, def: "fcfs", choices: []string{"fcfs", "lpm"}, planned: []string{"dfs-weight", "lof", "random", "routing-key"}, doc: "sglang: order of the waiting queue; lpm = longest prefix match, as long as at most 128 wait."},
		{path: "scheduler.conservativeness", into: func(s *Scenario) any { return &s.Scheduler.Conservativeness }, def: "1", limit: notNegative, doc: "sglang: factor on the share of max_tokens that is reserved for the running (schedule_conservativeness)."},
		{path: "scheduler.enable_mixed_chunk", into: func(s *Scenario) any { return &s.Scheduler.EnableMixedChunk }, def: "false", doc: "sglang: decodes go along with prompts instead of waiting for them."},
		{path: "scheduler.capacity_policy", into: func(s *Scenario) any { return &s.Scheduler.CapacityPolicy }, def: noEvict, choices: []string{noEvict, maxUtilization}, doc: "trtllm: who may hold memory (capacity_scheduler_policy): who can keep it up to max_tokens, or everybody whose prompt fits."},
	}
}

// unsplit stands for chunked_prefill_size: none.
const unsplit = -1

// TensorRT-LLM's capacity policies.
const (
	noEvict        = "guaranteed-no-evict"
	maxUtilization = "max-utilization"
)
