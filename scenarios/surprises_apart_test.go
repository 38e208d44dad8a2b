package scenarios

import (
	"strconv"
	"testing"
)

// vllm-project/vllm#11345, #23144, #41834: one engine that prefills and one that decodes did worse than two that do both. The
// gains come with long prompts, a tight target for the time between tokens, and work that divides as the engines do;
// otherwise one side idles.
func TestEnginesOfTheirOwnPayOnlyWhereTheWorkDividesAsTheyDo(t *testing.T) {
	load := func(prompt, output int, rate string) setup {
		return setup{
			"model=llama-3.1-8b", "engine.max_model_len=16384", "slo={ttft: 2s, tpot: 20ms}", "workload.requests=300", "workload.rate=" + rate,
			sized("workload.prompt", prompt), sized("workload.output", output),
		}
	}
	two := func(s setup) (mixed, apart *Result) {
		return s.with("cluster.replicas=2").run(t), s.with("scheduler=disaggregated").run(t)
	}
	goodput := func(r *Result) float64 { return *r.Goodput.RequestsPerS }

	mixed, split := two(load(6000, 200, "6"))
	above(t, "goodput, long prompts", goodput(split), goodput(mixed), 0.2)
	above(t, "TPOT p99, long prompts", mixed.Latency.TPOT.P99, split.Latency.TPOT.P99, 1)

	mixed, split = two(load(200, 800, "inf")) // hardly anything to prefill: one engine idles
	above(t, "tokens/s, long answers", mixed.Throughput.OutputTokensPerS, split.Throughput.OutputTokensPerS, 0.2)
	if p, d := split.Replicas[0].Busy, split.Replicas[1].Busy; p > 0.2 || d < 0.8 {
		t.Errorf("the prefilling engine is busy %.2f of the time, the decoding one %.2f", p, d)
	}

	mixed, split = two(load(6000, 10, "20")) // hardly anything to decode: the other does
	above(t, "tokens/s, short answers", mixed.Throughput.TotalTokensPerS, split.Throughput.TotalTokensPerS, 0.2)
	above(t, "TTFT, short answers", split.Latency.TTFT.Mean, mixed.Latency.TTFT.Mean, 0.5)
	if p, d := split.Replicas[0].Busy, split.Replicas[1].Busy; p < 0.9 || d > 0.6 {
		t.Errorf("the prefilling engine is busy %.2f of the time, the decoding one %.2f", p, d)
	}

	mixed, split = two(load(6000, 200, "0.5")) // low load: it only costs
	above(t, "TTFT, low load", split.Latency.TTFT.Mean, mixed.Latency.TTFT.Mean, 0.2)
	above(t, "E2EL, low load", split.Latency.E2EL.Mean, mixed.Latency.E2EL.Mean, 0)
	if goodput(split) > goodput(mixed)*1.001 {
		t.Errorf("goodput %g apart, %g together", goodput(split), goodput(mixed))
	}

	mixed, split = two(load(200, 200, "30")) // short prompts: nothing to gain either
	above(t, "TTFT, short prompts", split.Latency.TTFT.Mean, mixed.Latency.TTFT.Mean, 0.2)
	above(t, "TPOT, short prompts", split.Latency.TPOT.Mean, mixed.Latency.TPOT.Mean, 0)
	above(t, "E2EL, short prompts", split.Latency.E2EL.Mean, mixed.Latency.E2EL.Mean, 0)
}

// sized returns the setting of a lognormal length.
func sized(path string, mean int) string {
	return path + "={dist: lognormal, mean: " + strconv.Itoa(mean) + ", p99: " + strconv.Itoa(mean*5/2) + ", max: " + strconv.Itoa(mean*5/2) + "}"
}

// The same GPUs and the same arrivals, apart and together.
func TestThePairsOfScenariosShowWhatSeparationIsWorth(t *testing.T) {
	for _, pair := range [][2]string{{"apart-1p1d", "apart-2-mixed"}, {"apart-2p2d", "apart-4-mixed"}} {
		apart, mixed := mustRun(t, mustBuild(t, pair[0]), Options{}), mustRun(t, mustBuild(t, pair[1]), Options{})
		if apart.GPU.Count != mixed.GPU.Count || apart.Tokens != mixed.Tokens || apart.Requests != mixed.Requests {
			t.Errorf("%v: %d and %d GPUs, %+v and %+v", pair, apart.GPU.Count, mixed.GPU.Count, apart.Tokens, mixed.Tokens)
		}
		above(t, pair[0]+" TPOT p99", mixed.Latency.TPOT.P99, apart.Latency.TPOT.P99, 1)
		above(t, pair[0]+" ITL p99", mixed.Latency.ITL.P99, apart.Latency.ITL.P99, 1)
		above(t, pair[0]+" goodput", *apart.Goodput.RequestsPerS, *mixed.Goodput.RequestsPerS, 0.1)
		above(t, pair[0]+" TTFT", apart.Latency.TTFT.Mean, mixed.Latency.TTFT.Mean, 0.2) // that is the price
	}
}

