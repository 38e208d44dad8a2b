package metrics

import (
	"strconv"
	"strings"
)

// nsPerMs turns nanoseconds into the milliseconds of a report.
const nsPerMs = 1e6

// summarize describes values (nanoseconds, ≥ 0) in milliseconds, with further percentiles if asked for. The values come in
// parts, in any order.
func summarize(parts [][]float64, percentiles []float64) Stats {
	m := new(moments)
	for _, part := range parts {
		m.add(part)
	}
	if m.count == 0 {
		return Stats{}
	}
	o := orderOf(parts, append(usual(), percentiles...))
	return m.stats(&o, percentiles)
}

// A digest is what can be known of values without their order.
type digest struct {
	moments moments
	bands   bands
}

// add takes in values; whole says that they are whole numbers.
func (d *digest) add(values []float64, whole bool) {
	d.bands.add(values)
	if whole {
		d.moments.addWhole(values)
	} else {
		d.moments.add(values)
	}
}

// stats is summarize for values that have been digested.
func (d *digest) stats(parts [][]float64, percentiles []float64) Stats {
	m := &d.moments
	if m.count == 0 {
		return Stats{}
	}
	o := d.bands.order(m.count, parts, append(usual(), percentiles...))
	return m.stats(&o, percentiles)
}

// usual returns the percentiles that Stats always has.
func usual() []float64 { return []float64{50, 90, 95, 99} }

// stats describes values, given their order.
func (m *moments) stats(o *order, percentiles []float64) Stats {
	mean, std := m.meanStd()
	at := func(p float64) float64 { return o.percentile(p) / nsPerMs }
	return Stats{
		Count: m.count, Mean: mean / nsPerMs, Std: std / nsPerMs, Min: o.at(0) / nsPerMs, Max: o.at(o.n-1) / nsPerMs,
		P50: at(50), P90: at(90), P95: at(95), P99: at(99), More: further(percentiles, at),
	}
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
