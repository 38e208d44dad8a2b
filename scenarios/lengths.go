package scenarios

import (
	"fmt"
	"math"

	"github.com/servesim/servesim/sim/workload"
)

// fill gives a law that was left out its default, a lognormal one, and a law without a name the name that its numbers
// belong to. given reports which keys were written.
func (l *Length) fill(mean, p99 float64, given func(key string) bool) {
	if l.Dist == "" && l.Mean == 0 && l.P50 == 0 && !given("std") && l.RangeRatio == 0 && l.Min == 0 {
		l.Dist, l.Mean = "lognormal", mean
		if l.P99 == 0 {
			l.P99 = p99
		}
	}
	if l.Dist == "" {
		l.Dist = l.infer(given)
	}
}

// infer names the law that the given numbers belong to, where the file does not.
func (l *Length) infer(given func(key string) bool) string {
	switch {
	case l.P99 > 0 || l.P50 > 0:
		return "lognormal"
	case given("range_ratio") || l.Min > 0 && l.Max > 0 && l.Mean == 0:
		return "uniform"
	case given("std"):
		return "normal"
	}
	return "fixed"
}

// missing says what the law lacks, or "". given reports which keys were written: a deviation or a ratio of zero is a
// number like any other, and one that was left out is not zero.
func (l *Length) missing(given func(key string) bool) string {
	const pairs = "takes two numbers: mean with std, mean with p99, or p50 with p99 or mean"
	lognormal := l.Dist == "lognormal"
	switch {
	case l.Dist == "uniform" && l.Mean == 0 && (l.Min == 0 || l.Max == 0):
		return "needs mean and range_ratio, or min and max, in tokens"
	case l.Dist == "uniform" && l.Mean > 0 && l.Min > 0:
		return "takes mean and range_ratio, or min and max, not both"
	case l.Dist == "uniform" && l.Mean > 0 && !given("range_ratio"):
		return "needs range_ratio beside mean, the half-width as a share of it (0: always the mean), or min and max"
	case lognormal && l.Mean == 0 && l.P50 == 0:
		return "needs mean or p50, in tokens"
	case (l.Dist == "fixed" || l.Dist == "normal") && l.Mean == 0:
		return "needs mean, in tokens"
	case l.Dist == "normal" && !given("std"):
		return "needs std beside mean, in tokens (0: always the mean)"
	case lognormal && given("std") && (l.P99 > 0 || l.P50 > 0), lognormal && l.P99 > 0 && l.Mean > 0 && l.P50 > 0:
		return pairs
	case lognormal && l.Mean > 0 && !given("std") && l.P99 == 0 && l.P50 == 0:
		return "needs std or p99 beside mean, in tokens (std: 0 is always the mean)"
	case lognormal && l.Mean == 0 && l.P99 == 0:
		return "needs p99 or mean beside p50, in tokens"
	case (l.Dist == "fixed" || l.Dist == "uniform") && l.Mean != math.Trunc(l.Mean):
		return fmt.Sprintf("takes a mean in whole tokens, got %g", l.Mean)
	}
	return ""
}

// uses reports whether the law takes a number of this name.
func (l *Length) uses(key string) bool {
	switch key {
	case "dist", "max":
		return true
	case "mean":
		return l.Dist != "uniform" || l.Min == 0
	case "std":
		return l.Dist == "normal" || l.Dist == "lognormal"
	case "p50", "p99":
		return l.Dist == "lognormal"
	case "range_ratio":
		return l.Dist == "uniform" && l.Mean > 0
	case "min":
		return l.Dist == "uniform"
	}
	return false
}

// law returns the law as the workload takes it.
func (l *Length) law() workload.Length {
	n := int(math.Round(l.Mean))
	switch {
	case l.Dist == "uniform" && l.Mean > 0:
		return workload.Length{Law: workload.Around{Tokens: n, Ratio: l.RangeRatio}, Cap: l.Max}
	case l.Dist == "uniform":
		return workload.Length{Law: workload.Uniform{Min: l.Min, Max: l.Max}}
	case l.Dist == "normal":
		return workload.Length{Law: workload.Normal{Mean: l.Mean, Stdev: l.Std}, Cap: l.Max}
	case l.Dist == "lognormal":
		law := workload.LogNormal{Mean: l.Mean, Median: l.P50, P99: l.P99}
		if l.Std > 0 { // variance = mean²·(exp(σ²) − 1)
			law.Sigma = math.Sqrt(math.Log1p(l.Std * l.Std / (l.Mean * l.Mean)))
		}
		return workload.Length{Law: law, Cap: l.Max}
	}
	return workload.Length{Law: workload.Fixed{Tokens: n}, Cap: l.Max}
}
