package scenarios

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/engine"
)

const drafting = "engine.speculative_config={method: eagle, num_speculative_tokens: 4, acceptance: 0.6}"

func TestSpeculationIsFasterForAFewAndCostsManyTheirThroughput(t *testing.T) {
	off := "engine.speculative_config=none"
	few, fewOff := mustRun(t, mustBuild(t, "speculation"), Options{Check: true}), mustRun(t, mustBuild(t, "speculation", off), Options{})
	above(t, "TPOT without drafts, with", fewOff.Latency.TPOT.Mean, few.Latency.TPOT.Mean, 0.35)
	above(t, "ITL with drafts, without", few.Latency.ITL.P50, fewOff.Latency.ITL.P50, 0.2)
	busy, busyOff := mustRun(t, mustBuild(t, "speculation-busy"), Options{}), mustRun(t, mustBuild(t, "speculation-busy", off), Options{})
	above(t, "output rate without drafts, with", busyOff.Throughput.OutputTokensPerS, busy.Throughput.OutputTokensPerS, 0.08)
	above(t, "MFU with drafts, without", busy.GPU.MFU, busyOff.GPU.MFU, 0.2)
	if few.Tokens != fewOff.Tokens || busy.Tokens != busyOff.Tokens {
		t.Error("drafts change how many tokens there are")
	}
}

// A level is a column of speculation.md.
var levels = []int{1, 8, 32, 128, 256, 512}

var drafters = []struct{ label, config string }{
	{"EAGLE, 4 drafts, .6", "{method: eagle, num_speculative_tokens: 4, acceptance: 0.6}"},
	{"EAGLE-3, 3 drafts, .7", "{method: eagle3, num_speculative_tokens: 3, acceptance: 0.7}"},
	{"Llama 3.2 1B, 5 drafts, .7", "{method: draft_model, model: llama-3.2-1b, num_speculative_tokens: 5, acceptance: 0.7}"},
	{"n-grams, 4 drafts, .3", "{method: ngram, num_speculative_tokens: 4, acceptance: 0.3}"},
}

const speculationHead = "# What speculation is worth\n\n" +
	"Llama 3.1 8B on one H100, prompts of 256 tokens and answers of 256: output tokens per second for so many clients at\n" +
	"once, relative to no speculation. The last number of a label is the assumed chance of a draft, given those before it.\n\n"

