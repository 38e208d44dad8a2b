package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/servesim/servesim/scenarios"
)

func TestSpellingsOfVLLMBecomeThoseOfPflag(t *testing.T) {
	c := &cobra.Command{}
	addScenarioFlags(c)
	for _, test := range []struct{ typed, plain string }{
		{"chat --request-rate 5", "chat --request-rate 5"},
		{"-tp 4 -pp=2 -dp 1 -q fp8", "--tensor-parallel-size 4 --pipeline-parallel-size=2 --data-parallel-size 1 --quantization fp8"},
		{"--max_num_seqs 64 --max_model_len=8192", "--max-num-seqs 64 --max-model-len=8192"},
		{"--max-model-len -1 chat", "--max-model-len -1 chat"},
		{"--no-enable-prefix-caching", "--enable-prefix-caching=false"},
		{"--no_async_scheduling chat", "--async-scheduling=false chat"},
		{"--no-request-rate", "--no-request-rate"}, // not a switch: pflag refuses it
		{"--goodput ttft:1000 tpot:50 chat", "--goodput ttft:1000 --goodput tpot:50 chat"},
		{"--goodput=ttft:1000 e2el:9000", "--goodput=ttft:1000 --goodput e2el:9000"},
		{"--cudagraph-capture-sizes 1 2 4 chat", "--cudagraph-capture-sizes 1 --cudagraph-capture-sizes 2 --cudagraph-capture-sizes 4 chat"},
		{"--set workload.rate=5 -o x", "--set workload.rate=5 -o x"},
		{"--enforce-eager -- --num-scheduler-steps", "--enforce-eager -- --num-scheduler-steps"},
		{"--num-scheduler-steps 4 chat", "--set engine.num_scheduler_steps=true chat"},
		{"--num_scheduler_steps=4 chat", "--set engine.num_scheduler_steps=true chat"},
		{"--num-scheduler-steps chat", "--set engine.num_scheduler_steps=true chat"},
		{"--preemption-mode recompute chat", "--preemption-mode recompute chat"},
		{"--use-v2-block-manager chat", "--set engine.use_v2_block_manager=true chat"},
		{"--backend vllm --trust-remote-code chat", "chat"},
		{"--goodput", "--goodput"},
		{"--set", "--set"},
	} {
		plain, _ := respell(strings.Fields(test.typed), c.Flags())
		if d := cmp.Diff(strings.Fields(test.plain), plain); d != "" {
			t.Errorf("%s (-want +got):\n%s", test.typed, d)
		}
	}
}

func TestFlagsOfAServerAreTakenOutWithAWarning(t *testing.T) {
	c := &cobra.Command{}
	addScenarioFlags(c)
	_, warnings := respell([]string{"--backend", "vllm", "--port=8000", "--ignore-eos"}, c.Flags())
	if len(warnings) != 3 || !strings.HasPrefix(warnings[0], "--backend concerns a real server") {
		t.Errorf("warnings: %q", warnings)
	}
}

func TestGoodputTakesMillisecondsOrUnits(t *testing.T) {
	got, err := sloOf([]string{"ttft:1000", "tpot=50", "e2el:9s"})
	if err != nil || got != "{ttft: 1000ms, tpot: 50ms, e2el: 9s}" {
		t.Errorf("got %s, %v", got, err)
	}
	for _, wrong := range []string{"ttft", "ttft:", "latency:5", ":5"} {
		if _, err := sloOf([]string{wrong}); err == nil {
			t.Errorf("%q is accepted", wrong)
		}
	}
}

func TestEveryFlagNamesAFieldOfTheScenario(t *testing.T) {
	d, err := scenarios.Parse("empty.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range knobs() {
		if err := d.Set(k.path, "1", "--"+k.name); err != nil {
			t.Errorf("--%s sets a field that no scenario has: %v", k.name, err)
		}
	}
}

func FuzzRespell(f *testing.F) {
	for _, line := range []string{"-tp 4", "--no-enforce-eager", "--goodput ttft:1 tpot:2 chat", "--num_scheduler_steps=4 -- x", "-- --", "--="} {
		f.Add(line)
	}
	c := &cobra.Command{}
	addScenarioFlags(c)
	f.Fuzz(func(t *testing.T, line string) {
		words := strings.Fields(line)
		if plain, _ := respell(words, c.Flags()); len(plain) > 2*len(words) {
			t.Errorf("%q becomes %q: a word never becomes more than a flag and its value", words, plain)
		}
	})
}