// The same pairs at a low rate, and with short prompts: there is nothing to gain, and the hand-over costs.
func TestThePairsOfScenariosShowWhereSeparationOnlyCosts(t *testing.T) {
	for _, pair := range [][2]string{{"apart-1p1d", "apart-2-mixed"}, {"apart-2p2d", "apart-4-mixed"}} {
		for _, set := range []string{"workload.rate=0.5", "workload.prompt=200"} {
			apart, mixed := mustRun(t, mustBuild(t, pair[0], set, "workload.requests=200"), Options{}), mustRun(t, mustBuild(t, pair[1], set, "workload.requests=200"), Options{})
			above(t, pair[0]+" "+set+" TTFT", apart.Latency.TTFT.Mean, mixed.Latency.TTFT.Mean, 0.2)
			above(t, pair[0]+" "+set+" E2EL", apart.Latency.E2EL.Mean, mixed.Latency.E2EL.Mean, 0)
			if a, m := *apart.Goodput.RequestsPerS, *mixed.Goodput.RequestsPerS; a > m*1.005 {
				t.Errorf("%s %s: goodput %g apart, %g together", pair[0], set, a, m)
			}
		}
	}
}

// sgl-project/sglang#8816, ai-dynamo/aiconfigurator#1380: TTFT collapsed when answers became longer. Memory of the decoding
// engine is set aside before a prefill may begin, so that its lack travels back and shows in the first token.
func TestLongAnswersDelayFirstTokensThroughTheDecodingEnginesMemory(t *testing.T) {
	for _, mode := range transferModeNames() {
		run := func(output string) *Result {
			return setup{
				"model=llama-3.1-8b", "scheduler=disaggregated", "cluster.transfer.mode=" + mode, "cluster.decode.engine.num_gpu_blocks_override=3000",
				"cluster.prefill.engine.num_gpu_blocks_override=4000", "engine.max_model_len=8192", "workload={requests: 300, rate: 5, prompt: 2000}", "workload.output=" + output, "workload.max_tokens=4000",
			}.run(t)
		}
		short, long := run("100"), run("2000")
		above(t, mode+": TTFT with answers 20 times as long", long.Latency.TTFT.Mean, 10*short.Latency.TTFT.Mean, 0)
		d := long.Disaggregation.TTFT
		above(t, mode+": of which memory", d.DecodeMemory+d.PrefillQueue, 0.7*d.Total, 0)
		if long.Requests.Completed != 300 {
			t.Errorf("%s: %+v", mode, long.Requests)
		}
	}
}

// A rule that leaves short prompts to the engines that decode spares them the hand-over.
func TestShortPromptsStayWhereTheyAreDecoded(t *testing.T) {
	s := setup{"model=llama-3.1-8b", "scheduler=disaggregated", "workload={requests: 300, rate: 8, prompt: {dist: lognormal, mean: 1500, p99: 12000, max: 30000}, output: 100}"}
	always, length := s.run(t), s.with("cluster.remote.policy=length", "cluster.remote.max_local_prefill_length=1000").run(t)
	if d := length.Disaggregation; d.Local < 100 || d.Remote < 50 || d.Whole > 0 {
		t.Errorf("%d requests stay, %d do not", d.Local, d.Remote)
	}
	above(t, "median TTFT", always.Latency.TTFT.P50, length.Latency.TTFT.P50, 0.5)
}

// Engines that decode help out while the others have too much to do.
func TestBorrowedEnginesShortenABurstOfPrompts(t *testing.T) {
	s := setup{"model=llama-3.1-8b", "cluster.prefill.replicas=1", "cluster.decode.replicas=3", "workload={requests: 60, arrivals: burst, prompt: 6000, output: 50}"}
	fixed, lent := s.run(t), s.with("cluster.remote.borrow_above=20000").run(t)
	above(t, "TTFT", fixed.Latency.TTFT.Mean, lent.Latency.TTFT.Mean, 0.5)
	if d := lent.Disaggregation; d.Borrowed == 0 || d.Local == 0 || d.Remote == 0 {
		t.Errorf("%+v", d)
	}
}

// Fast transfers, hidden ones and tokens that leave early: what each is worth at low load.
func TestEveryModeShortensTheWayToTheFirstTokenFurther(t *testing.T) {
	s := setup{
		"model=llama-3.1-8b", "scheduler=disaggregated", "cluster.transfer={link: eth-100}",
		"workload={requests: 50, prompt: 8000, output: 20, arrivals: {name: closed, clients: 1}}", "engine.max_num_batched_tokens=2048",
	}
	pull, chunks, layers := s.run(t), s.with("cluster.transfer.mode=push-chunks").run(t), s.with("cluster.transfer.mode=layerwise").run(t)
	early := s.with("cluster.transfer={mode: layerwise, link: eth-100, first_token: prefill}").run(t)
	above(t, "pull against chunks", pull.Latency.TTFT.Mean, chunks.Latency.TTFT.Mean, 0.1)
	above(t, "chunks against layers", chunks.Latency.TTFT.Mean, layers.Latency.TTFT.Mean, 0.01)
	above(t, "layers against an early token", layers.Latency.TTFT.Mean, early.Latency.TTFT.Mean, 0.01)
	alike(t, "and the last token of either", layers.Latency.E2EL.Mean, early.Latency.E2EL.Mean, 0.002)
}