// TestTheSpeculationTableIsWhatRunsGive keeps speculation.md true; -update writes it anew.
func TestTheSpeculationTableIsWhatRunsGive(t *testing.T) {
	long(t)
	var table bytes.Buffer
	table.WriteString(speculationHead + "| drafts | tokens a step |")
	for _, n := range levels {
		fmt.Fprintf(&table, " %d |", n)
	}
	table.WriteString("\n|---|---|" + strings.Repeat("---|", len(levels)) + "\n")
	at := func(clients int, config string) *Result {
		return mustRun(t, mustBuild(t, "speculation-busy", "workload.prompt=256", "workload.output=256",
			fmt.Sprint("workload.arrivals.clients=", clients), fmt.Sprint("workload.requests=", 4*clients+16), "engine.speculative_config="+config), Options{})
	}
	plain := make([]float64, len(levels))
	for i, n := range levels {
		plain[i] = at(n, "none").Throughput.OutputTokensPerS
	}
	for _, d := range drafters {
		var cells strings.Builder
		gains := make([]float64, len(levels))
		length := 0.0
		for i, n := range levels {
			r := at(n, d.config)
			gains[i], length = r.Throughput.OutputTokensPerS/plain[i], r.Speculation.MeanAcceptanceLength
			fmt.Fprintf(&cells, " %.2fx |", gains[i])
		}
		fmt.Fprintf(&table, "| %s | %.1f |%s\n", d.label, length, cells.String())
		if !slices.IsSortedFunc(gains, func(a, b float64) int { return int(math.Copysign(1, b*1.02-a)) }) {
			t.Errorf("%s: gains %.2f do not fall with the batch", d.label, gains)
		}
	}
	const file = "speculation.md"
	if *update {
		if err := os.WriteFile(file, table.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(want, table.Bytes()) {
		t.Errorf("%s is not what the runs give (%v); go test ./scenarios -update writes\n%s", file, err, table.Bytes())
	}
}

func TestNoDraftsAreTheReportOfNoSpeculationByteForByte(t *testing.T) {
	load := []string{"workload.requests=200"}
	plain := reportBytes(t, mustRun(t, mustBuild(t, "chat", load...), Options{}))
	for _, off := range []string{"none", "{}", "{method: eagle, num_speculative_tokens: 0, acceptance: 0.5}"} {
		got := reportBytes(t, mustRun(t, mustBuild(t, "chat", append(load, "engine.speculative_config="+off)...), Options{}))
		if !bytes.Equal(got, plain) {
			t.Errorf("%s: the report differs", off)
		}
	}
}

func TestDraftsThatAreNeverRightCostTimeAndNothingElse(t *testing.T) {
	load := []string{"workload.requests=60", "workload.rate=5"}
	plain := mustRun(t, mustBuild(t, "chat", load...), Options{})
	wrong := mustRun(t, mustBuild(t, "chat", append(load, "engine.speculative_config={method: eagle, num_speculative_tokens: 3, acceptance: 0}")...), Options{Check: true})
	if wrong.Tokens != plain.Tokens || wrong.Latency.ITL.Count != plain.Latency.ITL.Count {
		t.Errorf("tokens %+v in %d gaps, without drafts %+v in %d", wrong.Tokens, wrong.Latency.ITL.Count, plain.Tokens, plain.Latency.ITL.Count)
	}
	above(t, "TPOT of wrong drafts", wrong.Latency.TPOT.Mean, plain.Latency.TPOT.Mean, 0.1)
	if s := wrong.Speculation; s.AcceptanceRate != 0 || s.MeanAcceptanceLength != 1 {
		t.Errorf("acceptance %+v", s)
	}
}

func TestDraftsThatAreAlwaysRightComeWithEveryStep(t *testing.T) {
	r := mustRun(t, mustBuild(t, "chat", "workload.requests=20", "workload.output=41", "engine.speculative_config={method: eagle, num_speculative_tokens: 3, acceptance: 1}"), Options{})
	if s := r.Speculation; s.MeanAcceptanceLength != 4 || s.Drafts != 20*10 || r.Latency.ITL.Count != 20*10 {
		t.Errorf("%+v, %d gaps: want 10 steps of 4 tokens for each of 20 answers", s, r.Latency.ITL.Count)
	}
}

func TestInvariantsHoldWithDraftsUnderAnyMemory(t *testing.T) {
	for _, more := range [][]string{
		{"engine.num_gpu_blocks_override=600", "engine.max_model_len=4096"},
		{"engine.num_gpu_blocks_override=300", "engine.max_model_len=2048", "engine.async_scheduling=false"},
		{"engine.num_gpu_blocks_override=400", "engine.max_num_batched_tokens=300", "engine.max_num_seqs=100", "engine.max_model_len=2048"},
		{"engine.num_gpu_blocks_override=300", "engine.max_model_len=2048", "workload.timeout=3s"},
		{"model=google/gemma-3-27b-it", "engine.num_gpu_blocks_override=3000", "engine.tensor_parallel_size=2"},
	} {
		settings := append([]string{"workload.requests=150", "workload.arrivals=burst", drafting}, more...)
		r := mustRun(t, mustBuild(t, "chat", settings...), Options{Check: true})
		if r.Requests.Completed+r.Requests.Rejected+r.Requests.Aborted != 150 {
			t.Errorf("%v: %+v", more, r.Requests)
		}
		if !strings.Contains(more[0], "gemma") && r.Engine.Preemptions == 0 {
			t.Errorf("%v: memory is never short", more)
		}
	}
}

func TestSpeculationIsRefusedWhereItCannotBe(t *testing.T) {
	config := func(s string) string { return "engine.speculative_config={" + s + "}" }
	for _, c := range []struct{ want, config, more string }{
		{"needs num_speculative_tokens", config("method: eagle"), ""},
		{"method: must be given: one of eagle, eagle3, mtp, ngram, draft_model", config("num_speculative_tokens: 3"), ""},
		{"medusa is not supported yet", config("num_speculative_tokens: 3, method: medusa"), ""},
		{`must be one of eagle, eagle3, mtp, ngram, draft_model, got "eagel", did you mean eagle?`, config("num_speculative_tokens: 3, method: eagel"), ""},
		{"unknown key, did you mean num_speculative_tokens?", config("num_speculative_token: 3"), ""},
		{"must be from 0 to 64, got 65", config("num_speculative_tokens: 65, method: eagle"), ""},
		{"must be from 0 to 1, got 1.5", config("num_speculative_tokens: 2, method: eagle, acceptance: 1.5"), ""},
		{"one for each of the 3 drafts, got 2", config("num_speculative_tokens: 3, method: eagle, acceptance: [0.8, 0.6]"), ""},
		{"must not rise from draft to draft", config("num_speculative_tokens: 2, method: eagle, acceptance: [0.6, 0.8]"), ""},
		{"is given twice", config("num_speculative_tokens: 2, method: eagle, acceptance: 0.5, acceptance_trace: a.txt"), ""},
		{"a.txt: cannot be read", config("num_speculative_tokens: 2, method: eagle, acceptance_trace: a.txt"), ""},
		{"must name the model that drafts", config("num_speculative_tokens: 2, method: draft_model"), ""},
		{"must have the vocabulary of llama-3.1-8b, 128256 tokens, but qwen2.5-0.5b has 151936", config("num_speculative_tokens: 2, model: qwen2.5-0.5b"), ""},
		{"must be ranges [from, to, drafts] of batch sizes, one after the other from 1 on; got [2, 4, 1]", config("num_speculative_tokens: 2, method: eagle, num_speculative_tokens_per_batch_size: [[2, 4, 1]]"), ""},
		{"must have from 0 to num_speculative_tokens, 2, drafts, got 3", config("num_speculative_tokens: 2, method: eagle, num_speculative_tokens_per_batch_size: [[1, 4, 3]]"), ""},
		{"must be a list of [from, to, drafts]", config("num_speculative_tokens: 2, method: eagle, num_speculative_tokens_per_batch_size: [[1, 4]]"), ""},
		{"got continuous", drafting, "scheduler=continuous"},
		{"got static", drafting, "scheduler=static"},
		{"pipeline_parallel_size: must be 1 with speculative decoding, got 2", drafting, "engine.pipeline_parallel_size=2"},
		{"not supported together with kv_offloading_size", drafting, "engine.kv_offloading_size=8"},
		{"does not go together with speculative_config.method: ngram", config("num_speculative_tokens: 2, method: ngram"), "engine.async_scheduling=true"},
		{"on 1 GPU or on all 4 that share the target's layers, got 2", config("num_speculative_tokens: 2, method: eagle, draft_tensor_parallel_size: 2"), "engine.tensor_parallel_size=4"},
	} {
		settings := []string{c.config}
		if c.more != "" {
			settings = append(settings, c.more)
		}
		if _, err := build("chat", settings...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: want an error with %q, got %v", settings, c.want, err)
		}
	}
}

func TestTheMethodIsToldFromTheDraftersName(t *testing.T) {
	for model, want := range map[string]string{ // order does not matter: separate scenarios
		"yuhuili/EAGLE3-LLaMA3.1-Instruct-8B": "eagle3", "yuhuili/EAGLE-LLaMA3.1-Instruct-8B": "eagle",
		"meta-llama/Llama-3.2-1B-Instruct": "draft_model", "ngram": "ngram",
	} {
		x := mustBuild(t, "chat", "engine.speculative_config={num_speculative_tokens: 2, acceptance: 0.5, model: "+model+"}")
		if got := x.Scenario.Engine.SpeculativeConfig.Method; got != want {
			t.Errorf("%s: %s, want %s", model, got, want)
		}
		if async := x.Limits.AsyncScheduling; async == (want == "ngram") {
			t.Errorf("%s: asynchronous scheduling is %v", model, async)
		}
	}
}

func TestWhatIsAssumedOfDraftsIsSaidAndRunsAgain(t *testing.T) {
	for _, method := range draftMethods {
		config := "engine.speculative_config={method: " + method + ", num_speculative_tokens: 3, model: llama-3.2-1b}"
		x := mustBuild(t, "chat", config, "workload.requests=40", "workload.rate=4")
		if !slices.ContainsFunc(x.Warnings, func(w string) bool {
			return strings.HasPrefix(w, "the acceptance of "+method+" drafts was not given and is assumed: [0.")
		}) {
			t.Errorf("%s: warnings %q", method, x.Warnings)
		}
		if rates := x.accepts.Rates; len(rates) != 3 || rates[0] < rates[1] || rates[1] < rates[2] || rates[2] <= 0 {
			t.Errorf("%s: rates %v", method, rates)
		}
		first := mustRun(t, x, Options{})
		again, err := Parse("again.yaml", first.Config.JSON())
		if err != nil {
			t.Fatal(err)
		}
		s, err := again.Scenario()
		if err != nil {
			t.Fatal(err)
		}
		y, err := s.Build()
		if err != nil {
			t.Fatal(err)
		}
		second := mustRun(t, y, Options{})
		if second.Latency.TPOT.Mean != first.Latency.TPOT.Mean {
			t.Errorf("%s: the configuration of the report gives another result", method)
		}
	}
}

func TestAQuantizedTargetIsWarnedOf(t *testing.T) {
	const about = "no simulator can tell"
	has := func(x *Experiment) bool {
		return slices.ContainsFunc(x.Warnings, func(w string) bool { return strings.Contains(w, about) })
	}
	if x := mustBuild(t, "chat", drafting, "engine.quantization=fp8"); !has(x) {
		t.Errorf("FP8 weights with drafts: %q", x.Warnings)
	}
	if has(mustBuild(t, "chat", drafting)) || has(mustBuild(t, "chat", "engine.quantization=fp8")) {
		t.Error("16-bit weights, or no drafts, are warned of as well")
	}
}

func TestSettingsOfADrafterThatDoNothingAreSaidToDoNothing(t *testing.T) {
	x := mustBuild(t, "chat", "engine.speculative_config={method: ngram, num_speculative_tokens: 3, acceptance: 0.3, model: llama-3.2-1b, quantization: fp8, prompt_lookup_max: 4, prompt_lookup_min: 2}")
	for _, key := range []string{"model", "quantization", "prompt_lookup_min", "prompt_lookup_max"} {
		if !slices.ContainsFunc(x.Warnings, func(w string) bool {
			return strings.Contains(w, "speculative_config."+key) && strings.Contains(w, " have no effect ")
		}) {
			t.Errorf("%s is not remarked upon: %q", key, x.Warnings)
		}
	}
}

func TestATraceOfAcceptedLengthsIsPlayed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lengths.txt")
	run := func(text string) (*Result, error) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		x, err := build("chat", "workload.requests=100", "engine.speculative_config={method: eagle, num_speculative_tokens: 3, acceptance_trace: "+file+"}")
		if err != nil {
			return nil, err
		}
		return mustRun(t, x, Options{}), nil
	}
	r, err := run("# one a step\n2, 2 2\n2 # and so on\n")
	if err != nil {
		t.Fatal(err)
	}
	if s := r.Speculation; s.MeanAcceptanceLength != 3 || !slices.Equal(s.PerPosition, []float64{1, 1, 0}) {
		t.Errorf("two of three drafts are right in every step, got %+v", s)
	}
	for text, want := range map[string]string{ // order does not matter: separate files
		"": "holds no number", "1 2 x": `lengths.txt:1: must be numbers of accepted drafts`, "1\n-1": "lengths.txt:2: ",
	} {
		if _, err := run(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: want an error with %q, got %v", text, want, err)
		}
	}
}

