package metrics

import (
	"math"
	"math/big"
	"math/bits"
	"time"
)

const (
	// longestGap is the longest gap that the histogram tells from longer ones, about nine hours: its quantiles saturate
	// there, while count, sum, minimum and maximum stay exact.
	longestGap = 1 << 45
	// gapErrorPct is the bound on a quantile's error that follows from the width of the bins.
	gapErrorPct = 0.1
)

// gaps pools the times between consecutive tokens: exact, whatever the order in which they come, in all but the
// quantiles, which are a histogram's.
type gaps struct {
	bins       bins
	count, sum int64 // sum in nanoseconds
	least      int64
	largest    int64
	squares    [2]uint64 // Σ gap², in 128 bits: high, low
}

func newGaps() *gaps { return &gaps{bins: make(bins, binOf(longestGap)+1), least: math.MaxInt64} }

// add pools n gaps of equal length.
func (g *gaps) add(gap time.Duration, n int) {
	v, w := int64(gap), int64(n)
	if g.count == 0 {
		g.largest = v
	}
	g.least, g.largest = min(g.least, v), max(g.largest, v)
	g.count += w
	g.sum += v * w
	g.square(uint64(v), uint64(w))
	g.bins[binOf(min(max(v, 0), longestGap))] += w
}

// stats describes the gaps in milliseconds.
func (g *gaps) stats(percentiles []float64) Stats {
	if g.count == 0 {
		return Stats{}
	}
	n := float64(g.count)
	mean := float64(g.sum) / n
	at := func(p float64) float64 { return g.quantile(p) / nsPerMs }
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
func (g *gaps) quantile(p float64) float64 {
	i, f := rank(g.count, p)
	a := g.valueAt(i)
	if f == 0 {
		return a
	}
	return lerp(a, g.valueAt(i+1), f)
}

// valueAt returns the gap of that rank (from 0), within half a bin.
func (g *gaps) valueAt(rank int64) float64 {
	for i, n := range g.bins {
		if rank < n {
			from, to := binAt(i)
			return min(max(float64(from+to)/2, float64(g.least)), float64(g.largest))
		}
		rank -= n
	}
	return float64(g.largest)
}
