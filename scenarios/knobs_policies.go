package scenarios

import (
	"slices"
	"strings"

	"github.com/servesim/servesim/scheduler"
)

// acting says which batching policies know a setting. Settings that are not in the table act under all of them. It is
// the one place that knows: warnings, the resolved configuration and the memory plan ask it, and a test holds it to what
// the policies do.
var acting = []struct {
	path  string
	under []string          // the policies under which it acts
	why   map[string]string // under another one: a clause that says why not
}{
	{
		"engine.max_num_batched_tokens",
		[]string{"chunked", "continuous", "trtllm"},
		map[string]string{"orca": "which has no token budget", "sarathi": "whose steps have chunk_size tokens", "sglang": "whose steps have chunked_prefill_size tokens"},
	},
	{
		"engine.max_num_scheduled_tokens",
		[]string{"chunked", "continuous", "trtllm"},
		map[string]string{"orca": "which has no token budget", "sarathi": "whose steps have chunk_size tokens", "sglang": "whose steps have chunked_prefill_size tokens"},
	},
	{
		"engine.long_prefill_token_threshold",
		[]string{"chunked"},
		map[string]string{"continuous": neverSplits, "orca": neverSplits, "sarathi": "whose prompts take what decodes leave", "sglang": "whose prompts take whole steps", "trtllm": "whose prompts take what decodes leave"},
	},
	{
		"engine.enable_chunked_prefill",
		[]string{"chunked", "trtllm"},
		map[string]string{"continuous": neverSplits, "orca": neverSplits, "sarathi": "which always splits prompts", "sglang": "which splits them by chunked_prefill_size"},
	},
	{
		"engine.enable_prefix_caching",
		[]string{"chunked", "continuous", "sarathi", "sglang", "trtllm"},
		map[string]string{"orca": "whose memory is in one piece for each request"},
	},
	{
		"engine.scheduler_reserve_full_isl",
		[]string{"chunked"},
		map[string]string{"continuous": wholePrompts, "orca": "which reserves max_tokens as well", "sarathi": wholePrompts, "sglang": "which reserves part of max_tokens as well", "trtllm": wholePrompts},
	},
	{
		"engine.watermark",
		[]string{"chunked", "continuous", "sarathi"},
		map[string]string{"orca": "which reserves max_tokens instead", "sglang": "which reserves part of max_tokens instead", "trtllm": "which has no watermark"},
	},
	{
		"engine.async_scheduling", asynchronous(),
		map[string]string{"continuous": synchronous, "orca": synchronous, "sarathi": synchronous},
	},
	{"engine.kv_offloading_size", []string{"chunked"}, nil},

	{"scheduler.max_batch", []string{"static"}, nil},
	{"scheduler.timeout", []string{"static"}, nil},
	{"scheduler.pad_to", []string{"static"}, nil},
	{"scheduler.early_exit", []string{"static"}, nil},
	{"scheduler.preferred_batch_sizes", []string{"static"}, nil},
	{"scheduler.chunk_size", []string{"sarathi"}, nil},
	{"scheduler.chunked_prefill_size", []string{"sglang"}, nil},
	{"scheduler.max_prefill_tokens", []string{"sglang"}, nil},
	{"scheduler.schedule_policy", []string{"sglang"}, nil},
	{"scheduler.conservativeness", []string{"sglang"}, nil},
	{"scheduler.enable_mixed_chunk", []string{"sglang"}, nil},
	{"scheduler.capacity_policy", []string{"trtllm"}, nil},
}

const (
	neverSplits  = "which never splits a prompt"
	wholePrompts = "which always admits whole prompts"
	synchronous  = "which is synchronous"
)

// asynchronous returns the policies whose engines can plan a step ahead.
func asynchronous() (names []string) {
	for _, p := range scheduler.Policies() {
		if p.Async {
			names = append(names, p.Name)
		}
	}
	return names
}

// unknownTo says why the policy of the scenario has no use for a setting, or "".
func (s *Scenario) unknownTo(path string) string {
	policy, _ := scheduler.FindPolicy(s.Scheduler.Name)
	for _, k := range acting {
		if k.path != path || policy.Name == "" || slices.Contains(k.under, policy.Name) {
			continue
		}
		if len(k.under) == 1 && k.why == nil {
			owner, _ := scheduler.FindPolicy(k.under[0])
			return "without " + owner.Title + " (scheduler: " + owner.Name + ")"
		}
		return strings.TrimSuffix("under "+policy.Title+", "+k.why[policy.Name], ", ")
	}
	return ""
}
