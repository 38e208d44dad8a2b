package scenarios

import (
	"slices"
	"strings"
	"testing"
)

// underPolicy plays the chat scenario with the scheduler and load given.
func underPolicy(t *testing.T, scheduler, rate string) *Result {
	t.Helper()
	return mustRun(t, mustBuild(t, "chat", "scheduler="+scheduler, "workload.rate="+rate), Options{})
}

// Papers report 2 to 36 times the throughput of static batching (Orca: 36.9 times FasterTransformer's at the same latency; vLLM: 2 to
// 4 times Orca's with a memory that reserves too much; Anyscale: 8 to 23 times naive batching). Here, with more requests than
// can be served, the factor has four parts: two are early exit, one is chunks, and one is memory, which is small while the cache
// has room for hundreds of reservations, and grows where it has not.
func TestContinuousBatchingMultipliesTheThroughputOfStatic(t *testing.T) {
	r := play(t, "policies-saturated", saturated)
	d := divide(r)
	t.Logf("%.2f times by not computing finished rows, %.2f by filling their places, %.2f by chunks, %.2f by not reserving max_tokens: %.1f in all", d.exit, d.places, d.chunks, d.memory, d.all())
	if factor := d.all(); factor < 2 || factor > 36 {
		t.Errorf("the factor is %.1f, want 2 to 36", factor)
	}
	above(t, "early exit", d.exit, 1, 0.2)
	above(t, "iteration-level scheduling", d.places, 1, 1)
	above(t, "paged memory without a reservation", d.memory, 1, 0.02)
	above(t, "the same on a seventh of the cache", tight(t, "chunked"), tight(t, "trtllm"), 0.3)
	for _, one := range saturated {
		if got := r[one.label]; got.GPU.Count != 1 || got.Tokens != r["chunked"].Tokens || got.Requests.Completed != 2000 {
			t.Errorf("%s: %d GPUs, %+v, %+v", one.label, got.GPU.Count, got.Tokens, got.Requests)
		}
	}
}

// Long prompts: prefill-first has the 99th percentile of gaps more than twice as long as chunked prefill, which bounds it near
// one step of its whole budget, at a small cost in time to first token.
func TestChunkedPrefillBoundsTheStallsOfPrefillFirst(t *testing.T) {
	r := play(t, "policies-stalls", stalls)
	chunked, step := &r["chunked"].Latency, budgetStep(t)
	for _, first := range []string{"continuous", "sglang"} {
		l := &r[first].Latency
		above(t, "p99 ITL, "+first+" and chunked", l.ITL.P99, chunked.ITL.P99, 1)
		above(t, "longest gap, "+first+" and chunked", l.ITL.Max, chunked.ITL.Max, 10)
		above(t, "p50 TTFT, chunked and "+first, chunked.TTFT.P50, l.TTFT.P50, 0.05) // the cost
		alike(t, "p50 TTFT, chunked and "+first, chunked.TTFT.P50, l.TTFT.P50, 0.25) // is small
		alike(t, "p99 TTFT, chunked and "+first, chunked.TTFT.P99, l.TTFT.P99, 0.25)
		alike(t, "throughput", r[first].Throughput.OutputTokensPerS, r["chunked"].Throughput.OutputTokensPerS, 0.02)
	}
	withinTwo(t, "p99 ITL of chunked and a step of the whole budget", chunked.ITL.P99, step)
	withinTwo(t, "longest gap of chunked and a step of the whole budget", chunked.ITL.Max, step)
}

// The papers' trade at a load that all can carry: prefill-first has the earliest first tokens and the longest stalls, a
// budget for both bounds the stalls by one step, and Sarathi's small one makes them short.
func TestASmallerBudgetTradesFirstTokensForEvenOnes(t *testing.T) {
	v0, v1, sarathi := underPolicy(t, "continuous", "30"), underPolicy(t, "chunked", "30"), underPolicy(t, "sarathi", "30")
	above(t, "p99 ITL, prefill first and chunked", v0.Latency.ITL.P99, v1.Latency.ITL.P99, 1)
	above(t, "p99 ITL, chunked and Sarathi", v1.Latency.ITL.P99, sarathi.Latency.ITL.P99, 1)
	above(t, "p50 TTFT, chunked and prefill first", v1.Latency.TTFT.P50, v0.Latency.TTFT.P50, 0.1)
	above(t, "p50 TTFT, Sarathi and chunked", sarathi.Latency.TTFT.P50, v1.Latency.TTFT.P50, 0.1)
	above(t, "twice p50 TTFT of prefill first", 2*v0.Latency.TTFT.P50, sarathi.Latency.TTFT.P50, 0)
	alike(t, "throughput", sarathi.Throughput.OutputTokensPerS, v1.Throughput.OutputTokensPerS, 0.02)
}

func TestSettingsOfPoliciesAreChecked(t *testing.T) {
	for set, want := range map[string]string{ // order does not matter: each is a case of its own
		"scheduler={name: static, max_batch: 4, preferred_batch_sizes: [2, 8]}": "scheduler.preferred_batch_sizes: must be from 1 to scheduler.max_batch, 4, got 8",
		"scheduler={name: static, preferred_batch_sizes: [0]}":                  "scheduler.preferred_batch_sizes",
		"scheduler={name: sarathi, chunk_size: 0}":                              "scheduler.chunk_size: must be from 1 to 65536",
		"scheduler={name: sglang, conservativeness: -1}":                        "scheduler.conservativeness: must not be negative",
		"scheduler={name: sglang, schedule_policy: dfs-weight}":                 "is not supported yet",
		"scheduler={name: trtllm, capacity_policy: none}":                       "scheduler.capacity_policy: must be one of guaranteed-no-evict, max-utilization",
		"scheduler=lottery": "must be one of chunked, continuous, static, orca, sarathi, sglang, trtllm",
	} {
		if _, err := build("chat", set); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", set, err, want)
		}
	}
	x := mustBuild(t, "chat", "scheduler={name: sarathi, chunk_size: 600}")
	if want := []string{"chunk_size 600 is rounded down to whole tiles: steps hold 512 tokens"}; !slices.Equal(x.Warnings, want) {
		t.Errorf("warnings: %q", x.Warnings)
	}
}
