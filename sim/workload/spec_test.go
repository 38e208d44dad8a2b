package workload

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

func TestFaultsNameTheirField(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		change func(*Spec)
		want   string
	}{
		{func(s *Spec) { s.Rate = 0 }, "workload.rate: must be positive, got 0"},
		{func(s *Spec) { s.Rate = -3 }, "workload.rate: must be positive, got -3"},
		{func(s *Spec) { s.Rate = nan }, "workload.rate: must be positive, got NaN"},
		{func(s *Spec) { s.Rate = -inf }, "workload.rate: must be positive, got -Inf"},
		{func(s *Spec) { s.Rate = inf }, "workload.rate: must be finite"},
		{func(s *Spec) { s.Rate = 1e10 }, "workload.rate: must be at most 1e+09"},
		{func(s *Spec) { s.Rate = 1e-300 }, "workload.rate: must be at least 1e-06 for 1000 requests"},
		{func(s *Spec) { s.Arrivals = Gamma{Burstiness: 0} }, "workload.arrivals.burstiness: must be at least"},
		{func(s *Spec) { s.Arrivals = Gamma{Burstiness: nan} }, "workload.arrivals.burstiness: must be at least"},
		{func(s *Spec) { s.Arrivals = Closed{} }, "workload.arrivals.clients: must be at least 1, got 0"},
		{func(s *Spec) { s.Arrivals = Closed{Clients: 1, Think: -1} }, "workload.arrivals.think: must not be negative"},
		{func(s *Spec) { s.Arrivals = nil }, "workload.arrivals: must be given"},
		{func(s *Spec) { s.Requests, s.Duration, s.Arrivals = 0, time.Second, Burst{} }, "workload.requests: must be given when all arrive at once"},
		{func(s *Spec) { s.Requests = -1 }, "workload.requests: must not be negative, got -1"},
		{func(s *Spec) { s.Requests = 0 }, "workload.requests: must be given, or else workload.duration"},
		{func(s *Spec) { s.Duration = -1 }, "workload.duration: must not be negative"},
		{func(s *Spec) { s.Timeout = -1 }, "workload.timeout: must not be negative"},
		{func(s *Spec) { s.MaxConcurrency = -1 }, "workload.max_concurrency: must not be negative, got -1"},
		{func(s *Spec) { s.MaxTokens = -1 }, "workload.max_tokens: must lie between"},
		{func(s *Spec) { s.Prefix.Tokens = 10 }, "workload.prefix.groups: must be at least 1"},
		{func(s *Spec) { s.Prefix = Prefix{Groups: 1, Tokens: -1} }, "workload.prefix.tokens: must lie between"},
		{func(s *Spec) { s.Classes = []Class{{Name: "a", Share: nan}} }, `workload.classes: the share of class "a"`},
		{func(s *Spec) { s.Classes = []Class{{Name: "a", Share: 1}, {Name: "a", Share: 1}} }, `workload.classes: class "a" is there twice`},
		{func(s *Spec) { s.Prompt = Length{} }, "workload.prompt: has no law"},
		{func(s *Spec) { s.Prompt.Cap = -1 }, "workload.prompt.cap: must lie between"},
		{func(s *Spec) { s.Output.Law = Fixed{0} }, "workload.output.mean: must lie between 1 and"},
		{func(s *Spec) { s.Output.Law = Fixed{Longest + 1} }, "workload.output.mean: must lie between 1 and"},
		{func(s *Spec) { s.Output.Law = Uniform{5, 4} }, "workload.output.max: must be at least min, 5, got 4"},
		{func(s *Spec) { s.Output.Law = Around{100, 1} }, "workload.output.range_ratio: must be at least 0 and below 1, got 1"},
		{func(s *Spec) { s.Output.Law = Normal{nan, 1} }, "workload.output.mean: must lie between"},
		{func(s *Spec) { s.Output.Law = Normal{10, nan} }, "workload.output.stdev: must lie between"},
		{func(s *Spec) { s.Output.Law = LogNormal{Mean: 512, P99: 100} }, "workload.output.p99: must be at least the mean, 512, got 100"},
		{func(s *Spec) { s.Output.Law = LogNormal{Mean: 10, P99: 200} }, "workload.output.p99: must be at most 14.97 times the mean"},
		{func(s *Spec) { s.Output.Law = LogNormal{Median: 10, P99: 9} }, "workload.output.p99: must be at least the median"},
		{func(s *Spec) { s.Output.Law = LogNormal{Mean: 9, Median: 10} }, "workload.output.mean: must be at least the median"},
		{func(s *Spec) { s.Output.Law = LogNormal{P99: 10} }, "workload.output.mean: is missing"},
		{func(s *Spec) { s.Output.Law = LogNormal{Mean: 10, P99: 20, Sigma: 1} }, "workload.output: has 3 of"},
		{func(s *Spec) { s.Output.Law = LogNormal{Mean: 10, Sigma: nan} }, "workload.output.sigma: must lie between"},
		{func(s *Spec) { s.Output.Law = LogNormal{Mean: inf} }, "workload.output.mean: must lie between"},
	} {
		s := basic()
		c.change(&s)
		_, err := New(s, streams(1))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want an error with %q", err, c.want)
			continue
		}
		if f := (*FieldError)(nil); !errors.As(err, &f) || !strings.HasPrefix(c.want, f.Field+": ") {
			t.Errorf("%v does not give the field of %q", err, c.want)
		}
	}
}

func TestAllFaultsAreToldAtOnce(t *testing.T) {
	s := basic()
	s.Rate, s.Timeout, s.Output.Law = -1, -1, Fixed{-1}
	_, err := New(s, streams(1))
	if err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("want three faults, got %v", err)
	}
}

func TestOnlyAFiniteRateWithoutALimitIsOpen(t *testing.T) {
	tr := readText(t, "x", "TIMESTAMP,ContextTokens,GeneratedTokens\n0,10,5\n1,11,5\n")
	for _, c := range []struct {
		s    Spec
		want bool
	}{
		{Spec{Arrivals: Poisson{}}, true},
		{Spec{Arrivals: Poisson{}, MaxConcurrency: 4}, false},
		{Spec{Arrivals: Burst{}}, false},
		{Spec{Arrivals: Closed{}}, false},
		{Spec{Arrivals: Burst{}, Trace: tr}, true},
		{Spec{Trace: tr, Rate: math.Inf(1)}, false},
	} {
		if got := c.s.Open(); got != c.want {
			t.Errorf("%+v: open is %v", c.s, got)
		}
	}
}
