package scenarios

import (
	"bytes"
	"fmt"
	"os"
	"testing"
)

// A turn is a batching policy with settings of its own, as the tables of policies.md name it.
type turn struct{ label, scheduler string }

// What a turn is told about static batching, by its label.
const (
	staticRow = "static, up to 256 rows"
	exitRow   = "static, finished rows exit"
)

var saturated = []turn{
	{staticRow, "{name: static, max_batch: 256}"},
	{exitRow, "{name: static, max_batch: 256, early_exit: true}"},
	{"orca", "orca"},
	{"continuous", "continuous"},
	{"sarathi", "sarathi"},
	{"sglang", "sglang"},
	{"trtllm", "trtllm"},
	{"trtllm, max-utilization", "{name: trtllm, capacity_policy: max-utilization}"},
	{"chunked", "chunked"},
}

var stalls = []turn{
	{"continuous", "continuous"},
	{"sglang", "sglang"},
	{"orca", "orca"},
	{"chunked", "chunked"},
	{"trtllm", "trtllm"},
	{"sglang, mixed chunks", "{name: sglang, enable_mixed_chunk: true}"},
	{"sarathi", "sarathi"},
}

// play runs an embedded scenario under each turn, and returns the results by label.
func play(t *testing.T, scenario string, turns []turn) map[string]*Result {
	t.Helper()
	results := map[string]*Result{}
	for _, turn := range turns {
		results[turn.label] = mustRun(t, mustBuild(t, scenario, "scheduler="+turn.scheduler), Options{})
	}
	return results
}

// A division is how the factor between static batching and paged memory without a reservation comes about.
type division struct{ exit, places, chunks, memory float64 }

// divide splits the factor: rows whose answers have ended are computed no more; others take their places in every
// iteration; prompts come in chunks beside decodes; memory is no longer kept for max_tokens. Each row has what those before it
// have.
func divide(r map[string]*Result) division {
	rate := func(label string) float64 { return r[label].Throughput.OutputTokensPerS }
	return division{rate(exitRow) / rate(staticRow), rate("orca") / rate(exitRow), rate("trtllm") / rate("orca"), rate("chunked") / rate("trtllm")}
}

func (d division) all() float64 { return d.exit * d.places * d.chunks * d.memory }

// tight is the throughput of policies-saturated on a seventh of its cache.
func tight(t *testing.T, scheduler string) float64 {
	t.Helper()
	return mustRun(t, mustBuild(t, "policies-saturated", "scheduler="+scheduler, "engine.num_gpu_blocks_override=4000"), Options{}).Throughput.OutputTokensPerS
}

const saturatedHead = "# What a batching policy is worth\n\n" +
	"The same GPU and the same arrivals under each policy.\n\n" +
	"## More work than there is room for\n\n" +
	"[policies-saturated](policies-saturated.yaml): 2,000 people of the scenario `chat` in one instant, on one H100. `servesim run\n" +
	"policies-saturated --scheduler orca`.\n\n" +
	"| policy | output tokens/s | relative | sequences in a step | KV blocks held |\n|---|---|---|---|---|\n"

const saturatedFoot = "\nFrom the first line to the last, %.1f times as much: %.2f by not computing rows whose answers have ended (early exit),\n" +
	"times %.2f by giving their places to others in every iteration (`orca`), times %.2f by chunks of prompts beside decodes\n" +
	"(`trtllm`), times %.2f by not keeping memory for `max_tokens` (`chunked`). The last is small because this cache has room for\n" +
	"hundreds of sequences at 1,024 tokens each; with 4,000 blocks it is %.2f, and from `orca` to `chunked` %.2f. Orca's authors\n" +
	"report 36.9 times FasterTransformer's throughput at equal latency, vLLM's 2 to 4 times that of systems which reserve\n" +
	"memory, and Anyscale 8 to 23 times that of static batching.\n\n"

const stallsHead = "## Long prompts among answers\n\n" +
	"[policies-stalls](policies-stalls.yaml): prompts of 6,000 tokens on average, on one A100 that can serve them all. Milliseconds.\n\n" +
	"| policy | TTFT p50 | TTFT p99 | ITL p50 | ITL p99 | longest gap | TPOT p99 |\n|---|---|---|---|---|---|---|\n"

const stallsFoot = "\nPrefill-first (`continuous`, `sglang`) lets every answer wait until all prompts that are there are done; `orca` lets them\n" +
	"wait for whole prompts. Chunked prefill bounds the wait by one step, of 2048 tokens here, alone %.0f ms, and makes first\n" +
	"tokens wait for answers instead. `sarathi` does both with steps of 512 tokens. `trtllm` is as `chunked` while memory is plenty.\n"

// TestThePoliciesTableIsWhatTheScenariosGive keeps policies.md true; -update writes it anew.
func TestThePoliciesTableIsWhatTheScenariosGive(t *testing.T) {
	var got bytes.Buffer
	full, long := play(t, "policies-saturated", saturated), play(t, "policies-stalls", stalls)
	got.WriteString(saturatedHead)
	for _, turn := range saturated {
		r := full[turn.label]
		rate := r.Throughput.OutputTokensPerS
		fmt.Fprintf(&got, "| %s | %s | %.1fx | %s | %.0f %% |\n", turn.label, threeDigits(rate), rate/full[staticRow].Throughput.OutputTokensPerS,
			threeDigits(r.Engine.Batch.MeanRunning), 100*r.Engine.KV.MeanUsage)
	}
	d := divide(full)
	paged := tight(t, "chunked")
	fmt.Fprintf(&got, saturatedFoot, d.all(), d.exit, d.places, d.chunks, d.memory, paged/tight(t, "trtllm"), paged/tight(t, "orca"))
	got.WriteString(stallsHead)
	for _, turn := range stalls {
		l := &long[turn.label].Latency
		fmt.Fprintf(&got, "| %s |", turn.label)
		for _, ms := range []float64{l.TTFT.P50, l.TTFT.P99, l.ITL.P50, l.ITL.P99, l.ITL.Max, l.TPOT.P99} {
			fmt.Fprintf(&got, " %s |", threeDigits(ms))
		}
		got.WriteString("\n")
	}
	fmt.Fprintf(&got, stallsFoot, budgetStep(t))
	const file = "policies.md"
	if *update {
		if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%s is stale: look at why, then run go test ./scenarios -run Policies -update\n%s", file, firstDifference(got.Bytes(), want))
	}
}

// threeDigits writes a number as far as it is the same on every processor.
func threeDigits(x float64) string {
	scale := 1.0
	for ; x >= 1000; scale *= 10 {
		x /= 10
	}
	if x >= 100 || scale > 1 {
		return fmt.Sprintf("%.0f", float64(int(x+0.5))*scale)
	}
	return fmt.Sprintf("%.3g", x)
}

// budgetStep is how long a step of one prompt with all 2048 tokens of the budget takes in policies-stalls, in milliseconds.
func budgetStep(t *testing.T) float64 {
	t.Helper()
	r := mustRun(t, mustBuild(t, "policies-stalls", "workload={requests: 1, prompt: 2048, output: 1}", "frontend={latency: 0s, tokenize: 0s, per_request: 0s, per_chunk: 0s}"), Options{})
	return r.Latency.TTFT.P50
}