func TestTheReferenceEngineComesToTheSameWithDrafts(t *testing.T) {
	for _, settings := range [][]string{
		{drafting, "engine.num_gpu_blocks_override=500", "engine.max_model_len=2048"},
		{"engine.speculative_config={method: ngram, num_speculative_tokens: 3, acceptance: 0.4}", "engine.max_num_batched_tokens=256", "engine.max_num_seqs=64"},
		{"engine.speculative_config={method: draft_model, model: llama-3.2-1b, num_speculative_tokens: 5, acceptance: 0.8, num_speculative_tokens_per_batch_size: [[1, 8, 5], [9, 40, 2], [41, 1000, 0]]}"},
	} {
		x := mustBuild(t, "chat", append(settings, "workload.requests=80")...)
		fast, naive := reportBytes(t, mustRun(t, x, Options{})), reportBytes(t, mustRun(t, x, Options{Naive: true}))
		if !bytes.Equal(fast, naive) {
			t.Errorf("%v: %s", settings, firstDifference(naive, fast))
		}
	}
}

func TestRunsWithDraftsRepeat(t *testing.T) {
	x := mustBuild(t, "chat", drafting, "workload.requests=300")
	a, b := reportBytes(t, mustRun(t, x, Options{})), reportBytes(t, mustRun(t, x, Options{}))
	if !bytes.Equal(a, b) {
		t.Error("two runs differ")
	}
	seen := 0
	watched := mustRun(t, x, Options{Hooks: engine.Hooks{TokenOut: func(sim.Time, *engine.Life) { seen++ }}})
	if !bytes.Equal(reportBytes(t, watched), a) || seen == 0 {
		t.Error("watching every token changes the run")
	}
}
