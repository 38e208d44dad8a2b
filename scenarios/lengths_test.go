package scenarios

import (
	"fmt"
	"strings"
	"testing"

	"github.com/servesim/servesim/sim/workload"
)

func TestALengthLawIsGivenWholeOrRefused(t *testing.T) {
	const pairs = "lognormal takes two numbers: mean with std, mean with p99, or p50 with p99 or mean"
	for _, c := range []struct{ law, wrong string }{
		{"{dist: lognormal, mean: 100, std: 0}", ""},
		{"{dist: lognormal, mean: 100, std: 20}", ""},
		{"{dist: lognormal, mean: 100, p50: 80}", ""},
		{"{dist: normal, mean: 1.5, std: 0}", ""},
		{"{mean: 100, std: 0}", ""},
		{"{mean: 100, range_ratio: 0}", ""},
		{"{dist: uniform, mean: 100, range_ratio: 0}", ""},
		{"{dist: uniform, min: 1, max: 9}", ""},
		{"{max: 300}", ""},
		{"100", ""},
		{"{dist: lognormal, mean: 100, p99: 500, std: 0}", pairs},
		{"{dist: lognormal, p50: 100, std: 0}", pairs},
		{"{dist: lognormal, mean: 100, p50: 50, p99: 500}", pairs},
		{"{std: 0}", "normal needs mean, in tokens"},
		{"{dist: lognormal, p50: 100}", "lognormal needs p99 or mean beside p50"},
		{"{p50: 100}", "lognormal needs p99 or mean beside p50"},
		{"{dist: lognormal, mean: 100}", "lognormal needs std or p99 beside mean"},
		{"{dist: uniform, mean: 100}", "uniform needs range_ratio beside mean"},
		{"{dist: normal, mean: 100}", "normal needs std beside mean"},
		{"{dist: fixed, mean: 1.5}", "fixed takes a mean in whole tokens, got 1.5"},
		{"{dist: uniform, mean: 1.5, range_ratio: 0}", "uniform takes a mean in whole tokens, got 1.5"},
		{"1.5", "fixed takes a mean in whole tokens, got 1.5"},
	} {
		got := strings.Join(mistakesOf(t, "workload: {requests: 2, output: "+c.law+"}"), "\n")
		if c.wrong == "" && got != "" || !strings.Contains(got, c.wrong) || c.wrong != "" && !strings.Contains(got, "workload.output: ") {
			t.Errorf("%s: got %q, want %q", c.law, got, c.wrong)
		}
	}
}

func TestADeviationOfZeroIsAConstant(t *testing.T) {
	x := mustBuild(t, "workload: {requests: 20, prompt: {dist: lognormal, mean: 100, std: 0}, output: {dist: normal, mean: 7, std: 0}}")
	if got := fmt.Sprint(x.Workload.Prompt.Law); got != fmt.Sprint(workload.LogNormal{Mean: 100}) {
		t.Errorf("the law of prompts is %s", got)
	}
	r := mustRun(t, x, Options{})
	if in, out := r.Report.Tokens.Input, r.Report.Tokens.Output; in != 20*100 || out != 20*7 {
		t.Errorf("%d and %d tokens, want 2000 and 140", in, out)
	}
}
