package scenarios

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// values are one for each setting of the table, and for some that act under every policy, that ought to make a difference.
var values = []string{
	"engine.max_num_batched_tokens=4096", "engine.max_num_scheduled_tokens=4096", "engine.long_prefill_token_threshold=100",
	"engine.enable_chunked_prefill=false", "engine.enable_prefix_caching=false", "engine.scheduler_reserve_full_isl=false",
	"engine.watermark=0.3", "engine.async_scheduling=false", "engine.kv_offloading_size=10",
	"scheduler.max_batch=3", "scheduler.timeout=3s", "scheduler.pad_to=1500", "scheduler.early_exit=true",
	"scheduler.preferred_batch_sizes=[2]", "scheduler.chunk_size=256", "scheduler.chunked_prefill_size=1024",
	"scheduler.max_prefill_tokens=600", "scheduler.schedule_policy=lpm", "scheduler.conservativeness=0.1",
	"scheduler.enable_mixed_chunk=true", "scheduler.capacity_policy=max-utilization",
	"engine.max_num_seqs=5", "engine.scheduling_policy=priority", "engine.num_gpu_blocks_override=900",
}

// situations are pools that are too small for their load, with everybody at once and one after the other; one in which a
// prompt may begin that does not fit; and one with room for all.
var situations = [][]string{
	{"engine.num_gpu_blocks_override=700", crowd("inf")},
	{"engine.num_gpu_blocks_override=700", crowd("8")},
	{"engine.num_gpu_blocks_override=540", "engine.long_prefill_token_threshold=300", crowd("inf")},
	{"engine.num_gpu_blocks_override=5000", crowd("inf")},
}

func crowd(rate string) string {
	return "workload={requests: 60, rate: " + rate + ", prompt: {dist: lognormal, mean: 500, p99: 2500}, output: {dist: lognormal, mean: 150, p99: 600}, " +
		"max_tokens: 800, prefix: {groups: 12, tokens: 200}, classes: [{name: a}, {name: b, priority: 1}]}"
}

// measured is everything that a run reports, without what it was asked for.
func measured(t *testing.T, settings ...string) []byte {
	t.Helper()
	x := mustBuild(t, "engine: {profile: vllm-v1, max_model_len: 4096}", settings...)
	r := mustRun(t, x, Options{})
	r.Warnings = nil
	text, err := json.Marshal(r.Report)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestASettingActsUnderThePoliciesThatSaySo turns each setting under each policy: where the table has it act, some load
// is served otherwise; where it does not, no load is, and a warning says so.
func TestASettingActsUnderThePoliciesThatSaySo(t *testing.T) {
	for _, k := range acting {
		if !slices.ContainsFunc(values, func(v string) bool { return strings.HasPrefix(v, k.path+"=") }) {
			t.Errorf("%s is in the table, and this test does not turn it", k.path)
		}
	}
	long(t)
	for _, policy := range SchedulerNames() {
		t.Run(policy, func(t *testing.T) {
			var before [][]byte
			for _, situation := range situations {
				before = append(before, measured(t, append(situation, "scheduler.name="+policy)...))
			}
			for _, set := range values {
				path, _, _ := strings.Cut(set, "=")
				x := mustBuild(t, "engine: {max_model_len: 4096}", "scheduler.name="+policy, crowd("inf"), set)
				acts := x.Scenario.unknownTo(path) == ""
				warned := slices.ContainsFunc(x.Warnings, func(w string) bool { return strings.Contains(w, " has no effect ") })
				if warned == acts {
					t.Errorf("%s: acts: %v, warnings: %q", set, acts, x.Warnings)
				}
				changed := false
				for i := 0; i < len(situations) && !changed; i++ {
					changed = !bytes.Equal(measured(t, append(situations[i], "scheduler.name="+policy, set)...), before[i])
				}
				if changed != acts {
					t.Errorf("%s: acts: %v, but made a difference: %v", set, acts, changed)
				}
			}
		})
	}
}
