package scenarios

import (
	"testing"

	"github.com/servesim/servesim/sim/metrics"
)

// turns is a conversation of 20 turns of 100 tokens and answers of 50, alone on the engine.
func turns(t *testing.T, caching string) *metrics.Report {
	x := mustBuild(t, "chat", "workload={requests: 20, rate: 1, arrivals: burst, prompt: 100, output: 50, sessions: {turns: 20, think: 1s}}",
		"engine.enable_prefix_caching="+caching)
	return &mustRun(t, x, Options{Check: true}).Report
}

// TestAConversationGrowsByWhatIsSaid: turn k has 150(k−1) + 100 tokens, so twenty turns have 30,500.
func TestAConversationGrowsByWhatIsSaid(t *testing.T) {
	if r := turns(t, "false"); r.Tokens.Input != 30500 || r.Requests.Completed != 20 {
		t.Errorf("%d tokens in %d requests, want 30500 in 20", r.Tokens.Input, r.Requests.Completed)
	}
}

// TestTheCacheKeepsAConversation: all of a turn but its own text, the last token of the answer before, whose KV was never
// made, and a started block, is found again.
func TestTheCacheKeepsAConversation(t *testing.T) {
	r := turns(t, "true")
	var want int64
	for k := range int64(20) {
		if known := 150*k - 1; k > 0 {
			want += known / 16 * 16
		}
	}
	if r.Engine.PrefixCache.HitTokens != want {
		t.Errorf("%d of %d tokens found, want %d", r.Engine.PrefixCache.HitTokens, r.Tokens.Input, want)
	}
}

func TestClassesOfAScenarioHaveTheirOwnTargets(t *testing.T) {
	x := mustBuild(t, "chat", "workload={requests: 200, rate: 20, classes: [{name: a}, {name: b, output: 400, slo: {e2el: 1ms}}, {name: c, slo: none}]}")
	r := mustRun(t, x, Options{}).Report
	a, b, c := r.Classes[0], r.Classes[1], r.Classes[2]
	if a.Goodput.ByMetric.TTFT == nil || a.Goodput.ByMetric.E2EL != nil || *a.Goodput.Attainment < .9 {
		t.Errorf("a keeps the scenario's targets: %+v", a.Goodput)
	}
	if b.Goodput.ByMetric.TTFT != nil || *b.Goodput.Attainment != 0 || b.Tokens.Output != int64(400*b.Requests.Completed) {
		t.Errorf("b has a target that nobody meets, and 400 tokens of output: %+v %+v", b.Goodput, b.Tokens)
	}
	if c.Goodput.Attainment != nil {
		t.Errorf("c has no target: %+v", c.Goodput)
	}
}
