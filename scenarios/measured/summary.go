package measured

import (
	"math"
	"slices"
	"strconv"
)

// Summary describes errors in percent of the measured value.
type Summary struct {
	N               int     `json:"n"`
	MedianAbsPct    float64 `json:"median_abs_pct"`
	MeanAbsPct      float64 `json:"mean_abs_pct"`
	P90AbsPct       float64 `json:"p90_abs_pct"`
	MedianSignedPct float64 `json:"median_signed_pct"`
}

// Summarize describes signed errors in percent. Percentiles interpolate linearly, as numpy's do.
func Summarize(errors []float64) Summary {
	s := Summary{N: len(errors)}
	if s.N == 0 {
		return s
	}
	signed := slices.Sorted(slices.Values(errors))
	absolute := make([]float64, s.N)
	for i, e := range errors {
		absolute[i] = math.Abs(e)
		s.MeanAbsPct += absolute[i] / float64(s.N)
	}
	slices.Sort(absolute)
	s.MedianAbsPct, s.P90AbsPct = percentile(absolute, 50), percentile(absolute, 90)
	s.MedianSignedPct = percentile(signed, 50)
	return s
}

// percentile returns the p-th percentile of sorted values: with h = (n−1)·p/100 it lies between the values at ⌊h⌋ and
// ⌊h⌋+1.
func percentile(sorted []float64, p float64) float64 {
	h := float64(len(sorted)-1) * p / 100
	i := min(int(h), len(sorted)-1)
	j := min(i+1, len(sorted)-1)
	return sorted[i] + (sorted[j]-sorted[i])*(h-float64(i))
}

// errorsBy collects the errors of one part of a table, by metric.
type errorsBy struct {
	part, value string // e.g. "gpu", "h100-sxm"; empty: the whole
	of          map[string][]float64
}

// count adds a comparison to a part.
func (b *builder) count(part, value string, c Comparison) {
	key := part + "\x00" + value
	e := b.errors[key]
	if e == nil {
		e = &errorsBy{part: part, value: value, of: make(map[string][]float64)}
		b.errors[key] = e
	}
	e.of[c.Metric] = append(e.of[c.Metric], c.ErrorPct)
}

func (e *errorsBy) summaries() map[string]Summary {
	all := make(map[string]Summary, len(e.of))
	for metric, errors := range e.of { // order does not matter: a map becomes a map
		all[metric] = Summarize(errors)
	}
	return all
}

// plural counts things: "1 row", "14 rows".
func plural(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return strconv.Itoa(n) + " " + thing
}
