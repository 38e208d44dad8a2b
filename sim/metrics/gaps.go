package metrics

import (
	"math"
	"math/big"
	"math/bits"
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

// gaps pools the times between consecutive tokens: exact, whatever the order in which they come, in all but the
// quantiles, which are a histogram's.
type gaps struct {
	bins       *hdr.Histogram
	count, sum int64 // sum in nanoseconds
	least      int64
	largest    int64
	squares    [2]uint64 // Σ gap², in 128 bits: high, low
}

func newGaps() *gaps { return &gaps{bins: hdr.New(1, longestGap, gapDigits)} }

// add pools n gaps of equal length.
func (g *gaps) add(gap time.Duration, n int) {
	v, w := int64(gap), int64(n)
	if g.count == 0 {
		g.least, g.largest = v, v
	}
	g.least, g.largest = min(g.least, v), max(g.largest, v)
	g.count += w
	g.sum += v * w
	g.square(uint64(v), uint64(w))
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
	bars := g.bins.Distribution()
	at := func(p float64) float64 { return g.quantile(bars, p) / nsPerMs }
	return Stats{
		Count: g.count, Mean: mean / nsPerMs, Std: g.std() / nsPerMs,
		Min: float64(g.least) / nsPerMs, Max: float64(g.largest) / nsPerMs,
		P50: at(50), P90: at(90), P95: at(95), P99: at(99), More: further(percentiles, at),
	}
}

// square adds n·v² to the sum of squares.
func (g *gaps) square(v, n uint64) {
	high, low := bits.Mul64(v, v)
	over, low := bits.Mul64(low, n)
	var carry uint64
	g.squares[1], carry = bits.Add64(g.squares[1], low, 0)
	g.squares[0], _ = bits.Add64(g.squares[0], high*n+over, carry)
}

// std returns the population's standard deviation in nanoseconds: √(n·Σg² − (Σg)²) / n, the difference taken exactly.
func (g *gaps) std() float64 {
	squares := new(big.Int).SetUint64(g.squares[0])
	squares.Lsh(squares, 64).Add(squares, new(big.Int).SetUint64(g.squares[1]))
	sum := big.NewInt(g.sum)
	spread := squares.Mul(squares, big.NewInt(g.count))
	spread.Sub(spread, sum.Mul(sum, sum))
	v, _ := new(big.Float).SetInt(spread).Float64()
	return math.Sqrt(v) / float64(g.count)
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
