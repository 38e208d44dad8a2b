package measured

import (
	"math"
	"testing"
)

func TestErrorsAreSummedUpAsNumpyDoes(t *testing.T) {
	got := Summarize([]float64{-10, 1, 2, 3, -4})
	want := Summary{N: 5, MedianAbsPct: 3, MeanAbsPct: 4, P90AbsPct: 7.6, MedianSignedPct: 1}
	if math.Abs(got.P90AbsPct-want.P90AbsPct) > 1e-9 || math.Abs(got.MeanAbsPct-want.MeanAbsPct) > 1e-9 {
		t.Errorf("got %+v, want %+v", got, want)
	}
	got.P90AbsPct, got.MeanAbsPct = want.P90AbsPct, want.MeanAbsPct
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if none := Summarize(nil); none != (Summary{}) {
		t.Errorf("no errors give %+v", none)
	}
}

func TestWhatIsJudged(t *testing.T) {
	dense := Row{Model: "llama-3.1-8b", Arrival: "poisson-n", Compare: "all"}
	experts := Row{Model: "mixtral-8x7b", Arrival: "poisson-n", Compare: "all"}
	warm := experts
	warm.Phase = 1
	closed := Row{Model: "gpt-oss-120b", Arrival: "closed", Compare: "all"}
	overloaded, reported := dense, dense
	overloaded.Compare, reported.Compare = "throughput", "report"
	for _, c := range []struct {
		name string
		row  Row
		m    Metric
		want bool
	}{
		{"a mean of a cold phase", dense, TTFTMean, true},
		{"the slowest first token of a cold phase", dense, TTFTP99, false},
		{"the slowest answer of a cold phase", dense, E2ELP99, true},
		{"first tokens of cold experts", experts, TTFTMean, false},
		{"slowest answers of cold experts", experts, E2ELP99, false},
		{"time per token of cold experts", experts, TPOTMean, true},
		{"the slowest first token of a warm phase", warm, TTFTP99, true},
		{"first tokens of experts in a closed loop", closed, TTFTMean, true},
		{"latency under overload", overloaded, E2ELMean, false},
		{"time per token under overload", overloaded, TPOTMean, true},
		{"tokens a second under overload", overloaded, OutputTokensPerS, true},
		{"what is only reported", reported, TPOTMean, false},
	} {
		if got, why := c.row.judged(c.m); got != c.want {
			t.Errorf("%s: judged %v (%s), want %v", c.name, got, why, c.want)
		}
	}
}

func TestDirectionHasADeadBand(t *testing.T) {
	for ratio, want := range map[float64]int{1.05: 1, 1.005: 0, 1: 0, 0.995: 0, 0.9: -1} { // order does not matter
		if got := direction(ratio); got != want {
			t.Errorf("direction(%v) = %d, want %d", ratio, got, want)
		}
	}
}
