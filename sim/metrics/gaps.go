package metrics

import (
	"math"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

const (
	// longestGap is the longest gap that the histogram tells from longer ones, about nine hours: its quantiles saturate
	// there, while count, sum, minimum and maximum stay exact.
	longestGap = 1 << 45
	// gapDigits makes the histogram's bins at most a thousandth of their value wide.
	gapDigits = 3
	// gapErrorPct is the bound on a quantile's error that follows.
	gapErrorPct = 0.1
)

// gaps pools the times between consecutive tokens: exact in count, sum, least and largest; quantiles from a histogram.
type gaps struct {
	bins       *hdr.Histogram
	count, sum int64 // sum in nanoseconds
	least      int64
	largest    int64
	pivot      int64   // the first gap: squares are taken around it, so that equal gaps have no spread at all
	squares    float64 // Σ (gap − pivot)²
}

func newGaps() *gaps { return &gaps{bins: hdr.New(1, longestGap, gapDigits)} }

// add pools n gaps of equal length.
func (g *gaps) add(gap time.Duration, n int) {
	v, w := int64(gap), int64(n)
	if g.count == 0 {
		g.pivot, g.least, g.largest = v, v, v
	}
	g.least, g.largest = min(g.least, v), max(g.largest, v)
	g.count += w
	g.sum += v * w
	d := float64(v - g.pivot)
	g.squares += d * d * float64(w)
	// An error is out of the question: the value is in range, and n is not negative.
	_ = g.bins.RecordValues(min(max(v, 0), longestGap), w)
}

// stats describes the gaps in milliseconds.
func (g *gaps) stats(percentiles []float64) Stats {
	if g.count == 0 {
		return Stats{}
	}
	n := float64(g.count)
	mean := float64(g.sum) / n
	shift := mean - float64(g.pivot)
	bars := g.bins.Distribution()
	at := func(p float64) float64 { return g.quantile(bars, p) / nsPerMs }
	return Stats{
		Count: g.count, Mean: mean / nsPerMs, Std: math.Sqrt(max(0, g.squares/n-shift*shift)) / nsPerMs,
		Min: float64(g.least) / nsPerMs, Max: float64(g.largest) / nsPerMs,
		P50: at(50), P90: at(90), P95: at(95), P99: at(99), More: further(percentiles, at),
	}
}

// quantile interpolates between ranks as percentile does, each rank's value being the middle of its bin.
func (g *gaps) quantile(bars []hdr.Bar, p float64) float64 {
	i, f := rank(g.count, p)
	a := g.valueAt(bars, i)
	if f == 0 {
		return a
	}
	return lerp(a, g.valueAt(bars, i+1), f)
}

// valueAt returns the gap of that rank (from 0), within half a bin.
func (g *gaps) valueAt(bars []hdr.Bar, rank int64) float64 {
	for _, b := range bars {
		if rank < b.Count {
			return min(max(float64(b.From+b.To)/2, float64(g.least)), float64(g.largest))
		}
		rank -= b.Count
	}
	return float64(g.largest)
}
