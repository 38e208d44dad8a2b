package scenarios

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim/engine"
)

// TestEveryPolicyServesEveryScenario runs each embedded scenario under each policy, with all invariants checked. Nobody
// is lost, and what is refused says why.
func TestEveryPolicyServesEveryScenario(t *testing.T) {
	requests := 60
	if testing.Short() {
		requests = 20
	}
	for _, e := range Names() {
		shared := mustBuild(t, e.Name).Scenario.disaggregated()
		for _, policy := range SchedulerNames() {
			t.Run(e.Name+"/"+policy, func(t *testing.T) {
				settings := []string{"scheduler=" + policy, fmt.Sprint("workload.requests=", requests)}
				if strings.HasPrefix(e.Name, "speculation") && policy != "chunked" {
					settings = append(settings, "engine.speculative_config=none") // only vLLM V1's scheduler drafts
				}
				if shared && policy != "chunked" {
					settings = append(settings, "cluster={replicas: 2}") // only there do engines share a request
				}
				x := mustBuild(t, e.Name, settings...)
				r := mustRun(t, x, Options{Check: true})
				q := r.Requests
				if q.Completed+q.Rejected != requests || q.Aborted+q.Unfinished > 0 {
					t.Errorf("%+v of %d requests", q, requests)
				}
				if q.Rejected > 0 && len(r.Rejections) == 0 {
					t.Errorf("%d were rejected, and nobody says why", q.Rejected)
				}
			})
		}
	}
}

// trials are what every policy must cope with, in a pool that is too small for the load where that is possible.
func trials() map[string]setup {
	return map[string]setup{
		"prefixes":        {"engine.num_gpu_blocks_override=700", "workload.prefix={groups: 5, tokens: 300}"},
		"distinct":        {"engine.num_gpu_blocks_override=700", "workload.prefix={distinct: 9}"},
		"priorities":      {"engine.num_gpu_blocks_override=700", "engine.scheduling_policy=priority", "workload.classes=[{name: a}, {name: b, priority: -1}]"},
		"stages":          {"engine={max_model_len: 4096, pipeline_parallel_size: 3, num_gpu_blocks_override: 700}"},
		"few seats":       {"engine.max_num_seqs=3"},
		"windows":         {"model=gpt-oss-20b", "engine={max_model_len: 4096, num_gpu_blocks_override: 1200}"},
		"windows, tight":  {"model=gemma-3-12b", "engine={max_model_len: 4096, kv_cache_memory_bytes: 3GiB}"},
		"all windows":     {"model=mistral-7b-v0.1", "engine={max_model_len: 8192, num_gpu_blocks_override: 1100}", "workload.prompt=4500"},
		"closed loop":     {"engine.num_gpu_blocks_override=700", "workload.arrivals={name: closed, clients: 20, think: 100ms}"},
		"impatience":      {"engine.num_gpu_blocks_override=700", "workload.rate=inf", "workload.timeout=1500ms"},
		"one at a time":   {"engine.num_gpu_blocks_override=260"},
		"hardly anything": {"engine.num_gpu_blocks_override=40"},
		"chunks":          {"engine.stream_interval=5"},
		"synchronous":     {"engine.async_scheduling=false", "engine.num_gpu_blocks_override=700"},
		"shortest":        {"workload.output=1"},
	}
}

// variants are the policies, and the turns that some of them can take.
func variants() []string {
	if testing.Short() {
		return SchedulerNames()
	}
	return append(SchedulerNames(), "{name: static, preferred_batch_sizes: [2, 8], early_exit: true}", "{name: trtllm, capacity_policy: max-utilization}",
		"{name: sglang, schedule_policy: lpm, conservativeness: 0.1}", "{name: sglang, enable_mixed_chunk: true, chunked_prefill_size: 256}", "{name: sglang, chunked_prefill_size: none, max_prefill_tokens: 1000}")
}

