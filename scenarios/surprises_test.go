package scenarios

import (
	"fmt"
	"math"
	"testing"
)

// What users of real engines guessed, and what they saw instead. Each test sets up a public report as closely as it
// describes itself, with fewer requests, and checks the direction of what was seen and, where the report gives a size,
// that it comes out within a factor of two. The numbers are single reports of different versions.
//
// No constant was fitted to them, except that #48322 and #15598 agree with logs from which the sampler's memory was read. They
// are no blind test either: where a report leaves out load or model, one was chosen here, and for #48322, #37307,
// tandemn-system#11, #41682, #3399 and #42058 such that the other figures of the report come out.

// A setup is a list of settings "path=value", on top of the defaults.
type setup []string

// with returns the setup with more settings; those given later win.
func (s setup) with(more ...string) setup { return append(s[:len(s):len(s)], more...) }

// budget returns the setup with so many tokens in a step.
func (s setup) budget(tokens int) setup {
	return s.with(fmt.Sprint("engine.max_num_batched_tokens=", tokens))
}

// tp returns the setup with so many GPUs that share every layer.
func (s setup) tp(gpus int) setup { return s.with(fmt.Sprint("engine.tensor_parallel_size=", gpus)) }

// experiment builds the setup.
func (s setup) experiment(t *testing.T) *Experiment {
	t.Helper()
	return mustBuild(t, "name: report\n", s...)
}

// run plays the setup.
func (s setup) run(t *testing.T) *Result {
	t.Helper()
	return mustRun(t, s.experiment(t), Options{})
}

// rate plays the setup and returns the tokens per second, prompts and answers.
func (s setup) rate(t *testing.T) float64 {
	t.Helper()
	return s.run(t).Throughput.TotalTokensPerS
}

// withinTwo checks a quantity against what was reported: the same sign, and half to twice its size.
func withinTwo(t *testing.T, what string, got, reported float64) {
	t.Helper()
	t.Logf("%s: %.4g, reported %.4g", what, got, reported)
	if ratio := got / reported; !(ratio >= 0.5 && ratio <= 2) {
		t.Errorf("%s: %.4g, reported %.4g", what, got, reported)
	}
}

// above checks that a is greater than b, by at least the given share of it.
func above(t *testing.T, what string, a, b, share float64) {
	t.Helper()
	t.Logf("%s: %.4g against %.4g", what, a, b)
	if !(a > b*(1+share)) {
		t.Errorf("%s: %.4g is not above %.4g by %.0f %%", what, a, b, 100*share)
	}
}

// alike checks that a and b differ by at most the given share.
func alike(t *testing.T, what string, a, b, share float64) {
	t.Helper()
	t.Logf("%s: %.4g against %.4g", what, a, b)
	if !(math.Abs(a-b) <= share*math.Abs(b)) {
		t.Errorf("%s: %.4g and %.4g differ by more than %.0f %%", what, a, b, 100*share)
	}
}
