package metrics

import (
	"math"
	"strconv"
	"strings"
)

// nsPerMs turns nanoseconds into the milliseconds of a report.
const nsPerMs = 1e6

// summarize sorts v (nanoseconds, ≥ 0) and describes it in milliseconds, with further percentiles if asked for; spare is
// room for as many values.
func summarize(v, spare, percentiles []float64) Stats {
	if len(v) == 0 {
		return Stats{}
	}
	sortFloats(v, spare)
	mean, std := moments(v)
	at := func(p float64) float64 { return percentile(v, p) / nsPerMs }
	s := Stats{
		Count: int64(len(v)), Mean: mean / nsPerMs, Std: std / nsPerMs, Min: v[0] / nsPerMs, Max: v[len(v)-1] / nsPerMs,
		P50: at(50), P90: at(90), P95: at(95), P99: at(99),
	}
	s.More = further(percentiles, at)
	return s
}

// moments returns the mean and the standard deviation of the population (numpy's ddof = 0), in two passes.
func moments(v []float64) (mean, std float64) {
	for _, x := range v {
		mean += x
	}
	mean /= float64(len(v))
	var ss float64
	for _, x := range v {
		ss += (x - mean) * (x - mean)
	}
	return mean, math.Sqrt(ss / float64(len(v)))
}

// further evaluates the percentiles that Stats has no field for.
func further(percentiles []float64, at func(float64) float64) map[string]float64 {
	if len(percentiles) == 0 {
		return nil
	}
	more := make(map[string]float64, len(percentiles))
	for _, p := range percentiles {
		more["p"+strconv.FormatFloat(p, 'f', -1, 64)] = at(p)
	}
	return more
}

// Value returns the statistic of that name in milliseconds ("count" has no unit): count, mean, std, min, max, median, or
// a percentile such as p99 or p99.9. It reports whether the distribution has it.
func (s Stats) Value(name string) (float64, bool) {
	switch name = strings.ToLower(name); name {
	case "count":
		return float64(s.Count), true
	case "mean":
		return s.Mean, true
	case "std":
		return s.Std, true
	case "min":
		return s.Min, true
	case "max":
		return s.Max, true
	case "p50", "median":
		return s.P50, true
	case "p90":
		return s.P90, true
	case "p95":
		return s.P95, true
	case "p99":
		return s.P99, true
	}
	v, ok := s.More[name]
	return v, ok
}

// ratio is a/b, and 0 where there is nothing to divide by: a report holds no NaN.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