// TestEveryPolicyCopesWithEverything runs each policy in each situation, with all invariants checked: everybody is
// served, refused with a reason, or has given up; and neither the checks nor naming every sequence in every plan change anything.
func TestEveryPolicyCopesWithEverything(t *testing.T) {
	for name, s := range trials() { // order does not matter: each is a subtest of its own
		for _, policy := range variants() {
			t.Run(name+"/"+policy, func(t *testing.T) {
				load := "workload={requests: 80, rate: 30, prompt: {dist: lognormal, mean: 400, p99: 2500}, output: {dist: lognormal, mean: 80, p99: 400}, max_tokens: 600}"
				x := append(setup{"engine.max_model_len=4096", load}, s...).with("scheduler=" + policy).experiment(t)
				r := mustRun(t, x, Options{Check: true})
				q := r.Requests
				if q.Completed+q.Rejected+q.Aborted != q.Submitted || q.Unfinished > 0 || q.Submitted != 80 {
					t.Errorf("%+v", q)
				}
				if q.Rejected > 0 != (len(r.Rejections) > 0) || q.Completed == 0 && name != "hardly anything" {
					t.Errorf("%+v, %+v", q, r.Rejections)
				}
				one, two := reportBytes(t, r), reportBytes(t, mustRun(t, x, Options{Step: func(*engine.Ran) {}}))
				if !bytes.Equal(one, two) {
					t.Errorf("naming everybody changes the report: %s", firstDifference(two, one))
				}
			})
		}
	}
}

// A policy that reserves memory refuses at arrival, with numbers, whom it could never admit; the others take the chance.
func TestWhoeverReservesMaxTokensRefusesWhatNeverFits(t *testing.T) {
	for policy, want := range map[string]string{ // order does not matter: each is a case of its own
		"static": "static batching reserves max_tokens 4000", "orca": "Orca reserves max_tokens 4000", "trtllm": "guaranteed-no-evict reserves max_tokens 4000",
		"chunked": "", "continuous": "", "sarathi": "", "sglang": "", "{name: trtllm, capacity_policy: max-utilization}": "",
	} {
		x := mustBuild(t, "workload: {requests: 5, arrivals: burst, prompt: 500, output: 20, max_tokens: 4000}\nengine: {max_model_len: 4500, num_gpu_blocks_override: 201}", "scheduler="+policy)
		r := mustRun(t, x, Options{Check: true})
		switch {
		case want == "" && r.Requests.Completed != 5:
			t.Errorf("%s: %+v %+v", policy, r.Requests, r.Rejections)
		case want != "" && (r.Requests.Rejected != 5 || !strings.Contains(r.Rejections[0].Example, want) || !strings.Contains(r.Rejections[0].Example, "the cache has 200")):
			t.Errorf("%s: %+v %+v", policy, r.Requests, r.Rejections)
		}
	}
}

func TestARequestThatNeverFitsStopsNobodyBehindIt(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rows.csv")
	if err := os.WriteFile(file, []byte("arrival_s,prompt_tokens,output_tokens\n0,500,20\n0,4000,20\n0.01,500,20\n0.02,500,20\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, policy := range variants() {
		x := mustBuild(t, "engine: {max_model_len: 4500, num_gpu_blocks_override: 201}", "scheduler="+policy, "workload={arrivals: {name: trace, file: "+file+"}, max_tokens: 40}")
		if r := mustRun(t, x, Options{Check: true}); r.Requests.Completed != 3 || r.Requests.Rejected != 1 {
			t.Errorf("%s: %+v %+v", policy, r.Requests, r.Rejections)
		}
	}
}

// A scheduler of the caller's own is refused where it would have to know what only the built-in ones do.
func TestASchedulerFromOutsideIsRefusedWhereItCannotPlay(t *testing.T) {
	own := func(l scheduler.Limits, c kvcache.Cache) scheduler.Scheduler { return scheduler.Orca(l, c) }
	for want, c := range map[string]struct { // order does not matter: each is a case of its own
		set   string
		naive bool
	}{
		"reference engine":  {"seed=1", true},
		"ranks in lockstep": {"{model: qwen3-30b-a3b, engine: {data_parallel_size: 2}}", false},
		"prefill or decode": {"scheduler=disaggregated", false},
	} {
		x := turned{"workload.requests=5", "", ""}.beside(t, c.set)
		if _, err := x.Run(t.Context(), Options{Scheduler: own, Naive: c.naive}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", c.set, err, want)
		}
	}
	for _, set := range []string{"seed=1", "cluster.replicas=2"} {
		x := turned{"workload.requests=50", "", ""}.beside(t, set)
		if r := mustRun(t, x, Options{Scheduler: own, Check: true}); r.Requests.Completed != 50 {
			t.Errorf("%s: %+v", set, r.Requests)
		}
	}
}
